"""The problem ``joint-collection``: permanent noise, and noise of every report.

**Variance and privacy of one bit, in coordinates where both are monotone.**
With h = redraw/2, q = keep, p = add, x = p/q and y = (1-q)/(1-p), so that p = x (1-y)/(1-xy) and
q = (1-y)/(1-xy), R reports of a bit have

    variance at frequency 0   V = (h (1-h) + (h y + (1-h) x) / (R (1-x)(1-y))) / (1-2h)^2
    privacy of R reports      e^eps = G(x^R) G(y^R)   with   G(z) = ((1-h) + h z) / (h + (1-h) z)

V rises in h, x and y, the privacy loss falls in each of them: so the best h for given x and y is the least
one that keeps the promises, and it solves a quadratic equation.

An attribute with two values has one bit (:mod:`.one_bit`), with a formula or one unknown. Every attribute has
epsilon/d, so that the parts of the value are best by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import WITHIN, Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, choice, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import privacy_epsilon
from mechdesign.core.values import Remark
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint.one_bit import FORMS, TWO, least_bit_flip
from mechdesign.families.joint.response import JointResponse
from mechdesign.primitives.attributes import Attributes

Array = NDArray[np.float64]


def variance(h: Array, x: Array, y: Array, reports: int) -> Array:
    """Return the number of users times the variance of a debiased bit that no user has.

    Examples
    --------
    >>> variance(np.array(0.0), np.array(0.5), np.array(0.5), 1).round(12)  # q = 2/3, p = 1/3
    np.float64(2.0)
    """
    redrawn = (h * y + (1.0 - h) * x) / (reports * (1.0 - x) * (1.0 - y))
    together: Array = (h * (1.0 - h) + redrawn) / (1.0 - 2.0 * h) ** 2
    return together


def least_flip(x: Array, y: Array, ratio: float, reports: int) -> Array:
    """Return the least h for which R reports of a bit have a likelihood ratio of at most this one.

    With a = x^R, b = y^R and g = 1 - 2h the condition G(a) G(b) <= E is quadratic in g: plus + cross g +
    minus g^2 <= E (plus - cross g + minus g^2), where plus = (1+a)(1+b), minus = (1-a)(1-b) and cross is what
    the middle terms have in common. The largest g is the smaller root.

    Examples
    --------
    >>> least_flip(np.array(0.0), np.array(0.0), 9.0, 1).round(12)  # (1-h)/h = 3
    np.float64(0.25)
    """
    a, b = x**reports, y**reports
    plus, minus = (1.0 + a) * (1.0 + b), (1.0 - a) * (1.0 - b)
    cross = (1.0 + a) * (1.0 - b) + (1.0 - a) * (1.0 + b)
    e = ratio - 1.0
    middle = (ratio + 1.0) * cross
    root = np.sqrt(np.maximum(middle**2 - 4.0 * e**2 * minus * plus, 0.0))
    gain = 2.0 * e * plus / (middle + root)
    flip: Array = np.maximum(0.0, 0.5 * (1.0 - np.minimum(gain, 1.0)))
    return flip


def probabilities(x: float, y: float) -> tuple[float, float]:
    """Return q and p.

    Examples
    --------
    >>> probabilities(0.5, 0.5)
    (0.6666666666666666, 0.3333333333333333)
    """
    below = 1.0 - x * y
    return (1.0 - y) / below, x * (1.0 - y) / below


def coordinates(q: float, p: float) -> tuple[float, float]:
    """Return x and y.

    Examples
    --------
    >>> coordinates(0.75, 0.5)
    (0.6666666666666666, 0.5)
    """
    return p / q, (1.0 - q) / (1.0 - p)


LEAST, LARGEST = 1e-6, 300.0
"""Epsilon of one attribute: below, variances are beyond 10^12; above, they are below 10^-120."""

SAFETY = 1e-12
"""More than the roundings of the formula, relative."""

UNITS = 8.0
"""By how many units out of 2^62 rounding moves the variance of a bit, at most."""

MOST_REPORTS = 10_000
"""Reports times attributes: the exact audit raises integers of 62 bits to their power."""

VARIABLES = ("redraw", "keep", "add")
"""The probabilities of one-hot bits that are designed, in the order of the paper's f, q, p."""

