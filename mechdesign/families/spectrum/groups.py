"""Users who are in each other's way, and bounds of the revenue of groups of such users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
        found: list[list[tuple[int, float]]] = [[] for _ in caps]
        for one in live:
            row = margins[one]
            found[one] = [(other, row[other]) for other in live if row[other] < caps[one] + caps[other]]
        return cls(found)

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
