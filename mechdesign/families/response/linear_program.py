"""The compact linear program: one auxiliary variable per column instead of a row for every pair of answers.

Variables, in this order: the channel p_ij row by row (n m of them), then auxiliaries.

- delta = 0 and the entry-wise notion: one m_j a column, m_j <= p_ij and p_ij <= e^eps m_j + delta: 2 n m rows
  instead of n (n - 1) m. (p_ij <= e^eps p_i'j + delta for all i' says the same as with the least p_i'j.)
- metric privacy: p_ij <= e^(eps d) p_i'j for the pairs that the triangle inequality does not imply.
- set-wise delta: s_ii'j >= p_ij - e^eps p_i'j, s >= 0, sum_j s_ii'j <= delta.

Every row is divided by its exponential, so that no coefficient exceeds 1.

``ChannelPrices`` are its multipliers, as prices of privacy. ``polished`` makes a solver's channel feasible
and states what that cost; other methods use it as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.metric import needed_pairs
from mechdesign.core.problem import Outcome, Problem
from mechdesign.core.values import frozen_value
from mechdesign.families.response.randomized_response import RandomizedResponse
from mechdesign.primitives.finite import cleaned, constant_rows, least_mixing, merged_rows

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram, LinearResult
    from mechdesign.solvers.sensitivity import Binding

Array = NDArray[np.float64]


def polished(problem: RandomizedResponse, channel: Array) -> tuple[Array, dict[str, Any]]:
    """Return the channel with the least constant noise that satisfies the constraints, and the notes.

    Solvers stop within a tolerance and may leave a zero facing a positive entry. Of the two noise
    rows (uniform over the reported symbols, average row) the one that costs less utility is mixed in.

    Returns
    -------
    channel : (n, m) array
    notes : dict
        ``mixing`` and ``utility_given_up``, and whether the solver left zeros facing positive entries.
    """
    clean = merged_rows(cleaned(channel), problem.target())
    before = problem.objective({"channel": clean})
    target = problem.target()
    candidates = []
    for constant in constant_rows(clean):
        mixing = least_mixing(clean, constant, target)
        mixed = (1.0 - mixing) * clean + mixing * constant
        candidates.append((problem.objective({"channel": mixed}), mixing, mixed))
    value, mixing, mixed = max(candidates, key=lambda candidate: candidate[0])
    with np.errstate(divide="ignore"):
        lows = clean.min(axis=0)
        zeros = bool(((lows == 0) & (clean.max(axis=0) > 0)).any())
    notes: dict[str, Any] = {"mixing": mixing, "utility_given_up": before - value}
    if zeros and problem.delta == 0.0:
        notes["solver_left"] = "zeros facing positive entries (true epsilon infinite), repaired"
    return mixed, notes


Index = NDArray[np.int64]


@attrs.define(slots=False, repr=False, eq=False)
class _Triplets:
    """Rows of a sparse matrix as they are written down."""

    rows: list[Index]
    columns: list[Index]
    values: list[Array]
    limits: list[Array]
    count: int = 0

    def add(self, entries: list[tuple[Index, Array]], limit: Array) -> None:
        """Add one block of rows: row r has coefficient values[r] at columns[r] for every entry."""
        size = len(limit)
        numbers = self.count + np.arange(size)
        for columns, values in entries:
            self.rows.append(numbers)
            self.columns.append(columns)
            self.values.append(np.broadcast_to(values, (size,)))
        self.limits.append(limit)
        self.count += size


def row_count(problem: RandomizedResponse) -> int:
    """Return the number of privacy rows of the program."""
    n, m = problem.size, problem.reports
    distance = problem.distances()
    if distance is not None:
        return len(needed_pairs(distance)) * m
    if problem.delta > 0 and problem.notion == "ldp":
        return n * (n - 1) * (m + 1)
    return 2 * n * m


def compact_program(problem: RandomizedResponse, gains: Array | None = None) -> LinearProgram:
    """Return the linear program that maximises ``gains . p``, by default the problem's linear utility."""
    from scipy.sparse import csr_array

    from mechdesign.solvers.linear import LinearProgram

    n, m = problem.size, problem.reports
    triplets, auxiliaries, blocks, totals = _privacy_rows(problem)
    size = n * m + auxiliaries
    upper = csr_array(
        (np.concatenate(triplets.values), (np.concatenate(triplets.rows), np.concatenate(triplets.columns))),
        shape=(triplets.count, size),
    )
    ones, places = np.ones(n * m), np.arange(n * m)
    equal = csr_array((ones, (places // m, places)), shape=(n, size))
    return LinearProgram(
        objective=np.concatenate(
            [(problem.weights() if gains is None else gains).ravel(), np.zeros(auxiliaries)]
        ),
        upper_rows=upper,
        upper_limits=np.concatenate(triplets.limits),
        equal_rows=equal,
        equal_limits=np.ones(n),
        low=np.zeros(size),
        high=np.ones(size),
        blocks=np.concatenate([places // m, blocks]),
        block_totals=np.concatenate([np.ones(n), totals]),
        block_tight=np.concatenate([np.ones(n, dtype=bool), np.zeros(len(totals), dtype=bool)]),
    )


def _privacy_rows(problem: RandomizedResponse) -> tuple[_Triplets, int, Index, Array]:
    """Return the rows, the number of auxiliaries, and the simplex blocks the auxiliaries lie in."""
    triplets = _Triplets([], [], [], [])
    distance = problem.distances()
    if distance is not None:
        _metric_rows(triplets, problem, distance)
        return triplets, 0, np.zeros(0, dtype=np.int64), np.zeros(0)
    if problem.delta > 0 and problem.notion == "ldp":
        return _set_wise_rows(triplets, problem)
    return _column_rows(triplets, problem)


def _column_rows(triplets: _Triplets, problem: RandomizedResponse) -> tuple[_Triplets, int, Index, Array]:
    n, m = problem.size, problem.reports
    places = np.arange(n * m)
    least = n * m + places % m
    shrink = np.exp(-problem.epsilon)
    triplets.add([(least, np.array(1.0)), (places, np.array(-1.0))], np.zeros(n * m))
    triplets.add([(places, shrink), (least, np.array(-1.0))], np.full(n * m, problem.delta * shrink))
    # sum_j m_j <= sum_j p_0j = 1: one more simplex, for the bound
    return triplets, m, np.full(m, n, dtype=np.int64), np.ones(1)


def _metric_rows(triplets: _Triplets, problem: RandomizedResponse, distance: Array) -> None:
    m = problem.reports
    pairs = needed_pairs(distance)
    first = (pairs[:, 0][:, None] * m + np.arange(m)).ravel()
    second = (pairs[:, 1][:, None] * m + np.arange(m)).ravel()
    shrink = np.repeat(np.exp(-problem.epsilon * distance[pairs[:, 0], pairs[:, 1]]), m)
    triplets.add([(first, shrink), (second, np.array(-1.0))], np.zeros(len(first)))
    if not len(pairs):  # a single answer: keep the matrix well formed
        triplets.add([(np.zeros(1, dtype=np.int64), np.array(0.0))], np.zeros(1))


def _set_wise_rows(triplets: _Triplets, problem: RandomizedResponse) -> tuple[_Triplets, int, Index, Array]:
    n, m = problem.size, problem.reports
    first, second = (side[~np.eye(n, dtype=bool)] for side in np.indices((n, n)))
    pairs, shrink = len(first), np.exp(-problem.epsilon)
    reports = np.arange(m)
    excess = n * m + np.arange(pairs * m)
    triplets.add(
        [
            ((first[:, None] * m + reports).ravel(), shrink),
            ((second[:, None] * m + reports).ravel(), np.array(-1.0)),
            (excess, -shrink),
        ],
        np.zeros(pairs * m),
    )
    by_report = excess.reshape(pairs, m).T
    triplets.add([(column, np.array(1.0)) for column in by_report], np.full(pairs, problem.delta))
    return triplets, pairs * m, n + np.repeat(np.arange(pairs), m), np.full(pairs, problem.delta)


@frozen_value(eq=False)
class ChannelPrices:
    """Variables and multipliers of HiGHS for a response problem."""

    problem: RandomizedResponse
    result: LinearResult

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the expected utility less what the multipliers charge for the rows of another problem."""
        from mechdesign.solvers.linear import lagrangian

        assert isinstance(problem, RandomizedResponse)
        gains, offset = problem.centred_weights()
        value = lagrangian(compact_program(problem, gains), self.result)
        return None if value is None else value + offset

    def binding(self) -> Sequence[Binding]:
        """Return the prices of privacy for each report, and of delta over all pairs of answers.

        The rows are p_ij <= e^eps p_i'j + t; a price is per unit of t.
        """
        from mechdesign.solvers.sensitivity import Binding

        problem, prices = self.problem, self.result.upper_multipliers
        n, m, distance = problem.size, problem.reports, problem.distances()
        shrink: Array = np.full(n * (n - 1), np.exp(-problem.epsilon))
        if distance is not None:
            pairs = needed_pairs(distance)
            shrink = np.exp(-problem.epsilon * distance[pairs[:, 0], pairs[:, 1]])
        elif problem.delta == 0 or problem.notion != "ldp":
            return self._of_reports(np.exp(-problem.epsilon) * prices[n * m :].reshape(n, m))
        count = len(shrink) * m
        bindings = self._of_reports(shrink[:, None] * prices[:count].reshape(len(shrink), m))
        excess = prices[count:] if distance is None else prices[:0]
        return [*bindings, Binding("delta", float(excess.sum()), int((excess > 0).sum()))]

    def _of_reports(self, prices: Array) -> list[Binding]:
        from mechdesign.solvers.sensitivity import Binding

        problem = self.problem
        same = problem.labels if problem.reports == problem.size else None
        names = problem.report_labels or same or range(problem.reports)
        return [
            Binding(f"privacy of report {name}", float(column.sum()), int((column > 0).sum()))
            for name, column in zip(names, prices.T, strict=True)
        ]


MAX_ROWS = 2_000_000
"""Programs with more privacy rows than this would take hours."""

MAX_METRIC_ROWS = 400_000
"""Programs of metric privacy with more rows take minutes, and ``interior-point`` takes seconds."""

SIMPLEX_ROWS = 3_000
"""Up to this many rows the dual simplex is quick and exact; above, the interior point with crossover."""


def run(
    problem: RandomizedResponse, algorithm: Literal["simplex", "interior-point"] | None = None
) -> Outcome:
    """Solve the program with HiGHS, prove the bound from its multipliers, and repair the channel."""
    from mechdesign.solvers.linear import solve_linear

    gains, offset = problem.centred_weights()
    program = compact_program(problem, gains)
    chosen = algorithm or ("simplex" if row_count(problem) <= SIMPLEX_ROWS else "interior-point")
    result = solve_linear(program, chosen)
    if result.status != "optimal":
        return Outcome(status=result.status, solver=result.solver, message=result.message)
    n, m = problem.size, problem.reports
    channel, notes = polished(problem, result.variables[: n * m].reshape(n, m))
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=shifted(result.bound, offset),
        bound_source="weak duality with the solver's multipliers",
        solver=result.solver,
        notes=notes,
        prices=ChannelPrices(problem, result),
    )


def shifted(bound: float | None, offset: float) -> float | None:
    """Return the bound plus the offset, rounded up."""
    return None if bound is None else math.nextafter(bound + offset + 2.0**-50 * abs(offset), math.inf)


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the linear program does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not problem.is_linear:
        return "the utility is not linear in the channel"
    rows = row_count(problem) if problem.size <= 2000 else 2 * problem.size * problem.reports
    most = MAX_ROWS if problem.distance is None else MAX_METRIC_ROWS
    if rows > most:
        return f"it would have {rows} privacy rows, more than {most}"
    return None
