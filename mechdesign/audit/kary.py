"""The exact audit of a k-ary response on a huge alphabet, without forming its matrix.

The rows of such a channel differ only in a few reports: the answer itself, its delegate and the
delegate of the other answer. Every pair of answers is therefore represented by a pair in a small
channel with at most three kept answers and two others, in which the kept reports that are alike for
all answers are lumped together (equal entries: ratio 1, no hockey-stick excess for epsilon >= 0).
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.errors import CertificateError
from mechdesign.core.values import frozen_value, kept as checked
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL
from mechdesign.exact.weights import Weights


def _weight(name: str, value: object) -> int:
    return plain_int(f"channel: {name}", value)


@frozen_value()
class KaryWeights:
    """Integer weights of a k-ary response: own + high + (kept - 1) low = 2**62.

    They are Python integers whatever they are made of: numpy's overflow, Python's do not.

    An answer i reports itself with ``own``, its delegate with a further ``high``, and every other
    kept answer with a further ``low``. A kept answer is its own delegate; the others share one.
    """

    size: int = checked(_weight)
    kept: int = checked(_weight)
    own: int = checked(_weight)
    high: int = checked(_weight)
    low: int = checked(_weight)

    @classmethod
    def of(cls, weights: KaryWeights) -> KaryWeights:
        """Return plain weights of these values, each read once and checked; see :meth:`require`."""
        own = KaryWeights(weights.size, weights.kept, weights.own, weights.high, weights.low)
        own.require()
        return own

    def require(self) -> None:
        """Raise CertificateError unless these are the weights of a channel that can be sampled."""
        if not 1 <= self.kept <= self.size:
            raise CertificateError("channel", f"{self.kept} kept answers of {self.size}")
        if min(self.own, self.high, self.low) < 0 or self.high < self.low:
            raise CertificateError("channel", "a weight is negative, or the delegate's below the others'")
        total = self.own + self.high + (self.kept - 1) * self.low
        if total != TOTAL:
            raise CertificateError("channel", f"the rows sum to {total}, not 2**62 = {TOTAL}")


def representative(weights: KaryWeights) -> tuple[Weights, list[int], list[int]]:
    """Return a small channel whose pairs of rows represent all pairs.

    Returns
    -------
    weights : (r, c) array
    kept_columns : list of int
        Columns of representative kept answers, the shared delegate first.
    other_columns : list of int
        Columns of representative answers that are not kept.
    """
    weights = KaryWeights.of(weights)
    kept = min(weights.kept, 3)
    others = min(weights.size - weights.kept, 2)
    lumped = weights.kept - kept
    rows = kept + others
    matrix = np.zeros((rows, rows + (1 if lumped else 0)), dtype=np.int64)
    matrix[:, :kept] = weights.low
    if lumped:
        matrix[:, -1] = lumped * weights.low
    for row in range(rows):
        matrix[row, row if row < kept else 0] += weights.high - weights.low
        matrix[row, row] += weights.own
    return matrix, list(range(kept)), list(range(kept, rows))
