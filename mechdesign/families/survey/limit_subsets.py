"""Mixtures of ways to ask: the best shares, and for few answers in all the best mixture of all sets.

For few answers ``survey-limit`` is solved exactly: every set of answers is gone through, by classes.
|proj_S 1_T|^2 follows from how many answers of T lie in each cell of each table: with Q_R the sum of the
squares of these numbers over the table of R, K_R cells and D answers in all, D^2 |proj_S 1_T|^2 is the sum
over R in S of (-1)^|S - R| K_R Q_R, a whole number M_S. Sets of one size with the same
numbers M_S are one class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.exact.exponential import exp_upper
from mechdesign.families.marginals.sets.products import share_in
from mechdesign.families.survey import limit_bounds as proofs
from mechdesign.families.survey.limit import SurveyLimit
from mechdesign.families.survey.limit_columns import Effects, Part
from mechdesign.solvers.descent import ErrorTerms, allocate

Array = NDArray[np.float64]

CLOSE = 1e-9
"""The relative gap at which no further column is looked for."""

ROUNDS = 200

DROPPED = 1e-9
"""Smaller shares are left out where the others say as much."""

COLUMNS_AT_ONCE = 8
"""Columns that are added in a round."""


def nothing() -> Outcome:
    """Return that there is no answer at epsilon = 0."""
    message = "with epsilon = 0 reports contain no information; give a larger epsilon"
    return Outcome(status="infeasible", solver="columns", message=message)


def _split(effects: Effects, table: Array) -> Array:
    """Return the best shares of these columns, (columns, kinds); every kind has to be told by one."""
    from scipy.sparse import csr_array

    weights = np.array([float(weight) for weight in effects.weights])
    return allocate(ErrorTerms(weights, csr_array(table.T))).shares


def grown_columns(
    effects: Effects, table: Array, more: Callable[[Array], Array | None]
) -> tuple[Array, Array]:
    """Return columns and shares: those given, and those that are asked for at the prices so far.

    ``more(prices)`` returns further columns, (new, kinds), best first, or None.
    """
    weights = np.array([float(weight) for weight in effects.weights])
    shares = _split(effects, table)
    for _ in range(ROUNDS):
        told = shares @ table
        prices, value = weights / told**2, float((weights / told).sum())
        found = more(prices)
        if found is None or float((found @ prices).max()) <= value * (1.0 + CLOSE):
            break
        keep = shares > 1e-12
        table = np.concatenate([table[keep], found])
        shares = _split(effects, table)
    return table, shares


def best(effects: Effects, table: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the columns of the best mixture, out of many, and their shares."""
    start = [int(np.argmax(table[:, kind])) for kind in range(table.shape[1])]
    used = np.unique([*start, int(np.argmax(table.min(axis=1)))])
    weights = np.array([float(weight) for weight in effects.weights])
    shares = _split(effects, table[used])
    for _ in range(ROUNDS):
        told = shares @ table[used]
        prices, value = weights / told**2, float((weights / told).sum())
        worth = table @ prices
        order = np.argsort(-worth, kind="stable")[:COLUMNS_AT_ONCE]
        fresh = order[worth[order] > value * (1.0 + CLOSE)]
        fresh = np.setdiff1d(fresh, used)
        if not len(fresh):
            break
        used = np.concatenate([used[shares > 1e-12], fresh])
        shares = _split(effects, table[used])
    kept = shares > DROPPED
    return used[kept], shares[kept] / shares[kept].sum()


def outcome(
    problem: SurveyLimit,
    columns: Sequence[Any],
    shares: Array,
    bound: float,
    source: str,
    notes: dict[str, float] | None = None,
    solver: str = "columns",
) -> Outcome:
    """Return the mixture; ``optimal`` where its value meets the bound."""
    variables = {"sets": list(columns), "shares": shares / shares.sum()}
    value = problem.objective(variables)
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source=source,
        solver=solver,
        notes=notes or {},
    )


MOST_ANSWERS = 20
"""Answers in all, of which there are 2^20 sets."""

SETS_AT_ONCE = 1 << 16
"""Sets that are looked at at a time."""


