"""The best length of what hides somebody: a cost ``square x^2 + linear x + reciprocal / x``.

A user's privacy circle and an owner's tile both cost area and edge, and hide the better the longer they are.
The slope of such a cost changes its sign once: at the positive root of a cubic, where bisection ends, and at
the optimum of a convex program. Whatever length a method returns gets the bound of a tangent.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.core.values import MechanismT_co
from mechdesign.solvers.roots import sign_change
from mechdesign.solvers.statement import statement_method

Terms = tuple[float, float, float]


class LengthProblem(Problem[MechanismT_co]):
    """A problem whose only variable is a length x, with a cost that is convex in it."""

    @property
    @abstractmethod
    def terms(self) -> Terms:
        """The factors of x^2, of x and of 1 / x in the cost."""

    @property
    @abstractmethod
    def cubic(self) -> Terms:
        """The a, b, c of the equation a x^3 + b x^2 = c, whose root is the best length without limits."""

    @abstractmethod
    def slope(self, length: float) -> float:
        """Return the derivative of the cost, which rises with the length."""

    @abstractmethod
    def outcome(self, length: float, solver: str) -> Outcome:
        """Return the outcome with the length that a method proposes."""

    @property
    def start(self) -> float:
        """Where the search for a change of sign begins."""
        return 1.0

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest length; no length is allowed where the least is the larger."""
        return 0.0, math.inf

    def refusal(self, solver: str) -> Outcome | None:
        """Return the outcome ``infeasible`` where no length is allowed."""
        return None

    def error(self, length: float) -> float:
        """Return by how much the cost of a length exceeds the least one at most.

        Where the slope is g at x and has the other sign at x', or x' is the end of the limits, no value is
        below f(x) - abs(g (x' - x)). A step that changes the sign is found by doubling.
        """
        low, high = self.limits
        slope, step = self.slope(length), math.ulp(length)
        while True:
            other = length + step if slope < 0 else length / (1.0 + step / length)
            other = min(max(other, low), high)
            if slope == 0 or other in (low, high) or self.slope(other) * slope <= 0:
                break
            step *= 2.0
        square, linear, reciprocal = self.terms
        noise = 2.0**-48 * (2.0 * square * length + linear + reciprocal / min(length, other) ** 2)
        return (abs(slope) + noise) * (abs(other - length) + 64.0 * math.ulp(length))


def positive_root(cube: float, square: float, constant: float) -> float:
    """Return the positive root of ``cube x^3 + square x^2 = constant``, all three above 0.

    With x = 1 / u the equation is constant u^3 - square u - cube = 0, a depressed cubic u^3 - 3 p u - 2 q = 0
    with p, q > 0, whose largest root is 2 sqrt(p) cosh(arcosh(q / p^1.5) / 3), with cos in place of cosh
    where q < p^1.5: nothing cancels. Two steps of Newton's method polish it.

    Examples
    --------
    >>> positive_root(1.0, 2.0, 3.0)
    1.0
    """
    p, q = square / constant / 3.0, cube / constant / 2.0
    ratio = q / p**1.5
    turn = math.cosh(math.acosh(ratio) / 3.0) if ratio >= 1.0 else math.cos(math.acos(ratio) / 3.0)
    root = 1.0 / (2.0 * math.sqrt(p) * turn)
    for _ in range(2):
        slope = constant / root**2 - cube * root - square
        root += slope / (2.0 * constant / root**3 + cube)
    return root


def length_from_cubic(problem: LengthProblem) -> Outcome:
    """Return the positive root of the cubic, cut to the limits."""
    solver = "closed form"
    return problem.refusal(solver) or problem.outcome(positive_root(*problem.cubic), solver)


def length_by_bisection(problem: LengthProblem) -> Outcome:
    """Bracket the change of sign of the slope by doubling, then halve."""
    low = high = problem.start
    while problem.slope(low) >= 0:
        low /= 2.0
    while problem.slope(high) <= 0:
        high *= 2.0
    solver = "bisection"
    return problem.refusal(solver) or problem.outcome(sign_change(problem.slope, low, high), solver)


LENGTHS: type[Any] = LengthProblem  # for all of them, although the class is abstract

METHODS = (
    Method("closed-form", LENGTHS, "analytic", "the positive root of a cubic", length_from_cubic),
    Method("search", LENGTHS, "numeric", "bisection of the slope", length_by_bisection),
    statement_method(LENGTHS, former_names=("convex",)),
)  # fmt: skip
