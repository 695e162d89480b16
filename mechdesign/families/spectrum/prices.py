"""Prices of crowding: a linear program bounds what users in conflict pay, and its prices bound branches.

With t_j the revenue of user j, 0 <= t_j <= T_j(c_j), these rows hold for every allocation:

- of a pair in conflict, alpha_i t_i + alpha_j t_j <= gamma: the line through the two points where one of them
  has its cap. Along R_i + R_j = m one revenue is a convex function of the other, so it lies below the chord;
- of users who are all in conflict, sum of t_j / T_j(c_j) <= h, with h the best such sum, by a search tree.

For any multipliers y >= 0 the sum of all t_j is at most y.b plus the sum of (1 - y.A_j) t_j (weak duality).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mechdesign.families.spectrum.groups import Conflicts

Row = tuple[dict[int, float], float]

SAFETY = 2.0**-40
"""Rows are loosened by this part: their coefficients are computed in doubles."""

MOST_IN_CLIQUE = 6


@dataclass(frozen=True)
class Prices:
    """The sum of revenues is at most ``total`` plus the sum of ``left[j] t_j``, for every allocation."""

    total: float
    left: list[float]


def rows_of(
    revenue: Callable[[int, float], float],
    conflicts: Conflicts,
    caps: Sequence[float],
    best_share: Callable[[list[int]], float],
) -> list[Row]:
    """Return the rows of pairs and of cliques.

    Parameters
    ----------
    revenue : callable
    conflicts : Conflicts
    caps : sequence of float
    best_share : callable
        The largest sum of t_j / T_j(c_j) of a few users, or a bound of it.
    """
    found: list[Row] = []
    near = [dict(row) for row in conflicts.neighbours]
    uncovered: set[tuple[int, int]] = set()
    for i, row in enumerate(conflicts.neighbours):
        for j, margin in row:
            if i >= j:
                continue
            uncovered.add((i, j))
            full, rest = revenue(i, caps[i]), revenue(j, margin - caps[i])
            other, left = revenue(j, caps[j]), revenue(i, margin - caps[j])
            rise, across = other - rest, full - left
            if rise > 0 and across > 0:
                limit = (full / across + rest / rise) * (1.0 + SAFETY)
                found.append(({i: 1.0 / across, j: 1.0 / rise}, limit))
    while uncovered:
        members = list(min(uncovered))
        hard = near[members[0]][members[1]] <= 0
        for user in range(len(caps)):
            if user in members or any(user not in near[member] for member in members):
                continue
            hard = hard and all(near[user][member] <= 0 for member in members)
            if hard or len(members) < MOST_IN_CLIQUE:
                members.append(user)
        uncovered -= {(i, j) for i in members for j in members if i < j}
        if len(members) > 2:
            excluded = all(near[i][j] <= 0 for i in members for j in members if i < j)
            limit = 1.0 if excluded else best_share(members)
            found.append(({user: 1.0 / revenue(user, caps[user]) for user in members}, limit * (1 + SAFETY)))
    return found


def prices_of(rows: Sequence[Row], most: Sequence[float]) -> Prices | None:
    """Return the multipliers of the program's optimum as prices; None where the solver fails.

    Parameters
    ----------
    rows : sequence of ({user: coefficient}, limit)
    most : sequence of float
        T_j(c_j).

    Examples
    --------
    >>> found = prices_of([({0: 1.0, 1: 1.0}, 1.0)], [1.0, 1.0])  # of two only one
    >>> round(found.total, 9), [round(part, 9) for part in found.left]
    (1.0, [0.0, 0.0])
    """
    from scipy import sparse

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    count = len(most)
    places = [(number, user, part) for number, (row, _) in enumerate(rows) for user, part in row.items()]
    if not places:
        return None
    numbers, users, parts = zip(*places, strict=True)
    matrix = sparse.csr_array((parts, (numbers, users)), shape=(len(rows), count))
    limits = np.array([limit for _, limit in rows])
    program = LinearProgram(
        np.ones(count),
        matrix,
        limits,
        sparse.csr_array((0, count)),
        np.zeros(0),
        np.zeros(count),
        np.array(most, dtype=np.float64),
    )
    answer = solve_linear(program, tolerance=1e-9)
    if answer.status != "optimal":
        return None
    paid = answer.upper_multipliers
    total = float(paid @ limits) * (1.0 + SAFETY)
    left = 1.0 - matrix.T @ paid
    return Prices(total, left.tolist())