@dataclass(frozen=True)
class SetClasses:
    """The classes of all sets of answers.

    Attributes
    ----------
    answers : int
        D.
    numbers : (c,) int array
        One set of each class, as bits: answer 0 is the lowest one.
    sizes : (c,) int array
    norms : (c, kinds) int array
        M_S, summed over the parts of a kind.
    """

    answers: int
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int64]
    norms: NDArray[np.int64]

    def information(self, effects: Effects, epsilon: float) -> Array:
        """Return eta, (classes, kinds): rho^2 M / (|T|^2 dim)."""
        rho = np.array([share_in(epsilon, size / self.answers) for size in self.sizes.tolist()])
        scale = np.array(
            [dim * len(kind) for dim, kind in zip(effects.dimensions, effects.members, strict=True)]
        )
        result: Array = (rho / self.sizes)[:, None] ** 2 * self.norms / scale
        return result

    def most(self, effects: Effects, epsilon: float, each: Sequence[Fraction]) -> Fraction:
        """Return an upper bound of the sum of prices times eta over all sets, in integers.

        rho / |T| = (E - 1)/(D + (E - 1) |T|) rises with E, so a rational above e^epsilon takes its place.
        """
        common = math.lcm(*(price.denominator for price in each))
        scale = [dim * len(kind) for dim, kind in zip(effects.dimensions, effects.members, strict=True)]
        whole = math.lcm(*scale)
        factors = [int(price * common) * (whole // dim) for price, dim in zip(each, scale, strict=True)]
        tops: dict[int, int] = {}
        for size, row in zip(self.sizes.tolist(), self.norms.tolist(), strict=True):
            total = sum(factor * number for factor, number in zip(factors, row, strict=True))
            tops[size] = max(total, tops.get(size, 0))
        excess = exp_upper(epsilon) - 1
        return max(
            (excess / (self.answers + excess * size)) ** 2 * Fraction(total, common * whole)
            for size, total in tops.items()
        )


def classes_of(effects: Effects) -> SetClasses:
    """Return the classes of all sets that are neither empty nor everything.

    Examples
    --------
    >>> from mechdesign.families.survey.limit_columns import effects_of
    >>> found = classes_of(effects_of([2, 2], {(0,): Fraction(1), (1,): Fraction(1)}))
    >>> found.sizes.tolist(), found.norms[:, 0].tolist()  # one answer; a question, two apart; three answers
    ([1, 2, 2, 3], [2, 0, 4, 2])
    """
    sizes = effects.sizes
    answers = math.prod(sizes)
    tables = sorted({table for kind in effects.members for part in kind for table in _below(part)})
    masks = {table: _masks(sizes, table) for table in tables}
    rows = []
    for start in range(1, 2**answers - 1, SETS_AT_ONCE):
        numbers = np.arange(start, min(start + SETS_AT_ONCE, 2**answers - 1), dtype=np.int64)
        squares = {
            table: len(masks[table])
            * sum(np.bitwise_count(numbers & mask).astype(np.int64) ** 2 for mask in masks[table])
            for table in tables
        }
        norms = [
            sum((-1) ** (len(part) - len(table)) * squares[table] for part in kind for table in _below(part))
            for kind in effects.members
        ]
        found = np.stack([np.bitwise_count(numbers).astype(np.int64), *norms, numbers], axis=1)
        _, first = np.unique(found[:, :-1], axis=0, return_index=True)
        rows.append(found[first])
    together = np.concatenate(rows)
    _, first = np.unique(together[:, :-1], axis=0, return_index=True)
    kept = together[first]
    return SetClasses(answers, kept[:, -1], kept[:, 0], kept[:, 1:-1])


def _below(part: Part) -> list[Part]:
    return [table for count in range(len(part) + 1) for table in combinations(part, count)]


def _masks(sizes: Sequence[int], table: Part) -> list[int]:
    """Return the answers in each cell of a table, as bits."""
    places = np.indices(sizes).reshape(len(sizes), -1)
    cell = np.zeros(places.shape[1], dtype=np.int64)
    for place in table:
        cell = cell * sizes[place] + places[place]
    bits = [0] * math.prod(sizes[place] for place in table)
    for answer, number in enumerate(cell.tolist()):
        bits[number] |= 1 << answer
    return bits


def mix_all_sets(problem: SurveyLimit) -> Outcome:
    """Return the best mixture of symmetrized sets, and a bound for every private mechanism."""
    if problem.epsilon == 0.0:
        return nothing()
    effects = problem.effects
    classes = classes_of(effects)
    table = classes.information(effects, problem.epsilon)
    used, shares = best(effects, table)
    given = proofs.factors((1.0 / (shares @ table[used])).tolist())
    most = classes.most(effects, problem.epsilon, proofs.prices(effects, given))
    columns = [{"answers": _answers(int(number))} for number in classes.numbers[used]]
    source = "all sets of answers: what every private mechanism mixes"
    return outcome(problem, columns, shares, proofs.bound_from(effects, given, most), source)


def _answers(bits: int) -> list[int]:
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


def why_not_all_sets(problem: SurveyLimit) -> str | None:
    """Return why there are too many answers in all, or None."""
    answers = math.prod(problem.sizes)
    if answers <= MOST_ANSWERS:
        return None
    return (
        f"the questions have {answers} answers together; all sets of at most {MOST_ANSWERS} are gone through"
    )
