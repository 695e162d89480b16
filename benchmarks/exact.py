"""The true epsilon of a channel in floating point, exactly: every float is the dyadic rational that it is.

Solvers return matrices whose rows sum to 1 only nearly and whose zeros may be slightly negative. What a
sampler would make of one is audited: negative entries are 0 and every row is divided by its exact sum.
Nothing is rounded before the last step, the logarithm of one rational number.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from mechdesign.exact.randomness import log_ratio

Privacy: TypeAlias = Literal["local", "line"]


def exact_true_epsilon(channel: NDArray[Any], privacy: Privacy) -> Decimal:
    """Return the least epsilon of the channel (per unit of distance on a line) to 48 digits, rounded up.

    Parameters
    ----------
    channel : (n, m) array of floats or of integers
    privacy : {"local", "line"}

    Examples
    --------
    >>> import numpy as np
    >>> print(round(exact_true_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]]), "local"), 12))
    1.098612288668
    """
    rows = [_normalised(row) for row in channel.tolist()]
    worst = Fraction(1)
    for high, low in _pairs(rows, privacy):
        if high > 0 and low == 0:
            return Decimal("inf")
        if high > worst * low:
            worst = high / low
    return log_ratio(worst.numerator, worst.denominator)


def _normalised(row: list[float]) -> list[Fraction]:
    entries = [max(Fraction(entry), Fraction(0)) for entry in row]
    total = sum(entries, Fraction(0))
    return [entry / total for entry in entries]


def _pairs(rows: list[list[Fraction]], privacy: Privacy) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the pairs of probabilities (high, low) of one report whose ratios decide.

    Local privacy: the extremes of every column. On a line neighbours suffice: ln(p_i / p_k) is a sum of
    |i - k| steps between neighbours, so its rate per unit never exceeds the largest step.
    """
    if privacy == "local":
        for column in zip(*rows, strict=True):
            yield max(column), min(column)
        return
    for upper, lower in pairwise(rows):
        for first, second in zip(upper, lower, strict=True):
            yield max(first, second), min(first, second)
