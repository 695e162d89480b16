"""The problem ``mean-interval``: the scale interval [c, c + d] of a one-bit mechanism for means.

The variance of randomized censoring is a function of the offsets a = c/d and b = (1 - c - d)/d.
Both estimators increase in a and in b at every mean, and so does their maximum over a range of means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.audit.channel import audit_channel
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.errors import MethodError, ParameterError, counted
from mechdesign.core.fields import Kept, checked, choice, delta_field, epsilon_field, frozen_problem, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range
from mechdesign.core.values import Vector, changed
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.mean.attributes import AttributeSampling
from mechdesign.families.mean.bits import CensoringInterval

if TYPE_CHECKING:
    import cvxpy

Range = tuple[float, float]


def least_offset(epsilon: float) -> float:
    """Return 1/(e^eps - 1), the least offset that keeps one report private; 0 beyond double precision.

    Examples
    --------
    >>> round(least_offset(1.0), 6)
    0.581977
    """
    return math.exp(-epsilon) / -math.expm1(-epsilon)


def value_at(a: float, b: float, mean: float, attributes: int, scaled: bool) -> float:
    """Return n times the variance of the estimate of one attribute at one mean.

    Examples
    --------
    >>> value_at(0.5, 0.5, 0.5, 1, False), value_at(0.5, 0.5, 0.5, 1, True)
    (1.0, 1.0)
    """
    if not scaled:
        return attributes * (mean + a) * (1.0 - mean + b)
    return (mean + a) * ((attributes - 1) * (1.0 + a + b) + (1.0 - mean + b))


def worst_mean(a: float, b: float, means: Range, attributes: int, scaled: bool) -> float:
    """Return the mean of the range with the largest variance: the vertex of a concave parabola, or an end.

    Examples
    --------
    >>> worst_mean(0.5, 0.5, (0.0, 1.0), 1, False), worst_mean(0.0, 9.0, (0.0, 0.2), 1, False)
    (0.5, 0.2)
    """
    factor = attributes if scaled else 1
    vertex = (factor * (1.0 + a + b)) / 2.0 - a
    return min(max(vertex, means[0]), means[1])


def worst_value(a: float, b: float, means: Range, attributes: int, scaled: bool) -> float:
    """Return n times the variance at the worst mean of the range."""
    return value_at(a, b, worst_mean(a, b, means, attributes, scaled), attributes, scaled)


ESTIMATORS = ("self-normalized", "scaled")
NOTIONS = ("ldp", "one-sided")

LEAST = 2.0**-30
"""Below this epsilon the ends are so close that their rounding costs more than a millionth of the value."""


MAX_ATTRIBUTES = 1_000_000
"""More attributes than the mechanism takes."""


def _mean(field: str, value: Any) -> float | tuple[float, float]:
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != 2:
            raise ParameterError(
                field, f"expected a number or [low, high], got {counted(len(value), 'number')}"
            )
        low, high = (in_range(field, end, 0.0, 1.0) for end in value)
        if low > high:
            raise ParameterError(field, f"the range [{low:g}, {high:g}] is empty", "give the lower end first")
        return (low, high)
    return in_range(field, value, 0.0, 1.0)


@frozen_problem(eq=False)
class MeanInterval(Problem[CensoringInterval | AttributeSampling]):
    """The scale interval [c, c + d] of randomized censoring: report 1 with probability c + d x, x in [0, 1].

    ::

        minimize    n Var(estimate), at the worst mean of the range
        subject to  c + d <= e^eps c + delta                     (report 1)
                    1 - c <= e^eps (1 - c - d) + delta           (report 0; not asked by "one-sided")
                    0 <= c < c + d <= 1

    With a = c/d and b = (1 - c - d)/d the value is m (mu + a)(1 - mu + b) for the self-normalized and
    (mu + a)(m (1 + a + b) - mu - a) for the scaled estimator, m the number of attributes.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Liu, Zhou (2023), eqs. (10), (11), algorithms 2-8.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.MeanInterval(epsilon=0.5, delta=0.1, mean=0.01))
    >>> [round(end, 6) for end in solution.variables["interval"]], round(solution.value, 6)
    ([0.0, 0.1], 0.0999)
    """

    name: ClassVar[str] = "mean-interval"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    value_name: ClassVar[str] = "users x variance"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "best one-bit mechanism for means: the interval of randomized censoring"
    compared_with: ClassVar[str] = "all intervals of one-bit randomized censoring under these constraints"

    epsilon: float = epsilon_field(">= 0 and finite.")
    delta: float = delta_field("In [0, 1).", default=0.0)
    mean: Kept[float | tuple[float, float], float | Vector] = checked(
        "The mean of the attribute, or a range of means; the value is for the worst mean of the range.",
        _mean,
        form="float or [low, high]",
        default=(0.0, 1.0),
    )
    attributes: int = whole(
        "Number m of attributes. A user reports one of them, drawn at random.",
        low=1,
        high=MAX_ATTRIBUTES,
        default=1,
    )
    estimator: Literal["self-normalized", "scaled"] = choice(
        "Divide by the number of users who reported the attribute, or (as published) by n/m.",
        ESTIMATORS,
        default="self-normalized",
    )
    notion: Literal["ldp", "one-sided"] = choice(
        "Both reports are kept private, or (as published, eq. (11)) report 1 only, which is not privacy.",
        NOTIONS,
        default="ldp",
    )

    def __attrs_post_init__(self) -> None:
        if self.delta == 0.0 and 0.0 < self.epsilon < LEAST:
            raise ParameterError(
                "epsilon",
                f"{self.epsilon:g} is so small that the interval has no width in double precision",
                f"give at least {LEAST:.3g}",
            )

    @property
    def means(self) -> tuple[float, float]:
        """Least and largest mean of the range."""
        return self.mean if isinstance(self.mean, tuple) else (self.mean, self.mean)

    @property
    def scaled(self) -> bool:
        """Whether the published, scaled estimator is used."""
        return self.estimator == "scaled"

    def at_offsets(self, a: float, b: float) -> float:
        """Return the value for a = c/d and b = (1 - c - d)/d."""
        return worst_value(a, b, self.means, self.attributes, self.scaled)

    # As a program

    def statement(self) -> cvxpy.Problem:
        """Return a geometric program in a = c/d, b = (1 - c - d)/d: p q = min over t of (t p + q/t)^2 / 4.

        With t, the largest p q of a range of means is reached at both of its ends, for p and q are linear in
        the mean.
        """
        import cvxpy as cp

        a, b, tilt, root = (cp.Variable(pos=True, name=name) for name in ("a", "b", "tilt", "root"))
        rows = [(side >= least_offset(self.epsilon)).set_label("privacy") for side in (a, b)]
        for mean in sorted(set(self.means)):
            p, q = (a + mean if mean > 0 else a), (b + (1 - mean) if mean < 1 else b)
            if self.scaled and self.attributes > 1:
                q = (self.attributes - 1) * (1 + a + b) + q
            rows.append((tilt * p + q / tilt <= 2 * root).set_label(f"variance at mean {mean:g}"))
        users = 1 if self.scaled else self.attributes
        return cp.Problem(cp.Minimize(users * root**2), rows)

    def why_no_statement(self) -> str | None:
        if self.delta > 0.0:
            return "with delta > 0 the constraints bound posynomials from below, as no geometric program can"
        if self.notion == "one-sided":
            return "the optimum b = 0 lies outside the positive numbers of a geometric program"
        if self.epsilon == 0.0:
            return "at epsilon = 0 there is no finite offset"
        if least_offset(self.epsilon) < 1e-12:
            return "the offsets are below the accuracy of the solver; the closed form is exact"
        return None

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return n times the variance at the worst mean, for ``variables["interval"]`` = [c, c + d]."""
        start, end = (float(number) for number in variables["interval"])
        if end <= start:
            return math.inf
        width = end - start
        return self.at_offsets(start / width, (1.0 - end) / width)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of the order of the ends and of the privacy of each report."""
        start, end = (float(number) for number in variables["interval"])
        power = math.exp(min(self.epsilon, 700.0))
        violations = {
            "order": max(0.0, -start, end - 1.0, start - end),
            "report_1": max(0.0, end - power * start - self.delta),
        }
        if self.notion == "ldp":
            violations["report_0"] = max(0.0, (1.0 - start) - power * (1.0 - end) - self.delta)
        return violations

    def audit(self, variables: Variables) -> PrivacyAudit:
        """Audit the one-bit channel of the inputs 0 and 1 exactly, as the numbers are, nothing repaired.

        Every other input has a probability between those two, so no pair of inputs is worse.
        """
        start, end = (math.floor(Fraction(float(number)) * TOTAL) for number in variables["interval"])
        weights = np.array([[TOTAL - start, start], [TOTAL - end, end]], dtype=np.int64)
        return audit_channel(weights, self.epsilon, self.delta)

    def is_private(self, start: float, end: float) -> bool:
        """Whether the interval keeps the constraints of the problem's notion exactly."""
        power, delta = exp_lower(self.epsilon), Fraction(self.delta)
        low, high = Fraction(start), Fraction(end)
        report_1 = high <= power * low + delta
        return report_1 and (self.notion == "one-sided" or 1 - low <= power * (1 - high) + delta)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        interval = solution.variables["interval"]
        privacy = self.audit(solution.variables).certificate()
        allowed = self.is_private(float(interval[0]), float(interval[1]))
        figures = {"gap": solution.gap}
        optimality = self.optimality(solution, figures=figures, unproven=figures)
        if not allowed:
            note = "the interval breaks the constraints, so its value does not bound the optimum"
            optimality = changed(optimality, holds=False, note=note)
        if self.notion == "ldp":
            return privacy, optimality
        one_sided = Certificate(
            "one-sided", allowed, True, {"epsilon": self.epsilon}, note="report 1 only: this is not privacy"
        )
        return privacy, one_sided, optimality

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> CensoringInterval | AttributeSampling:
        """Return the one-bit mechanism of the interval, or refuse it where it is not private.

        For more than one attribute it is the mechanism for each attribute inside attribute sampling.
        """
        start, end = (float(number) for number in solution.variables["interval"])
        single = CensoringInterval.from_interval(
            start, end, self.epsilon, self.delta, low=0.0, high=1.0, repair=False
        )
        if self.attributes == 1:
            return single
        if self.scaled:
            raise MethodError(
                "mean-interval",
                "the published estimator is kept for comparison only",
                "set estimator = 'self-normalized' to build a mechanism",
            )
        return AttributeSampling(single, self.attributes)
