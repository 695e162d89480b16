"""How candidates for ``marginal-views`` are judged: proper views, shares, exact cover, optimality.

Coverings (CoverDesign of algorithm 3.1 in bounded time; balanced views where none fits) say what other sizes
of views would take. Collections by sets of answers are judged by their mean error as well (:class:`BySets`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.core.certificate import Certificate, optimality
from mechdesign.core.errors import UnknownNameError
from mechdesign.core.problem import Problem, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.core.values import changed
from mechdesign.families.marginals.covering_constructions import construct, why_not_constructed
from mechdesign.families.marginals.covering_design import CoveringDesign, audit_covering, lower_bound
from mechdesign.families.marginals.covering_design_methods import run_portfolio as portfolio
from mechdesign.families.marginals.release import MarginalRelease
from mechdesign.families.marginals.sets import CellSet, MatchSet, ProductSet, SetResponse, SetShape
from mechdesign.families.marginals.sets.products import match_share, product_shares
from mechdesign.families.marginals.view_errors import View, all_marginals, contained, largest_size, terms_of
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.oracle import share_in
from mechdesign.solvers.descent import ErrorTerms
from mechdesign.solvers.solve import methods_of, reason_against, solve

Wholes = NDArray[np.int64]

EFFORT, NODES = 2_000_000, 20_000
"""What is spent on one covering: a few tenths of a second."""


@cache
def covering(points: int, order: int, block: int, most: int) -> Wholes | None:
    """Return views of ``block`` attributes that cover every ``order``, unless more than ``most``.

    Only where a construction misses the proven bound is there a search, in a bounded number of steps, so
    that the answer is the same every time.

    Examples
    --------
    >>> len(covering(8, 3, 4, 65)), covering(16, 3, 4, 65)
    (14, None)
    """
    if lower_bound(points, order, block)[0] > most:
        return None
    problem = CoveringDesign(points=points, order=order, block=block)
    if why_not_constructed(problem) is not None:
        return None
    blocks: Wholes = construct(problem)[0]
    if len(blocks) > lower_bound(points, order, block)[0]:
        blocks = portfolio(problem, EFFORT, NODES).variables["blocks"]
    return blocks if len(blocks) <= most else None


def balanced(points: int, block: int, count: int) -> Wholes:
    """Return ``count`` different views in which all attributes are equally frequent, as far as possible.

    Views that are each other's cyclic shifts are taken together, so that every attribute is in equally many
    of them; only the last such group may be taken in part.

    Examples
    --------
    >>> balanced(5, 2, 5).tolist()
    [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]
    """
    blocks: dict[tuple[int, ...], None] = {}
    for rest in combinations(range(1, points), block - 1):
        base = (0, *rest)
        if base in blocks:
            continue
        for shift in range(points):
            blocks[tuple(sorted((point + shift) % points for point in base))] = None
            if len(blocks) == count:
                return np.array(list(blocks), dtype=np.int64)
    assert len(blocks) == math.comb(points, block)
    return np.array(list(blocks), dtype=np.int64)


Array = NDArray[np.float64]


class RequestedViews(Problem[MarginalRelease]):
    """What is asked of views: the marginals, the users, and what is allowed."""

    labels: Sequence[Sequence[str]] | None
    users: int
    epsilon: float
    order: int | None
    names: Sequence[str] | None
    workload: Sequence[Any] | None
    threshold: float
    views: Sequence[Sequence[Any]] | None
    criterion: Literal["rule", "mean", "worst"] | None
    oracle: Literal["best", "thesis"]

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""

    @property
    def most_views(self) -> int:
        """m_u of algorithm 3.1: floor(threshold x users)."""
        return math.floor(self.threshold * self.users)

    @property
    def largest_size(self) -> int:
        """l_u of algorithm 3.1."""
        assert self.order is not None
        return largest_size(self.sizes, self.users, self.epsilon, self.order, self.threshold)

    @cached_property
    def targets(self) -> Mapping[View, float]:
        """The requested marginals with their weights."""
        if self.order is not None:
            return all_marginals(len(self.sizes), self.order)
        entries: Any = self.workload
        return {tuple(entry["attributes"]): entry["weight"] for entry in entries}

    def cells(self, view: Sequence[int]) -> int:
        """Return the number of cells of a table of these attributes."""
        return math.prod(self.sizes[attribute] for attribute in view)

    def shown_view(self, view: Sequence[int]) -> list[str]:
        """Return the attributes of a view by name, or by number."""
        return [self.names[i] if self.names else str(i) for i in view]


def mean_error(problem: RequestedViews, sets: Sequence[Mapping[str, Any]], shares: Array) -> float:
    """Return users times the weighted mean of the tables' squared errors, at even data.

    A table of K cells has the sum over its parts S of dim_S / (K eta_S); eta_S is averaged over the sets.
    """
    shares_of = [_of_parts(problem, column) for column in sets]
    total, weights = 0.0, sum(problem.targets.values())
    for table, weight in problem.targets.items():
        for count in range(1, len(table) + 1):
            for part in combinations(table, count):
                dimension = math.prod(problem.sizes[place] - 1 for place in part)
                eta = sum(float(share) * each(part) for share, each in zip(shares, shares_of, strict=True))
                cells = problem.cells(table)
                total += weight / weights * (dimension / cells / eta if eta > 0.0 else math.inf)
    return total


def _of_parts(problem: RequestedViews, column: Mapping[str, Any]) -> Callable[[tuple[int, ...]], float]:
    """Return the function from a part to its eta."""
    if "cells" in column:
        cells, width = math.prod(problem.sizes), column["cells"]
        same = share_in(problem.epsilon, width / cells) ** 2 * (cells - width) / (width * (cells - 1))
        return lambda _: same
    widths = column["widths"]
    if "matches" in column:
        size, count = problem.sizes[0], len(widths)
        alone_share = match_share(size, count, column["matches"], problem.epsilon)
        return lambda part: alone_share if len(part) == 1 else 0.0
    share = math.prod(d / k for d, k in zip(widths, problem.sizes, strict=True))
    square = share_in(problem.epsilon, share) ** 2
    alone = [eta / square for eta in product_shares(problem.sizes, widths, problem.epsilon)]
    return lambda part: square * math.prod(alone[place] for place in part)


@dataclass(frozen=True)
class BySets:
    """A way to collect by sets of answers, for one problem."""

    problem: RequestedViews
    sets: Sequence[Mapping[str, Any]]
    shares: Array

    def value(self) -> float:
        """Return the mean error."""
        return mean_error(self.problem, self.sets, self.shares) / self.problem.users

    def residuals(self) -> dict[str, float]:
        """Return the number of marginals without an answer, and the shares' distance from a split."""
        informed = [_of_parts(self.problem, column) for column in self.sets]
        left = [table for table in self.problem.targets if not any(each(table) > 0.0 for each in informed)]
        return {"unanswered": float(len(left)), "shares": abs(math.fsum(self.shares) - 1.0)}

    def mechanism(self) -> Mechanism:
        """Return one set response, or the survey whose users get one of several."""
        if len(self.sets) == 1 and all(
            d < k for d, k in zip(self.sets[0].get("widths", ()), self.problem.sizes, strict=False)
        ):
            return self._one()
        return self._several()

    def _one(self) -> SetResponse:
        (column,) = self.sets
        shape: SetShape
        if "cells" in column:
            shape = CellSet(column["cells"])
        elif "matches" in column:
            shape = MatchSet(column["widths"], column["matches"])
        else:
            shape = ProductSet(column["widths"])
        tables = None if "cells" in column else [table for table in self.problem.targets if len(table) > 1]
        attributes = Attributes(self.problem.sizes, self.problem.names, self.problem.labels)
        return SetResponse.of(attributes, self.problem.epsilon, shape, tables=tables)

    def _several(self) -> Mechanism:
        problem = self.problem
        attributes = sorted(
            {i for one in self.sets for i, d in enumerate(one["widths"]) if d < problem.sizes[i]}
        )
        questions = {_name(problem, place): _labels(problem, place) for place in attributes}
        designs = []
        for column in self.sets:
            places = [n for n, i in enumerate(attributes) if column["widths"][i] < problem.sizes[i]]
            widths = [column["widths"][attributes[n]] for n in places]
            sizes = [problem.sizes[attributes[n]] for n in places]
            response = SetResponse.of(sizes, problem.epsilon, ProductSet(widths), tables=[])
            designs.append((places, response))
        survey: Any = mechanism_type("survey")
        mechanism: Mechanism = survey.of_sets(
            questions, problem.epsilon, designs, self.shares.tolist(), problem.users
        )
        return mechanism


