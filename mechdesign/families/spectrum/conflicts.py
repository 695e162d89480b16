"""Users who are in each other's way, and bounds of the revenue of groups of such users.

A linear program bounds what users in conflict pay, and its prices bound branches. With t_j the revenue of
user j, 0 <= t_j <= T_j(c_j), these rows hold for every allocation:

- of a pair in conflict, alpha_i t_i + alpha_j t_j <= gamma: the line through the two points where one of them
  has its cap. Along R_i + R_j = m one revenue is a convex function of the other, so it lies below the chord;
- of users who are all in conflict, sum of t_j / T_j(c_j) <= h, with h the best such sum, by a search tree.

For any multipliers y >= 0 the sum of all t_j is at most y.b plus the sum of (1 - y.A_j) t_j (weak duality).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

MOST_IN_GROUP = 12


@dataclass(frozen=True)
class Conflicts:
    """The conflict graph at given caps of the radii: pairs that cannot both have their cap.

    Attributes
    ----------
    neighbours : list of lists of (user, margin)
        With margin m_ij <= 0 at most one of the two is served.
    """

    neighbours: list[list[tuple[int, float]]]

    @classmethod
    def of(cls, margins: Sequence[Sequence[float]], caps: Sequence[float]) -> Conflicts:
        """Return the conflicts among users whose cap is positive.

        Examples
        --------
        >>> far = float("inf")
        >>> Conflicts.of([[far, 3.0], [3.0, far]], [2.0, 2.0]).neighbours
        [[(1, 3.0)], [(0, 3.0)]]
        """
        live = [user for user, cap in enumerate(caps) if cap > 0]
        neighbors: list[list[tuple[int, float]]] = [[] for _ in caps]
        for one in live:
            row = margins[one]
            neighbors[one] = [(other, row[other]) for other in live if row[other] < caps[one] + caps[other]]
        return cls(neighbors)

    def components(self, caps: Sequence[float]) -> list[list[int]]:
        """Return the connected components of users with a positive cap, each sorted.

        Examples
        --------
        >>> far = float("inf")
        >>> Conflicts.of([[far, 3.0], [3.0, far]], [1.0, 1.0]).components([1.0, 1.0])
        [[0], [1]]
        """
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(user for user, cap in enumerate(caps) if cap > 0)
        graph.add_edges_from((one, other) for one, row in enumerate(self.neighbours) for other, _ in row)
        return [sorted(part) for part in nx.connected_components(graph)]


Groups = list[tuple[int, list[float]]]
"""Where each group starts in the order, and a bound of the revenue of its members from each place on."""


def static_bounds(
    revenue: Callable[[int, float], float], conflicts: Conflicts, caps: Sequence[float]
) -> tuple[list[int], Groups]:
    """Return an order of the users in groups of mutual conflict, and bounds of what groups can pay.

    Of two users with margin m > 0 the sum of revenues is convex along R_1 + R_2 = m: it is at most that of
    the better end, and where m <= 0 at most that of the better user alone. A group of k users pays at most
    the sum over its pairs divided by k - 1, at most the sum over disjoint pairs and those left over,
    and, where no two can be served together, at most what its best user pays.

    Examples
    --------
    >>> far = float("inf")
    >>> conflicts = Conflicts.of([[far, -1.0], [-1.0, far]], [2.0, 1.0])
    >>> static_bounds(lambda user, radius: radius, conflicts, [2.0, 1.0])
    ([0, 1], [(0, [2.0, 1.0])])
    """
    alone = [revenue(user, cap) if cap > 0 else 0.0 for user, cap in enumerate(caps)]
    near = [dict(row) for row in conflicts.neighbours]
    waiting = sorted((user for user, cap in enumerate(caps) if cap > 0), key=lambda user: -alone[user])
    order: list[int] = []
    groups: Groups = []
    while waiting:
        members = [waiting[0]]
        for user in waiting[1:]:
            if len(members) < MOST_IN_GROUP and all(user in near[member] for member in members):
                members.append(user)
        waiting = [user for user in waiting if user not in members]
        pairs = {
            (i, j): _pair(revenue, alone, i, j, near[i][j], caps)
            for a, i in enumerate(members)
            for j in members[a + 1 :]
        }
        bounds = [_group(members[place:], pairs, alone, near) for place in range(len(members))]
        groups.append((len(order), bounds))
        order += members
    return order, groups


def _pair(
    revenue: Callable[[int, float], float],
    alone: Sequence[float],
    i: int,
    j: int,
    margin: float,
    caps: Sequence[float],
) -> float:
    """Return the most that two users in conflict pay together."""
    best = max(alone[i], alone[j])
    if margin > 0:
        best = max(
            best,
            revenue(i, min(caps[i], margin)) + revenue(j, margin - min(caps[i], margin)),
            revenue(j, min(caps[j], margin)) + revenue(i, margin - min(caps[j], margin)),
        )
    return best


def _group(
    members: Sequence[int],
    pairs: dict[tuple[int, int], float],
    alone: Sequence[float],
    near: Sequence[dict[int, float]],
) -> float:
    """Return a bound of what mutually conflicting users pay together."""
    if len(members) == 1:
        return alone[members[0]]
    if all(near[i][j] <= 0 for a, i in enumerate(members) for j in members[a + 1 :]):
        return max(alone[member] for member in members)
    together = [pairs[i, j] for a, i in enumerate(members) for j in members[a + 1 :]]
    matched, left = 0.0, list(members)
    for (i, j), value in sorted(
        pairs.items(), key=lambda pair: pair[1] - sum(alone[user] for user in pair[0])
    ):
        if i in left and j in left:
            matched += value
            left = [member for member in left if member not in (i, j)]
    matched += sum(alone[member] for member in left)
    return min(sum(together) / (len(members) - 1), matched, sum(alone[member] for member in members))


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
    rows: list[Row] = []
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
                rows.append(({i: 1.0 / across, j: 1.0 / rise}, limit))
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
            rows.append(({user: 1.0 / revenue(user, caps[user]) for user in members}, limit * (1 + SAFETY)))
    return rows


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
