r"""Audits of location privacy: a factor e^(epsilon d) for places at the Euclidean distance d.

*Noise on a lattice.* Let the noise be v with probability f(\|v\|) / M, for integers f that do not grow with
the length. Then the mechanism is private when, along the rising lengths r_1 < r_2 < ... that occur,

    f(r_k) <= e^(epsilon step (r_k+1 - r_k)) f(r_k+1) :

multiplied along the lengths this says f(r) <= e^(epsilon step (r' - r)) f(r') for r < r', and the difference
of two lengths is at most the length of the difference; the converse ratio is at most 1. (Necessary it is
where two vectors of these lengths point the same way.) The lengths are roots of whole numbers, the roots
are bounded by rationals, and the comparison is one of integers.

*Noise cut off at a radius.* A place x excludes every report beyond the radius, a place x' nearer to the
report does not: no epsilon is enough. The witness is in whole numbers of eighths of the radius.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any

from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.numbers import rational, whole
from mechdesign.core.validation import in_range, privacy_epsilon

_DIGITS = 40
_SCALE = 10**_DIGITS


@dataclass(frozen=True)
class LocationAudit:
    """What an audit of location privacy found; epsilon is per unit of length.

    Attributes
    ----------
    epsilon, true_epsilon : float
        What is promised, and an upper bound of what it is (infinite where a report is excluded).
    holds, exact : bool
    witness : mapping
        What attains ``true_epsilon``: two lengths of the noise, or two places and a report.
    note : str
    """

    epsilon: float
    true_epsilon: float
    holds: bool
    exact: bool
    witness: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        figures = {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}
        note = "; ".join(part for part in ("epsilon per unit of distance", self.note) if part)
        return Certificate("privacy", self.holds, self.exact, figures, self.witness, note)

    def __str__(self) -> str:
        return str(self.certificate())


def root_step(smaller: int, larger: int) -> Fraction:
    """Return a rational number not above sqrt(larger) - sqrt(smaller), closer than 39 decimals.

    Examples
    --------
    >>> float(root_step(1, 2))
    0.41421356237309503
    """
    high = isqrt(larger * _SCALE * _SCALE)
    low = isqrt(smaller * _SCALE * _SCALE)
    if low * low < smaller * _SCALE * _SCALE:
        low += 1
    return Fraction(high - low, _SCALE)


def audit_radial(
    squares: Sequence[int], weights: Sequence[int], step: float, epsilon: float
) -> LocationAudit:
    """Audit noise on a lattice whose probability depends on its length alone, exactly.

    Parameters
    ----------
    squares : sequence of int
        The squared lengths that occur, in steps of the lattice, rising from 0. Whatever is longer has the
        last weight.
    weights : sequence of int
        The weight of one vector of each length, > 0.
    step : float
        The step of the lattice, > 0, taken exactly.
    epsilon : float
        What is wanted, per unit of length.

    Raises
    ------
    CertificateError
        When lengths do not rise, or weights are not positive or grow.

    Examples
    --------
    >>> audit_radial([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.0).holds
    False
    >>> audit = audit_radial([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.1)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (True, 1.021651)
    """
    wanted, width = Fraction(privacy_epsilon(epsilon)), rational("step", step)
    lengths = [whole("squares", square) for square in squares]
    counts = [whole("weights", weight) for weight in weights]
    if len(lengths) != len(counts) or not counts or lengths[0] != 0 or width <= 0:
        raise CertificateError(
            "location: expected a weight for each length, from length 0 on, and a step > 0"
        )
    holds, worst, place = True, Decimal(0), 0
    context = Context(prec=48, rounding=ROUND_CEILING)
    for number, (low, high) in enumerate(pairwise(lengths)):
        near, far = counts[number], counts[number + 1]
        if high <= low or far < 1 or far > near:
            raise CertificateError(f"location: lengths must rise and weights fall, at length {number + 1}")
        if near == far:
            continue
        apart = width * root_step(low, high)
        bound = exp_lower(wanted * apart)
        holds = holds and near * bound.denominator <= bound.numerator * far
        rough = context.divide(Decimal(apart.denominator), Decimal(apart.numerator))
        rate = context.multiply(log_ratio(near, far), rough)
        if rate > worst:
            worst, place = rate, number
    ends = {"length": f"sqrt({lengths[place]})"}
    if place + 1 < len(lengths):
        ends["next"] = f"sqrt({lengths[place + 1]})"
    return LocationAudit(float(wanted), float_up(worst), holds, True, {**ends, "step": float(width)})


def audit_truncated(epsilon: float, radius: float) -> LocationAudit:
    """Return the failing audit of planar Laplace noise that is cut off at a radius, with a witness.

    Examples
    --------
    >>> audit = audit_truncated(1.0, 2.0)
    >>> audit.holds, audit.true_epsilon, audit.witness["report"]
    (False, inf, [1.75, 0.0])
    """
    wanted = privacy_epsilon(epsilon)
    reach = Fraction(in_range("radius", radius, 0.0, float("inf"), low_open=True, high_open=True))
    place, other, report = Fraction(0), -reach / 4, reach * 7 / 8
    if not (report - place < reach < report - other):  # the witness is checked, not believed
        raise CertificateError("location: the witness does not show what it should; report this as a bug")
    witness = {
        "place": [float(place), 0.0],
        "other": [float(other), 0.0],
        "report": [float(report), 0.0],
    }
    note = "cut off at the radius: the report is possible from the first place and excluded by the other"
    return LocationAudit(wanted, float("inf"), False, True, witness, note)
