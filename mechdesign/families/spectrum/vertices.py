"""Users who are in each other's way, and bounds of the revenue of groups of such users.

A linear program bounds what users in conflict pay, and its prices bound branches. With t_j the revenue of
user j, 0 <= t_j <= T_j(c_j), these rows hold for every allocation:

- of a pair in conflict, alpha_i t_i + alpha_j t_j <= gamma: the line through the two points where one of them
  has its cap. Along R_i + R_j = m one revenue is a convex function of the other, so it lies below the chord;
- of users who are all in conflict, sum of t_j / T_j(c_j) <= h, with h the best such sum, by a search tree.

For any multipliers y >= 0 the sum of all t_j is at most y.b plus the sum of (1 - y.A_j) t_j (weak duality).

All vertices that can be best: a search tree over who is served and which limits are tight.

For fixed L the revenue is convex in the radii, so a best allocation is a vertex of the polytope of those who
are served (docs/families/spectrum.md, theorem 3). At a vertex with positive radii each user is at its wanted
radius, at the owner's ring (R = a - L), or tight with another user, and following the tight neighbours
one comes to a user of the first two kinds or round an odd cycle. The tree gives each user one of these
choices or leaves it out; a branch whose revenue bound does not beat the best found is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from mechdesign.core.errors import MethodError

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
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        edges = [(one, other) for one, row in enumerate(self.neighbours) for other, _ in row]
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        graph = coo_array((np.ones(len(edges)), (ends[0], ends[1])), shape=(len(caps), len(caps)))
        _, numbers = connected_components(graph, directed=False)
        parts: dict[int, list[int]] = {}
        for user, cap in enumerate(caps):
            if cap > 0:
                parts.setdefault(int(numbers[user]), []).append(user)
        return list(parts.values())


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


def chord(
    revenue: Callable[[int, float], float], caps: Sequence[float], margin: float, i: int, j: int
) -> tuple[float, float, float] | None:
    """Return a, b, h with t_i / a + t_j / b <= h for the revenues of a pair in conflict, or None.

    The line through the points where one of the two has its cap: along R_i + R_j = m the revenue of one is a
    convex function of the other's, so it is below the chord.
    """
    full, rest = revenue(i, caps[i]), revenue(j, margin - caps[i])
    other, left = revenue(j, caps[j]), revenue(i, margin - caps[j])
    rise, across = other - rest, full - left
    return (across, rise, full / across + rest / rise) if rise > 0 and across > 0 else None


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
            line = chord(revenue, caps, margin, i, j)
            if line is not None:
                across, rise, limit = line
                rows.append(({i: 1.0 / across, j: 1.0 / rise}, limit * (1.0 + SAFETY)))
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


OUT, FULL, RING = -1, -2, -3
"""Choices of a user; a number from 0 on is the neighbour it is tight with."""

PRICED = 5
"""With at least this many users, branches are bounded by prices as well."""

LOOSE = 2.0**-40
"""Limits that doubles miss by this part count as kept where only a bound is wanted."""

Value = TypeVar("Value")
Expression = tuple[Value, Value]
"""A radius as alpha + beta L."""


@dataclass(frozen=True)
class Users:
    """Users of a search: factors c_j, privacy radii, requested radii, reaches a_j and margins."""

    factor: Sequence[float]
    privacy: Sequence[float]
    radius: Sequence[float]
    reach: Sequence[float]
    margins: Sequence[Sequence[float]]

    def revenue(self, user: int, radius: float) -> float:
        """Return c R (s + R)^2, 0 for no radius."""
        if radius <= 0:
            return 0.0
        grown = self.privacy[user] + radius
        return self.factor[user] * radius * grown * grown


Leaf = Callable[[Sequence[int]], float]
"""Evaluates complete choices; returns the best value found so far, in the scale of the search."""


class Way(NamedTuple):
    """Action of one user: the choice, and the least and the largest radius and revenue it can mean."""

    choice: int
    least: float
    most: float
    ends: tuple[float, float]


NOT_SERVED = Way(OUT, 0.0, 0.0, (0.0, 0.0))


class Branch(NamedTuple):
    """A node of the tree: what the first users in the order do, and what they leave to the others.

    Attributes
    ----------
    done : tuple of Way
        Of those who have decided, in the order of the search.
    caps : list of float
        The largest radius that each user can still have.
    needed : frozenset of int
        Users whom another one is tight with, so that they cannot be left out.
    earned : float
        The largest revenue of those who have decided.
    """

    done: tuple[Way, ...]
    caps: list[float]
    needed: frozenset[int]
    earned: float


class VertexSearch:
    """The search tree for L in [low, high].

    Parameters
    ----------
    users : Users
    low, high : float
        Equal, or both 0 with infinite reaches, for a fixed L.
    loss : float
        kp / high: the least that every value loses against the revenue.
    leaf : callable
    incumbent : float
        The best value known.
    nodes : int
        Largest number of branches; the rest is only bounded.
    priced : bool
        Whether prices of crowding also bound branches.
    """

    def __init__(
        self,
        users: Users,
        low: float,
        high: float,
        loss: float,
        leaf: Leaf,
        incumbent: float,
        nodes: int,
        priced: bool = True,
    ) -> None:
        self.users, self.low, self.high, self.loss = users, low, high, loss
        self.leaf, self.best, self.left = leaf, incumbent, nodes
        self.caps = [
            min(r0, a - low) if a - low > 0 else 0.0 for r0, a in zip(users.radius, users.reach, strict=True)
        ]
        conflicts = Conflicts.of(users.margins, self.caps)
        self.neighbours = conflicts.neighbours
        self.order, self.groups = static_bounds(users.revenue, conflicts, self.caps)
        self.prices = self._prices(conflicts) if priced and len(self.order) >= PRICED else None
        self.rank = {user: place for place, user in enumerate(self.order)}
        self.cut = -math.inf
        """The largest bound of a branch that was left for want of nodes."""

    def run(self) -> None:
        """Go through the tree."""
        self._visit(Branch((), self.caps, frozenset(), 0.0))

    def _visit(self, branch: Branch) -> None:
        bound = self._bound(branch)
        if bound <= self.best:
            return
        if self.left <= 0:
            self.cut = max(self.cut, bound)
            return
        self.left -= 1
        if len(branch.done) == len(self.order):
            choices = [OUT] * len(self.caps)
            for user, option in zip(self.order, branch.done, strict=True):
                choices[user] = option.choice
            self.best = max(self.best, self.leaf(choices))
            return
        for child in self._children(branch):
            self._visit(child)

    def _children(self, branch: Branch) -> Iterator[Branch]:
        """Yield the ways to serve the next user, then the branch without it."""
        done, caps, needed, earned = branch
        user = self.order[len(done)]
        for option in self._options(branch, user):
            left = self._left(branch, user, option)
            if left is not None:
                required = needed | {option.choice} if option.choice >= 0 else needed
                yield Branch((*done, option), left, required, earned + option.ends[1])
        if user not in needed:
            yield Branch((*done, NOT_SERVED), caps, needed, earned)

    def _options(self, branch: Branch, user: int) -> list[Way]:
        """Return each way to serve a user."""
        r0, a, cap = self.users.radius[user], self.users.reach[user], branch.caps[user]
        if cap <= 0:
            return []
        choices: list[tuple[int, float, float]] = []
        if cap >= r0 and a - self.low >= r0:
            choices.append((FULL, r0, r0))
        if a - self.high < r0:
            choices.append((RING, max(0.0, a - self.high), min(cap, r0)))
        for other, margin in self.neighbours[user]:
            place = self.rank[other]
            excluded = place < len(branch.done) and branch.done[place].choice in (OUT, user)
            if margin > 0 and branch.caps[other] > 0 and not excluded:
                choices.append((other, 0.0, min(cap, margin)))
        revenue = self.users.revenue
        return [
            Way(choice, least, most, (revenue(user, least), revenue(user, most)))
            for choice, least, most in choices
        ]

    def _left(self, branch: Branch, user: int, option: Way) -> list[float] | None:
        """Return every user's caps once a user is served so; None where that contradicts a choice."""
        caps = branch.caps.copy()
        caps[user] = option.most
        for other, margin in self.neighbours[user]:
            room, place = margin - option.least, self.rank[other]
            if place < len(branch.done):
                if room < branch.done[place].least * (1.0 - 2.0**-40) and branch.done[place].choice != OUT:
                    return None
            elif room <= 0:
                if other in branch.needed or other == option.choice:
                    return None
                caps[other] = 0.0
            elif room < caps[other]:
                caps[other] = room
        return caps

    # Bounds

    def _bound(self, branch: Branch) -> float:
        total = branch.earned - self.loss
        for start, bounds in self.groups:
            first = max(start, len(branch.done))
            if first >= start + len(bounds):
                continue
            open_users = self.order[first : start + len(bounds)]
            loose = sum(self.users.revenue(user, branch.caps[user]) for user in open_users)
            total += min(loose, bounds[first - start])
        return total if self.prices is None else min(total, self._priced(branch, self.prices))

    def _priced(self, branch: Branch, prices: Prices) -> float:
        """Return the bound by the prices of crowding, loosened by what its sum may lose."""
        total, size, left = prices.total, prices.total, prices.left
        for user, option in zip(self.order, branch.done, strict=False):
            least, most = option.ends
            part = left[user] * (most if left[user] > 0 else least)
            total, size = total + part, size + abs(part)
        for user in self.order[len(branch.done) :]:
            if left[user] > 0:
                part = left[user] * self.users.revenue(user, branch.caps[user])
                total, size = total + part, size + part
        return total + 2.0**-40 * size - self.loss

    def _prices(self, conflicts: Conflicts) -> Prices | None:
        users, caps = self.users, self.caps
        most = [users.revenue(user, cap) for user, cap in enumerate(caps)]
        rows = rows_of(users.revenue, conflicts, caps, lambda members: best_share(users, members, caps))
        return prices_of(rows, most)


