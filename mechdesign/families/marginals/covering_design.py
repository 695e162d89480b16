"""The problem ``covering-design``: fewest blocks that hold every small subset of points; audit, bounds.

The lower bounds on the number of blocks, C(d, k, l) for d points, order k, blocks of l, are in integers, each
proved on the family's page.

The audit finds the subsets of points that lie in no block. Every subset of ``order`` points has a rank, a
whole number below C(points, order). The subsets of all blocks are ranked and marked, a bounded number at a
time; what is left unmarked is uncovered. Nothing is sampled and nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, related, whole
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import integer
from mechdesign.core.values import TextInNotebooks
from mechdesign.exact.numbers import plain_int as whole_number, wholes
from mechdesign.show.figure import Figure, Panel, Points

if TYPE_CHECKING:
    import cvxpy

Wholes = NDArray[np.int64]

MOST_SUBSETS = 1 << 28
"""Subsets that are marked, a byte each: 256 MiB."""

AT_ONCE = 1 << 20
"""Subsets of blocks that are ranked at once."""

SHOWN = 3
"""Uncovered subsets that a witness names."""


@dataclass(frozen=True)
class CoveringAudit(TextInNotebooks):
    """Result of the check of a covering.

    Attributes
    ----------
    blocks : int
        How many blocks there are.
    malformed : int
        How many of them are not sets of the requested number of points: repeated points, points out of range.
        They cover nothing.
    first_malformed : tuple of int
        The first of them, empty where there is none.
    uncovered : int
        How many subsets lie in no block.
    first_uncovered : tuple of tuple of int
        The first few of those.
    subsets : int
        How many subsets there are.
    """

    blocks: int
    malformed: int
    first_malformed: tuple[int, ...]
    uncovered: int
    first_uncovered: tuple[tuple[int, ...], ...]
    subsets: int

    @property
    def holds(self) -> bool:
        """Whether the blocks are proper ones and cover everything."""
        return not self.malformed and not self.uncovered

    def certificate(self) -> Certificate:
        """Return the check as a certificate of the property ``covering``."""
        figures = {"blocks": self.blocks, "subsets": self.subsets, "uncovered": self.uncovered}
        witness: dict[str, Any] = {}
        if self.malformed:
            figures["malformed"] = self.malformed
            witness["malformed"] = list(self.first_malformed)
        if self.uncovered:
            witness["uncovered"] = [list(subset) for subset in self.first_uncovered]
        return Certificate("covering", self.holds, True, figures, witness)


def audit_covering(blocks: Any, points: int, order: int, block: int) -> CoveringAudit:
    """Check that every subset of ``order`` points lies in at least one block.

    Parameters
    ----------
    blocks : (m, block) array of whole numbers
        The points of each block, numbered from 0, in any order.
    points, order, block : int
        1 <= order <= block <= points.

    Raises
    ------
    ParameterError
        When the blocks are not a matrix of integers, or the subsets are too many to be marked.

    Examples
    --------
    >>> fano = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    >>> print(audit_covering(fano, points=7, order=2, block=3).certificate())
    covering: holds (exact); blocks = 7, subsets = 21, uncovered = 0
    >>> print(audit_covering(fano[1:], points=7, order=2, block=3).certificate())
    covering: FAILS (exact); blocks = 6, subsets = 21, uncovered = 3; witness uncovered = [[0, 1], [0, 2], ...
    """
    rows = np.sort(wholes("blocks", blocks, 2), axis=1)
    subsets = checked_subsets(points, order)
    if rows.shape[1] == block:
        proper = (rows[:, 0] >= 0) & (rows[:, -1] < points) & (np.diff(rows, axis=1) > 0).all(axis=1)
    else:
        proper = np.zeros(len(rows), dtype=np.bool_)
    covered = np.zeros(subsets, dtype=np.bool_)
    for ranks in _ranks_of_subsets(rows[proper], points, order):
        covered[ranks] = True
    missing = subsets - int(np.count_nonzero(covered))
    first = np.flatnonzero(~covered)[:SHOWN] if missing else np.zeros(0, dtype=np.int64)
    strange = rows[~proper]
    return CoveringAudit(
        blocks=len(rows),
        malformed=len(strange),
        first_malformed=tuple(strange[0].tolist()) if len(strange) else (),
        uncovered=missing,
        first_uncovered=tuple(tuple(row) for row in unranked(first, points, order).tolist()),
        subsets=subsets,
    )


def checked_subsets(points: int, order: int) -> int:
    """Return C(points, order), or refuse where a byte for each of them is too much.

    Raises
    ------
    ParameterError
        Saying how much memory it would take.
    """
    subsets = math.comb(points, order)
    if subsets > MOST_SUBSETS:
        gibibytes = -(-subsets >> 30) if subsets >= 1 << 30 else 1
        raise ParameterError(
            "order",
            f"{points} points have {short_number(subsets)} subsets of {order}, and checking them would take "
            f"{short_number(gibibytes)} GiB of memory",
            f"{MOST_SUBSETS} subsets are the limit: take fewer points or a smaller order",
        )
    return subsets


def short_number(number: int) -> str:
    """Return a whole number in full where it is short, else to three digits."""
    if number < 10**12:
        return str(number)
    digits = str(number)
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1}"


def _ranks_of_subsets(rows: Wholes, points: int, order: int) -> Iterator[Wholes]:
    """Yield the ranks of all subsets of all blocks (sorted rows), at most ``AT_ONCE`` at a time."""
    table = binomials(points, order)
    within = math.comb(rows.shape[1], order)
    for start in range(0, within, AT_ONCE):
        places = unranked(np.arange(start, min(start + AT_ONCE, within)), rows.shape[1], order)
        height = max(1, AT_ONCE // len(places))
        for top in range(0, len(rows), height):
            part = rows[top : top + height]
            ranks = np.zeros((len(part), len(places)), dtype=np.int64)
            for place in range(order):
                ranks += table[place + 1][part][:, places[:, place]]
            yield ranks.ravel()


def binomials(points: int, order: int) -> Wholes:
    """Return the table of C(p, j) in row j and column p, for j = 0 .. order and p = 0 .. points."""
    rows = [[math.comb(point, size) for point in range(points + 1)] for size in range(order + 1)]
    return np.array(rows, dtype=np.int64)


def unranked(ranks: Wholes, points: int, order: int) -> Wholes:
    """Return the subsets of these ranks, one per row, their points in rising order.

    The rank of c_1 < ... < c_k is C(c_1, 1) + ... + C(c_k, k).

    Examples
    --------
    >>> unranked(np.arange(4), points=4, order=2).tolist()
    [[0, 1], [0, 2], [1, 2], [0, 3]]
    """
    table = binomials(points, order)
    left = np.array(ranks, dtype=np.int64)
    subsets = np.zeros((len(left), order), dtype=np.int64)
    for size in range(order, 0, -1):
        subsets[:, size - 1] = np.searchsorted(table[size], left, side="right") - 1
        left -= table[size][subsets[:, size - 1]]
    return subsets


def schoenheim(points: int, order: int, block: int) -> int:
    """Return Schoenheim's bound ceil(d/l ceil((d-1)/(l-1) ... ceil((d-k+1)/(l-k+1)))).

    Schoenheim (1964), theorem 1. For ``order`` 0 it is 1: some block is needed.

    Examples
    --------
    >>> schoenheim(8, 3, 4), schoenheim(16, 3, 4), schoenheim(7, 2, 4)
    (14, 140, 4)
    """
    bound = 1
    for left in range(order - 1, -1, -1):
        bound = -(-(points - left) * bound // (block - left))
    return bound


@cache
def lower_bound(points: int, order: int, block: int) -> tuple[int, str]:
    """Return the best of the proven bounds, and how it is proven.

    Schoenheim's step, C(d, k, l) >= d/l C(d-1, k-1, l-1), is applied to better bounds for pairs: one for
    points that lie in no more blocks than they must (:func:`rank_bound`), one for a single incidence too
    many (:func:`excess_bound`).

    Examples
    --------
    >>> lower_bound(8, 3, 4)
    (14, "Schoenheim's bound")
    >>> lower_bound(7, 2, 4)
    (5, 'rank of the incidence matrix')
    """
    best = (schoenheim(points, order, block), "Schoenheim's bound")
    if order == 2 and block < points:
        for value, source in (
            (excess_bound(points, block), "parity of the excess"),
            (rank_bound(points, block), "rank of the incidence matrix"),
        ):
            if value > best[0]:
                best = value, source
    elif order > 2:
        value, source = lower_bound(points - 1, order - 1, block - 1)
        lifted = -(-points * value // block)
        if lifted > best[0]:
            best = lifted, source if source.endswith("step") else f"{source}, then Schoenheim's step"
    return best


def excess_bound(points: int, block: int) -> int:
    """Return the bound for pairs where Schoenheim's leaves room for exactly one incidence too many; else 1.

    If r = (d-1)/(l-1) is whole and d r = -1 (mod l), ceil(d r / l) blocks would have d r + 1 incidences:
    one point in r + 1 blocks, all others in r. The others meet every point exactly once, so that one pair
    each is left for the first point, which has l - 1 places too many. Hanani's improvement, see Mills and
    Mullin (1992).

    Examples
    --------
    >>> excess_bound(13, 5)
    9
    """
    if block < 2 or (points - 1) % (block - 1):
        return 1
    degree = (points - 1) // (block - 1)
    return (points * degree + 1) // block + 1 if (points * degree + 1) % block == 0 else 1


def rank_bound(points: int, block: int) -> int:
    """Return ceil(d (r+1) / (l+1)) with r = ceil((d-1)/(l-1)), where r (l-1) - (d-1) < r - 1; else 1.

    Of b blocks with e = l b - d r incidences more than needed, at least d - e points lie in exactly r.
    Their rows of the incidence matrix have the Gram matrix (r-1) I + J + A, with A the adjacency matrix
    of pairs covered more than once, whose row sums are at most r (l-1) - (d-1). It is positive definite,
    so that b >= d - e. With e = 0 and A = 0 this is Fisher's inequality (1940).

    Examples
    --------
    >>> rank_bound(7, 4), rank_bound(16, 6)
    (5, 10)
    """
    if block < 2:
        return 1
    degree = -(-(points - 1) // (block - 1))
    surplus = degree * (block - 1) - (points - 1)
    return -(-points * (degree + 1) // (block + 1)) if surplus < degree - 1 else 1


MOST_POINTS = 200
"""More points are beyond what the methods are made for."""

MOST_BLOCKS = 1_000_000
"""Blocks that are written down."""


@frozen_problem()
class CoveringDesign(Problem[Mechanism]):
    """The fewest blocks of ``block`` points such that every ``order`` of the points lie in a block together.

    With d attributes, views of l attributes each, and every k-way marginal requested, the blocks are the
    views: fewer of them leave more users for each (Zhang 2019, chapter 3). The value is the number of
    blocks; the variable ``blocks`` has a row of point numbers for each. Every row and every subset is
    checked exactly.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy; also where checking all subsets, or writing down
        the blocks that are needed at least, would take too much memory.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.CoveringDesign(points=8, order=3, block=4))
    >>> print(solution.value, solution.bound, solution.status)
    14.0 14.0 optimal
    """

    name: ClassVar[str] = "covering-design"
    example: ClassVar[Mapping[str, Any]] = {"points": 8, "order": 2, "block": 4}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "number of views"
    trivial: ClassVar[float | None] = 1.0
    summary: ClassVar[str] = "the fewest blocks (views) that contain every few points (attributes) together"
    compared_with: ClassVar[str] = "all lists of blocks of this size"

    points: int = whole("d, from 1 to 200.", low=1, high=MOST_POINTS)
    order: int = checked(
        "k: how many points are to lie in a block together.", whole_number, limits={"minimum": 1}, form="int"
    )
    block: int = related(
        "l: how many points a block has; order <= block <= points.",
        lambda problem, field, block: integer(field, block, 1, problem.points),
        limits={"minimum": 1},
        form="int",
    )

    def __attrs_post_init__(self) -> None:
        integer("order", self.order, 1, self.block)
        checked_subsets(self.points, self.order)
        needed = schoenheim(self.points, self.order, self.block)
        if needed > MOST_BLOCKS:
            raise ParameterError(
                "block",
                f"{needed} blocks of {self.block} are needed at least, more than {MOST_BLOCKS} that can be "
                "written down",
                "take larger blocks or fewer points",
            )

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        blocks, subsets = (list(combinations(range(self.points), size)) for size in (self.block, self.order))
        taken = cp.Variable(len(blocks), name="taken", boolean=True)
        holds = np.array([[set(subset) <= set(block) for block in blocks] for subset in subsets], dtype=float)
        return cp.Problem(cp.Minimize(cp.sum(taken)), [(holds @ taken >= 1).set_label("covering")])

    def statement_size(self) -> int:
        return math.comb(self.points, self.block)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        blocks = np.array(list(combinations(range(self.points), self.block)), dtype=np.int64)
        return {"blocks": blocks[np.asarray(values["taken"]) > 0.5]}

    def audit(self, variables: Variables) -> CoveringAudit:
        """Return the exact check of the blocks."""
        return audit_covering(variables["blocks"], self.points, self.order, self.block)

    def why_no_mechanism(self) -> str:
        return (
            "its blocks are sets of attributes, which the views of a release can be: build a marginal-views "
            "model with these points as attributes"
        )

    def objective(self, variables: Variables) -> float:
        return float(len(variables["blocks"]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the number of uncovered subsets, and of blocks that are not sets of ``block`` points."""
        audit = self.audit(variables)
        return {"uncovered": float(audit.uncovered), "malformed": float(audit.malformed)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        bound = solution.bound
        note = f"bound from {solution.bound_source}" if bound is not None else "no bound is known"
        optimal = bound is not None and solution.value <= bound
        return (
            self.audit(solution.variables).certificate(),
            Certificate("optimality", optimal, True, {"gap": solution.gap}, note=note),
        )


def outcome(
    problem: CoveringDesign, blocks: NDArray[np.int64], solver: str, better: tuple[int, str] = (0, "")
) -> Outcome:
    """Return the outcome of a method: ``optimal`` only where a proven bound is met.

    Parameters
    ----------
    problem : CoveringDesign
    blocks : (m, block) array
    solver : str
    better : (int, str)
        A bound that the method has proven itself, and how.
    """
    bound, source = max(lower_bound(problem.points, problem.order, problem.block), better)
    return Outcome(
        status="optimal" if len(blocks) == bound else "feasible",
        variables={"blocks": blocks},
        bound=float(bound),
        bound_source=source,
        solver=solver,
        notes={"schoenheim": schoenheim(problem.points, problem.order, problem.block)},
    )


MOST_VIEWS = 80


def figures(problem: CoveringDesign, solution: Solution[Any]) -> list[Figure]:
    """Return a column of points for each view; nothing of many views."""
    blocks = np.asarray(solution.variables["blocks"], dtype=np.int64)
    if len(blocks) > MOST_VIEWS:
        return []
    x = np.repeat(np.arange(len(blocks)), blocks.shape[1])
    panel = Panel("view, from 0", "attributes in it, from 0", [Points(x=x, y=blocks.ravel())])
    caption = f"Any {problem.order} attributes are together in some view."
    return [Figure(f"{len(blocks)} views of {problem.block} attributes", [panel], caption)]


def quantities(problem: CoveringDesign, solution: Solution[Any]) -> dict[str, Any]:
    """Return Schoenheim's bound, the relative gap, and the density.

    ``density`` is how many blocks contain a subset on average: 1 for a Steiner system. ``relative_gap``
    is the part by which the value exceeds the proven bound.
    """
    within, subsets = math.comb(problem.block, problem.order), math.comb(problem.points, problem.order)
    return {
        "schoenheim": schoenheim(problem.points, problem.order, problem.block),
        "density": solution.value * within / subsets,
        "relative_gap": math.inf if not solution.bound else solution.gap / solution.bound,
    }