BIT_VARIABLES = ("bit_redraw", "bit_keep")
"""Those of one bit for two values, which is wrong with 1 - bit_keep."""

Step = float
"""What a probability is moved to the private side by, relative or out of 1."""


def _attributes(field: str, value: Any) -> tuple[int, ...]:
    return Attributes(value, field=field).sizes


def _labels(problem: JointCollection, field: str, value: Any) -> tuple[Any, ...]:
    return tuple(names.names for names in Attributes(problem.attributes, None, value).labels)


def _budget(problem: JointCollection, field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    each = epsilon / len(problem.attributes)
    if epsilon and not LEAST <= each <= LARGEST:
        raise ParameterError(
            field, f"{epsilon:g} is {each:.3g} for each attribute", f"give {LEAST:g} to {LARGEST:g} each"
        )
    return epsilon


@frozen_problem()
class JointCollection(Problem[JointResponse]):
    r"""The noise of reports on several attributes, one bit a value or one for two values, of least variance.

    ::

        minimize    n sum over all values of Var(debiased frequency, over R reports), at frequency 0
        over        redraw (kept bits become 1 with half of it, 0 with half of it), keep and add (reporting 1
                    for a kept 1, for a kept 0); the same for the one bit of an attribute with two values
        subject to  R reports of a user are epsilon-private, and each single one report_epsilon-private, with
                    the same part of epsilon for each attribute

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Chu, Long, Liu (2022), algorithm 1, whose letters are f, q and p for redraw, keep and add: it
    fixes keep = 0.75 and add = 0.5 and varies redraw.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.JointCollection(attributes=[2, 3], epsilon=2.0))
    >>> {name: round(value, 6) for name, value in solution.variables.items()}
    {'redraw': 0.0, 'keep': 0.5, 'add': 0.268941, 'bit_redraw': 0.537883, 'bit_keep': 1.0}
    >>> round(solution.value, 6), solution.status  # 3 bits, each 4 e/(e - 1)^2; 2 values, each e/(e - 1)^2
    (12.889431, 'optimal')
    """

    name: ClassVar[str] = "joint-collection"
    example: ClassVar[Mapping[str, Any]] = {"attributes": [4, 3], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon", "report_epsilon")
    value_name: ClassVar[str] = "users x summed variance of the values"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = (
        "variance and privacy are quotients of products of its probabilities, and not convex in them"
    )
    summary: ClassVar[str] = (
        "noise that is kept and noise drawn again, for reports of bits on several attributes"
    )
    compared_with: ClassVar[str] = (
        "all redraw, keep, add of this response, private as required, epsilon/d for each attribute"
    )
    renamed: ClassVar[Mapping[str, str]] = {"reports": "reports_per_user"}
    optimal_within: ClassVar[float] = 1e-4
    """What runs is certified optimal when its variance is above the bound by less than this part of it."""

    attributes: Sequence[int] = checked(
        "Number of values of each attribute, at least 2.", _attributes, form="sequence of int"
    )
    epsilon: float = related(
        "For all reports of a user together. With 0 the problem is infeasible.",
        _budget,
        limits={"minimum": 0},
        form="float",
    )
    report_epsilon: float | None = related(
        "Epsilon of every single report; no separate limit by default.",
        _budget,
        limits={"minimum": 0},
        form="float",
        default=None,
    )
    reports_per_user: int = whole("Number of reports per user, R.", low=1, high=MOST_REPORTS, default=1)
    labels: Sequence[Sequence[str] | None] | None = related(
        "For each attribute the names of its values, or None where they are the numbers from 0.",
        _labels,
        form="sequence",
        default=None,
    )
    two_valued: str = choice(
        "How an attribute with two values is reported: by one bit, or by two as in the paper.",
        FORMS,
        default=FORMS[0],
    )

    def __attrs_post_init__(self) -> None:
        count = len(self.attributes)
        if self.reports_per_user * count > MOST_REPORTS:
            raise ParameterError(
                "reports_per_user",
                f"{self.reports_per_user} of {count} attributes",
                f"their product is at most {MOST_REPORTS}",
            )

    # What the promises mean for one attribute

    @property
    def alone(self) -> int:
        """Number of attributes with one bit for two values."""
        return sum(size == TWO for size in self.attributes) if self.two_valued == FORMS[0] else 0

    @property
    def one_hot_bits(self) -> int:
        """Number of one-hot bits of a report."""
        return sum(self.attributes) - TWO * self.alone

    @property
    def bits(self) -> int:
        """The bits of a report."""
        return self.one_hot_bits + self.alone

    @property
    def ratio(self) -> float:
        """The largest likelihood ratio of all reports on one attribute: e^(epsilon/d)."""
        return math.exp(self.epsilon / len(self.attributes))

    @property
    def report_ratio(self) -> float:
        """The same for one report: never above that of all."""
        epsilon = self.epsilon if self.report_epsilon is None else min(self.epsilon, self.report_epsilon)
        return math.exp(epsilon / len(self.attributes))

    def least_flip(self, x: Any, y: Any) -> Any:
        """Return the least redraw/2 that keeps both promises, for arrays of add/keep and (1-keep)/(1-add)."""
        every = least_flip(x, y, self.ratio, self.reports_per_user)
        return np.maximum(every, least_flip(x, y, self.report_ratio, 1))

    def least_bit_flip(self, x: Any) -> Any:
        """Return the same for one bit that says two values, for arrays of (1-keep)/keep."""
        every = least_bit_flip(x, self.ratio, self.reports_per_user)
        return np.maximum(every, least_bit_flip(x, self.report_ratio, 1))

    # Judging candidates: where they say nothing of one bit, all attributes are one-hot

    def objective(self, variables: Variables) -> float:
        """Return users times the sum of the variances of all values, at frequency 0."""
        single = "bit_keep" in variables
        total, one_hot = 0.0, self.one_hot_bits if single else sum(self.attributes)
        if one_hot:
            f, q, p = (float(variables[name]) for name in VARIABLES)
            total += one_hot * self._variance(f, q, p)
        if single:
            f, q = (float(variables[name]) for name in BIT_VARIABLES)
            total += TWO * self.alone * self._variance(f, q, 1.0 - q)
        return total

    def _variance(self, f: float, q: float, p: float) -> float:
        """Return users times the variance of a debiased bit that no user has."""
        if not (0.0 <= f < 1.0 and 0.0 <= p < q <= 1.0):
            return math.inf
        x, y = coordinates(q, p)
        point = [np.asarray(value) for value in (f / 2, x, y)]
        return float(variance(point[0], point[1], point[2], self.reports_per_user))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much redraw/2 is below what the promises need, at most."""
        excess = 0.0
        if "keep" in variables:
            f, q, p = (float(variables[name]) for name in VARIABLES)
            x, y = coordinates(q, p)
            excess = float(self.least_flip(np.float64(x), np.float64(y))) - f / 2
        if "bit_keep" in variables:
            f, q = (float(variables[name]) for name in BIT_VARIABLES)
            excess = max(excess, float(self.least_bit_flip(np.float64((1.0 - q) / q))) - f / 2)
        return {"privacy": max(0.0, excess)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        mechanism = solution.mechanism()
        return (*mechanism.certificates(), self._optimality(solution, self.deployed(mechanism)))

    def deployed(self, mechanism: JointResponse) -> float:
        """Return the value of the very weights that run."""
        weights, single = mechanism.weights, mechanism.bit
        total = 0.0
        if mechanism.one_hot_attributes:
            chances = (2 * weights.flip / TOTAL, weights.keep / TOTAL, weights.add / TOTAL)
            total += (self.one_hot_bits if single else sum(self.attributes)) * self._variance(*chances)
        if single is not None:
            chances = (2 * single.flip / TOTAL, single.keep / TOTAL, single.add / TOTAL)
            total += TWO * self.alone * self._variance(*chances)
        return total

    def _optimality(self, solution: Solution[Any], deployed: float) -> Certificate:
        bound = solution.bound
        excess = deployed / bound - 1.0 if bound else math.inf
        figures = {"gap": solution.gap, "deployed_value": deployed, "relative_excess": excess}
        rounding = UNITS / TOTAL * self.bits / bound if bound else 0.0
        if excess > WITHIN:
            figures["rounding"] = rounding  # of the weights: they are whole numbers out of 2^62
        return self.optimality(solution, excess, 1.0, slack=rounding, figures=figures)

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> JointResponse:
        """Return the mechanism with integer weights: rounded to the private side, and audited exactly."""
        attributes = Attributes(self.attributes, None, self.labels)
        refused = CertificateError("channel", "no weights near the solution keep the guarantees")
        for step in (2.0**-58, 2.0**-52, 2.0**-46, 2.0**-40):  # the formulas are rounded: a little more noise
            try:
                return JointResponse(
                    attributes,
                    self.epsilon,
                    *_one_hot_weights(solution.variables, step),
                    self.reports_per_user,
                    self.report_epsilon,
                    _bit_weights(solution.variables, step),
                )
            except CertificateError as error:
                refused = error
        raise refused


def _one_hot_weights(variables: Variables, step: Step) -> tuple[int | None, int | None, int | None]:
    """Return flip, keep and add out of the total, with a little more noise; None without one-hot bits."""
    if "keep" not in variables:
        return None, None, None
    f, q, p = (float(variables[name]) for name in VARIABLES)
    flip = math.ceil((f / 2 + step) * TOTAL) if f > 0.0 else 0
    keep, add = q * (1.0 - step) if q < 1.0 else q, p * (1.0 + step)
    return flip, math.floor(keep * TOTAL), math.ceil(add * TOTAL)


def _bit_weights(variables: Variables, step: Step) -> dict[str, int] | None:
    """Return flip and keep of one bit for two values, with a little more noise; None without such bits."""
    if "bit_keep" not in variables:
        return None
    f, q = (float(variables[name]) for name in BIT_VARIABLES)
    wrong = 1.0 - q
    if not wrong:  # a formula without differences: its error is relative
        return {"flip": math.ceil(f / 2 * (1.0 + 64.0 * step) * TOTAL), "keep": TOTAL}
    flip = math.ceil((f / 2 + step) * TOTAL) if f > 0.0 else 0
    return {"flip": flip, "keep": TOTAL - math.ceil(wrong * (1.0 + step) * TOTAL)}


def impossible(problem: JointCollection) -> str | None:
    """Return why no reports at all say anything, if so."""
    if problem.epsilon == 0.0 or problem.report_epsilon == 0.0:
        return "with epsilon = 0 reports contain no information; give a larger epsilon"
    return None


def outlook(
    problem: JointCollection, solution: Solution[JointResponse], users: int | None = None
) -> Remark | None:
    """Return where a single attribute has less error, and that reports which repeat a bit can be linked."""
    if solution.status not in ("optimal", "feasible"):
        return None
    if problem.reports_per_user > 1 and solution.variables.get("bit_keep") == 1.0:
        text = (
            "each report of a user repeats the same bit of an attribute with two values, so that reports "
            "can be linked; set report_epsilon below epsilon for bits that are drawn again"
        )
        return Remark(text, {"repeated_attributes": problem.alone})
    if len(problem.attributes) > 1 or problem.alone:
        return None
    text = (
        "one attribute alone: the problem 'weekly' keeps a set of answers instead of one bit each; over many "
        "weeks its error is smaller"
    )
    return Remark(text, {"alternative": "weekly"})
