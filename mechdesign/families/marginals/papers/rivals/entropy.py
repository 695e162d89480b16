"""Marginals that no view contains: the table of maximum entropy with the marginals that the views have.

Views that meet the requested attributes give marginals on their common sets; only the maximal ones matter.
Newton's method on the dual computes it, and proportional fitting where that would need too much memory.

Maximise H(p) subject to A p = b, with A p the coefficients of p in the effects that the marginals determine
(:mod:`mechdesign.families.marginals.views`): no equation says twice what another one says. Marginals that
are consistent pairwise need not be those of any table. So the dual is solved with a small price on its
variables::

    minimise  log sum_x exp((A' t)_x) - b' t + (r/2) t't

Its solution always exists and is unique: it misses the marginals by the vector e = b - A p = r t and
maximises H(p) - e'e / (2 r). With r going to 0 it goes to the table of maximum entropy among those that come
nearest to the marginals in squares of effects, which have them all if that is possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of
from mechdesign.families.marginals.papers.rivals.consistency import check_tables
from mechdesign.families.marginals.views import MOST_CELLS, View, check_views, helmert, require_cells

Array = NDArray[np.float64]
Target = tuple[View, Array]
"""Axes of the table, increasing, and the marginal on them."""

MOST_ENTRIES = 1 << 23
"""Largest number of cells times equations for which Newton's method is used."""

PRICES = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
STEPS = 60
"""Newton steps at most for each price."""

STEPS_AT_MOST = STEPS * len(PRICES)

FLAT = 1e-13
ROUNDING = 1e-15
"""A slope, and a rise of the dual, that are nothing but rounding."""

ROUNDS, FIRST = 1000, 50
"""Rounds of fitting at most, and before Newton's method is tried."""

CLOSE = 1e-10
STALLED = 20
"""Fitting stops after this many rounds that come less than 1% closer."""


def largest_miss(table: Array, targets: Sequence[Target]) -> float:
    """Return the largest difference between the table's marginals and the requested ones."""
    return max((float(np.abs(_marginal(table, axes) - goal).max()) for axes, goal in targets), default=0.0)


def _marginal(table: Array, axes: View) -> Array:
    summed: Array = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return summed


def fits_newton(shape: Sequence[int], targets: Sequence[Target]) -> bool:
    """Whether the equations of Newton's method are few enough."""
    equations = sum(
        math.prod(shape[axis] - 1 for axis in effect) for effect in _effects([axes for axes, _ in targets])
    )
    return equations * (equations + math.prod(shape)) <= MOST_ENTRIES


def fitted(shape: Sequence[int], targets: Sequence[Target], most: int = ROUNDS) -> tuple[Array, int]:
    """Return the table of proportional fitting and the number of rounds.

    From the even table on, it is scaled to each marginal in turn; it stops when all are met, when it no
    longer comes closer, or after a bounded number of rounds.

    Examples
    --------
    >>> table, rounds = fitted((2, 2), [((0,), np.array([0.5, 0.5])), ((1,), np.array([0.25, 0.75]))])
    >>> table
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    table = np.full(tuple(shape), 1.0 / math.prod(shape))
    best, stalled, rounds = math.inf, 0, 0
    while rounds < most and stalled < STALLED:
        rounds, gap = rounds + 1, 0.0
        for axes, goal in targets:
            shared = tuple(shape[axis] if axis in axes else 1 for axis in range(len(shape)))
            now, aim = _marginal(table, axes).reshape(shared), goal.reshape(shared)
            gap = max(gap, float(np.abs(now - aim).max()))
            table = table * np.divide(aim, now, out=np.zeros(shared), where=now > 0.0)
        if gap <= CLOSE:
            break
        stalled = 0 if gap < 0.99 * best else stalled + 1
        best = min(best, gap)
    return table, rounds


def newton(shape: Sequence[int], targets: Sequence[Target]) -> tuple[Array, int]:
    """Return the table that solves the priced dual, for prices that fall towards 0, and the number of steps.

    Cells whose marginal is to be 0 are 0, unless that leaves none.

    Examples
    --------
    >>> table, steps = newton((2, 2), [((0,), np.array([0.5, 0.5])), ((1,), np.array([0.25, 0.75]))])
    >>> table.round(9)
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    rows, goal = _equations(shape, targets)
    live = np.ones(tuple(shape), dtype=bool)
    for axes, aim in targets:
        shared = tuple(shape[axis] if axis in axes else 1 for axis in range(len(shape)))
        live &= aim.reshape(shared) > 0.0
    used = live.ravel() if live.any() else np.ones(live.size, dtype=bool)
    rows, steps = rows[:, used], 0
    point, shares = np.zeros(len(goal)), np.full(int(used.sum()), 1.0 / int(used.sum()))
    for price in PRICES:
        point, shares, taken = _solve(rows, goal, point, price)
        steps += taken
        if np.abs(goal - rows @ shares).max(initial=0.0) <= CLOSE:
            break
    table = np.zeros(live.size)
    table[used] = shares
    return table.reshape(tuple(shape)), steps


