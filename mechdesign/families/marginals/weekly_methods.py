"""The methods of ``weekly``: the theorem, the small search, three ways for changing answers, and a program.

The program knows no overlaps and no symmetry: it shows that weekly sets can be drawn as the theorem says. For
permanent sets S of w answers at ``epsilon_all`` let B be any rule of weekly reports. The columns of a channel
that is private at ``epsilon_week`` are mixtures of those that are E' on a subset T of the answers, 1 off it
(Kairouz, Oh, Viswanath 2016). Let a report be named by its T:

    maximise  sum_T c_T I_T   subject to  sum_S A(x, S) B(S, T) = c_T (E' if x in T else 1),  B a channel

is the most information about a rare answer that a week of such reports has from such S; one over it is V'.
The mean over the permutations of the answers of a best B is symmetric, so that the theorem's split of the
variance holds for it, and V (1 - 1/T) + V'/T is the value.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.marginals.weekly import SAFETY, Weekly, weekly_variances
from mechdesign.families.marginals.weeks.cells import KINDS
from mechdesign.primitives.oracle import subset_variance

MOST_CELLS = 64
"""Buckets or bins that are tried: of more, epsilon for each would be too small to say anything."""

MOST_PROGRAM = 6
"""Answers of the program: it has a variable for each permanent set and each subset."""

LARGEST_PROGRAM = 8.0

SOURCE = "the least variance of all private channels, at both ends"


def impossible(problem: Weekly) -> str | None:
    """Return why no report says anything, if so."""
    if min(problem.epsilon_all, problem.epsilon_week) == 0.0:
        return "with epsilon = 0 reports contain no information; give a larger epsilon"
    return None


def outcome(
    problem: Weekly, kind: str, cells: int, size: int, week_size: int, solver: str = "formula"
) -> Outcome:
    """Return the outcome of these numbers, next to the bound."""
    variables = {"kind": kind, "cells": cells, "permanent_size": size, "weekly_size": week_size}
    value, bound = problem.objective(variables), problem.lower_bound()
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source=SOURCE,
        solver=solver,
    )


def infeasible(problem: Weekly) -> Outcome:
    """Return the outcome of a problem without any report."""
    return Outcome(status="infeasible", solver="formula", message=impossible(problem) or "")


# Answers that do not change


def theorem_applies(problem: Weekly) -> bool:
    """Whether the two best sizes satisfy the theorem's condition p' <= P*."""
    size, week_size = problem.best_sizes()
    _, one = problem.spread("answers", problem.categories, size, np.array([week_size]))
    return float(one[0]) <= problem.bounds()[1] * (1.0 + 4.0 * SAFETY)


def run_theorem(problem: Weekly) -> Outcome:
    """Take the best size at each end."""
    if impossible(problem):
        return infeasible(problem)
    return outcome(problem, "answers", problem.categories, *problem.best_sizes())


def why_not_theorem(problem: Weekly) -> str | None:
    """Return why the theorem does not apply, or None."""
    if impossible(problem):
        return None
    if problem.distinct > 1:
        return "it is for answers that do not change"
    if not theorem_applies(problem):
        size, week_size = problem.best_sizes()
        return (
            f"weekly sets of {week_size} cannot be drawn at epsilon_week from permanent ones of {size}, the "
            "best sizes of either end"
        )
    return None


def run_search(problem: Weekly) -> Outcome:
    """Try all pairs of sizes that could be better than those with one best size."""
    if impossible(problem):
        return infeasible(problem)
    size, week_size, _ = best_pair(problem, "answers", problem.categories)
    return outcome(problem, "answers", problem.categories, size, week_size, "search")


def best_pair(problem: Weekly, kind: str, cells: int) -> tuple[int, int, float]:
    """Return the sizes of permanent and weekly sets with the least value, and that value.

    By increasing V of the permanent sets: the search ends where even the least V' that any week can have
    would not be better than the best pair so far.
    """
    sizes = np.arange(1, cells + (kind == "bins"), dtype=np.int64)
    if kind == "answers":
        lasts = subset_variance(cells, sizes, problem.each(cells))
    else:
        lasts = np.array([problem.spread(kind, cells, size, sizes[:1])[0] for size in sizes.tolist()])
    floor, best = problem.bounds()[1], (1, 1, math.inf)
    for row in np.argsort(lasts, kind="stable").tolist():
        size = int(sizes[row])
        last, one = problem.spread(kind, cells, size, sizes)
        if problem.mean_of(last, floor) >= best[2]:
            break
        values = problem.mean_of(last, one)
        place = int(np.argmin(values))
        if values[place] < best[2]:
            best = (size, int(sizes[place]), float(values[place]))
    return best


def why_not_search(problem: Weekly) -> str | None:
    """Return why the search does not apply, or None."""
    return "it is for answers that do not change" if problem.distinct > 1 else None


# Answers that change


def run_kind(problem: Weekly, kind: str) -> Outcome:
    """Return the best numbers of a kind of cells."""
    if impossible(problem):
        return infeasible(problem)
    if kind == "answers":
        candidates = [problem.categories]
    elif kind == "hashed":
        candidates = list(range(2, min(problem.categories, MOST_CELLS) + 1))
    else:
        candidates = list(range(1, min(problem.categories - 1, MOST_CELLS) + 1))
    pairs = {cells: best_pair(problem, kind, cells) for cells in candidates}
    cells = min(pairs, key=lambda number: pairs[number][2])
    return outcome(problem, kind, cells, *pairs[cells][:2], "search")


def why_not_kind(problem: Weekly, kind: str) -> str | None:
    """Return why a kind of cells does not apply, or None."""
    if problem.distinct == 1:
        return "the answer does not change: theorem and search are at least as good"
    if kind == "bins" and problem.categories < 3:
        return "two answers are two cells already"
    if kind == "hashed" and problem.categories > 1 << 20:
        return "too many answers to hash"
    return None


def run_best(problem: Weekly) -> Outcome:
    """Compare the three at the stated number of different answers."""
    kinds = [kind for kind in KINDS if why_not_kind(problem, kind) is None]
    outcomes = [run_kind(problem, kind) for kind in kinds]
    if impossible(problem):
        return outcomes[0]
    return min(outcomes, key=lambda each: problem.objective(each.variables))


def why_not_best(problem: Weekly) -> str | None:
    """Return why there is nothing to compare, or None."""
    return "the answer does not change" if problem.distinct == 1 else None


# A program over all rules of weekly reports


def run_program(problem: Weekly) -> Outcome:
    """Solve the program for every size of permanent sets, and take the size with the least value."""
    if impossible(problem):
        return infeasible(problem)
    k, best = problem.categories, (1, 1, math.inf, 0.0)
    for size in range(1, k):
        information, week_size = most_information(k, problem.epsilon_all, problem.epsilon_week, size)
        last, _ = weekly_variances(k, problem.epsilon_all, problem.epsilon_week, size, np.array([1]))
        value = problem.mean_of(last, 1.0 / information)
        if value < best[2] * (1.0 - 1e-12):
            best = (size, week_size, value, 1.0 / information)
    result = outcome(problem, "answers", k, best[0], best[1], "HiGHS simplex")
    return Outcome(
        status=result.status,
        variables=result.variables,
        bound=result.bound,
        bound_source=result.bound_source,
        solver=result.solver,
        notes={**result.notes, "program_value": best[2], "program_weekly": best[3]},
    )


def most_information(categories: int, epsilon: float, week: float, size: int) -> tuple[float, int]:
    """Return the most information of a week from permanent sets of a size, and where most of it is.

    Examples
    --------
    >>> information, week_size = most_information(4, 4.0, 2.0, 1)
    >>> round(1.0 / information, 9), week_size
    (0.23001096, 1)
    """
    from scipy.sparse import csr_array

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    k, high, likelier = categories, math.exp(epsilon), math.exp(week)
    sets = np.array([[float(x in chosen) for x in range(k)] for chosen in combinations(range(k), size)])
    first = np.where(sets.T > 0.0, high, 1.0)
    first /= first.sum(axis=1, keepdims=True)  # A(x, S)
    subsets = (np.arange((1 << k) - 1)[:, None] >> np.arange(k) & 1).astype(
        float
    )  # not all: as the empty one
    columns = np.where(subsets > 0.0, likelier, 1.0)
    others = (columns.sum(axis=1, keepdims=True) - columns) / (k - 1)
    gains = ((columns - others) ** 2 / others).mean(axis=1)
    rules, reports = len(sets), len(subsets)
    count = rules * reports + reports  # B row by row, then c
    equal, limits = np.zeros((k * reports + rules, count)), np.zeros(k * reports + rules)
    for report in range(reports):
        for x in range(k):
            row = report * k + x
            equal[row, report : rules * reports : reports] = first[x]
            equal[row, rules * reports + report] = -columns[report, x]
    for rule in range(rules):
        equal[k * reports + rule, rule * reports : (rule + 1) * reports] = 1.0
        limits[k * reports + rule] = 1.0
    objective = np.concatenate([np.zeros(rules * reports), gains])
    program = LinearProgram(
        objective=objective,
        upper_rows=csr_array((0, count)),
        upper_limits=np.zeros(0),
        equal_rows=csr_array(equal),
        equal_limits=limits,
        low=np.zeros(count),
        high=np.ones(count),
    )
    result = solve_linear(program)
    scales = np.asarray(result.variables)[rules * reports :]
    by_size = np.bincount(subsets.sum(axis=1).astype(int), weights=scales * gains, minlength=k)
    return float(scales @ gains), max(1, int(np.argmax(by_size)))


def why_not_program(problem: Weekly) -> str | None:
    """Return why the program does not apply, or None."""
    if impossible(problem):
        return None
    if problem.distinct > 1:
        return "it is for answers that do not change"
    if problem.categories > MOST_PROGRAM:
        return f"it has a variable for every permanent set and every subset; at most {MOST_PROGRAM} answers"
    if not 0.01 <= problem.epsilon_week <= problem.epsilon_all <= LARGEST_PROGRAM:
        return f"its numbers are too far apart; epsilons from 0.01 to {LARGEST_PROGRAM:g}"
    return None


def _of_kind(name: str, kind: str, summary: str) -> Method:
    return Method(
        name=name,
        problem=Weekly,
        kind="numeric",
        summary=summary,
        run=lambda problem: run_kind(problem, kind),
        why_not=lambda problem: why_not_kind(problem, kind),
    )


METHODS = (
    Method("theorem", Weekly, "analytic", "the best size of each end, where weekly sets can be drawn so",
           run_theorem, why_not_theorem),
    Method("search", Weekly, "numeric", "all pairs of sizes of permanent and weekly sets",
           run_search, why_not_search),
    Method("best-cells", Weekly, "numeric", "for answers that change: the best of the three below",
           run_best, why_not_best),
    _of_kind("per-answer", "answers", "a permanent report for each distinct answer, counted on the device"),
    _of_kind("hashed", "hashed", "a permanent report for each bucket of a hash of the answer (LOLOHA)"),
    _of_kind("bins", "bins", "a permanent report for some bins and one for the rest (d-bit flip)"),
    Method("weekly-lp", Weekly, "numeric", "linear program over all rules of weekly reports",
           run_program, why_not_program),
)  # fmt: skip
