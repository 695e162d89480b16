"""Simple reports for linear queries: subset selection, trees, wavelets and sampled marginals.

They are rivals: they cost some milliseconds, and a search that does not prove its optimum is compared with
the best of them, also that for the worst of many types. Each has its best unbiased linear estimate.

**Sets of cells that separate any two cells about equally well, few enough to be listed.**
Subset selection of N cells takes all sets of its best size k, of which there are too many for large N. Only
how often two cells are in a set together enters the error, so fewer sets do as well: the lines of an affine
plane or the hyperplanes of an affine space over the integers modulo a prime q near N/k. Cells are the first N
points; each is in one set of every direction, and two are in a set together equally often.

**Subset selection, the best report for the shares of the types.**
For a histogram it is optimal, and the trace bound proves that; so it is the closed form there.

**Coarse answers.**
A user draws one of several partitions of the types and reports the own cell by subset selection of the best
size, or a level of Haar wavelets and one sign by randomized response. Every report is a pattern, so that the
value of such a mechanism is exact, with its best estimator.

**Choice.**
They cost some milliseconds. A search that does not prove its optimum is compared with them, also that for the
worst of many types.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Outcome
from mechdesign.core.values import changed
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array, Sets
from mechdesign.families.workload.query_outcomes import infeasible, outcome, trace_bound
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED
from mechdesign.solvers.interior import Weighing, minimised

MOST_SETS = 20_000


def best_subset_size(types: int, power: float) -> int:
    """Return the size of subset selection with the least error for the shares of the types.

    Examples
    --------
    >>> best_subset_size(64, np.e)
    17
    """
    return max(range(1, types), key=lambda size: spread_of(types, size, power))


def spread_of(types: int, size: float, power: float) -> float:
    """Return the mean square by which the likelihood ratios of sets of ``size`` types differ from 1."""
    share = size / types
    return share * (1.0 - share) * (power - 1.0) ** 2 / (1.0 + (power - 1.0) * share) ** 2


def tree_matrix(types: int, epsilon: float) -> Array:
    """Return the eigenvalues of M on Haar wavelets for each level of a tree alone, shape (h, h).

    Row l - 1 is subset selection of the 2^l nodes of level l; it tells wavelets of the levels 0 .. l - 1.
    """
    levels, power = types.bit_length() - 1, math.exp(epsilon)
    matrix = np.zeros((levels, levels))
    for level in range(1, levels + 1):
        nodes = 1 << level
        spread = spread_of(nodes, best_subset_size(nodes, power), power) * nodes / (nodes - 1.0)
        matrix[level - 1, :level] = spread * types / nodes
    return matrix


def tree_shares(centered: Array, epsilon: float) -> Array:
    """Return the probabilities of the levels of a binary tree with the least error, for equal shares."""
    seen = tree_matrix(len(centered), epsilon)
    weighing = Weighing(seen, wavelet_levels(centered))
    weights = minimised(weighing, len(seen), 1e-12).weights
    shares: Array = weights / weights.sum()
    return shares


def wavelet_levels(centered: Array) -> Array:
    """Return the part of the trace of a Gram matrix of 2^h types in each level of Haar wavelets, (h,).

    Examples
    --------
    >>> wavelet_levels(np.eye(4) - 0.25).tolist()
    [1.0, 2.0]
    """
    size = len(centered)
    sums = []
    for level in range(size.bit_length()):
        width = size >> level
        blocks = centered.reshape(size // width, width, size // width, width).sum(axis=(1, 3))
        sums.append(float(np.trace(blocks)) / width)
    levels: Array = np.diff(np.array(sums))
    return levels


def subset_error(problem: LinearQueries, size: int) -> float:
    """Return the average error of subset selection with sets of ``size`` types.

    By symmetry M = 11' + m (I - 11'/n), so that the error follows from the trace of the centered Gram matrix
    and no set is written down. For equal shares.
    """
    return _subset_error(problem, size, _trace(problem))


def _trace(problem: LinearQueries) -> float:
    """Return the trace of the centered Gram matrix for equal shares."""
    types = problem.queries.size
    return float(np.trace(problem.queries.centered(np.full(types, 1.0 / types))))


def _subset_error(problem: LinearQueries, size: int, trace: float) -> float:
    types, power = problem.queries.size, math.exp(problem.epsilon)
    level = spread_of(types, size, power) * types / (types - 1.0)
    return trace * types / level / types - trace / types if level else math.inf


def best_subset(problem: LinearQueries) -> tuple[int, float]:
    """Return the best size of subset selection and its error.

    Examples
    --------
    >>> size, error = best_subset(LinearQueries(workload={"name": "histogram", "size": 64}, epsilon=1.0))
    >>> size, round(error, 6)
    (17, 227.416592)
    """
    trace = _trace(problem)
    errors = {size: _subset_error(problem, size, trace) for size in range(1, problem.queries.size)}
    best = min(errors, key=lambda size: errors[size])
    return best, errors[best]


def all_subsets(types: int, size: int) -> Sets:
    """Return all sets of ``size`` types.

    Examples
    --------
    >>> all_subsets(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    sets = np.zeros((math.comb(types, size), types), dtype=bool)
    for row, chosen in enumerate(itertools.combinations(range(types), size)):
        sets[row, list(chosen)] = True
    return sets


def subset_amount(types: int, size: int, power: float) -> float:
    """Return the probability of one set of ``size`` types for a type outside of it."""
    inside = math.comb(types - 1, size - 1)
    return 1.0 / (inside * power + math.comb(types - 1, size))


MOST_ENTRIES = 1 << 22
"""Sets times cells, at most: some tens of megabytes at work."""


def cell_sets(cells: int, power: float) -> tuple[Sets, Array]:
    """Return sets of cells with the probability of each for a cell outside of it.

    All sets of the best size where they are few enough; else, whichever tells most, all sets of a smaller
    size or affine hyperplanes.

    Examples
    --------
    >>> sets, amounts = cell_sets(256, np.exp(4.0))
    >>> len(sets), bool(sets.sum(axis=0).min() == sets.sum(axis=0).max())
    (2814, True)
    """
    best = best_subset_size(cells, power)
    if math.comb(cells, best) <= MOST_SETS:
        return all_subsets(cells, best), np.full(math.comb(cells, best), subset_amount(cells, best, power))
    most = min(MOST_SETS, MOST_ENTRIES // cells)
    fewer = [size for size in range(1, best) if math.comb(cells, size) <= most]
    size = max(fewer, key=lambda number: spread_of(cells, number, power))
    primes = [prime for prime in _primes(most) if _hyperplanes(cells, prime) <= most]
    prime = max(primes, key=lambda number: spread_of(cells, cells / number, power))
    if spread_of(cells, size, power) >= spread_of(cells, cells / prime, power):
        sets = all_subsets(cells, size)
    else:
        sets = affine_sets(cells, prime)
    each = sets.sum(axis=0)[0]  # the same for every cell
    return sets, np.full(len(sets), 1.0 / (each * power + len(sets) - each))


def affine_sets(cells: int, prime: int) -> Sets:
    """Return the hyperplanes of the affine space over the integers modulo a prime, on its first points.

    Examples
    --------
    >>> affine_sets(4, 2).astype(int).sum(axis=1).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    digits = _digits(cells, prime)
    points = np.arange(cells)[:, None] // prime ** np.arange(digits) % prime
    parallel = []
    for lead in range(digits):  # directions (0, .., 0, 1, any, .., any)
        rest = prime ** (digits - lead - 1)
        free = np.arange(rest)[:, None] // prime ** np.arange(digits - lead - 1) % prime
        levels = (points[:, lead] + free @ points[:, lead + 1 :].T) % prime
        parallel.append((levels[:, None, :] == np.arange(prime)[None, :, None]).reshape(-1, cells))
    sets = np.vstack(parallel)
    proper: Sets = sets[sets.any(axis=1) & ~sets.all(axis=1)]
    return proper


def _digits(cells: int, prime: int) -> int:
    """Return how many digits number the cells; two at least, or cells in a row would always be apart."""
    digits = 2
    while prime**digits < cells:
        digits += 1
    return digits


def _hyperplanes(cells: int, prime: int) -> int:
    return prime * int(prime ** _digits(cells, prime) - 1) // (prime - 1)


def _primes(most: int) -> list[int]:
    """Return the primes whose square is at most this."""
    return [
        number
        for number in range(2, math.isqrt(most) + 1)
        if all(number % other for other in range(2, math.isqrt(number) + 1))
    ]


def is_histogram(problem: LinearQueries) -> bool:
    """Whether the queries weigh all types equally: any two shares have the same part in the error."""
    gram = problem.queries.centered(np.full(problem.queries.size, 1.0 / problem.queries.size))
    level = float(np.trace(gram)) / (len(gram) - 1)
    even = level * (np.eye(len(gram)) - 1.0 / len(gram))
    return bool(np.abs(gram - even).max() <= 1e-12 * level)


def subset_selection(problem: LinearQueries) -> Outcome:
    """Return subset selection with its best size; with the trace bound where it is the optimum."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    size, _ = best_subset(problem)
    sets = all_subsets(problem.queries.size, size)
    amounts = np.full(len(sets), subset_amount(problem.queries.size, size, math.exp(problem.epsilon)))
    bound = trace_bound(problem) if is_histogram(problem) else None
    best, notes = bound is not None, {"subset_size": size}
    return outcome(problem, sets, amounts, bound, "formula", best, notes, weighed=best)


def why_not_subset(problem: LinearQueries) -> str | None:
    """Return why the sets do not apply or are too many, or None."""
    types = problem.queries.size
    if problem.epsilon == 0.0:
        return None
    if not isinstance(problem.population, str):
        return "it treats all types equally; it is for equal shares"
    size, _ = best_subset(problem)
    if math.comb(types, size) > MOST_SETS:
        return f"there are {math.comb(types, size)} sets of {size} types; its error is the quantity 'subset'"
    return None


def why_not_histogram(problem: LinearQueries) -> str | None:
    """Return why subset selection is not the optimum, or None."""
    return (
        why_not_subset(problem)
        if is_histogram(problem)
        else "its theorem is for a histogram with equal types"
    )


Labels = NDArray[np.int64]


def tree_depth(problem: LinearQueries) -> int | None:
    """Return h for 2^h types whose queries are about an order; None for others."""
    named, size = problem.queries.named, problem.queries.size
    ordered = named is not None and problem.queries.definition["name"] in ("prefix", "likert", "ranges")
    return size.bit_length() - 1 if ordered and size & (size - 1) == 0 else None


def cell_reports(labels: Labels, share: float, power: float) -> tuple[Sets, Array]:
    """Return subset selection of the cells of a partition, or nearly so, made with this probability.

    Parameters
    ----------
    labels : (n,) array of int
        The cell of each type, 0 .. K - 1.
    share, power : float

    Examples
    --------
    >>> sets, amounts = cell_reports(np.array([0, 0, 1]), 1.0, 3.0)
    >>> sets.astype(int).tolist(), amounts.tolist()
    ([[1, 1, 0], [0, 0, 1]], [0.25, 0.25])
    """
    sets, amounts = cell_sets(int(labels.max()) + 1, power)
    return sets[:, labels], share * amounts


def _outcome(problem: LinearQueries, parts: list[tuple[Sets, Array]]) -> Outcome:
    sets = np.vstack([sets for sets, _ in parts])
    amounts = np.concatenate([amounts for _, amounts in parts])
    return outcome(problem, sets, amounts, None, "formula", False, {"patterns": len(sets)}, weighed=False)


def run_tree(problem: LinearQueries) -> Outcome:
    """Return a binary tree of ranges: a random level, and subset selection of its nodes."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    types, power = np.arange(problem.queries.size), math.exp(problem.epsilon)
    shares = tree_shares(problem.centered, problem.epsilon)
    levels = range(1, len(shares) + 1)
    parts = [
        cell_reports(types >> (len(shares) - level), share, power)
        for level, share in zip(levels, shares, strict=True)
    ]
    return _outcome(problem, parts)


def run_haar(problem: LinearQueries) -> Outcome:
    """Return Haar wavelets: a random level, and one Hadamard coefficient of its signs."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    size, power = problem.queries.size, math.exp(problem.epsilon)
    levels = size.bit_length() - 1
    types = np.arange(size)
    roots = np.sqrt(wavelet_levels(problem.centered) * 2.0 ** np.arange(levels))
    parts = []
    for level, share in enumerate((roots / roots.sum()).tolist()):
        node, right = types >> (levels - level), types >> (levels - level - 1) & 1
        kinds = np.arange(1 << level)
        signs = np.array([[int(a & b).bit_count() & 1 for b in node] for a in kinds]) ^ right
        sets = np.vstack([signs == 0, signs == 1])
        parts.append((sets, np.full(len(sets), share / (1.0 + power) / len(kinds))))
    return _outcome(problem, parts)


def run_sampling(problem: LinearQueries) -> Outcome:
    """Return one of the marginals at random, and subset selection of its cells."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    power, tables = math.exp(problem.epsilon), _tables(problem)
    return _outcome(problem, [cell_reports(labels, 1.0 / len(tables), power) for labels in tables])


def _tables(problem: LinearQueries) -> list[Labels]:
    sizes = tuple(problem.queries.definition["sizes"])
    cells = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    chosen = itertools.combinations(range(len(sizes)), int(problem.queries.definition["order"]))
    return [
        np.ravel_multi_index([cells[place] for place in part], [sizes[place] for place in part])
        for part in chosen
    ]


def _why_not(problem: LinearQueries) -> str | None:
    return None if isinstance(problem.population, str) else "its shares are for equally frequent types"


def why_not_halves(problem: LinearQueries) -> str | None:
    """Return why a binary tree and its wavelets do not apply, or None."""
    if tree_depth(problem) is None or problem.weights is not None:
        return "it is for cumulative shares or ranges of 2, 4, 8, ... types"
    return _why_not(problem)


def why_not_sampling(problem: LinearQueries) -> str | None:
    """Return why sampling of marginals does not apply, or None."""
    named = problem.queries.named
    if named is None or problem.queries.definition["name"] != "marginals" or problem.weights is not None:
        return "it is for the workload 'marginals'"
    return _why_not(problem)


REPORTS = {
    "subset": (subset_selection, why_not_subset),
    "tree": (run_tree, why_not_halves),
    "haar": (run_haar, why_not_halves),
    "marginal-sampling": (run_sampling, why_not_sampling),
}


@dataclass(frozen=True, eq=False)
class SimpleReport:
    """A report with its name and its error."""

    name: str
    error: float
    outcome: Outcome

    @property
    def sets(self) -> Sets:
        """Its patterns."""
        return np.asarray(self.outcome.variables["patterns"], dtype=bool)

    @property
    def amounts(self) -> Array:
        """The probabilities of its patterns for types outside of them."""
        return np.asarray(self.outcome.variables["weights"], dtype=np.float64)


def best_simple(problem: LinearQueries) -> SimpleReport | None:
    """Return the simple report with the least error; None where none applies.

    Examples
    --------
    >>> report = best_simple(LinearQueries(workload={"name": "ranges", "size": 64}, epsilon=6.0))
    >>> report.name, round(report.error, 2)
    ('tree', 109.16)
    """
    rivals = []
    for name, (run, why_not) in REPORTS.items():
        if why_not(problem) is None:
            solved = run(problem)
            error = problem.objective(solved.variables)
            if math.isfinite(error):
                rivals.append(SimpleReport(name, error, solved))
    return min(rivals, key=lambda rival: rival.error, default=None)


WORTH_A_LOOK = 1e-3
"""The gap, as a part of the value, from which simple reports are tried as well."""


def or_simple(problem: LinearQueries, searched: Outcome) -> Outcome:
    """Return what a search found, or a simple report that is better, with the bound of the search."""
    value = problem.objective(searched.variables)
    if searched.bound is not None and value - searched.bound <= WORTH_A_LOOK * value:
        return searched
    rival = best_simple(problem)
    if rival is None or rival.error >= value:
        return searched
    proven = (
        searched.bound is not None and rival.error - searched.bound <= problem.optimal_within * rival.error
    )
    return changed(
        searched,
        status="optimal" if proven else "feasible",
        variables=rival.outcome.variables,
        notes={**searched.notes, "taken": rival.name},
        prices=None,
    )


def simple_report(problem: LinearQueries) -> Outcome:
    """Return the simple report whose worst type has the least error."""
    if problem.epsilon == 0.0:
        return infeasible("formula")
    best = best_simple(problem)
    assert best is not None, "one applies"
    return changed(best.outcome, notes={**best.outcome.notes, "taken": best.name})


def why_not_simple(problem: LinearQueries) -> str | None:
    """Return why the simple reports are not compared, or None."""
    if not problem.is_worst:
        return "it is for the worst type; for an average columns tries these reports"
    if problem.queries.size <= MOST_ENUMERATED:
        return f"up to {MOST_ENUMERATED} types there is a search; use populations"
    if all(reason(problem) is not None for _, reason in REPORTS.values()):
        return "none of its reports applies"
    return None
