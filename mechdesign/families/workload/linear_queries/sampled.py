"""``linear-queries`` for many types: patterns drawn from a Gaussian field, with nearly equal weights.

The field has the second moments that the dual's optimum asks for, so with many patterns their moment matrix
is near to the best one. The least reweighting makes the probabilities of every type sum to 1. Nothing is
optimised further; the gap to the spectral bound is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.workload.audit.workload_bound import WorkloadBound
from mechdesign.families.workload.linear_queries.columns import LARGEST
from mechdesign.families.workload.linear_queries.fields import field_sets
from mechdesign.families.workload.linear_queries.outcomes import infeasible, outcome, spectral_bound
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.master import Basis
from mechdesign.families.workload.value import Array, Sets, columns_of
from mechdesign.families.workload.weights import kept_and_repaired

PATTERNS = 32
"""Patterns per type that are drawn, or pairs of a pattern and its mirror image."""

MOST = 16_384
"""Patterns that are drawn, at most."""

LARGEST_FIELD = 1024


def sampled_patterns(problem: LinearQueries, seed: int = 0, patterns: int | None = None) -> Outcome:
    """Draw patterns and weigh them nearly equally.

    Parameters
    ----------
    problem : LinearQueries
    seed : int
        Of the patterns.
    patterns : int, optional
        Number of patterns; by default 32 per type, 16,384 at most.
    """
    if problem.epsilon == 0.0:
        return infeasible("field")
    field = field_patterns(problem, seed, patterns)
    notes = {"patterns": len(field.sets)}
    return outcome(
        problem,
        field.sets,
        field.amounts,
        field.bound,
        "patterns of a Gaussian field",
        False,
        notes,
        weighed=False,
    )


@dataclass(frozen=True, eq=False)
class FieldPatterns:
    """Patterns of a Gaussian field with their probabilities, and the bound whose moments it has."""

    sets: Sets
    amounts: Array
    bound: WorkloadBound


def field_patterns(problem: LinearQueries, seed: int, patterns: int | None = None) -> FieldPatterns:
    """Return patterns of the field, nearly equally weighed."""
    rng = np.random.default_rng(seed)
    bound, solver, dual = spectral_bound(problem)
    power, size = math.exp(problem.epsilon), problem.queries.size
    count = min(MOST, PATTERNS * size) if patterns is None else patterns
    sets = np.unique(field_sets(*solver.moments(dual), power, count, rng), axis=0)
    if Basis.of(problem.design_gram, problem.shares).is_mirrored:
        sets = np.unique(np.vstack([sets, sets[:, ::-1]]), axis=0)
    masses = columns_of(sets, power) @ problem.shares
    amounts = masses / float(masses @ masses)  # w is proportional to (pi.v)^2, and c = w/(pi.v)
    sets, amounts = kept_and_repaired(sets, amounts, power)
    return FieldPatterns(sets, amounts, bound)


def why_not_sampled(problem: LinearQueries) -> str | None:
    """Return why the field does not apply, or None."""
    if problem.is_worst:
        return "it minimizes an average; give shares instead"
    if problem.queries.size <= LARGEST:
        return f"it is for more than {LARGEST} types; use columns"
    if problem.queries.size > LARGEST_FIELD:
        return f"{problem.queries.size} types are too many for its matrices; the limit is {LARGEST_FIELD}"
    return None
