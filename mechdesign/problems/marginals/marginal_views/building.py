"""From views and shares to what runs: the oracles that are planned, with exact integer weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from mechdesign.core.problem import Candidate
from mechdesign.mechanisms.marginals import Attributes, MarginalRelease
from mechdesign.mechanisms.oracles.best import BUILT
from mechdesign.mechanisms.oracles.oracle import Oracle
from mechdesign.problems.marginals.marginal_views.judging import as_views
from mechdesign.problems.marginals.marginal_views.prediction import Plan, planned


class Asked(Protocol):
    """What is needed of the problem."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""

    @property
    def epsilon(self) -> float:
        """The promise."""

    @property
    def users(self) -> int:
        """How many people are planned."""

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the attributes."""

    @property
    def labels(self) -> Sequence[Any] | None:
        """The names of their values."""

    @property
    def oracle(self) -> str:
        """Which frequency oracle is planned."""

    def cells(self, view: Sequence[int]) -> int:
        """Return the number of cells of a table."""


def release(problem: Asked, solution: Candidate) -> MarginalRelease:
    """Return the release of the views; attributes that are in none are left out."""
    views = as_views(solution.variables["views"])
    used = sorted({attribute for view in views for attribute in view})
    place = {attribute: number for number, attribute in enumerate(used)}
    names = None if problem.names is None else [problem.names[attribute] for attribute in used]
    if names is None and len(used) < len(problem.sizes):  # else they would be numbered anew
        names = [str(attribute) for attribute in used]
    labels = None if problem.labels is None else [problem.labels[attribute] for attribute in used]
    attributes = Attributes([problem.sizes[attribute] for attribute in used], names, labels)
    made = {
        cells: runs(planned(cells, problem.epsilon, problem.oracle))
        for cells in sorted({problem.cells(view) for view in views})
    }
    return MarginalRelease(
        attributes,
        [tuple(place[attribute] for attribute in view) for view in views],
        [made[problem.cells(view)] for view in views],
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