def best_share(users: Users, members: Sequence[int], caps: Sequence[float]) -> float:
    """Return the largest sum of T_j / T_j(c_j) that a few users can have together, or a bound of it."""
    factor = [users.factor[j] / users.revenue(j, caps[j]) for j in members]
    margins = [[users.margins[i][j] for j in members] for i in members]
    limits, endless = [caps[j] for j in members], [math.inf] * len(members)
    few = Users(factor, [users.privacy[j] for j in members], limits, endless, margins)
    best = 1.0

    def leaf(choices: Sequence[int]) -> float:
        nonlocal best
        expressions = resolved(choices, limits, endless, lambda i, j: margins[i][j], float)
        if expressions is not None:
            radii = [alpha for alpha, _ in expressions]
            served = [j for j, choice in enumerate(choices) if choice != OUT]
            fits = all(-LOOSE <= radii[j] <= limits[j] * (1.0 + LOOSE) for j in served) and all(
                radii[i] + radii[j] <= margins[i][j] * (1.0 + LOOSE) for i in served for j in served if i < j
            )
            if fits:
                best = max(best, math.fsum(few.revenue(j, radius) for j, radius in enumerate(radii)))
        return best

    search = VertexSearch(few, 0.0, 0.0, 0.0, leaf, best, 2000, priced=False)
    search.run()
    return max(best, search.cut)