def _name(problem: RequestedViews, place: int) -> str:
    return str(place) if problem.names is None else str(problem.names[place])


def _labels(problem: RequestedViews, place: int) -> tuple[str, ...]:
    if problem.labels is not None:
        return tuple(problem.labels[place])
    return tuple(str(value) for value in range(problem.sizes[place]))


SHOWN = 3
"""Marginals that a witness names."""

MOST_COMPARED = 128
"""Attributes up to which an optimum among views is compared with other ways to collect."""

NEARLY = 1e-6
"""By a smaller part two errors are the same."""


class Otherwise(Protocol):
    """A way to collect that is not by views: what it is worth, whether it answers all, and what runs."""

    def value(self) -> float:
        """Return the error by the problem's criterion."""

    def residuals(self) -> dict[str, float]:
        """Return the numbers of requested marginals without an answer and of superfluous groups."""

    def mechanism(self) -> Any:
        """Return the mechanism to run."""


def is_otherwise(variables: Variables) -> bool:
    """Whether a candidate collects otherwise than by views."""
    return "rival" in variables or "sets" in variables


def evaluator_of(problem: Any, variables: Variables) -> Otherwise | None:
    """Return the evaluator of a candidate of another kind, by ``otherwise`` next to the problem."""
    if not is_otherwise(variables):
        return None
    if "sets" in variables:
        return BySets(problem, variables["sets"], np.asarray(variables["shares"], dtype=np.float64))
    owner: type[Problem] = type(problem)
    judge = companion(owner, "otherwise")
    if judge is None:
        raise UnknownNameError("rival", f"no '{variables['rival']}'", "give views and shares")
    evaluator: Otherwise = judge(problem, variables)
    return evaluator


