"""``linear-queries`` for many types: patterns drawn from a Gaussian field, and mixtures of kinds of reports.

**Patterns of a field, with nearly equal weights.**
The field has the second moments that the dual's optimum asks for, so with many patterns their moment matrix
is near to the best one. The least reweighting makes the probabilities of every type sum to 1. Nothing is
optimised further; the gap to the spectral bound is shown.

**A mixture: one of several kinds of reports, with the best probabilities.**
Kinds of reports are channels of their own: subset selection of blocks of neighbouring types, one kind for
each width of the blocks; blocks of one or two attributes of a table; and the patterns of a Gaussian field.
A user makes one of them at random. The moment matrix is the mean of theirs, M = sum w_f M_f, and the error
tr(G M^-1) is convex in the chances w, so the best ones are found quickly, and no single kind is better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from mechdesign.core.problem import Outcome
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import Basis
from mechdesign.families.workload.pattern_sets import field_sets, partitions_of
from mechdesign.families.workload.patterns import Array, Sets, columns_of
from mechdesign.families.workload.query_columns import LARGEST
from mechdesign.families.workload.query_outcomes import infeasible, outcome, spectral_bound
from mechdesign.families.workload.simple_reports import cell_sets
from mechdesign.families.workload.weights import kept_and_repaired
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.interior import ProgramState, minimised

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


MOST_NEWTON = 400
"""Types up to which the chances are found by Newton steps."""

ACCURACY = 1e-9

FEWEST = 16
"""Multiplicative steps for more types: each inverts a matrix of their number."""

LEAST = 1e-4
"""Kinds of reports with a smaller chance are left out."""


@dataclass(frozen=True, eq=False)
class ReportKind:
    """A channel of patterns: sets, and the probability of each for a type outside of it."""

    name: str
    sets: Sets
    amounts: Array

    def moment(self, problem: LinearQueries) -> Array:
        """Return its moment matrix M = sum q_y z_y z_y'."""
        columns = columns_of(self.sets, math.exp(problem.epsilon))
        moment: Array = (columns * (self.amounts / (columns @ problem.shares))[:, None]).T @ columns
        return moment


def best_mixture(problem: LinearQueries, seed: int = 0) -> Outcome:
    """Return the mixture of the kinds of reports with the best chances.

    Parameters
    ----------
    problem : LinearQueries
    seed : int
        Of the patterns of the field.
    """
    if problem.epsilon == 0.0:
        return infeasible("mixture")
    field = field_patterns(problem, seed)
    power = math.exp(problem.epsilon)
    kinds = [ReportKind("field", field.sets, field.amounts)]
    for name, labels in partitions_of(problem):
        sets, amounts = cell_sets(int(labels.max()) + 1, power)
        kinds.append(ReportKind(name, sets[:, labels], amounts))
    chances = best_chances([kind.moment(problem) for kind in kinds], problem.design_gram)
    used = [number for number in np.argsort(-chances).tolist() if chances[number] >= LEAST]
    sets = np.vstack([kinds[number].sets for number in used])
    amounts = np.concatenate([kinds[number].amounts * chances[number] for number in used])
    sets, amounts = kept_and_repaired(sets, amounts / chances[used].sum(), power)
    mixed = ", ".join(f"{kinds[number].name} {chances[number]:.3f}" for number in used)
    notes = {"patterns": len(sets), "mixed": mixed}
    return outcome(
        problem, sets, amounts, field.bound, "kinds of reports at random", False, notes, weighed=False
    )


def best_chances(moments: list[Array], gram: Array) -> Array:
    """Return the chances w with the least tr(G (sum w_f M_f)^-1).

    By an interior-point method; for many types, where its steps take long, by multiplicative steps. The
    slopes are -g_f, g_f = tr(M^-1 G M^-1 M_f), and sum w_f g_f is the error: no g_f is larger at the optimum.

    Examples
    --------
    >>> best_chances([np.diag([4.0, 1.0]), np.diag([1.0, 1.0])], np.eye(2)).round(6).tolist()
    [1.0, 0.0]
    """
    program = _Mixing(moments, gram)
    if len(gram) <= MOST_NEWTON:
        weights = np.maximum(minimised(program, len(moments), ACCURACY).weights, 0.0)
        return np.asarray(weights / weights.sum())
    return _by_steps(program)


class _Mixing:
    """The program of the chances: value, slopes and curvature, and that they sum to 1."""

    def __init__(self, moments: list[Array], gram: Array) -> None:
        self.moments, self.gram = moments, gram
        self.left, self.right = np.ones((1, len(moments))), np.ones(1)

    def inverse(self, chances: Array) -> Array:
        """Return the inverse of the moment matrix of the mixture."""
        pairs = zip(chances.tolist(), self.moments, strict=True)
        return np.asarray(np.linalg.inv(sum((w * part for w, part in pairs), np.zeros_like(self.gram))))

    def gains(self, inverse: Array) -> Array:
        """Return g_f for each kind of report."""
        sandwich = inverse @ self.gram @ inverse
        return np.array([float(np.sum(sandwich * part)) for part in self.moments])

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature; None where the reports do not determine the answers."""
        try:
            inverse = self.inverse(weights)
        except np.linalg.LinAlgError:
            return None
        value = float(np.sum(self.gram * inverse))
        return ProgramState(value, -self.gains(inverse), partial(self._factor, inverse), inverse)

    def _factor(self, inverse: Array) -> Array:
        """Return F with F'F the Hessian 2 tr(M^-1 G M^-1 M_f M^-1 M_g)."""
        sandwich = inverse @ self.gram @ inverse
        sides = [(sandwich @ part @ inverse).ravel() for part in self.moments]
        turned = [np.ascontiguousarray(part.T).ravel() for part in self.moments]
        hessian = 2.0 * np.array([[float(side @ part) for part in turned] for side in sides])
        levels, vectors = np.linalg.eigh((hessian + hessian.T) / 2.0)
        factor: Array = (vectors * np.sqrt(np.maximum(levels, 0.0))).T
        return factor


def _by_steps(program: _Mixing) -> Array:
    """Return chances after multiplicative steps, without the kinds that are not missed."""
    chances = np.full(len(program.moments), 1.0 / len(program.moments))
    for _ in range(FEWEST):
        gains = program.gains(program.inverse(chances))
        chances = chances * np.sqrt(gains / float(chances @ gains))
        chances /= chances.sum()
    inverse = program.inverse(chances)
    gains, error = program.gains(inverse), float(np.sum(program.gram * inverse))
    for worst in np.argsort(gains)[:-1].tolist():
        moved = chances.copy()
        moved[int(gains.argmax())] += moved[worst]
        moved[worst] = 0.0
        below = float(np.sum(program.gram * program.inverse(moved)))
        if below > error:
            break
        chances, error = moved, below
    return np.asarray(chances)


def why_not_mixture(problem: LinearQueries) -> str | None:
    """Return why the mixture does not apply, or None."""
    return why_not_sampled(problem)
