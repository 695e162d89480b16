"""The methods of ``linear-queries``, in the order in which they are tried, and those for the worst type.

**The worst type: the population whose best average error is largest, and a bound at every one.**
The best average error L(pi) is concave in pi with the slope t_u of the optimum's types. Quasi-Newton steps
raise it over pi = softmax(x); the slope in x is pi_u (t_u - pi.t). The channel of a population has some worst
type, and L(pi) is a lower bound for the worst type of every channel. A group that moves any type to any other
makes equal shares the worst ones, and this stops at once.

**The worst of many types: the report for the average of all types, or a simple one, whichever is better.**
The worst type has at least the average error, so the bound of the average is one for the worst type. How
evenly the report treats the types is not optimized.

**Many types: patterns of a Gaussian field, with nearly equal weights.**
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mechdesign.core.problem import Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.workload.few_queries import few_queries, why_not_few_queries
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.master import Basis
from mechdesign.families.workload.pattern_sets import (
    field_sets,
    partitions_of,
    symmetric_reports,
    why_not_symmetric,
)
from mechdesign.families.workload.patterns import Array, Sets, all_sets, columns_of
from mechdesign.families.workload.query_columns import (
    LARGEST,
    all_columns,
    closed,
    column_generation,
    why_not_all_columns,
    why_not_columns,
)
from mechdesign.families.workload.query_outcomes import (
    infeasible,
    outcome,
    pattern_variables,
    spectral_bound,
)
from mechdesign.families.workload.reweighting import reweighted, why_not_reweighting
from mechdesign.families.workload.simple_reports import (
    cell_sets,
    or_simple,
    run_haar,
    run_sampling,
    run_tree,
    simple_report,
    subset_selection,
    why_not_halves,
    why_not_histogram,
    why_not_sampling,
    why_not_simple,
    why_not_subset,
)
from mechdesign.families.workload.weights import feasible_patterns
from mechdesign.families.workload.workload_bound import MOST_ENUMERATED, WorkloadBound
from mechdesign.solvers.descent import descend
from mechdesign.solvers.interior import ProgramState, minimised
from mechdesign.solvers.statement import statement_method

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
    sets, amounts = feasible_patterns(sets, amounts, power)
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
    sets, amounts = feasible_patterns(sets, amounts / chances[used].sum(), power)
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


STEPS = 60
CLOSE = 1e-6
"""The gap at which the population is no longer changed, as a part of the value."""

SMALLEST_POPULATION = 1e-9
"""The least share of a type, before the shares are divided by their sum."""


def _at_shares(problem: LinearQueries, shares: Array) -> LinearQueries:
    """Return the problem of the average error at these shares."""
    return LinearQueries(
        workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights, population=shares
    )


class _Ascent:
    """The channel with the best worst type so far, and the largest bound."""

    def __init__(self, problem: LinearQueries) -> None:
        self.problem = problem
        exact = why_not_all_columns(_at_shares(problem, problem.shares)) is None
        self.inner = all_columns if exact else column_generation
        self.error, self.best = math.inf, (Outcome(status="failed", solver=""), problem.shares)
        self.proven, self.bound = -math.inf, self.best[0]
        self.populations = 0

    def lowered(self, levels: Array) -> tuple[float, Array]:
        """Return the negative average error at the shares softmax(levels), and its slope."""
        raised = np.maximum(np.exp(levels - levels.max()), SMALLEST_POPULATION)
        shares = raised / raised.sum()
        outcome_here = self.inner(_at_shares(self.problem, shares))
        value = self.problem.channel_value(outcome_here.variables)
        errors = value.type_errors(self.problem.queries.centered(shares))
        self.populations += 1
        if float(errors.max()) < self.error:
            self.error, self.best = float(errors.max()), (outcome_here, shares)
        if outcome_here.bound is not None and outcome_here.bound > self.proven:
            self.proven, self.bound = outcome_here.bound, outcome_here
        mean = float(shares @ errors)
        return -mean, -shares * (errors - mean)

    def is_close(self) -> bool:
        """Whether the gap is small enough."""
        return self.error - self.proven <= CLOSE * self.error


def worst_type(problem: LinearQueries, steps: int = STEPS) -> Outcome:
    """Raise the best average error over the populations; return the channel with the best worst type."""
    if problem.epsilon == 0.0:
        return infeasible("populations")
    ascent = _Ascent(problem)
    descend(ascent.lowered, np.log(problem.shares), None, steps, 0.0, ascent.is_close)
    outcome_there, shares = ascent.best
    best = outcome(
        problem,
        np.asarray(outcome_there.variables["patterns"], dtype=bool),
        np.asarray(outcome_there.variables["weights"]),
        ascent.bound.realisation,
        "quasi-Newton steps over populations",
        notes={"populations": ascent.populations},
        population=shares,
    )
    return or_simple(problem, best)


def why_not_worst_type(problem: LinearQueries) -> str | None:
    """Return why the method does not apply, or None."""
    if not problem.is_worst:
        return "it minimizes the error of the worst type; the problem is about an average"
    if problem.queries.size > MOST_ENUMERATED:
        return f"each population needs a program over all patterns; {MOST_ENUMERATED} types at most"
    return None


DESIGNS: dict[str, tuple[Callable[[LinearQueries], Outcome], Callable[[LinearQueries], str | None]]] = {
    "symmetric": (symmetric_reports, why_not_symmetric),
    "reweighting": (reweighted, why_not_reweighting),
    "columns": (column_generation, why_not_columns),
    "estimates": (few_queries, why_not_few_queries),
    "mixture": (best_mixture, why_not_mixture),
}


def equal_shares(problem: LinearQueries) -> Outcome:
    """Return the report for equal shares of all types, or a simple report whose worst type is better."""
    if problem.epsilon == 0.0:
        return infeasible("equal shares")
    averaged = _at_equal_shares(problem)
    name = _design(problem)
    assert name is not None, "one applies"
    solved = DESIGNS[name][0](averaged)
    value = problem.objective(solved.variables)
    proven = solved.bound is not None and value - solved.bound <= problem.optimal_within * value
    worst = changed(
        solved,
        status="optimal" if proven else "feasible",
        notes={**solved.notes, "design": name},
        prices=None,
    )
    return or_simple(problem, worst)


def _at_equal_shares(problem: LinearQueries) -> LinearQueries:
    """Return the problem of the average error at equal shares."""
    return LinearQueries(workload=problem.workload, epsilon=problem.epsilon, weights=problem.weights)


def _design(problem: LinearQueries) -> str | None:
    """Return the name of the first method that applies to equal shares."""
    averaged = _at_equal_shares(problem)
    return next((name for name, (_, why) in DESIGNS.items() if why(averaged) is None), None)


def why_not_equal_shares(problem: LinearQueries) -> str | None:
    """Return why the average is not designed for, or None."""
    if not problem.is_worst:
        return "it is for the worst type; the problem is about an average"
    if problem.queries.size <= MOST_ENUMERATED:
        return f"up to {MOST_ENUMERATED} types there is a search; use populations"
    if _design(problem) is None:
        return f"{problem.queries.size} types are too many for what designs for equal shares"
    return None


ACCURATE = 6.0
"""Above this epsilon errors are small next to the accuracy of a conic solver."""


def is_beyond_accuracy(problem: LinearQueries) -> bool:
    """Whether the worst type's error is too small for a conic solver, which then loses up to 2 %."""
    return problem.is_worst and problem.epsilon > ACCURATE


