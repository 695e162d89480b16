"""Vertex patterns of few users of a channel: who is served, and which limits are tight.

*One or two users:* every pattern, each the maximum of a cubic with a pole on an interval of L. The caps of
user j are r0_j for L <= a_j - r0_j and a_j - L after that: pieces (a) to (c) of section 6.5.2. With both
served, both have their caps, or one has its cap and the other one what is left of the margin.

*A few users:* a search tree over all patterns.

The methods of ``spectrum-channel``: the first one that applies is the default.

*Cuts*, for many users: a linear program of intervals of radii, with rows of crowding, refined as long as it
takes.

*Lists*: users served one after the other from good lists, over a grid of L, then annealing; no bound.

*An integer program*, for any number of users, with revenue by pieces, then radii and L made exact. The
revenue T_j is convex, so chords between breakpoints lie above it: each piece is one zero-one variable, and
the program overstates what is paid, by little. The loss -kp / L is concave, so tangents lie above it, too.
The program's optimum is then above the true one; the solver's own bound of it is a note (``stated_gap``), for
nobody sees its tree. What is proven comes from intervals of L (docs/families/spectrum.md). Where two users
exclude each other, or crowd, the rows are those of whole cliques of the conflict graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.validation import in_range
from mechdesign.exact.exponential import float_down, float_up
from mechdesign.families.spectrum.allocation import (
    CROWD,
    NODES,
    Form,
    best_pattern,
    best_radii,
    bound_of_many,
    limited,
    revenue_cubic,
    summed,
)
from mechdesign.families.spectrum.channel import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.channel_program import Array, Channel
from mechdesign.families.spectrum.clique_bound import bounded, quick
from mechdesign.families.spectrum.local_search import Greedy, RadiiAtLevel
from mechdesign.families.spectrum.vertices import Conflicts, chord
from mechdesign.solvers.integer import MixedProgram, solve_mixed
from mechdesign.solvers.roots import maximum

Pattern = tuple[dict[int, Form], Fraction, Fraction]
"""The radii of those who are served, and the interval of L."""


def caps(channel: Channel, user: int) -> list[tuple[Form, Fraction, Fraction]]:
    """Return the pieces of a user's cap: a form, and where it is the cap."""
    full = Fraction(float(channel.radius[user]))
    if channel.owner is None:
        return [((full, Fraction(0)), Fraction(0), Fraction(0))]
    room = Fraction(float(channel.reach[user]))
    pieces = [((full, Fraction(0)), Fraction(0), room - full)]
    pieces.append(((room, Fraction(-1)), max(Fraction(0), room - full), room))
    return [piece for piece in pieces if piece[1] <= piece[2] and piece[2] >= 0]


def patterns(channel: Channel) -> Iterator[Pattern]:
    """Yield every pattern with its interval of L, which may be empty."""
    for user in range(channel.size):
        for form, low, high in caps(channel, user):
            yield {user: form}, low, high
    if channel.size < 2 or channel.margins[0, 1] <= 0:
        return
    margin = Fraction(float(channel.margins[0, 1]))
    for first, low, high in caps(channel, 0):
        for second, least, most in caps(channel, 1):
            both = (first[0] + second[0] - margin, first[1] + second[1])
            yield {0: first, 1: second}, *limited([both], max(low, least), min(high, most))
    for user, other in ((0, 1), (1, 0)):
        for form, low, high in caps(channel, user):
            rest = (margin - form[0], -form[1])
            rows = [(-rest[0], -rest[1]), (rest[0] - Fraction(float(channel.radius[other])), rest[1])]
            if channel.owner is not None:
                rows.append((rest[0] - Fraction(float(channel.reach[other])), rest[1] + 1))
            yield {user: form, other: rest}, *limited(rows, low, high)


def _revenue(channel: Channel, served: dict[int, Form]) -> list[Fraction]:
    """Return the coefficients of the revenue as a cubic in L."""
    factor, privacy = channel.factor.tolist(), channel.privacy.tolist()
    return summed(revenue_cubic(factor[user], privacy[user], form) for user, form in served.items())


