"""``linear-queries`` of 65 to 1,024 types: patterns weighed by multiplicative steps, priced by local search.

**Weights, by multiplicative steps.**
minimise  f(w) = tr(G M(w)^-1)   subject to  w >= 0,  sum w_y z_y = 1,      M(w) = sum w_y z_y z_y'

**Statement.** Let w be feasible and positive, g_y = z_y' M^-1 G M^-1 z_y, and let mu be such that the weights

    w'_y = w_y sqrt(g_y / (mu.z_y)),    mu.z_y > 0,

are feasible too. Then f(w') <= f(w).

*Proof.* With W~ the centered queries, f(w) is the least sum over y of |a_y|^2 / w_y over vectors a_y with
sum a_y z_y' = W~ (Gauss and Markov), attained by a_y = w_y W~ M^-1 z_y. With these a_y the sum at other
weights u is s(u) = sum w_y^2 g_y / u_y, so f(u) <= s(u) and f(w) = s(w). The least s(u) over all feasible u
has the slopes w_y^2 g_y / u_y^2 = mu.z_y: it is at u = w', and f(w') <= s(w') <= s(w) = f(w). QED

The mu of a power p in place of 1/2 are the minimum of the convex function 1.mu + sum w_y g_y^p (mu.z_y)^(1-p)
/ (p - 1), by Newton's steps with n unknowns. Powers up to 8 are tried, and taken where f falls: 25 steps are
then as good as several hundred. A step costs K n^2, an interior-point step of :mod:`master` costs K n^4.

**Pricing** goes by the numbers B = W~ M^-1 and mu of these weights, by exchange of one type at a time. That
finds patterns, and proves nothing: the bound is that of :mod:`mechdesign.families.workload.paired_dual`.

**Precision.** Nothing here proves anything: the error of a solution is that of its integers, and its bound
has a proof of its own. Beyond some hundred types products of matrices are taken in single precision, of z - 1
in place of z: that is small where epsilon is, and M has the large eigenvalue n along 1 apart from it. Rows
are taken in blocks that stay in the cache: scaling them costs as much as multiplying them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.families.workload.few_queries import why_not_few_queries
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import DualPrices, shaken
from mechdesign.families.workload.paired_dual import (
    Halves,
    PairedBound,
    is_about_an_order,
    overlaps,
    paired_bound,
)
from mechdesign.families.workload.pattern_sets import arcs, block_patterns, field_sets, why_not_symmetric
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.families.workload.query_columns import QuickSearch, earlier_images, with_mirror_images
from mechdesign.families.workload.query_outcomes import infeasible, outcome
from mechdesign.families.workload.simple_reports import or_simple
from mechdesign.families.workload.weights import feasible_patterns

FEWEST_TYPES, MOST_TYPES = 65, 1024

DRAWN, MOST_ENTRIES = 48, 1 << 23
"""Patterns per type that are drawn, and their entries in all, at most; twice as many with mirror images."""

STARTS, MOST_STARTED = 40, 1 << 20
"""Starts of the local search per type and round; their entries in all, of up to ``LARGEST_ALONE`` types."""

ADDED = 15
"""Patterns per type that enter in a round, at most."""

NEW_SHARE = 0.05
"""The weight of all patterns that enter, as a part of all weights."""

ROUNDS, MOST_WORK = 16, 3 << 33
"""Rounds of pricing; beyond the work, K n^2 of all rounds in one block, another one is not begun."""

FIRST_STEPS, EARLY_STEPS, NEXT_STEPS = 25, 9, 15
"""Steps before the first round, of these with all patterns where types are many, and after each round."""

LARGEST_ALONE, LIFTED, BLURRED, LIKELY = 256, 4, 2, 4.0
"""From more types on, the search for an order of types begins with the patterns of half as many, as many per
type at most, and with as many images of each with other borders; their weight next to that of all others."""

LITTLE = 3e-4
"""The search ends with a round that gains a smaller part of the error."""

NEGLIGIBLE = 1e-3
"""Patterns with a smaller part of the largest weight leave the search."""

LARGEST_PRICED = 128
"""Types up to which the patterns of the solution have prices: these solve equations of all patterns."""


LARGEST_POWER = 8.0
NEWTON = 50

ROUGH = 0.3
"""The matrix of Newton steps is computed again when a step leaves a larger part of the residual."""

BLOCK = 1 << 19
"""Entries of a block of rows."""

FEASIBLE = {"d": 1e-7, "f": 1e-5}
LEVEL = {"d": 1e-10, "f": 1e-6}
"""What the sums of weights may miss, and changes that rounding hides, in double and in single precision."""


@dataclass(frozen=True, eq=False)
class WeightState:
    """Weights with their value, the gains g_y, the inverse of M in blocks, and mu in the even coordinates."""

    weights: Array
    multiplier: Array
    value: float
    gains: Array
    inverses: list[Array]


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return sum w_y r_y r_y' of rows r; symmetric, which numpy computes in half of the time.

    Examples
    --------
    >>> weighted_gram(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([4.0, 1.0])).tolist()
    [[4.0, 8.0], [8.0, 25.0]]
    """
    total = np.zeros((rows.shape[1], rows.shape[1]))
    roots = np.sqrt(weights).astype(rows.dtype)[:, None]
    scaled = np.empty((_height(rows), rows.shape[1]), dtype=rows.dtype)
    for block in _blocks(rows):
        own = rows[block]
        part = np.multiply(own, roots[block], out=scaled[: len(own)])
        total += part.T @ part
    return total


