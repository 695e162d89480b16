"""Unary encoding: one bit a category, each flipped on its own (RAPPOR's, and Wang et al.'s optimised one)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.validation import privacy_epsilon
from mechdesign.data.intake import Values
from mechdesign.exact.bits import (
    Packed,
    as_texts,
    compiled,
    member_counts,
    padding,
    read_sets,
    unpacked_members,
    width,
)
from mechdesign.exact.draws import bernoulli_words
from mechdesign.exact.randomness import TOTAL, BitSource, exp_written, weight
from mechdesign.families.marginals.oracles.support import ReportClass, SupportOracle, own_bits
from mechdesign.primitives.oracle import Moments, Shares, falling_product, from_factorials, mixed, one_more

BLOCK = 1 << 17
"""Bytes of reports that are drawn at a time, which fit the processor's cache."""

NANOSECONDS = 20
"""What numpy takes for the user's bit of a report, about."""


def binomial_moments(number: int, chance: Fraction) -> Moments:
    """Return the moments of how many of ``number`` independent bits are 1.

    Examples
    --------
    >>> binomial_moments(2, Fraction(1, 2))[1:3]
    (Fraction(1, 1), Fraction(3, 2))
    """
    return from_factorials([Fraction(falling_product(number, r)) * chance**r for r in range(5)])


class UnaryEncoding(SupportOracle):
    """Report one bit a category: the own one is 1 with probability keep / 2**62, each other with add / 2**62.

    A pair of answers differs in two bits, so the worst ratio is keep (T - add) / (add (T - keep)), T = 2**62.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    keep, add : int
        Weights out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Wang, Blocki, Li, Jha (2017), section 4.2; ``symmetric`` is basic RAPPOR, one time.

    Examples
    --------
    >>> oracle = UnaryEncoding.optimised(5, 1.0)
    >>> print(oracle.audit())
    privacy: holds (exact); epsilon = 1, true_epsilon = 1; witness ...
    >>> oracle.randomize([0, 4], rng=1).shape  # packed bits
    (2, 1)
    """

    type: ClassVar[str] = "unary-encoding"

    def __init__(
        self, categories: int, epsilon: float, keep: int, add: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.keep, self.add = weight("keep", keep), weight("add", add)
        self._require_private()

    @classmethod
    def optimised(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return the one of least variance (OUE): keep 1/2, add 1/(e^eps + 1)."""
        bound = exp_written(epsilon)
        return cls(categories, privacy_epsilon(epsilon), TOTAL // 2, math.ceil(TOTAL / (1 + bound)), labels)

    @classmethod
    def symmetric(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return the one that flips every bit with the same probability 1 / (e^(eps/2) + 1)."""
        bound = exp_written(epsilon)
        unit = 1 << 128  # the square root, rounded down
        root = Fraction(math.isqrt(bound.numerator * unit * unit // bound.denominator), unit)
        add = math.ceil(TOTAL / (1 + root))
        return cls(categories, privacy_epsilon(epsilon), TOTAL - add, add, labels)

    def weights(self) -> dict[str, int]:
        return {"keep": self.keep, "add": self.add}

    def support_shares(self) -> Shares:
        return Fraction(self.keep, TOTAL), Fraction(self.add, TOTAL)

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        return unpacked_members(read, self.labels.size, place)

    def weight_ratio(self) -> float:
        """Return the odds of two bits: that of an answer j is 1 with p, that of another one with q.

        The other bits have the same probabilities whichever of the two answers it is.

        Examples
        --------
        >>> round(UnaryEncoding.optimised(5, 1.0).weight_ratio(), 6)  # e^-1
        0.367879
        """
        own, other = self.support_shares()
        return float((1 - own) * other / (own * (1 - other)))

    def supported(self, cells: int) -> tuple[Moments, Moments]:
        """Return the moments of how many of ``cells`` bits are set: each bit is independent."""
        own, other = self.support_shares()
        rest = binomial_moments(cells - 1, other)
        return mixed(own, one_more(rest), rest), binomial_moments(cells, other)

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the reports by the bits of the two answers; the other bits are the same for both."""
        keep, add = self.keep, self.add
        not_keep, not_add = TOTAL - keep, TOTAL - add
        return (
            ReportClass("bits 1 1", 1, keep * add, add * keep),
            ReportClass("bits 1 0", 1, keep * not_add, add * not_keep),
            ReportClass("bits 0 1", 1, not_keep * add, not_add * keep),
            ReportClass("bits 0 0", 1, not_keep * not_add, not_add * not_keep),
        )

    @property
    def report_bits(self) -> int:
        return self.labels.size

    @property
    def _report_text(self) -> str:
        return f"'x' and {2 * width(self.labels.size)} hexadecimal digits: a bit a category"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return packed bits, shape (n, bytes), for the number of each category."""
        size = width(self.labels.size)
        reports = np.empty((len(codes), size), dtype=np.uint8)
        rows = max(8, (BLOCK // size) & ~7) if size <= BLOCK // 8 else 8
        rows = 1 << (rows.bit_length() - 1)
        for start in range(0, len(codes), rows):
            reports[start : start + rows] = self._draw_rows(codes[start : start + rows], source)
        return reports

    def _draw_rows(self, codes: Codes, source: BitSource) -> Packed:
        count, size = len(codes), width(self.labels.size)
        words = bernoulli_words((count * size + 7) // 8, self.add, source)
        bits = words.view(np.uint8)[: count * size]
        draws, inside = source.integers(count), 255 ^ padding(self.labels.size)
        loop = compiled(own_bits, NANOSECONDS * count)
        if loop is not None:
            loop(bits, size, codes, draws, self.keep, inside)
            return bits.reshape(count, size)
        own = np.left_shift(1, 7 - (codes & 7)).astype(np.uint8)
        place = np.arange(count, dtype=np.int64) * size + (codes >> 3)
        keeping = draws < self.keep
        bits[place] = np.where(keeping, bits[place] | own, bits[place] & ~own)
        packed = bits.reshape(count, size)
        packed[:, -1] &= inside
        return packed

    def _client_steps(self) -> Steps:
        weights = {name: whole_hex(number) for name, number in self.weights().items()}
        return {"step": "bits", "size": self.labels.size, **weights}

    def read(self, reports: Any) -> NDArray[Any]:
        return read_sets(reports, self.labels.size)

    def count(self, reports: NDArray[Any]) -> Codes:
        return member_counts(reports, self.labels.size)

    def written(self, reports: NDArray[Any]) -> Values:
        return as_texts(reports)