def allocation_from_patterns(problem: SpectrumChannel) -> Outcome:
    """Return the best pattern; of equal values that with the larger L."""
    covered = nobody(problem, "patterns")
    if covered is not None:
        return covered
    channel = problem.channel
    pole = Fraction(0 if channel.owner is None else channel.privacy_cost)
    best: tuple[Fraction, Fraction, dict[int, Form]] | None = None
    bound, tried = None, 0
    for served, low, high in patterns(channel):
        if low > high or (pole and high <= 0):
            continue
        peak, tried = maximum(_revenue(channel, served), pole, low, high), tried + 1
        bound = peak.bound if bound is None else max(bound, peak.bound)
        if best is None or (peak.value, peak.place) > best[:2]:
            best = (peak.value, peak.place, served)
    if best is None or bound is None:
        return Outcome(status="failed", solver="patterns", message="no pattern has an interval; report this")
    level = float_down(best[1])
    radii = np.zeros(problem.size)
    for user, (alpha, beta) in best[2].items():
        radii[user] = max(0.0, float_down(alpha + beta * best[1]))
    return outcome(
        problem,
        channel.allowed(radii, level),
        level,
        "patterns",
        float_up(bound) + channel.rounding,
        "all vertex patterns, their roots isolated in exact arithmetic",
        {"patterns": tried},
    )


def why_no_patterns(problem: SpectrumChannel) -> str | None:
    """Two users at most."""
    return f"it is for one or two users, and there are {problem.size}" if problem.size > 2 else None


MOST_USERS, MOST_IDLE = 8, 10
"""Users of an occupied channel and of an idle one."""


def allocation_from_tree(problem: SpectrumChannel, nodes: int = NODES) -> Outcome:
    """Search all patterns.

    Parameters
    ----------
    problem : SpectrumChannel
    nodes : int
        Largest number of branches; the rest is only bounded, and nothing is claimed.
    """
    covered = nobody(problem, "search tree")
    if covered is not None:
        return covered
    source = "a search tree over all vertex patterns"
    if problem.owner is None:
        radii, bound = best_radii(problem.channel, problem.channel.radius, nodes)
        allowed = problem.channel.allowed(np.asarray(radii), 0.0)
        return outcome(problem, allowed, 0.0, "search tree", bound + problem.channel.rounding, source)
    allocation = best_pattern(problem.channel, nodes)
    return outcome(problem, allocation.radii, allocation.level, "search tree", allocation.bound, source)