def squared_lengths(rows: Array, form: Array) -> Array:
    """Return r_y' F r_y of rows r.

    Examples
    --------
    >>> squared_lengths(np.array([[1.0, 2.0]]), np.eye(2)).tolist()
    [5.0]
    """
    lengths, form = np.empty(len(rows)), form.astype(rows.dtype)
    turned = np.empty((_height(rows), rows.shape[1]), dtype=rows.dtype)
    for block in _blocks(rows):
        own = rows[block]
        lengths[block] = np.einsum("kn,kn->k", np.matmul(own, form, out=turned[: len(own)]), own)
    return lengths


def _height(rows: Array) -> int:
    return int(max(1, min(len(rows), BLOCK // max(1, rows.shape[1]))))


def _blocks(rows: Array) -> Iterator[slice]:
    step = _height(rows)
    return (slice(start, start + step) for start in range(0, len(rows), step))


class WeightProgram:
    """The program of the weights of some patterns.

    Parameters
    ----------
    columns : (K, n) array
        Patterns z with pi.z = 1; with mirror images where ``halves`` says so.
    gram : (n, n) array
    halves : Halves
    shares : (n,) array
        pi.
    precision : str
        "d" or "f", of the products of matrices.

    Examples
    --------
    >>> columns, gram = np.array([[1.5, 0.5], [0.5, 1.5]]), np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> response = WeightProgram(columns, gram, Halves(2, False), np.full(2, 0.5))
    >>> state = response.improved(np.array([0.8, 0.2]), 10)
    >>> state.weights.round(9).tolist(), round(state.value, 9)
    ([0.5, 0.5], 2.0)
    """

    def __init__(
        self, columns: Array, gram: Array, halves: Halves, shares: Array, precision: str = "d"
    ) -> None:
        self.precision = precision
        self.parts, self.grams = halves.parts((columns - 1.0).astype(precision)), halves.blocks(gram)
        self.ones, self.shares = halves.even(np.ones(halves.size)), halves.even(shares)
        self._curved: NDArray[Any] | None = None

    def state(self, weights: Array, multiplier: Array) -> WeightState | None:
        """Return value and gains; None where M is singular."""
        value, gains, inverses = 0.0, np.zeros(len(weights)), []
        for number, (part, gram) in enumerate(zip(self.parts, self.grams, strict=True)):
            moment = self._moment(weights) if number == 0 else weighted_gram(part, weights)
            try:
                inverse = np.linalg.inv(moment)
            except np.linalg.LinAlgError:
                return None
            inverse = (inverse + inverse.T) / 2.0
            inverses.append(inverse)
            value += float(np.sum(gram * inverse))
            form = inverse @ gram @ inverse
            gains += squared_lengths(part, form)
            if number == 0:  # z = 1 + (z - 1), and the odd part of 1 is 0
                across = form @ self.ones
                gains += 2.0 * self._applied(across) + float(across @ self.ones)
        if not math.isfinite(value) or float(gains.min()) <= 0.0:
            return None
        return WeightState(weights, multiplier, value, gains, inverses)

    def _moment(self, weights: Array) -> Array:
        """Return sum w_y z_y z_y' of the even coordinates."""
        across = np.outer(self._summed(weights), self.ones)
        moment = weighted_gram(self.parts[0], weights) + across + across.T
        total: Array = moment + float(weights.sum()) * np.outer(self.ones, self.ones)
        return total

    def _applied(self, vector: Array) -> Array:
        """Return (z_y - 1).x of each pattern."""
        applied: Array = (self.parts[0] @ vector.astype(self.precision)).astype(np.float64)
        return applied

    def _summed(self, weights: Array) -> Array:
        """Return sum w_y (z_y - 1)."""
        summed: Array = (weights.astype(self.precision) @ self.parts[0]).astype(np.float64)
        return summed

    def improved(self, weights: Array, steps: int, multiplier: Array | None = None) -> WeightState | None:
        """Return better weights after some steps; None where there is no feasible step at all.

        The weights to begin with need not be feasible.
        """
        begun = self.state(weights, self.ones)
        if begun is None:
            return None
        level = float(begun.gains @ weights) * self.shares  # the same price for all
        starts = [level] if multiplier is None else [multiplier, level]
        power = 1.0  # its Newton steps get there from anywhere: a logarithm is their barrier
        state = next((step for step in (self._step(begun, start, power) for start in starts) if step), None)
        for _ in range(steps if state is not None else 0):
            assert state is not None
            step = self._step(state, state.multiplier, power)
            if step is not None and step.value <= state.value:
                state, power = step, min(LARGEST_POWER, 1.4 * power)
            elif power == 0.5:
                break
            else:
                power = max(0.5, power / 2.0)
        return state

    def _step(self, state: WeightState, multiplier: Array, power: float) -> WeightState | None:
        """Return the state after one step with this power."""
        scale = float(state.gains.mean())
        amounts = state.weights * (state.gains / scale) ** power
        prices = self._multiplier(amounts, multiplier / scale, power)
        if prices is None:
            return None
        costs = float(self.ones @ prices) + self._applied(prices)
        return self.state(amounts * costs**-power, prices * scale)

    def _multiplier(self, amounts: Array, start: Array, power: float) -> Array | None:
        """Return mu with sum amounts_y (mu.z_y)^-p z_y = 1, by Newton's steps; None where they fail.

        Their matrix is that of an earlier step, or of earlier amounts, while each step leaves little.
        """
        mu, prices = start, float(self.ones @ start) + self._applied(start)
        if float(prices.min()) <= 0.0:
            return None

        def height(mu: Array, prices: Array) -> float:
            if power == 1.0:
                return float(self.ones @ mu) - float(amounts @ np.log(prices))
            return float(self.ones @ mu) + float(amounts @ prices ** (1.0 - power)) / (power - 1.0)

        most = math.inf
        for _ in range(NEWTON):
            weights = amounts * prices**-power
            missing = self.ones * (1.0 - float(weights.sum())) - self._summed(weights)
            before, most = most, float(np.abs(missing).max())
            if most <= FEASIBLE[self.precision]:
                return mu
            is_new = self._curved is None or most > ROUGH * before
            if is_new:
                try:
                    self._curved = np.linalg.inv(self._moment(weights / prices))
                except np.linalg.LinAlgError:
                    return None
            curved = self._curved
            assert curved is not None
            move = -(curved @ missing) / power
            moved = float(self.ones @ move) + self._applied(move)
            slope, size = float(missing @ move), 1.0
            if not math.isfinite(slope):
                return None
            now = height(mu, prices)
            while size > 1e-4:
                there = prices + size * moved
                if float(there.min()) > 0.0 and (
                    height(mu + size * move, there) <= now + 0.1 * size * slope
                    or abs(slope) <= LEVEL[self.precision] * abs(now)
                ):
                    break
                size /= 2.0
            else:
                if is_new:
                    return None
                continue  # nothing is less than before: the matrix is made anew
            mu, prices = mu + size * move, there
        return None


class PatternSearch:
    """The patterns in use, their weights, and what local search adds to them.

    Parameters
    ----------
    problem : LinearQueries
    sets : (K, n) array of bool
        Patterns to begin with.
    likely : int
        How many of them, the first ones, have most of the weight to begin with.
    """

    def __init__(self, problem: LinearQueries, sets: Sets, likely: int = 0) -> None:
        self.problem, self.power = problem, math.exp(problem.epsilon)
        self.shares, self.gram = problem.shares, problem.design_gram
        self.halves = Halves.of(self.gram, self.shares)
        first = len(self._distinct(sets[:likely]))
        self.sets = self._distinct(sets)
        masses = columns_of(self.sets, self.power) @ self.shares
        weights = masses**2 / float(masses @ masses)  # as for the field
        weights[:first] *= LIKELY / max(float(weights[:first].sum()), 1e-300)
        many = self.halves.size > LARGEST_ALONE
        state = self._design().improved(weights, EARLY_STEPS if many else FIRST_STEPS)
        assert state is not None, "arcs and single types determine all shares, and have feasible weights"
        self.state = state
        if many:
            self._narrow(FIRST_STEPS - EARLY_STEPS)

    def _distinct(self, sets: Sets) -> Sets:
        """Return each proper set once, the first one of a pair of mirror images for both, in their order."""
        if self.halves.mirrored:
            sets = earlier_images(sets)
        sets = sets[sets.any(axis=1) & ~sets.all(axis=1)]
        packed = np.packbits(sets, axis=1)
        _, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)
        distinct: Sets = sets[np.sort(first)]
        return distinct

    def _narrow(self, steps: int) -> None:
        """Go on without the patterns, mostly many, that have hardly any weight after a few steps."""
        used = self.state.weights > NEGLIGIBLE * float(self.state.weights.max())
        before, self.sets = self.sets, self.sets[used]
        state = self._design().improved(self.state.weights[used], steps, self.state.multiplier)
        if state is not None and state.value < self.state.value:
            self.state = state
        else:
            self.sets = before

    def _design(self) -> WeightProgram:
        precision = "f" if self.halves.size > LARGEST_ALONE else "d"
        number = np.dtype(precision).type
        columns = np.where(self.sets, number(self.power), number(1.0))
        columns /= (columns @ self.shares.astype(precision))[:, None]
        return WeightProgram(columns, self.gram, self.halves, self.shares, precision)

    @property
    def error(self) -> float:
        """The average error of the weights."""
        return self.state.value - float(self.shares @ np.diag(self.gram))

    @property
    def work(self) -> int:
        """The work of a step."""
        size = self.halves.size
        return len(self.sets) * size * size // (4 if self.halves.mirrored else 1)

    def prices(self) -> DualPrices:
        """Return the dual numbers of the weights."""
        inverse = self.halves.whole(self.state.inverses)
        rows = self.problem.directions(np.eye(self.halves.size))
        multiplier = self.halves.back(self.state.multiplier)
        return DualPrices(rows @ inverse, multiplier, rows, self.shares, self.power)

    def extended(self, rng: np.random.Generator) -> bool:
        """Add patterns that the dual numbers price worst, near those in use; whether the error is smaller."""
        size, weights = self.halves.size, self.state.weights
        used = weights > NEGLIGIBLE * float(weights.max())
        sets, weights = self.sets[used], weights[used]
        flips = (2.0 / size, 0.1, 0.3)
        count = min(STARTS * size, MOST_STARTED // min(size, LARGEST_ALONE)) // len(flips)
        likely = sets[np.argsort(-weights)[:count]]
        prices: DualPrices | QuickSearch = self.prices()
        if size > LARGEST_ALONE:
            prices = QuickSearch(self.prices())
        climbed = self._distinct(prices.climbed(np.vstack([shaken(likely, share, rng) for share in flips])))
        worst = climbed[np.argsort(-prices.ratios(climbed))[: ADDED * size]]
        before = self.sets, self.state
        self.sets = self._distinct(np.vstack([sets, worst]))
        added = len(self.sets) - len(sets)
        entering = np.full(added, NEW_SHARE * float(weights.sum()) / max(added, 1))
        state = self._design().improved(
            np.concatenate([weights, entering]), NEXT_STEPS, self.state.multiplier
        )
        if state is None or state.value >= self.state.value:
            self.sets, self.state = before
            return False
        self.state = state
        return True

    def amounts(self) -> tuple[Sets, Array]:
        """Return the patterns, mirror images included, with the probabilities c of their reports."""
        used = self.state.weights > 1e-5 * float(self.state.weights.max())
        sets, weights = self.sets[used], self.state.weights[used]
        if self.halves.mirrored:
            sets, weights = with_mirror_images(sets, weights)
        amounts = weights / (columns_of(sets, self.power) @ self.shares)
        return feasible_patterns(sets, amounts, self.power)


def reweighted(problem: LinearQueries, gap: float | None = None, seed: int = 0) -> Outcome:
    """Weigh patterns of a Gaussian field and of blocks of types, and add others until the gap is small.

    Parameters
    ----------
    problem : LinearQueries
    gap : float, optional
        The gap at which to stop, as a part of the bound, by default :attr:`LinearQueries.optimal_within`.
    seed : int
        Of the patterns that are drawn.
    """
    if problem.epsilon == 0.0:
        return infeasible("multiplicative weights")
    gap = problem.optimal_within if gap is None else gap
    bound = paired_bound(problem)
    search, rounds = _search(problem, bound, gap, seed)
    sets, amounts = search.amounts()
    notes: dict[str, Any] = {"patterns": len(sets), "rounds": rounds}
    solver = "multiplicative weights, patterns priced by local search"
    weighed = problem.queries.size <= LARGEST_PRICED
    likely = search.error <= (1.0 + 1.1 * problem.optimal_within) * bound.proven
    solved = outcome(problem, sets, amounts, bound.bound, solver, likely, notes=notes, weighed=weighed)
    return solved if search.error <= (1.0 + gap) * bound.proven else or_simple(problem, solved)


def _search(problem: LinearQueries, bound: PairedBound, gap: float, seed: int) -> tuple[PatternSearch, int]:
    """Return the search at its end, and its rounds."""
    rng, size = np.random.default_rng(seed), problem.queries.size
    mirrored = Halves.of(problem.design_gram, problem.shares).mirrored
    count = min(DRAWN * size, (2 if mirrored else 1) * MOST_ENTRIES // size)
    first = np.zeros((0, size), dtype=bool)
    if size > LARGEST_ALONE and is_about_an_order(problem) and problem.weights is None:
        first, count = _of_half(problem, gap, seed, rng), count // 2
    random = field_sets(bound.mass, bound.first, bound.second, math.exp(problem.epsilon), count, rng)
    sets = np.vstack([first, random, arcs(size), block_patterns(problem)])
    search, rounds, work = PatternSearch(problem, sets, len(first)), 0, 0
    while search.error > (1.0 + gap) * bound.proven and rounds < ROUNDS and work < MOST_WORK:
        before, work = search.error, work + search.work
        rounds += 1
        if not search.extended(rng) or before - search.error < LITTLE * search.error:
            break
    return search, rounds


def _of_half(problem: LinearQueries, gap: float, seed: int, rng: np.random.Generator) -> Sets:
    """Return the patterns of half as many types, over all types; and with borders that move by one type."""
    size, half = problem.queries.size, problem.queries.size // 2
    joined = overlaps(size, half)
    shares: str | Array = "uniform"
    if not isinstance(problem.population, str):
        shares = problem.shares @ joined
        shares = shares / shares.sum()
    if problem.queries.named is not None:
        workload: Any = {**problem.queries.definition, "size": half}
    else:
        workload = problem.queries.rows @ joined  # a multiple of the means of neighbours
    fewer = LinearQueries(workload=workload, epsilon=problem.epsilon, population=shares)
    search, _ = _search(fewer, paired_bound(fewer), gap, seed)
    used = search.sets[np.argsort(-search.state.weights)[: LIFTED * size]]
    sets = used[:, np.arange(size) * half // size]
    moved = [sets]
    for _ in range(BLURRED):
        ahead = np.roll(sets, -1 if rng.random() < 0.5 else 1, axis=1)
        moved.append(np.where(rng.random(sets.shape) < 0.5, ahead, sets))
    return np.vstack(moved)


def why_not_reweighting(problem: LinearQueries) -> str | None:
    """Return why the method does not apply, or None."""
    if problem.is_worst:
        return "it minimizes an average; give shares instead"
    if problem.queries.size < FEWEST_TYPES:
        return f"it is for {FEWEST_TYPES} types and more; up to {FEWEST_TYPES - 1} columns finds more"
    if problem.queries.size > MOST_TYPES:
        return f"{problem.queries.size} types are too many for its matrices; the limit is {MOST_TYPES}"
    if why_not_symmetric(problem) is None:
        return "translations leave the workload as it is; use symmetric"
    if why_not_few_queries(problem) is None:
        return "one or two queries have few patterns that matter; use estimates"
    return None
