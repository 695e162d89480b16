"""``linear-queries`` with a group of translations: a handful of base sets and all their translates.

Where the types are a cycle or the corners of a cube and translating them leaves the Gram matrix G as it is, M
of a set and all its translates has the characters as eigenvectors: m = |z^|^2 / n. The master program is

    minimise  sum g / m   subject to  m = A w,  sum w = 1,  w >= 0

over one eigenvalue per character, and the dual has one number per character, so that 1024 types take seconds.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.core.problem import Outcome
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.pattern_sets import code_sets, top_entries
from mechdesign.families.workload.patterns import Array, Sets, Translations, columns_of
from mechdesign.families.workload.pricing import DualPrices, shaken
from mechdesign.families.workload.query_outcomes import Bound, best_bound, infeasible, outcome, trace_bound
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.descent import descend
from mechdesign.solvers.interior import Weighing, minimised
from mechdesign.solvers.linear import solve_equality_form

MOST_REPORTS = 1 << 20
"""Reports, translates included: the server keeps a counter for each."""

MOST_BASES = 640
"""Base sets that are kept."""

DRAWN, CODES = 600, 1500
"""Base sets that the master program begins with: of fields, and of each kind of codes on a cube."""

ROUNDS = 12
LIKELY, NEWEST = 100, 200
SINGLE = 1e-5
"""The share of the reports that make known what nobody asks for: the shares of single types."""

RIDGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PERMUTED = 16
"""Copies of a base set of the cube with its bits in another order."""


@dataclass
class Symmetric:
    """The problem in the characters of its group."""

    problem: LinearQueries

    def __post_init__(self) -> None:
        named = self.problem.queries.named
        assert named is not None
        self.group = Translations(self.problem.queries.size, named.group)
        self.power = math.exp(self.problem.epsilon)
        self.levels = np.maximum(self.group.eigenvalues(self.problem.centered[0]), 0.0)
        self.levels[self.levels < 1e-10 * self.levels.max()] = 0.0
        self.levels[0] = 0.0
        queried = self.levels > 0.0
        self.asked = np.flatnonzero(queried)
        # one of each pair of characters with equal eigenvalues
        half = np.arange(1, self.group.size) <= self.group.size // 2
        self.kept = np.flatnonzero(queried & np.append(False, half | (self.group.kind == "cube")))
        twice = 2.0 - (2 * self.kept == self.group.size) if self.group.kind == "cycle" else 1.0
        self.weights = self.levels[self.kept] * twice

    @property
    def is_full(self) -> bool:
        """Whether every character is asked for; else single types make all shares known."""
        return len(self.asked) == self.group.size - 1

    @property
    def single(self) -> Sets:
        """The base set of one type, shape (1, n)."""
        single: Sets = np.arange(self.group.size)[None, :] == 0
        return single

    # The bound

    def bound(self) -> tuple[WorkloadBound, Array]:
        """Return the dual with one alpha per class, and the eigenvalues of its form on the characters."""
        count = int(self.group.classes.max())
        start = np.zeros(count)
        for ridge in RIDGES:  # keeps the form positive on the characters that nobody asks about
            self.raised = np.maximum(self.levels, ridge * float(self.levels.mean()))
            start = descend(self._lowered, start, np.zeros(count), 500, 1e-13)
        return self._certificate(start)

    def _dual(self, alpha: Array) -> tuple[Array, Array, float, float, float]:
        """Return the row of alpha, the eigenvalues of K0, l, c0 and s, for delta = 1."""
        size = self.group.size
        row = np.append(0.0, alpha)[self.group.classes]
        whole = self.group.eigenvalues(row)
        linear = float(whole[0]) - (self.power + 1.0)
        constant = size * (self.power - float(whole[0]) / 2.0)
        form = 1.0 - whole / 2.0
        zero = float(form[0]) - linear**2 * size / (4.0 * constant) if constant > 0.0 else 1.0
        return row, form, linear, constant, -size * zero

    def _lowered(self, alpha: Array) -> tuple[float, Array]:
        _, form, linear, constant, scale = self._dual(alpha)
        inner = form[1:]
        if constant <= 0.0 or scale <= 0.0 or inner.min() <= 0.0:
            return 1e6, np.zeros_like(alpha)
        roots = np.sqrt(self.raised[1:] * inner)
        total, size = float(roots.sum()), self.group.size
        slopes = np.zeros(size)  # by the eigenvalues of alpha
        slopes[1:] = -roots / inner / 2.0 / total
        ratio = linear / (2.0 * constant)
        by_zero = -0.5 - size * ratio - size * size * ratio**2 / 2.0
        slopes[0] += by_zero * size / scale
        by_row = self.group.eigenvalues(slopes) if self.group.kind == "cube" else np.real(np.fft.fft(slopes))
        by_class = np.bincount(self.group.classes, weights=by_row)[1:]
        return -(2.0 * math.log(total) - math.log(scale)), -np.asarray(by_class, dtype=np.float64)

    def _certificate(self, alpha: Array) -> tuple[WorkloadBound, Array]:
        size = self.group.size
        row, form, _, _, scale = self._dual(alpha)
        inner = np.maximum(form, 1e-12)
        values = np.zeros(size)
        values[self.asked] = np.sqrt(inner[self.asked] / self.levels[self.asked])
        matrix = self.group.matrix(self.group.first_row(values))
        pairs = self.group.matrix(row)
        bound = WorkloadBound(
            self.problem.shares,
            self.problem.directions(matrix),
            np.full(size, scale / size),
            np.ones(size),
            (pairs + pairs.T) / 2.0 if alpha.any() else None,
        )
        return bound, np.sqrt(np.where(inner > 0, self.levels / inner, 0.0))

    # The mechanism

    def spectra(self, sets: Sets) -> Array:
        """Return the eigenvalues of M of each set with its translates, one per kept character."""
        columns = columns_of(sets, self.power)
        scaled = columns / columns.mean(axis=1, keepdims=True)
        spectra: Array = self.group.spectrum(scaled)[:, self.kept]
        return spectra

    def drawn(self, moments: Array, count: int, rng: np.random.Generator) -> Sets:
        """Return base sets: thresholds of invariant Gaussian fields, arcs, sets by the number of ones."""
        size = self.group.size
        spectrum = np.sqrt(np.maximum(moments, 1e-6 * moments.max()))
        field = np.concatenate([self._field(spectrum**power, count // 2, rng) for power in (1.0, 1.4)])
        share = size / (1.0 + self.power)
        sizes = np.clip(np.floor(share + rng.random(len(field))).astype(np.int64), 1, size - 1)
        sets = [top_entries(field, sizes)]
        if self.group.kind == "cube":
            sets.append(self._radial())
        else:
            place = np.arange(size)
            lengths = np.unique(np.clip(np.rint(share * np.array([0.8, 0.9, 1.0, 1.1, 1.2])), 1, size - 1))
            sets.append(place[None, :] < lengths[:, None])
        return np.unique(np.vstack(sets), axis=0)

    def _field(self, spectrum: Array, count: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((count, self.group.size))
        if self.group.kind == "cycle":
            field: Array = np.real(np.fft.ifft(np.fft.fft(noise, axis=1) * spectrum, axis=1))
            return field
        row = self.group.first_row(spectrum)
        whole: Array = noise @ self.group.matrix(row)
        return whole

    def reordered(self, sets: Sets, rng: np.random.Generator) -> Sets:
        """Return the sets with the bits of the cube in other orders; none on a cycle."""
        if self.group.kind == "cycle":
            return sets[:0]
        bits = int(self.group.classes.max())
        shaped = sets.reshape(len(sets), *([2] * bits))
        orders = [rng.permutation(bits) + 1 for _ in range(PERMUTED)]
        return np.vstack([shaped.transpose(0, *order).reshape(len(sets), -1) for order in orders])

    def _radial(self) -> Sets:
        """Return sets of the cube that depend on the number of ones, or of agreeing chosen bits, alone."""
        bits = int(self.group.classes.max())
        ones = self.group.classes
        sets = []
        for kinds in itertools.islice(
            itertools.product((False, True), repeat=bits + 1), 1, (1 << bits + 1) - 1
        ):
            sets.append(np.array(kinds)[ones])
        return np.array(sets)

    def solved(self, sets: Sets, accuracy: float) -> tuple[Array, Array, float]:
        """Return weights and moments of base sets, and the average error."""
        solution = minimised(Weighing(self.spectra(sets), self.weights), len(sets), accuracy)
        moments = np.full(self.group.size, float(self.group.size))
        moments[self.kept] = solution.state.more
        if self.group.kind == "cycle":
            moments[-self.kept] = solution.state.more
        error = solution.state.value - float(self.levels.sum()) / self.group.size
        return solution.weights, moments, error

    def first(self, moments: Array, rng: np.random.Generator) -> Sets:
        """Return the base sets to begin with."""
        random = self.drawn(moments, DRAWN, rng)
        if self.group.kind == "cycle":
            return random
        codes = code_sets(self.levels > 0.0, 1.0 / (1.0 + self.power), CODES, rng)
        return np.unique(np.vstack([random[:DRAWN], codes]), axis=0)

    def improved(self, sets: Sets, proven: float, gap: float, rng: np.random.Generator) -> tuple[Sets, Array]:
        """Return base sets with their weights, others found by local search added until the gap is small."""
        weights, moments, error = self.solved(sets, 1e-7)
        for _ in range(ROUNDS):
            used = weights > 1e-6 * weights.max()
            sets, weights = sets[used], weights[used]
            if error <= (1.0 + gap) * proven:
                break
            prices = self.prices(moments)
            likely = sets[np.argsort(-weights)[:LIKELY]]
            starts = np.vstack([likely, *(shaken(likely, share, rng) for share in (0.02, 0.1, 0.25))])
            reached = np.unique(prices.climbed(starts), axis=0)
            reached = reached[np.argsort(-prices.ratios(reached))[:NEWEST]]
            reached = np.vstack([reached, self.reordered(reached[:40], rng)])
            before, error_before = len(sets), error
            sets = np.unique(np.vstack([sets, reached]), axis=0)
            weights, moments, error = self.solved(sets, 1e-7)
            if len(sets) == before or error_before - error < max(1e-6 * error, 0.02 * (error - proven)):
                break
        return sets, weights

    def fewest(self, sets: Sets, weights: Array, rng: np.random.Generator) -> tuple[Sets, Array]:
        """Return weights with the same moments, of at most one base set more than there are characters."""
        if len(sets) <= len(self.kept) + 1:
            return sets, weights
        rows = np.vstack([self.spectra(sets).T, np.ones(len(sets))])
        rows /= rows.max(axis=1, keepdims=True)
        try:
            corner, _ = solve_equality_form(-rng.random(len(sets)), rows, rows @ weights)
        except MethodError:
            return sets, weights
        used = corner > 0.0
        return sets[used], corner[used]

    def prices(self, moments: Array) -> DualPrices:
        """Return the dual numbers of the master program."""
        size = self.group.size
        rows = self.group.matrix(self.group.first_row(np.sqrt(self.levels)))
        directions = self.group.matrix(self.group.first_row(np.sqrt(self.levels) / moments))
        total = float((self.levels / moments).sum())
        multiplier = np.full(size, total / size)
        return DualPrices(directions, multiplier, rows, self.problem.shares, self.power)


def symmetric_reports(problem: LinearQueries, seed: int = 0, gap: float | None = None) -> Outcome:
    """Return base sets with all their translates, and the dual of the group.

    Parameters
    ----------
    problem : LinearQueries
    seed : int
        Of the base sets that are drawn.
    gap : float, optional
        The gap at which no more base sets are looked for, as a part of the bound: by default
        :attr:`LinearQueries.optimal_within`.
    """
    if problem.epsilon == 0.0:
        return infeasible("group of translations")
    rng = np.random.default_rng(seed)
    work = Symmetric(problem)
    bound, moments = work.bound()
    best = best_bound(problem, [bound, trace_bound(problem)])
    proven = -math.inf if best is None else problem.proven(best)
    close = problem.optimal_within if gap is None else gap
    sets, weights = work.improved(work.first(moments, rng), proven, close, rng)
    sets, weights = work.fewest(sets, weights, rng)
    chosen = np.argsort(-weights)[: min(MOST_BASES, max(8, MOST_REPORTS // work.group.size))]
    if len(chosen) < len(weights):
        sets = sets[chosen]
        if work.is_full:
            sets = np.unique(np.vstack([sets, work.single]), axis=0)
        weights, _, _ = work.solved(sets, 1e-8)
    used = weights > 1e-7 * weights.max()
    sets, weights = sets[used], weights[used]
    if not work.is_full:
        sets, weights = np.vstack([sets, work.single]), np.append(weights, SINGLE * weights.sum())
    return _written(problem, work, sets, weights, best)


def _written(
    problem: LinearQueries, work: Symmetric, sets: Sets, weights: Array, bound: Bound | None
) -> Outcome:
    """Return the outcome: base sets, and the probability of each translate for a type outside of it."""
    size = work.group.size
    amounts = weights / weights.sum() / columns_of(sets, work.power).mean(axis=1) / size
    notes = {"base_sets": len(sets), "reports": len(sets) * size + 1}
    group, kind = work.group, work.group.kind
    source = "group of translations"
    return outcome(problem, sets, amounts, bound, source, notes=notes, group=group, translations=kind)


def why_not_symmetric(problem: LinearQueries) -> str | None:
    """Return why there is no group, or None."""
    named = problem.queries.named
    if named is None or named.group == "none" or problem.weights is not None:
        return "it needs a named workload that translations of the types leave as it is: a cycle or a cube"
    if not isinstance(problem.population, str):
        return "it needs equal shares of all types"
    if problem.queries.size < 8:
        return "all patterns are few enough; use all-columns"
    return None