def why_no_tree(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    most = MOST_USERS if problem.owner is not None else MOST_IDLE
    return f"{problem.size} users are too many; the limit is {most}" if problem.size > most else None


MOST_USERS_OF_SEARCH = 500

GAP, SECONDS, SECONDS_A_USER = 0.005, 60.0, 2.0
"""The gap that is enough, as a part of the revenue, and the most time: in all, and for each user."""


def allocation_by_cuts(problem: SpectrumChannel, gap: float = GAP, seconds: float | None = None) -> Outcome:
    """Improve an allocation and its bound.

    Parameters
    ----------
    problem : SpectrumChannel
    gap : float
        The gap that is enough, as a part of the revenue.
    seconds : float, optional
        After this time the best allocation and the bound so far are returned: a minute, less for few users.
    """
    covered = nobody(problem, "cuts")
    if covered is not None:
        return covered
    in_range("gap", gap, 0.0, 1.0)
    seconds = min(SECONDS, SECONDS_A_USER * problem.size) if seconds is None else seconds
    in_range("seconds", seconds, 0.0, 1e6)
    channel = problem.channel
    result = bounded(channel, gap, seconds)
    radii = channel.allowed(result.best.radii, result.best.level)
    notes = {"rounds": result.rounds, "columns": result.columns, "rows": result.rows}
    source = "a linear program of intervals of radii, by weak duality"
    return outcome(problem, radii, result.best.level, "cuts", result.bound, source, notes)


def why_no_cuts(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users, or None."""
    return (
        f"{problem.size} users are too many; the limit is {MOST_USERS_OF_SEARCH}"
        if problem.size > MOST_USERS_OF_SEARCH
        else None
    )


def allocation_from_lists(problem: SpectrumChannel) -> Outcome:
    """Return the best allocation found."""
    covered = nobody(problem, "lists and annealing")
    if covered is not None:
        return covered
    allocation = quick(problem.channel)
    radii = problem.channel.allowed(allocation.radii, allocation.level)
    return outcome(problem, radii, allocation.level, "lists and annealing")


MOST_USERS_OF_MILP, MOST_PAIRS = 300, 1000
"""Users, and pairs of them who are in each other's way: a row for each."""

PIECES = 3
"""Pieces of each revenue."""

TANGENTS = 12
"""Tangents of the loss of privacy."""

GAP_OF_MILP, SECONDS_OF_MILP = 0.002, 20.0
"""At which relative gap, and after which time, the solver stops."""

TARGET, NODES_OF_SEARCH, PARTS = 1e-3, 60_000, 80
"""The relative gap that is to be proven, and the work that it may take."""


class Program:
    """The mixed program of a channel: columns are added one after the other."""

    def __init__(self, channel: Channel, pieces: int) -> None:
        self.channel = channel
        self.gains: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.whole: list[bool] = []
        self.rows: list[list[tuple[int, float]]] = []
        self.limits: list[float] = []
        caps = np.minimum(channel.radius, channel.reach)
        self.live = [j for j in range(channel.size) if caps[j] > 0]
        self.caps = caps
        self.level = self._level() if channel.owner is not None else -1
        self.served: dict[int, int] = {}
        self.grown: dict[int, list[tuple[int, float]]] = {}
        self.paid: dict[int, list[tuple[int, float]]] = {}
        for user in self.live:
            self._user(user, pieces)
        self._pairs()

    def column(self, gain: float, low: float, high: float, whole: bool = False) -> int:
        """Add a variable and return its place."""
        self.gains.append(gain)
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.gains) - 1

    def row(self, terms: list[tuple[int, float]], limit: float) -> None:
        """Add a row ``terms <= limit``."""
        self.rows.append(terms)
        self.limits.append(limit)

    def _level(self) -> int:
        cost, most = self.channel.privacy_cost, self.channel.most
        total = math.fsum(self.channel.revenue(self.channel.radius).tolist())
        least = min(most, cost / (total + cost / most))
        level = self.column(0.0, least, most)
        loss = self.column(1.0, -cost / least, 0.0)
        for point in np.geomspace(least, most, TANGENTS).tolist():
            self.row([(loss, 1.0), (level, -cost / point**2)], -2.0 * cost / point)
        return level

    def _user(self, user: int, pieces: int) -> None:
        channel, cap = self.channel, float(self.caps[user])
        places = np.linspace(0.0, cap, pieces + 1)
        paid = channel.factor[user] * places * (channel.privacy[user] + places) ** 2
        self.served[user] = self.column(0.0, 0.0, 1.0, whole=True)
        terms, choose, gains = [], [(self.served[user], -1.0)], []
        for left, right, least, most in zip(places[:-1], places[1:], paid[:-1], paid[1:], strict=True):
            chosen = self.column(float(least), 0.0, 1.0, whole=True)
            slope = float((most - least) / (right - left))
            step = self.column(slope, 0.0, float(right - left))
            self.row([(step, 1.0), (chosen, -float(right - left))], 0.0)
            terms += [(chosen, float(left)), (step, 1.0)]
            choose.append((chosen, 1.0))
            gains += [(chosen, float(least)), (step, slope)]
        self.row(choose, 0.0)
        self.paid[user] = gains
        self.grown[user] = terms
        if self.level >= 0:
            reach, most = float(channel.reach[user]), channel.most
            self.row([*terms, (self.level, 1.0), (self.served[user], most - reach)], most)

    def _pairs(self) -> None:
        margins, caps = self.channel.margins, self.caps
        for place, i in enumerate(self.live):
            for j in self.live[place + 1 :]:
                margin = float(margins[i, j])
                if margin >= caps[i] + caps[j]:
                    continue
                if margin > 0:
                    first, second = max(0.0, float(caps[i]) - margin), max(0.0, float(caps[j]) - margin)
                    terms = [
                        *self.grown[i],
                        *self.grown[j],
                        (self.served[j], first),
                        (self.served[i], second),
                    ]
                    self.row(terms, margin + first + second)
                    line = chord(self._paid, caps.tolist(), margin, i, j)
                    if line is not None:
                        across, rise, limit = line
                        terms = [(place, gain / across) for place, gain in self.paid[i]]
                        terms += [(place, gain / rise) for place, gain in self.paid[j]]
                        self.row(terms, limit * (1.0 + 1e-12))
        for clique in self._cliques():
            self.row([(self.served[user], 1.0) for user in clique], 1.0)

    def _paid(self, user: int, radius: float) -> float:
        """Return the revenue of a user at a radius; 0 below 0."""
        channel, positive = self.channel, max(0.0, radius)
        return float(channel.factor[user] * positive * (channel.privacy[user] + positive) ** 2)

    def _cliques(self) -> list[list[int]]:
        """Return sets of users of which at most one is served, that hold every such pair."""
        barred = self.channel.margins <= 0
        uncovered = {(i, j) for a, i in enumerate(self.live) for j in self.live[a + 1 :] if barred[i, j]}
        cliques = []
        while uncovered:
            clique = list(min(uncovered))
            for user in self.live:
                if user not in clique and all(barred[user, other] for other in clique):
                    clique.append(user)
            clique.sort()
            cliques.append(clique)
            uncovered -= {(i, j) for a, i in enumerate(clique) for j in clique[a + 1 :]}
        return cliques

    def program(self) -> MixedProgram:
        """Return the program."""
        return MixedProgram(
            np.array(self.gains),
            self.rows,
            self.limits,
            np.array(self.low),
            np.array(self.high),
            np.array(self.whole),
        )

    def radii(self, values: Array) -> Array:
        """Return the radii of a solution."""
        result = np.zeros(self.channel.size)
        for user in self.live:
            if values[self.served[user]] > 0.5:
                result[user] = sum(values[place] * part for place, part in self.grown[user])
        return result


def allocation_by_integer_program(
    problem: SpectrumChannel, gap: float = GAP_OF_MILP, seconds: float = SECONDS_OF_MILP, pieces: int = PIECES
) -> Outcome:
    """Solve the program, then improve and bound.

    Parameters
    ----------
    problem : SpectrumChannel
    gap : float
        The relative gap at which the solver stops.
    seconds : float
        The most time for the solver.
    pieces : int
        Pieces of each revenue.
    """
    covered = nobody(problem, "MILP")
    if covered is not None:
        return covered
    channel = problem.channel
    program = Program(channel, pieces)
    result = solve_mixed(program.program(), gap, seconds)
    greedy = Greedy(channel)
    best = greedy.best()
    notes: dict[str, float | int] = {"binaries": int(sum(program.whole))}
    if len(result.variables):
        level = float(result.variables[program.level]) if channel.owner is not None else 0.0
        order = np.argsort(-program.radii(result.variables), kind="stable").tolist()
        radii = greedy.improved(order, level)[1]
        best = max(best, RadiiAtLevel(radii, level, channel.utility(radii, level)), key=lambda a: a.value)
    if result.stated is not None and math.isfinite(result.stated):
        notes["stated_bound"] = result.stated
    parts = max(4, PARTS * CROWD // max(CROWD, _largest_crowd(channel)))
    bound, best = bound_of_many(channel, best, TARGET * abs(best.value), nodes=NODES_OF_SEARCH, parts=parts)
    radii = channel.allowed(best.radii, best.level)
    if "stated_bound" in notes:
        notes["stated_gap"] = notes["stated_bound"] - channel.utility(radii, best.level)
    source = "intervals of L, with a search tree for each component"
    return outcome(problem, radii, best.level, result.solver, bound, source, notes)


def _largest_crowd(channel: Channel) -> int:
    """Return the size of the largest component of the conflict graph."""
    caps = channel.radius.tolist()
    parts = Conflicts.of(channel.margins.tolist(), caps).components(caps)
    return max(len(part) for part in parts)


def why_no_integer_program(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users or too many pairs in conflict, or None."""
    if problem.size > MOST_USERS_OF_MILP:
        return f"{problem.size} users are too many; the limit is {MOST_USERS_OF_MILP}"
    channel = problem.channel
    caps = np.clip(np.minimum(channel.radius, channel.reach), 0.0, None)
    near = channel.margins < caps[:, None] + caps
    pairs = int(np.triu(near[np.ix_(caps > 0, caps > 0)], 1).sum())
    if pairs > MOST_PAIRS:
        return f"{pairs} pairs in each other's way are too many; the limit is {MOST_PAIRS}"
    return None


METHODS = (
    Method("piecewise", SpectrumChannel, "analytic",
           "all vertex patterns of one or two users, by roots of quartics",
           allocation_from_patterns, why_no_patterns),
    Method("enumeration", SpectrumChannel, "numeric", "search tree over all vertex patterns of a few users",
           allocation_from_tree, why_no_tree),
    Method("cuts", SpectrumChannel, "numeric",
           "linear program of intervals of radii, cliques and ramps added, for many users",
           allocation_by_cuts, why_no_cuts),
    Method("milp", SpectrumChannel, "numeric", "mixed integer program with revenue by pieces, for many users",
           allocation_by_integer_program, why_no_integer_program),
    Method("greedy", SpectrumChannel, "heuristic",
           "users served in the order of a list, improved by annealing", allocation_from_lists),
)  # fmt: skip
