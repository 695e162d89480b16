"""What the problems of this family share: the certificate of optimality, the levels of the baseline."""

from __future__ import annotations

import sys
from fractions import Fraction

from mechdesign.core.certificate import Certificate
from mechdesign.core.problem import Candidate

OPTIMALITY = 1e-6
"""A value is certified optimal when its gap is below this part of the money that changes hands."""

FIXED_SECONDARY, FIXED_PRIMARY = 2.0, 1.0
"""The privacy levels of the baseline in section 6.6.1, which are fixed and not optimised."""


def optimality(solution: Candidate, scale: float) -> Certificate:
    """Return whether the proven bound shows that nothing is better; ``scale`` is the size of the terms."""
    if solution.bound is None:
        return Certificate("optimality", False, False, note="no bound is known")
    holds = solution.gap <= OPTIMALITY * scale
    figures = {"value": solution.value, "bound": solution.bound, "gap": solution.gap}
    return Certificate("optimality", holds, False, figures, note=f"bound from {solution.bound_source}")


def rounded_up(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a bound enlarged by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_up(Fraction(1), 2.0) > 1.0
    True
    """
    return float(bound) + terms * sys.float_info.epsilon * scale


def rounded_down(bound: Fraction | float, scale: float, terms: int = 64) -> float:
    """Return a lower bound reduced by what evaluating a value of this scale in doubles may lose.

    Examples
    --------
    >>> rounded_down(Fraction(1), 2.0) < 1.0
    True
    """
    return rounded_up(bound, -scale, terms)
