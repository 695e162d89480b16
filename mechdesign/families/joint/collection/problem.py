"""The problem ``joint-collection``: how much noise to keep, and how much to draw again for every report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from mechdesign.collect.attributes import Attributes
from mechdesign.core.certificate import WITHIN, Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import privacy_epsilon
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.collection.variances import coordinates, least_flip, variance

LEAST, LARGEST = 1e-6, 300.0
"""Epsilon of one attribute: below, variances are beyond 10^12; above, they are below 10^-120."""

UNITS = 8.0
"""By how many units out of 2^62 rounding moves the variance of a bit, at most."""

MOST_REPORTS = 10_000
"""Reports times attributes: the exact audit raises integers of 62 bits to their power."""

VARIABLES = ("redraw", "keep", "add")
"""The probabilities that are designed, in the order of the paper's f, q, p."""


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
    r"""The noise of one-hot reports on several attributes with the least variance.

    ::

        minimize    n sum over all bits of Var(debiased frequency of the bit, over R reports), at frequency 0
        over        redraw (kept bits become 1 with half of it, 0 with half of it), keep and add (reporting 1
                    for a kept 1, for a kept 0)
        subject to  R reports of a user are epsilon-private, and each single one report_epsilon-private

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
    {'redraw': 0.0, 'keep': 0.5, 'add': 0.268941}
    >>> round(solution.value, 6), solution.status  # 5 bits, each 4 e / (e - 1)^2
    (18.413472, 'optimal')
    """

    name: ClassVar[str] = "joint-collection"
    example: ClassVar[Mapping[str, Any]] = {"attributes": [4, 3], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon", "report_epsilon")
    value_name: ClassVar[str] = "users x summed variance of the bits"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = (
        "noise that is kept and noise drawn again, for one-hot reports on several attributes"
    )
    compared_with: ClassVar[str] = "all redraw, keep, add of this response that are private as required"
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
    def bits(self) -> int:
        """The bits of a report."""
        return sum(self.attributes)

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

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return users times the sum of the variances of all bits, at frequency 0."""
        f, q, p = (float(variables[name]) for name in VARIABLES)
        if not (0.0 <= f < 1.0 and 0.0 <= p < q <= 1.0):
            return math.inf
        x, y = coordinates(q, p)
        point = [np.asarray(value) for value in (f / 2, x, y)]
        return self.bits * float(variance(point[0], point[1], point[2], self.reports_per_user))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much redraw/2 is below what the promises need."""
        f, q, p = (float(variables[name]) for name in VARIABLES)
        x, y = coordinates(q, p)
        return {"privacy": max(0.0, float(self.least_flip(np.float64(x), np.float64(y))) - f / 2)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return the exact privacy of what would run, and its optimality."""
        mechanism = solution.mechanism()
        return (*mechanism.certificates(), self._optimality(solution, self.deployed(mechanism)))

    def deployed(self, mechanism: JointResponse) -> float:
        """Return the value of the very weights that run."""
        weights = mechanism.weights
        f, q, p = (2 * weights.flip / TOTAL, weights.keep / TOTAL, weights.add / TOTAL)
        return self.objective({"redraw": f, "keep": q, "add": p})

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
        f, q, p = (float(solution.variables[name]) for name in VARIABLES)
        attributes = Attributes(self.attributes, None, self.labels)
        refused = CertificateError("channel", "no weights near the solution keep the guarantees")
        for step in (2.0**-58, 2.0**-52, 2.0**-46, 2.0**-40):  # the formulas are rounded: a little more noise
            flip = math.ceil((f / 2 + step) * TOTAL) if f > 0.0 else 0
            keep, add = q * (1.0 - step) if q < 1.0 else q, p * (1.0 + step)
            try:
                return JointResponse(
                    attributes,
                    self.epsilon,
                    flip,
                    math.floor(keep * TOTAL),
                    math.ceil(add * TOTAL),
                    self.reports_per_user,
                    self.report_epsilon,
                )
            except CertificateError as error:
                refused = error
        raise refused


def impossible(problem: JointCollection) -> str | None:
    """Return why no reports at all say anything, if so."""
    if problem.epsilon == 0.0 or problem.report_epsilon == 0.0:
        return "with epsilon = 0 reports contain no information; give a larger epsilon"
    return None
