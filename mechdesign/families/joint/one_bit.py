r"""An attribute with two values in one bit: the statement, the layout of reports, the best noise of the bit.

**Statement.**
Of an attribute with two values a report has one bit, 1 for the second value. The kept bit is flipped with the
probability h and a report of it is wrong with p: with g = 1 - 2h and t = 1 - 2p the variance of the share of
either value from R reports of a user is

    V = ((1 - 1/R) (1/g^2 - 1) + (1/R) (1/(g t)^2 - 1)) / 4                    whatever the true share,

and r reports reveal exactly 2 artanh(g tanh(r L/2)), L = ln((1-p)/p). Two users differ in this one bit, where
they differ in two of one-hot bits: all of the attribute's epsilon is for one flip.

1. *Fresh noise* (h = 0; one report, or R reports of epsilon/R): V = E/(E-1)^2 / R with E = e^epsilon of one
   report. *Kept noise* (p = 0; no separate limit of a report): V = E/(E-1)^2 with E that of any number of
   reports. No channel of the attribute has less variance at frequency 0: the likelihood ratio is in [1/E, E],
   so chi^2 is at most (E-1)^2/E (Chapman and Robbins).
2. *An asymmetric bit is never better.* With x and y of :mod:`.collection` its ratio is the larger one of
   G(x^R) and G(y^R), so that the larger one of x and y may fall to the other, and V falls.
3. *Never worse than two bits, by a factor of at least 2.* Two symmetric one-hot bits with the same g and t
   have half of V, at twice the epsilon. So let a bit with (g, t) reveal e_1 with one report and e_R with R.
   Then a bit with (g', t') reveals at most 2 e_1 and 2 e_R and has at most V/4: g' = 2 g / sqrt(1 + 3 g^2)
   makes 1/g'^2 - 1 a quarter, and g' t' = 2 g t / (1 + (g t)^2) reveals 2 e_1 and makes the other term less
   than a quarter. (Where t' would be above 1, p' = 0 and g' = 2 g t/(1 + (g t)^2) is better still.)
   For all R: with a = r L/2, v = tanh^2 a and A = 1 - (1 + g^2) v, r reports may have L' = 2 h(a)/r with

       dh/da = sqrt(1 + 3 g^2) (A + g^2 v^2) / (A + g^4 v^2),

   which rises in v since A/v^2 falls. So h is convex with h(0) = 0, and the L' of one report is allowed for
   all r >= 1. Of one report the same holds for asymmetric one-hot bits, because their V_u = (1/(a b) - 1)/8
   with a = g t_1, b = g t_0 and 2 artanh a + 2 artanh b = epsilon is least at a = b. (Of several reports,
   where both limits bind, asymmetric one-hot bits were searched, not excluded by a proof: the least quotient
   under 300 random limits was 2.00005.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.exact.bits import Packed
from mechdesign.exact.numbers import rational, text_of

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

TWO = 2
"""Values of an attribute that one bit says."""

FORMS = ("one-bit", "one-hot")
"""How an attribute with two values is reported."""


def bit_widths(sizes: Sequence[int], one_bit: bool) -> tuple[int, ...]:
    """Return the number of bits of each attribute.

    Examples
    --------
    >>> bit_widths([2, 3, 2], True), bit_widths([2, 3, 2], False)
    ((1, 3, 1), (2, 3, 2))
    """
    return tuple(1 if one_bit and size == TWO else size for size in sizes)


def bit_starts(sizes: Sequence[int], one_bit: bool) -> tuple[int, ...]:
    """Return where the bits of each attribute begin, and the number of all bits.

    Examples
    --------
    >>> bit_starts([2, 3, 2], True)
    (0, 1, 4, 5)
    """
    return (0, *np.cumsum(bit_widths(sizes, one_bit)).tolist())


def bit_places(sizes: Sequence[int], view: Sequence[int], one_bit: bool) -> Codes:
    """Return the places of the bits of some attributes, attribute after attribute.

    Examples
    --------
    >>> bit_places([2, 3, 2], [2, 1], True).tolist()
    [4, 1, 2, 3]
    """
    starts = bit_starts(sizes, one_bit)
    places: Codes = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in view])
    return places


def single_bits(sizes: Sequence[int]) -> Packed:
    """Return a packed row with a 1 at every bit that says an attribute alone.

    Examples
    --------
    >>> single_bits([2, 3, 2]).tolist()  # 10001
    [136]
    """
    members = [width == 1 for width in bit_widths(sizes, True) for _ in range(width)]
    return np.packbits(np.array(members, dtype=np.uint8))


def least_bit_flip(x: Any, ratio: float, reports: int) -> Any:
    """Return the least h for which R reports of a symmetric bit have a likelihood ratio of at most this one.

    G(a) = ((1-h) + h a) / (h + (1-h) a) = E with a = x^R is linear in h; x = p/(1-p).

    Examples
    --------
    >>> least_bit_flip(np.array(0.0), 3.0, 5).round(12), least_bit_flip(np.array(0.5), 3.0, 1)
    (np.float64(0.25), np.float64(0.0))
    """
    a = np.asarray(x, dtype=np.float64) ** reports
    with np.errstate(divide="ignore", invalid="ignore"):
        flips = (1.0 - ratio * a) / ((1.0 - a) * (ratio + 1.0))
    return np.where(a < 1.0, np.maximum(flips, 0.0), 0.0)[()]


def least_bit_variance(ratio: float) -> float:
    """Return E / (E - 1)^2: no unbiased estimate of a two-valued attribute has less variance.

    Examples
    --------
    >>> least_bit_variance(3.0)
    0.75
    """
    return 1.0 / (ratio - 2.0 + 1.0 / ratio)


def single_channel(redraw: Any, keep: Any) -> tuple[Fraction, Fraction, Fraction]:
    """Return the probabilities of one bit that says two values, with that of a wrong report last.

    Examples
    --------
    >>> single_channel(0, 0.75)
    (Fraction(0, 1), Fraction(3, 4), Fraction(1, 4))
    """
    numbers = {"bit_redraw": redraw, "bit_keep": keep}
    read = {name: rational(name, value) for name, value in numbers.items()}
    for name, value in read.items():
        if not 0 <= value <= 1:
            raise ParameterError(name, f"{text_of(numbers[name])} is outside [0, 1]", "give a probability")
    if read["bit_redraw"] == 1:
        raise ParameterError("bit_redraw", "with 1 the kept bit is pure noise", "give a number below 1")
    if 2 * read["bit_keep"] <= 1:
        raise ParameterError(
            "bit_keep", f"{text_of(keep)} is not above 1/2", "a report has to be right more often than wrong"
        )
    return read["bit_redraw"], read["bit_keep"], 1 - read["bit_keep"]