def from_statement(problem: LinearQueries, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patterns in use with weights that sum to 1 for every type, and the population."""
    sets, amounts = all_sets(problem.queries.size), np.maximum(values["weights"], 0.0)
    used = amounts > 1e-9 * amounts.max()
    sets, amounts, shares = sets[used], amounts[used], problem.shares
    if problem.is_worst:  # the population for which the estimates of this channel are best
        shares = np.maximum(values["types"], 1e-9)
        shares = shares / shares.sum()
    return pattern_variables(sets, closed(amounts, columns_of(sets, math.exp(problem.epsilon))), shares)


METHODS = (
    Method("closed-form", LinearQueries, "analytic",
           "subset selection, which is optimal for a histogram",
           subset_selection, why_not_histogram),
    Method("symmetric", LinearQueries, "numeric",
           "base sets with all their translates, for a cycle or a cube of types",
           symmetric_reports, why_not_symmetric),
    Method("all-columns", LinearQueries, "numeric",
           "the best weights of all patterns, by an interior-point method",
           all_columns, why_not_all_columns),
    Method("reweighting", LinearQueries, "numeric",
           "for 65 to 1,024 types: patterns weighed by multiplicative steps, priced by local search",
           reweighted, why_not_reweighting),
    Method("columns", LinearQueries, "numeric",
           "column generation: exact up to 20 types, to a proven gap beyond",
           column_generation, why_not_columns),
    Method("estimates", LinearQueries, "numeric",
           "for one or two queries of many types: linear programs over estimates, exact pricing",
           few_queries, why_not_few_queries),
    Method("populations", LinearQueries, "numeric",
           "for the worst type: the population whose best average error is largest",
           worst_type, why_not_worst_type),
    Method("equal-shares", LinearQueries, "heuristic",
           "for the worst of more than 20 types: the report for their average, or a simple one if better",
           equal_shares, why_not_equal_shares),
    Method("mixture", LinearQueries, "heuristic",
           "for 129 to 1,024 types: the best mixture of a field's patterns and of blocks of types",
           best_mixture, why_not_mixture),
    Method("field", LinearQueries, "heuristic",
           "for 129 to 1,024 types: patterns of a Gaussian field, with nearly equal weights",
           sampled_patterns, why_not_sampled),
    Method("simple", LinearQueries, "heuristic",
           "for the worst of more than 20 types: whichever of the reports below is best",
           simple_report, why_not_simple),
    Method("subset", LinearQueries, "heuristic",
           "subset selection with its best size, made for the shares of the types",
           subset_selection, why_not_subset),
    Method("tree", LinearQueries, "heuristic",
           "a binary tree of ranges with the best probabilities of its levels",
           run_tree, why_not_halves),
    Method("haar", LinearQueries, "heuristic",
           "Haar wavelets: a level with its best probability, one sign by randomized response",
           run_haar, why_not_halves),
    Method("marginal-sampling", LinearQueries, "heuristic",
           "one of the marginals at random, by subset selection of its cells",
           run_sampling, why_not_sampling),
    statement_method(LinearQueries, former_names=("cvxpy",)),
)  # fmt: skip
