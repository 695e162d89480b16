"""The problem ``marginal-views``: which views users report, and how many users report each.

From views and shares to what runs (:func:`release`): the oracles that are planned, with exact integer
weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.fields import Kept, checked, choice, frozen_problem, real, related, toml_text, whole
from mechdesign.core.problem import Sense, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, integer, one_of, privacy_epsilon
from mechdesign.core.values import abridged
from mechdesign.exact.numbers import text_of
from mechdesign.families.marginals import view_evaluation
from mechdesign.families.marginals.covering_design import short_number
from mechdesign.families.marginals.oracles.best import BUILT
from mechdesign.families.marginals.release import MarginalRelease
from mechdesign.families.marginals.view_errors import (
    ORACLES,
    Plan,
    View,
    checked_names,
    checked_sets,
    checked_sizes,
    checked_workload,
    noise_error,
    planned,
    sampling_error,
)
from mechdesign.families.marginals.view_evaluation import RequestedViews, as_views
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.oracle import Oracle
from mechdesign.show.figure import Bars, Figure, Panel
from mechdesign.show.panels import axis_names

if TYPE_CHECKING:
    import cvxpy


def release(problem: MarginalViews, solution: Solution[Any]) -> MarginalRelease:
    """Return the release of the views; attributes that are in none are left out."""
    views = as_views(solution.variables["views"])
    used = sorted({attribute for view in views for attribute in view})
    place = {attribute: number for number, attribute in enumerate(used)}
    names = None if problem.names is None else [problem.names[attribute] for attribute in used]
    if names is None and len(used) < len(problem.sizes):  # else they would get new numbers
        names = [str(attribute) for attribute in used]
    labels = None if problem.labels is None else [problem.labels[attribute] for attribute in used]
    attributes = Attributes([problem.sizes[attribute] for attribute in used], names, labels)
    oracles = {
        cells: runs(planned(cells, problem.epsilon, problem.oracle))
        for cells in sorted({problem.cells(view) for view in views})
    }
    return MarginalRelease(
        attributes,
        [tuple(place[attribute] for attribute in view) for view in views],
        [oracles[problem.cells(view)] for view in views],
        [Fraction(float(share)) for share in solution.variables["shares"]],
        problem.users,
    )


def runs(plan: Plan) -> Oracle:
    """Return the oracle of a plan.

    Examples
    --------
    >>> runs(planned(16, 1.0, "best"))
    SubsetSelection(16 categories, size=4, epsilon=1)
    """
    return BUILT[plan.kind](plan.cells, plan.epsilon, **plan.parameters)


LEAST_EPSILON, LARGEST_EPSILON = 2.0**-30, 700.0
"""The range in which frequency oracles run."""

MOST_CELLS = 1 << 16
"""Cells of a view: what every frequency oracle can do."""

LABELS = '[["no", "yes"], ["young", "old"]]'
"""What labels look like."""

CRITERIA = ("rule", "mean", "worst")


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            field, f"{epsilon:g} exceeds the largest epsilon of frequency oracles", "give 0.000001 to 700"
        )
    return epsilon


def _order(problem: MarginalViews, field: str, value: Any) -> int:
    order, count = integer(field, value, 1), len(problem.sizes)
    if order > count:
        raise ParameterError(field, f"{order} is above the number of attributes, {count}", "lower it")
    return order


def _workload(problem: MarginalViews, field: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    if problem.order is not None:
        raise ParameterError("order", "both of order and workload is given", "give one of them")
    weights = checked_workload(value, len(problem.sizes), problem.names)
    return tuple({"attributes": list(view), "weight": weight} for view, weight in weights.items())


def _labels(field: str, value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(field, f"expected lists of names, one for each attribute, got {text_of(value)}")
    for number, names in enumerate(value):
        proper = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        if not proper or len(set(names)) != len(names):
            raise ParameterError(field, f"entry {number} has to be a list of different names")
    return tuple(tuple(names) for names in value)


def _attributes(problem: MarginalViews, field: str, value: Any) -> tuple[int, ...]:
    """Return the sizes: as given, which have to be those of the labels, or theirs."""
    labels = problem.labels
    if value is None and labels is None:
        raise ParameterError(field, "is missing", f"write attributes = [2, 3], or labels = {LABELS}")
    sizes = checked_sizes([len(names) for names in labels] if value is None and labels else value)
    if value is None or labels is None:
        return sizes
    if len(labels) != len(sizes):
        raise ParameterError("labels", f"expected {counted(len(sizes), 'list')} of names, got {len(labels)}")
    for number, (names, size) in enumerate(zip(labels, sizes, strict=True)):
        if len(names) != size:
            raise ParameterError("labels", f"entry {number} has to be {size} different names")
    return sizes


def _views(problem: MarginalViews, field: str, value: Any) -> tuple[View, ...]:
    return checked_sets(field, value, len(problem.sizes), problem.names)


def _criterion(problem: MarginalViews, field: str, value: Any) -> str:
    if value is None:
        alike = len(set(problem.sizes)) == 1
        return "rule" if problem.by_rule and alike else "mean"
    return one_of(field, value, CRITERIA)


@frozen_problem()
class MarginalViews(RequestedViews):
    """Views of the attributes, and the split of the users among them, such that marginals have small errors.

    Every user reports the values of the attributes of one view, through a frequency oracle with the whole
    epsilon. Marginals are summed up from all views that contain them.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy; where tables would need too much memory, how much.

    Notes
    -----
    Source: Zhang (2019), section 3.3.3, algorithm 3.1, formulas (3.6) and (3.7).

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.MarginalViews(attributes=8, order=3, users=2**16, epsilon=2.0))
    >>> print(solution.variables["size"], solution.variables["count"], round(solution.value, 5))
    4 14 0.00076
    """

    name: ClassVar[str] = "marginal-views"
    example: ClassVar[Mapping[str, Any]] = {
        "labels": [["no", "yes"], ["young", "old"]],
        "users": 10000,
        "epsilon": 1.0,
        "order": 2,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "squared error of a marginal, summed over its cells"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "views of the attributes that users report for marginal tables, and their shares"

    labels: Sequence[Sequence[str]] | None = checked(
        "The names of the values of each attribute; their numbers are those of the names.",
        lambda field, value: None if value is None else _labels(field, value),
        form="sequence of sequences of str",
        default=None,
    )
    attributes: Kept[Sequence[int] | int, Sequence[int] | int | None] = related(
        "The number of values of each attribute, at least 2; a single number d means d attributes of "
        "two values. Not needed with ``labels``.",
        _attributes,
        form="sequence of int, or int",
        default=None,
        fills=True,
    )
    users: int = whole("Number of users who report, at least 1.", low=1, high=MOST_USERS)
    epsilon: float = checked(
        "The guarantee to each, from 0 to 700. With 0 the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST_EPSILON},
        form="float",
    )
    order: int | None = related(
        "Request every marginal of this many attributes. Either this or ``workload``.",
        _order,
        limits={"minimum": 1},
        form="int",
        default=None,
    )
    names: Sequence[str] | None = related(
        "One for each attribute.",
        lambda problem, _, names: checked_names(names, len(problem.sizes)),
        form="sequence of str",
        default=None,
    )
    workload: Sequence[Any] | None = related(
        "The requested marginals: lists of attributes, by name or number from 0, or ``{attributes = "
        '["age", "income"], weight = 2.0}``; the weight is 1 where none is given.',
        _workload,
        form="sequence",
        default=None,
    )
    threshold: float = real(
        "For ``rule``: theta, the largest sampling error and noise error that are accepted, 0.001.",
        low=0.0,
        high=1.0,
        low_open=True,
        default=0.001,
    )
    views: Sequence[Sequence[Any]] | None = related(
        "Only these views may be taken; by default all with at most 65536 cells. Not for ``rule``.",
        _views,
        form="sequence of sequences",
        default=None,
    )
    criterion: Literal["rule", "mean", "worst"] | None = related(
        "What ``value`` is. ``rule``: the thesis's max(m / n, order x NE), over views of equal size "
        "and equal shares that keep both at most at the threshold, and cover every marginal where "
        "that is possible. ``mean``: the weighted mean of the expected squared errors of the wanted "
        "marginals, each summed over its cells. ``worst``: the largest such error times its weight "
        "over the mean weight. By default ``rule`` where it applies: ``order``, attributes of equal "
        "size, and no ``views``; else ``mean``.",
        _criterion,
        fills=True,
        form='{"rule", "mean", "worst"}',
        default=None,
    )
    oracle: Literal["best", "thesis"] = choice(
        "The frequency oracle of a view: subset selection of the best size, which no oracle beats, or "
        "the thesis's choice between randomized response and optimised unary encoding. ``rule`` "
        "decides by formula (3.6), which supposes the latter, in either case.",
        ORACLES,
        default="best",
    )

    def __attrs_post_init__(self) -> None:
        if self.order is None and self.workload is None:
            pair = [0, 1] if self.names is None else self.names[:2]
            remedy = f"write order = 2 for all pairs, or workload = {toml_text([pair])} for chosen tables"
            raise ParameterError("order", "neither of order and workload is given", remedy)
        self._check_criterion()
        self._check_sizes()

    def __repr__(self) -> str:
        request = f"order={self.order}" if self.workload is None else f"workload of {len(self.workload)}"
        views = "" if self.views is None else f", {counted(len(self.views), 'view')}"
        return (
            f"{type(self).__name__}(attributes={abridged(self.attributes)}, {request}, users={self.users}, "
            f"epsilon={self.epsilon:g}, criterion='{self.criterion}'{views})"
        )

    def _check_criterion(self) -> None:
        if self.criterion != "rule":
            return
        if not self.by_rule:
            raise ParameterError(
                "criterion", "'rule' is for all marginals of an order and views of one size", "take 'mean'"
            )
        if self.most_views < 1:
            needed = 1.0 / self.threshold  # infinite for the smallest of all numbers
            have = f"have {math.ceil(needed)} users, " if needed < 1e15 else ""
            raise ParameterError(
                "users",
                f"{self.users} users are too few for a single view at threshold {self.threshold:g}",
                f"{have}raise threshold, or take criterion 'mean'",
            )

    def _check_sizes(self) -> None:
        """Refuse marginals and views whose tables are too large."""
        if self.criterion == "rule":
            return
        targets = self.targets
        for one in targets:
            self._check_cells("workload" if self.order is None else "order", one)
        for view in self.views or ():
            self._check_cells("views", view)
        if self.views is not None and len(self.views) > self.users:
            raise ParameterError(
                "users",
                f"{self.users} users are fewer than the {counted(len(self.views), 'view')}",
                "give fewer views",
            )

    def _check_cells(self, field: str, attributes: Sequence[int]) -> None:
        cells = self.cells(attributes)
        if cells > MOST_CELLS:
            mebibytes = short_number(max(1, cells * 8 >> 20))
            names = ", ".join(self.shown_view(attributes))
            raise ParameterError(
                field,
                f"a table of {names} has {short_number(cells)} cells, which would take {mebibytes} MiB of "
                "memory",
                f"{MOST_CELLS} cells are the limit: omit an attribute, or merge values",
            )

    # What is asked

    @property
    def by_rule(self) -> bool:
        """Whether the thesis's rule can decide: all marginals of an order are requested, and any views."""
        return self.order is not None and self.views is None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        sizes: Any = self.attributes
        checked: tuple[int, ...] = sizes
        return checked

    @property
    def planned_users(self) -> int:
        return self.users

    wanted = FormerAttribute("targets")

    def errors_by_rule(self, size: int, count: int) -> tuple[float, float]:
        """Return the sampling error m / n and order x NE, for ``count`` views of one size."""
        assert self.order is not None
        noise = noise_error(self.sizes, self.users, self.epsilon, size)
        return sampling_error(self.users, count), self.order * noise

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        terms = view_evaluation.terms(self, self._candidates()[0])
        shares = cp.Variable(terms.information.shape[1], name="shares", nonneg=True)
        even = terms.information @ np.full(shares.size, 1.0 / shares.size)  # solvers like numbers next to 1
        errors = cp.multiply(terms.weights / even, cp.inv_pos((terms.information / even[:, None]) @ shares))
        value = cp.sum(errors) if self.criterion == "mean" else len(terms.weights) * cp.max(errors)
        return cp.Problem(cp.Minimize(value / self.users), [(cp.sum(shares) == 1).set_label("users")])

    def _candidates(self) -> tuple[list[View], str | None]:
        """Return the views of the statement, or why they cannot be listed, from the methods."""
        function = companion(type(self), "listed_views")
        assert function is not None
        listed: tuple[list[View], str | None] = function(self)
        return listed

    def why_no_statement(self) -> str | None:
        if self.criterion == "rule":
            return "the thesis's rule chooses a size and a covering by formulas, without a program"
        return self._candidates()[1]

    def statement_size(self) -> int:
        return int(view_evaluation.terms(self, self._candidates()[0]).information.nnz)

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the value of ``criterion`` for the views and shares, or for another way to collect."""
        other = view_evaluation.evaluator_of(self, variables)
        if other is not None:
            return other.value()
        if self.criterion == "rule":
            return max(self.errors_by_rule(int(variables["size"]), int(variables["count"])))
        terms = view_evaluation.terms(self, variables["views"])
        shares = np.asarray(variables["shares"], dtype=np.float64)
        return (terms.mean(shares) if self.criterion == "mean" else terms.worst(shares)) / self.users

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the distances of the views from proper ones, and of the sum of the shares from 1."""
        return view_evaluation.residuals(self, variables)

    def among(self) -> str:
        if self.criterion == "rule":
            return "views of equal size and equal shares, by the rule's formulas"
        which = "views" if self.views is None else "views given"
        return f"all splits of the users among the {which}, with the {self.oracle} oracle"

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        return view_evaluation.certificates(self, solution)

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> MarginalRelease:
        """Return the release that draws a view for each user, with the planned oracle of each view.

        Attributes that no view has are not asked for, and the release does not know them. A method that
        collects otherwise gives its own mechanism, which is one for marginals as well.
        """
        other = view_evaluation.evaluator_of(self, solution.variables)
        if other is not None:
            mechanism: MarginalRelease = other.mechanism()
            return mechanism
        return release(self, solution)


MOST_VIEWS = 40


def figures(problem: MarginalViews, solution: Solution[Any]) -> list[Figure]:
    """Return the shares of users by view; nothing of many views, or of another way to collect."""
    if view_evaluation.is_otherwise(solution.variables):
        return []
    views, shares = solution.variables["views"], np.asarray(solution.variables["shares"], dtype=np.float64)
    if len(views) > MOST_VIEWS:
        return []
    names = axis_names([" x ".join(problem.shown_view(view)) for view in views])
    marks = [Bars(x=np.arange(len(shares)), y=shares, label="share of the users")]
    panel = Panel("view", "share of the users who report it", marks, x_names=names)
    return [Figure("Views, and the number of users of each", [panel])]