def _effects(constraints: Sequence[View]) -> list[View]:
    """Return all sets of axes, not empty, that a constraint contains."""
    effects = {
        effect
        for axes in constraints
        for count in range(1, len(axes) + 1)
        for effect in combinations(axes, count)
    }
    return sorted(effects, key=lambda effect: (len(effect), effect))


def _equations(shape: Sequence[int], targets: Sequence[Target]) -> tuple[Array, Array]:
    """Return the coefficients of the effects: rows (equations, cells), and what they are to be."""
    bases = [helmert(size) for size in shape]
    rows, goals = [], []
    for effect in _effects([axes for axes, _ in targets]):
        axes, table = next((axes, goal) for axes, goal in targets if set(effect) <= set(axes))
        rows.append(_block(shape, bases, effect, tuple(range(len(shape)))))
        inside = _block(shape, bases, effect, axes)
        outside = math.prod(size for axis, size in enumerate(shape) if axis not in axes)
        goals.append(inside @ table.ravel() / outside**0.5)
    if not rows:
        return np.zeros((0, math.prod(shape))), np.zeros(0)
    return np.concatenate(rows), np.concatenate(goals)


def _block(shape: Sequence[int], bases: Sequence[Array], effect: View, axes: View) -> Array:
    """Return the basis vectors of an effect on a table over some axes, as rows."""
    block: Array = np.ones((1, 1))
    for axis in axes:
        factor = bases[axis][1:] if axis in effect else bases[axis][:1]
        block = np.asarray(np.kron(block, factor))
    return block


def _solve(rows: Array, goal: Array, start: Array, price: float) -> tuple[Array, Array, int]:
    """Minimise the priced dual by Newton's method with halved steps; return point, shares and steps."""
    point = start
    value, shares = _dual(rows, goal, point, price)
    last = math.inf
    for step in range(STEPS):
        now = rows @ shares
        slope = now - goal + price * point
        steepest = float(np.abs(slope).max(initial=0.0))
        if steepest <= FLAT or (steepest < CLOSE and steepest > 0.5 * last):  # rounding is all that is left
            return point, shares, step
        last = steepest
        curvature = (rows * shares) @ rows.T - np.outer(now, now)
        curvature[np.diag_indices_from(curvature)] += price
        try:
            move = np.linalg.solve(curvature, -slope)
        except np.linalg.LinAlgError:  # rounded to singular: no further step can be told
            return point, shares, step
        gain, length = float((slope * move).sum()), 1.0
        while length > 1e-9:
            tried = point + length * move
            dual, law = _dual(rows, goal, tried, price)
            if dual <= value + 1e-4 * length * gain + ROUNDING:
                break
            length /= 2.0
        else:
            return point, shares, step
        point, value, shares = tried, dual, law
    return point, shares, STEPS


def _dual(rows: Array, goal: Array, point: Array, price: float) -> tuple[float, Array]:
    """Return the value of the priced dual and the shares that belong to the point."""
    exponents = point @ rows
    top = float(exponents.max())
    powers = np.exp(exponents - top)
    total = float(powers.sum())
    value = top + math.log(total) - float((goal * point).sum()) + 0.5 * price * float((point**2).sum())
    return value, powers / total