def as_views(rows: Any) -> list[View]:
    """Return the views of a solution as tuples."""
    return [tuple(int(point) for point in row) for row in rows]


def terms(problem: RequestedViews, views: Any) -> ErrorTerms:
    """Return the errors of the requested marginals as functions of the shares of these views."""
    return terms_of(problem.sizes, dict(problem.targets), as_views(views), problem.epsilon, problem.oracle)


def residuals(problem: RequestedViews, variables: Variables) -> dict[str, float]:
    """Return the numbers of improper and superfluous views, and the distance of the shares from a split."""
    other = evaluator_of(problem, variables)
    if other is not None:
        return other.residuals()
    views = as_views(variables["views"])
    shares = np.asarray(variables["shares"], dtype=np.float64)
    proper = [
        view == tuple(sorted(set(view))) and bool(view) and view[0] >= 0 and view[-1] < len(problem.sizes)
        for view in views
    ]
    allowed = None if problem.views is None else set(problem.views)
    strange = [
        not fine or (allowed is not None and view not in allowed)
        for view, fine in zip(views, proper, strict=True)
    ]
    most = problem.most_views if problem.criterion == "rule" else problem.users
    figures = {
        "improper_views": float(sum(strange) + len(views) - len(set(views))),
        "views_too_many": float(max(0, len(views) - most)),
        "shares": abs(math.fsum(shares) - 1.0) + float(np.maximum(-shares, 0.0).sum()),
        "miscounted": float(len(views) != variables["count"] or len(shares) != len(views)),
    }
    if problem.criterion == "rule":
        figures["miscounted"] += float(any(len(view) != variables["size"] for view in views))
        figures["size_over_largest"] = float(max(0, variables["size"] - problem.largest_size))
        if not covering_fits(problem):
            expected = without_covering(problem)
            figures["not_determined"] = float((variables["size"], variables["count"]) != expected)
            return figures
    figures["uncovered"] = float(uncovered(problem, views)[0])
    return figures


