"""Best radii for a given L, best radii and L for few users, and a proven bound for many."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.randomness import float_down, float_up
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.local_search import Greedy, RadiiAtLevel
from mechdesign.families.spectrum.vertices import OUT, Conflicts, Users, VertexSearch, resolved
from mechdesign.solvers.roots import maximum

Array = NDArray[np.float64]
Form = tuple[Fraction, Fraction]
"""alpha + beta L"""

NODES = 200_000
"""Branches of a search tree for few users."""

CROWD = 40

TOLERANCE = 2.0**-40
"""Limits that doubles miss by this part count as kept in a search; radii are corrected afterwards."""


@dataclass(frozen=True)
class BoundedRadii:
    """An allocation that keeps every distance exactly, and a proven bound of every other one."""

    radii: Array
    level: float
    bound: float


def users_of_channel(channel: Channel, members: Sequence[int], caps: Sequence[float] | None = None) -> Users:
    """Return some users of a channel for a search; with ``caps`` for fixed limits of the radii."""
    chosen = np.array(members, dtype=np.int64)
    inside = channel.margins[np.ix_(chosen, chosen)].tolist()
    factor, privacy = channel.factor[chosen].tolist(), channel.privacy[chosen].tolist()
    if caps is not None:
        return Users(factor, privacy, list(caps), [math.inf] * len(members), inside)
    return Users(factor, privacy, channel.radius[chosen].tolist(), channel.reach[chosen].tolist(), inside)


# Fixed limits of the radii: an idle channel, or a given L


Known = dict[tuple[tuple[int, ...], tuple[float, ...]], tuple[list[float], float]]
"""Radii and bounds of components by their members and caps."""


def best_radii(
    channel: Channel, caps: Array, nodes: int = NODES, known: Known | None = None
) -> tuple[Array, float]:
    """Return the radii with the largest revenue under fixed caps, and a bound of the revenue.

    The conflict graph's components are independent of each other; those in ``known`` are not searched
    again. A component of more than ``CROWD`` users gets fewer branches, for each of them takes longer.
    """
    seen: Known = {} if known is None else known
    radii, bound = np.zeros(channel.size), 0.0
    for members in Conflicts.of(channel.margins.tolist(), caps.tolist()).components(caps.tolist()):
        limits = caps[members].tolist()
        if len(members) == 1:
            radii[members] = limits
            bound += float(channel.revenue(radii)[members[0]])
            continue
        key = (tuple(members), tuple(limits))
        if key not in seen:
            allowance = nodes * CROWD**3 // max(CROWD, len(members)) ** 3
            seen[key] = _component(users_of_channel(channel, members, limits), allowance)
        part, most = seen[key]
        radii[members] = part
        bound += most
    return radii, bound


def _component(users: Users, nodes: int) -> tuple[list[float], float]:
    best = [_filled(users)]
    value = math.fsum(users.revenue(user, radius) for user, radius in enumerate(best[0]))

    def leaf(choices: Sequence[int]) -> float:
        nonlocal value
        expressions = resolved(choices, users.radius, users.reach, lambda i, j: users.margins[i][j], float)
        if expressions is not None and _keeps(users, choices, [alpha for alpha, _ in expressions]):
            total = math.fsum(users.revenue(user, alpha) for user, (alpha, _) in enumerate(expressions))
            if total > value:
                value, best[0] = total, [max(alpha, 0.0) for alpha, _ in expressions]
        return value

    search = VertexSearch(users, 0.0, 0.0, 0.0, leaf, value, nodes)
    search.run()
    return best[0], max(value, search.cut)


def _filled(users: Users) -> list[float]:
    """Return radii to start from: users in the order of their revenue, each moved to the front in turn."""
    count = len(users.radius)
    order = sorted(range(count), key=lambda user: -users.revenue(user, users.radius[user]))
    best, most = [0.0] * count, -1.0
    for first in [order[0], *order]:
        radii = [0.0] * count
        for user in [first, *(other for other in order if other != first)]:
            room = users.radius[user]
            for other, margin in enumerate(users.margins[user]):
                if radii[other] > 0:
                    room = min(room, margin - radii[other])
            radii[user] = max(room, 0.0)
        paid = math.fsum(users.revenue(user, radius) for user, radius in enumerate(radii))
        if paid > most * (1.0 + TOLERANCE):
            best, most = radii, paid
            order = [first, *(other for other in order if other != first)]
    return best


def _keeps(users: Users, choices: Sequence[int], radii: Sequence[float]) -> bool:
    served = [user for user, choice in enumerate(choices) if choice != OUT]
    loose = 1.0 + TOLERANCE
    return all(-TOLERANCE <= radii[j] <= users.radius[j] * loose for j in served) and all(
        radii[i] + radii[j] <= users.margins[i][j] * loose + TOLERANCE * users.radius[i]
        for place, i in enumerate(served)
        for j in served[place + 1 :]
    )


# Few users of an occupied channel: all vertex patterns as functions of L


class Patterns:
    """The best pattern of an occupied channel, updated leaf by leaf."""

    def __init__(self, channel: Channel, start: RadiiAtLevel) -> None:
        self.channel, self.best, self.bound = channel, start.value, -math.inf
        self.level, self.radii = Fraction(start.level), [Fraction(r) for r in start.radii.tolist()]
        self.users = users_of_channel(channel, range(channel.size))
        self.pole = Fraction(channel.privacy_cost)

    def search(self, low: float, high: float, nodes: int) -> tuple[float, int]:
        """Go through all patterns for L in [low, high]; return the bound of what was cut, and nodes left."""
        self.low, self.high = low, high
        loss = self.channel.privacy_cost / high
        tree = VertexSearch(self.users, low, high, loss, self._leaf, self.best, nodes)
        tree.run()
        return tree.cut, tree.left

    def _leaf(self, choices: Sequence[int]) -> float:
        users = self.users
        expressions = resolved(choices, users.radius, users.reach, lambda i, j: users.margins[i][j], float)
        if expressions is None:
            return self.best
        low, high = _range(users, choices, expressions, self.low, self.high, 1e-9 * (1.0 + self.high))
        if low > high:
            return self.best
        most = math.fsum(
            users.revenue(j, alpha + beta * (low if beta < 0 else high))
            for j, (alpha, beta) in enumerate(expressions)
        )
        if most - self.channel.privacy_cost / high > self.best:
            self._exact(choices)
        return self.best

    def _exact(self, choices: Sequence[int]) -> None:
        users = self.users
        radius, reach = ([Fraction(v) for v in part] for part in (users.radius, users.reach))
        expressions = resolved(choices, radius, reach, lambda i, j: Fraction(users.margins[i][j]), Fraction)
        if expressions is None:
            return
        low, high = _range(users, choices, expressions, Fraction(self.low), Fraction(self.high), Fraction(0))
        if low > high:
            return
        served = [j for j, choice in enumerate(choices) if choice != OUT]
        cubics = (revenue_cubic(users.factor[j], users.privacy[j], expressions[j]) for j in served)
        peak = maximum(summed(cubics), self.pole, low, high)
        self.bound = max(self.bound, float_up(peak.bound))
        if float_down(peak.value) > self.best:
            self.best, self.level = float_down(peak.value), peak.place
            self.radii = [alpha + beta * peak.place for alpha, beta in expressions]


def revenue_cubic(factor: float, privacy: float, radius: Form) -> list[Fraction]:
    """Return the coefficients of c R (s + R)^2 for R = alpha + beta L."""
    (alpha, beta), c, s = radius, Fraction(factor), Fraction(privacy)
    grown = s + alpha
    square = [grown * grown, 2 * grown * beta, beta * beta]
    return [
        c * (alpha * square[0]),
        c * (alpha * square[1] + beta * square[0]),
        c * (alpha * square[2] + beta * square[1]),
        c * beta * square[2],
    ]


def summed(cubics: Iterable[Sequence[Fraction]]) -> list[Fraction]:
    """Return the sum of cubics by their coefficients."""
    return [sum(parts, Fraction(0)) for parts in zip([Fraction(0)] * 4, *cubics, strict=True)]


def limited(rows: Iterable[tuple[Any, Any]], low: Any, high: Any) -> tuple[Any, Any]:
    """Return the part of [low, high] on which alpha + beta L <= 0 for all rows, in whatever numbers.

    Examples
    --------
    >>> limited([(Fraction(-3), Fraction(1))], Fraction(0), Fraction(9))
    (Fraction(0, 1), Fraction(3, 1))
    """
    for alpha, beta in rows:
        if beta > 0:
            high = min(high, -alpha / beta)
        elif beta < 0:
            low = max(low, -alpha / beta)
        elif alpha > 0:
            return type(low)(1), type(low)(0)
    return low, high


def _range(users: Users, choices: Sequence[int], expressions: Any, low: Any, high: Any, slack: Any) -> Any:
    """Return the interval of L on which a pattern keeps every limit, in whatever numbers are given."""
    number: Any = Fraction if isinstance(slack, Fraction) else float
    rows = []  # alpha + beta L <= 0
    served = [user for user, choice in enumerate(choices) if choice != OUT]
    for place, i in enumerate(served):
        alpha, beta = expressions[i]
        rows += [(-alpha, -beta), (alpha - number(users.radius[i]), beta)]
        rows.append((alpha - number(users.reach[i]), beta + 1))
        for j in served[place + 1 :]:
            other, slope = expressions[j]
            if users.margins[i][j] < users.radius[i] + users.radius[j]:
                rows.append((alpha + other - number(users.margins[i][j]), beta + slope))
    return limited(((alpha - slack, beta) for alpha, beta in rows), low, high)


def best_pattern(channel: Channel, nodes: int = NODES) -> BoundedRadii:
    """Return the best allocation of an occupied channel by all vertex patterns, with its proven bound.

    The range of L is divided, and the parts are gone through in the order of what they promise.
    """
    start = _safe(channel, Greedy(channel).best(levels=12 if channel.size < 3 else 24, moves=40))
    patterns = Patterns(channel, start)
    most, least = channel.most, least_level(channel, start.value)
    parts = 1 if channel.size < 3 else 8 * channel.size
    ends = np.linspace(least, most, parts + 1)
    promises = []
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        caps = np.clip(np.minimum(channel.radius, channel.reach - low), 0.0, None)
        promises.append((-math.fsum(channel.revenue(caps).tolist()) + channel.privacy_cost / high, low, high))
    cut = -math.inf
    for promise, low, high in sorted(promises):
        if -promise > patterns.best:
            unseen, nodes = patterns.search(low, high, nodes)
            cut = max(cut, unseen)
    level = min(float_down(patterns.level), most)
    radii = channel.allowed(np.array([max(0.0, float_down(r)) for r in patterns.radii]), level)
    return BoundedRadii(radii, level, max(patterns.best, patterns.bound, cut) + channel.rounding)


def least_level(channel: Channel, value: float) -> float:
    """Return a level below which no allocation reaches the value: the loss kp / L alone exceeds it."""
    room = math.fsum(channel.revenue(channel.radius).tolist()) - value
    return min(channel.most, (1.0 - 2.0**-40) * channel.privacy_cost / room) if room > 0 else channel.most


def _safe(channel: Channel, allocation: RadiiAtLevel) -> RadiiAtLevel:
    radii = channel.allowed(allocation.radii, allocation.level)
    return RadiiAtLevel(radii, allocation.level, channel.utility(radii, allocation.level))


# Many users: parts of the range of L, each bounded by the revenue at its lower end


def bound_of_many(
    channel: Channel, start: RadiiAtLevel, target: float, nodes: int = 4000, parts: int = 400
) -> tuple[float, RadiiAtLevel]:
    """Return a proven bound of the utility, and the best allocation seen on the way.

    On [l, u] the utility is at most W(l) - kp / u, with W(l) the largest revenue at L = l: it falls with L.
    The part with the largest bound is halved until the bound is within ``target`` of the value.

    Parameters
    ----------
    channel : Channel
    start : RadiiAtLevel
    target : float
        The gap that is wanted.
    nodes : int
        Branches for each component of the conflict graph at each L.
    parts : int
        Largest number of parts that are examined.
    """
    best, cost = _safe(channel, start), channel.privacy_cost
    if channel.owner is None:
        radii, bound = best_radii(channel, channel.radius, nodes)
        allocation = _safe(channel, RadiiAtLevel(radii, 0.0, 0.0))
        return bound + channel.rounding, max(best, allocation, key=lambda item: item.value)
    most = channel.most
    known: dict[float, float] = {}
    seen: Known = {}

    def revenue(level: float) -> float:
        nonlocal best
        if level not in known:
            caps = np.clip(np.minimum(channel.radius, channel.reach - level), 0.0, None)
            radii, known[level] = best_radii(channel, caps, nodes, seen)
            allocation = _safe(channel, RadiiAtLevel(radii, level, 0.0))
            best = max(best, allocation, key=lambda item: item.value)
        return known[level]

    least = least_level(channel, best.value)
    if least >= most:
        return best.value + channel.rounding, best
    waiting = [(-(revenue(least) - cost / most), least, most)]
    for _ in range(parts):
        promise, low, high = waiting[0]
        if -promise - best.value <= target:
            break
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            break
        heapq.heapreplace(waiting, (-(revenue(low) - cost / middle), low, middle))
        heapq.heappush(waiting, (-(revenue(middle) - cost / high), middle, high))
    bound = max(-waiting[0][0], best.value)
    return bound + channel.rounding, best