METHODS = ("newton", "fitting")


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A table of maximum entropy.

    Attributes
    ----------
    table : array
        Over the requested attributes in their order; non-negative, with sum 1.
    residual : float
        The largest difference between its marginals and those it was to have.
    rounds : int
    constraints : tuple of tuple of int
        The sets of attributes whose marginals it was to have.
    """

    table: Array
    residual: float
    rounds: int
    constraints: tuple[View, ...]


def maximum_entropy(
    attributes: Sequence[int],
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
) -> Array:
    """Return the table of maximum entropy over the requested attributes; see :func:`reconstruct`.

    Examples
    --------
    >>> maximum_entropy((0, 1), [(0,), (1,)], [[0.5, 0.5], [0.25, 0.75]], [2, 2])
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    return reconstruct(attributes, views, tables, sizes, most_cells).table


def reconstruct(
    attributes: Sequence[int],
    views: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.floating]],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
    method: str | None = None,
) -> Reconstruction:
    """Return the table of maximum entropy over the attributes, with what it misses of its marginals.

    Parameters
    ----------
    attributes : sequence of int
        Different numbers of attributes, in any order.
    views : sequence of tuple of int
        Increasing numbers of attributes.
    tables : sequence of array
        Non-negative tables of the views, all with the same positive sum.
    sizes : sequence of int
    most_cells : int
        A table with more cells is refused.
    method : {None, "newton", "fitting"}
        None fits, and takes Newton's method where that does not reach all marginals soon, unless it would
        need too much memory.

    Raises
    ------
    ParameterError
        For a table that is negative or has the sum 0, or more cells than allowed.
    """
    if method is not None:
        one_of("method", method, METHODS)
    named = check_views(views, len(sizes))
    flat = check_tables(named, tables, sizes)
    for number, table in enumerate(flat):
        if (table < 0.0).any() or table.sum() <= 0.0:
            raise ParameterError("tables", f"table {number} is negative somewhere, or 0 everywhere")
    return reconstruct_checked(attributes, named, flat, sizes, most_cells, method)


def reconstruct_checked(
    attributes: Sequence[int],
    views: Sequence[View],
    tables: Sequence[Array],
    sizes: Sequence[int],
    most_cells: int = MOST_CELLS,
    method: str | None = None,
) -> Reconstruction:
    """Do the same with views and tables that are known to be right."""
    order = tuple(sorted(require_cells(attributes, sizes, most_cells)))
    shape = tuple(sizes[attribute] for attribute in order)
    targets: list[Target] = []
    constraints = constraints_of(order, views)
    for common, source in constraints:
        dropped = tuple(axis for axis, name in enumerate(views[source]) if name not in common)
        marginal = tables[source].sum(axis=dropped)
        axes = tuple(order.index(attribute) for attribute in common)
        targets.append((axes, marginal / marginal.sum()))
    table, miss, rounds = _solved(shape, targets, method)
    back = tuple(order.index(attribute) for attribute in attributes)
    return Reconstruction(table.transpose(back), miss, rounds, tuple(common for common, _ in constraints))


def _solved(shape: View, targets: Sequence[Target], method: str | None) -> tuple[Array, float, int]:
    """Return the table, what it misses, and the rounds: a few of fitting first, then Newton's method."""
    if [axes for axes, _ in targets] == [tuple(range(len(shape)))]:
        return targets[0][1], 0.0, 0
    small = fits_newton(shape, targets)
    if method == "newton":
        table, rounds = newton(shape, targets)
        return table, largest_miss(table, targets), rounds
    table, rounds = fitted(shape, targets, FIRST if method is None and small else ROUNDS)
    miss = largest_miss(table, targets)
    if method == "fitting" or not small or miss <= CLOSE:
        return table, miss, rounds
    other, steps = newton(shape, targets)
    nearer = largest_miss(other, targets)
    return (other, nearer, rounds + steps) if nearer <= miss else (table, miss, rounds + steps)


def constraints_of(attributes: View, views: Sequence[View]) -> list[tuple[View, int]]:
    """Return the maximal sets that views share with the requested attributes, and a view that has each.

    Examples
    --------
    >>> constraints_of((0, 1, 2), [(0, 1, 5), (1, 2), (2, 7)])
    [((0, 1), 0), ((1, 2), 1)]
    """
    inside = frozenset(attributes)
    sources: dict[frozenset[int], int] = {}
    for number, view in enumerate(views):
        sources.setdefault(inside.intersection(view), number)
    maximal = [common for common in sources if common and not any(common < other for other in sources)]
    return sorted((tuple(sorted(common)), sources[common]) for common in maximal)