def without_covering(problem: RequestedViews) -> tuple[int, int]:
    """Return size and number of the views where no covering fits: l_u, as many as the threshold allows."""
    size = problem.largest_size
    return size, min(problem.most_views, math.comb(len(problem.sizes), size))


def uncovered(problem: RequestedViews, views: Sequence[View]) -> tuple[int, list[View]]:
    """Return the number of requested marginals that lie in no view, and the first few of them; exact."""
    if problem.order is not None and len({len(view) for view in views}) == 1:
        points, size = len(problem.sizes), len(views[0])
        if size < problem.order:
            return math.comb(points, problem.order), [tuple(range(problem.order))]
        audit = audit_covering(views, points, problem.order, size)
        return audit.uncovered, list(audit.first_uncovered)
    marginals = list(problem.targets)
    rows, _ = contained(marginals, views, len(problem.sizes))
    missing = np.setdiff1d(np.arange(len(marginals)), rows)
    return len(missing), [marginals[number] for number in missing[:SHOWN].tolist()]


def marginals_of(problem: RequestedViews) -> int:
    """Return the number of requested marginals."""
    return math.comb(len(problem.sizes), problem.order) if problem.order is not None else len(problem.targets)


def covering_fits(problem: RequestedViews) -> bool:
    """Whether the rule's threshold leaves room for views that cover everything."""
    size = problem.largest_size
    if problem.order is None or size < problem.order:
        return False
    return covering(len(problem.sizes), problem.order, size, problem.most_views) is not None


def certificates(problem: RequestedViews, solution: Solution[Any]) -> tuple[Certificate, ...]:
    """Return the covering (exact), and optimality where a bound is known."""
    return _covering(problem, solution), _optimality(problem, solution)


def _covering(problem: RequestedViews, solution: Solution[Any]) -> Certificate:
    """Return the certificate of marginals in no view; no failure where the threshold allows no covering."""
    other = evaluator_of(problem, solution.variables)
    if other is not None:
        left = int(other.residuals()["unanswered"])
        answered = {
            "groups": solution.variables["count"],
            "marginals": marginals_of(problem),
            "uncovered": left,
        }
        return Certificate("covering", not left, True, answered)
    missing, first = uncovered(problem, as_views(solution.variables["views"]))
    figures = {
        "views": int(solution.variables["count"]),
        "marginals": marginals_of(problem),
        "uncovered": missing,
    }
    excused = problem.criterion == "rule" and bool(missing) and not covering_fits(problem)
    witness = {"uncovered": [problem.shown_view(one) for one in first]} if missing else {}
    note = (
        "no covering keeps within the threshold; the uncovered ones are to be reconstructed"
        if excused
        else ""
    )
    return Certificate("covering", not missing or excused, True, figures, witness, note)


def _optimality(problem: RequestedViews, solution: Solution[Any]) -> Certificate:
    if solution.bound is None:
        return optimality(solution)
    excess, figures = solution.value - solution.bound, {"gap": solution.gap}
    judged = optimality(solution, excess, solution.bound, figures=figures)
    smaller = smaller_outside(problem, solution.value)
    if not smaller:
        return judged
    names = ", ".join(f"{name} {value:.4g}" for name, value in smaller)
    return changed(judged, note=f"{judged.note}; smaller outside of this class: {names}")


def smaller_outside(problem: RequestedViews, value: float) -> list[tuple[str, float]]:
    """Return the methods that collect otherwise than by views with a smaller error than this one, best first.

    Examples
    --------
    >>> from mechdesign.families.marginals import MarginalViews
    >>> problem = MarginalViews(attributes=[2, 2, 2], order=2, users=1000, epsilon=0.5, criterion="mean")
    >>> [name for name, value in smaller_outside(problem, 0.0822740703)]
    ['ft']
    """
    if len(problem.sizes) > MOST_COMPARED:
        return []
    others = [
        (method.name, solve(problem, method).value)
        for method in methods_of(problem)
        if method.scope and reason_against(method, problem) is None
    ]
    smaller = [other for other in others if other[1] < value * (1.0 - NEARLY)]
    return sorted(smaller, key=lambda other: other[1])
