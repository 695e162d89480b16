"""Methods that are there to check others: they share as little as possible with those that are chosen.

Of ``spectrum-channel``:
*An integer program*, for any number of users, with revenue by pieces, then radii and L made exact. The
revenue T_j is convex, so chords between breakpoints lie above it: each piece is one zero-one variable, and
the program overstates what is paid, by little. The loss -kp / L is concave, so tangents lie above it, too.
The program's optimum is then above the true one; the solver's own bound of it is a note (``stated_gap``), for
nobody sees its tree. What is proven comes from intervals of L (docs/families/spectrum.md). Where two users
exclude each other, or crowd, the rows are those of whole cliques of the conflict graph.

Of ``spectrum-partition``:
*The best partition* comes from an integer program, of which the solution alone is taken. Its bound is that of
all channels of the notion "cloak". On a line it is the optimum; on a grid it may be below the best partition,
and then nothing is claimed.

*A conic program* has K(Q | x) in full, its zeros included. It shares nothing with ``linear-program`` but the
sets, and how weights are completed. No bound is proven, so no optimum is claimed.
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.families.spectrum.allocation import CROWD, bound_of_many
from mechdesign.families.spectrum.channel import SpectrumChannel, nobody, outcome as allocated
from mechdesign.families.spectrum.channel_program import Array, Channel
from mechdesign.families.spectrum.local_search import Greedy, RadiiAtLevel
from mechdesign.families.spectrum.partition import (
    SpectrumPartition,
    cells_of,
    channels_over,
    infeasible,
    outcome,
)
from mechdesign.families.spectrum.partition_programs import cloak_program, repaired
from mechdesign.families.spectrum.vertices import Conflicts, chord
from mechdesign.solvers.integer import BinaryProgram, MixedProgram, solve_binary, solve_mixed

MOST_USERS, MOST_PAIRS = 300, 1000
"""Users, and pairs of them who are in each other's way: a row for each."""

PIECES = 3
"""Pieces of each revenue."""

TANGENTS = 12
"""Tangents of the loss of privacy."""

GAP, SECONDS = 0.002, 20.0
"""At which relative gap, and after which time, the solver stops."""

TARGET, NODES, PARTS = 1e-3, 60_000, 80
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
    problem: SpectrumChannel, gap: float = GAP, seconds: float = SECONDS, pieces: int = PIECES
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
    if (covered := nobody(problem, "MILP")) is not None:
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
    bound, best = bound_of_many(channel, best, TARGET * abs(best.value), nodes=NODES, parts=parts)
    radii = channel.allowed(best.radii, best.level)
    if "stated_bound" in notes:
        notes["stated_gap"] = notes["stated_bound"] - channel.utility(radii, best.level)
    source = "intervals of L, with a search tree for each component"
    return allocated(problem, radii, best.level, result.solver, bound, source, notes)


def _largest_crowd(channel: Channel) -> int:
    """Return the size of the largest component of the conflict graph."""
    caps = channel.radius.tolist()
    parts = Conflicts.of(channel.margins.tolist(), caps).components(caps)
    return max(len(part) for part in parts)


def why_no_integer_program(problem: SpectrumChannel) -> str | None:
    """Return why there are too many users or too many pairs in conflict, or None."""
    if problem.size > MOST_USERS:
        return f"{problem.size} users are too many; the limit is {MOST_USERS}"
    channel = problem.channel
    caps = np.clip(np.minimum(channel.radius, channel.reach), 0.0, None)
    near = channel.margins < caps[:, None] + caps
    pairs = int(np.triu(near[np.ix_(caps > 0, caps > 0)], 1).sum())
    if pairs > MOST_PAIRS:
        return f"{pairs} pairs in each other's way are too many; the limit is {MOST_PAIRS}"
    return None


MOST_SETS = 4000
"""Beyond it an integer program takes minutes."""


def partition_by_integer_program(problem: SpectrumPartition) -> Outcome:
    """Solve set partitioning and compare with the bound of the relaxation."""
    from scipy.sparse import csr_array, vstack

    if (nothing := infeasible(problem, "integer program")) is not None:
        return nothing
    costs = (problem.family @ problem.masses) * problem.losses
    rows = csr_array(problem.family.T.astype(np.float64))
    ones = np.ones(problem.size)
    both = csr_array(vstack([rows, -rows]))
    program = BinaryProgram(costs, both, np.concatenate([ones, -ones]), np.zeros(len(costs), dtype=np.bool_))
    answer = solve_binary(program)
    if not answer.variables.size:
        return Outcome(status=answer.status, solver=answer.solver, message=answer.message)
    relaxed = cloak_program(problem, costs)
    return outcome(
        problem,
        cells_of(problem.family[answer.variables]),
        repaired(problem, -relaxed.equal_multipliers).bound,
        f"weak duality in integers, for {channels_over(problem)}",
        answer.solver,
        notes={"stated_status": answer.status},
    )


def why_no_set_partitioning(problem: SpectrumPartition) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.notion != "partition":
        return f"the notion '{problem.notion}' allows more than partitions"
    if len(problem.family) > MOST_SETS:
        return f"{len(problem.family)} sets are more than {MOST_SETS}"
    return None
