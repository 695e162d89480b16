"""The compact linear rows of local privacy, as sparse matrices.

Variables, in this order: the channel p_ij row by row (n m of them), then auxiliaries.

- delta = 0 and the entry-wise notion: one m_j a column, m_j <= p_ij and p_ij <= e^eps m_j + delta: 2 n m rows
  instead of n (n - 1) m. (p_ij <= e^eps p_i'j + delta for all i' says the same as with the least p_i'j.)
- metric privacy: p_ij <= e^(eps d) p_i'j for the pairs that the triangle inequality does not imply.
- set-wise delta: s_ii'j >= p_ij - e^eps p_i'j, s >= 0, sum_j s_ii'j <= delta.

Every row is divided by its exponential, so that no coefficient exceeds 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.families.response.randomized_response import metric
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

if TYPE_CHECKING:
    from mechdesign.solvers.linear import LinearProgram

Array = NDArray[np.float64]
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
        return len(metric.needed_pairs(distance)) * m
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
    pairs = metric.needed_pairs(distance)
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