def resolved(
    choices: Sequence[int],
    radius: Sequence[Value],
    reach: Sequence[Value],
    margins: Callable[[int, int], Value],
    number: Callable[[int], Value],
) -> list[Expression[Value]] | None:
    """Return every radius as alpha + beta L, in whatever numbers are given; None for an even cycle.

    Examples
    --------
    >>> margin = lambda i, j: 5.0
    >>> resolved([FULL, 0], [2.0, 9.0], [9.0, 9.0], margin, float)
    [(2.0, 0.0), (3.0, -0.0)]
    >>> resolved([1, 2, 0], [9.0] * 3, [9.0] * 3, margin, float)
    [(2.5, 0.0), (2.5, -0.0), (2.5, 0.0)]
    """
    expressions: list[Expression[Value] | None] = [None] * len(choices)
    for start in range(len(choices)):
        path: list[int] = []
        user = start
        while expressions[user] is None and user not in path:
            path.append(user)
            if choices[user] < 0:
                break
            user = choices[user]
        if expressions[user] is None and choices[user] >= 0:
            cycle = path[path.index(user) :]
            if len(cycle) % 2 == 0:
                return None
            expressions[user] = _around(cycle, margins, number)
        for current in reversed(path):
            if expressions[current] is None:
                expressions[current] = _one(current, choices, expressions, radius, reach, margins, number)
    return [expression for expression in expressions if expression is not None]


def _around(
    cycle: Sequence[int], margins: Callable[[int, int], Value], number: Callable[[int], Value]
) -> Expression[Value]:
    """Return the radius of the first user of an odd cycle of tight pairs: half of an alternating sum."""
    total: Value = number(0)
    for place, user in enumerate(cycle):
        margin: Value = margins(user, cycle[(place + 1) % len(cycle)])
        total = total + margin if place % 2 == 0 else total - margin  # type: ignore[operator]
    return total / number(2), number(0)  # type: ignore[operator]


def _one(
    user: int,
    choices: Sequence[int],
    expressions: Sequence[Expression[Value] | None],
    radius: Sequence[Value],
    reach: Sequence[Value],
    margins: Callable[[int, int], Value],
    number: Callable[[int], Value],
) -> Expression[Value]:
    choice = choices[user]
    if choice == OUT:
        return number(0), number(0)
    if choice == FULL:
        return radius[user], number(0)
    if choice == RING:
        return reach[user], number(-1)
    other = expressions[choice]
    if other is None:
        raise MethodError("vertices", "a tight neighbour without a radius", "report this as a bug")
    return margins(user, choice) - other[0], -other[1]  # type: ignore[operator]
