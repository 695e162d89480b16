"""The problem ``linear-queries``: the private report that answers a workload with the least error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, related
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array, privacy_epsilon, probability_vector
from mechdesign.core.values import Matrix, Vector
from mechdesign.exact.numbers import frozen, text_of
from mechdesign.families.workload.patterns import (
    Array,
    ChannelValue,
    OrbitValue,
    Translations,
    all_sets,
    columns_of,
)
from mechdesign.families.workload.queries import Workload, query_matrix
from mechdesign.families.workload.release import WorkloadRelease
from mechdesign.families.workload.weights import feasible_patterns, in_order, integer_orbits, integer_weights
from mechdesign.families.workload.workload_bound import TraceBound, WorkloadBound
from mechdesign.solvers.solve import one_thread

if TYPE_CHECKING:
    import cvxpy

LIMITS = (0.01, 16.0)
"""Between these epsilons the moment matrix of a channel can be inverted in doubles."""

RANK = 1e-10
MANY = 256
"""From more types on their errors are not computed one by one for the average."""

RIDGE = 1e-7
"""What is added to a Gram matrix of low rank, as a part of its mean eigenvalue."""

HEAVIEST = 1e100
"""The largest weight: its square is a number of the bounds."""

POPULATIONS = ("uniform", "worst")


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if 0.0 < epsilon < LIMITS[0]:
        raise ParameterError(
            field,
            f"{epsilon:g} is so small that a report contains almost no information",
            f"set epsilon to {LIMITS[0]:g} or more",
        )
    if epsilon > LIMITS[1]:
        raise ParameterError(
            field, f"{epsilon:g} is beyond double precision here", f"set epsilon to at most {LIMITS[1]:g}"
        )
    return epsilon


def _workload(field: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(word): _plain(argument) for word, argument in value.items()}
    return query_matrix(value)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else value


def _weights(problem: LinearQueries, field: str, value: Any) -> Array:
    weights: Array = Workload(problem.workload, finite_array(field, value, 1)).weights
    if weights.max() > HEAVIEST:
        raise ParameterError(field, f"{weights.max():g} is too large", f"give at most {HEAVIEST:g}")
    return weights


def _population(problem: LinearQueries, field: str, value: Any) -> str | Array:
    if isinstance(value, str):
        if value not in POPULATIONS:
            raise ParameterError(
                field, f"unknown word {text_of(value)}", "use 'uniform', 'worst' or a list of shares"
            )
        return str(value)
    shares = probability_vector(field, value)
    size = problem.queries.size
    if len(shares) != size:
        raise ParameterError(field, f"expected {size} shares, one per type, got {len(shares)}")
    if float(shares.min()) <= 0.0:
        raise ParameterError(
            field,
            f"type {int(np.argmin(shares))} has no share",
            "give every type a small positive share, or remove the type from the workload",
        )
    return shares


@frozen_problem(eq=False)
class LinearQueries(Problem[WorkloadRelease]):
    r"""The epsilon-private report from which linear queries are answered with the least squared error.

    ::

        minimize    pi.t,   t_u = sum_y q(y | u) |V_y|^2 - |W_u|^2        (or max_u t_u)
        over        every channel with  q(y | u) <= e^eps q(y | u')  and vectors V_y
        subject to  sum_y q(y | u) V_y = W_u     (the estimate is unbiased for every type)

    W has a row per query and a column per type. With N users the expected squared error of all answers
    together is the average of t over the users, divided by N. The bound holds for every unbiased protocol,
    also one that asks users one after the other (docs: workload).

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.LinearQueries(workload={"name": "prefix", "size": 8}, epsilon=1.0))
    >>> round(solution.value, 6), solution.status  # subset selection: 32.6
    (23.031368, 'optimal')
    """

    name: ClassVar[str] = "linear-queries"
    example: ClassVar[Mapping[str, Any]] = {"workload": {"name": "prefix", "size": 5}, "epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "squared error of one report, all queries together"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the best private report for any linear queries, with a bound for every protocol"
    compared_with: ClassVar[str] = "all epsilon-private protocols with unbiased answers, one report per user"
    optimal_within: ClassVar[float] = 5e-3
    """A solution is certified optimal when its proven gap is below this part of its value.

    It is also the gap at which searches stop unless they are given another; exact methods go on to the end.
    """

    workload: Kept[Mapping[str, Any] | Array, Mapping[str, Any] | Matrix] = checked(
        'The queries. By name: ``{name = "prefix", size = 64}``; also ``likert``, ``ranges``, '
        "``cyclic-ranges`` and ``histogram`` with ``size``, ``marginals`` with ``sizes`` and ``order``, "
        "``parities`` with ``bits`` and ``order``, ``means`` with ``sizes``, ``low``, ``high``, "
        "``grid-prefix`` and ``grid-ranges`` with two ``sizes``, ``events`` with ``slots`` and ``most``. "
        "Or a matrix with a row per query.",
        _workload,
        form="mapping or (p, n) array",
    )
    epsilon: float = checked(
        "From 0.01 to 16. With 0 a report contains no information, and the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LIMITS[1]},
        form="float",
    )
    weights: Kept[Array | None, Vector | None] = related(
        "Weight of the squared error of each query, >= 0.", _weights, form="(p,) array", default=None
    )
    population: Kept[str | Array, str | Vector] = related(
        "Which types the average error weighs: all equally, by the given shares (all above 0), or the "
        "worst type. It shapes the mechanism; the answers are unbiased for every population.",
        _population,
        form='"uniform", "worst" or (n,) array',
        default="uniform",
    )

    def __attrs_post_init__(self) -> None:
        _ = self.queries

    @cached_property
    def queries(self) -> Workload:
        """The workload as an object."""
        return Workload(self.workload, self.weights)

    @property
    def is_worst(self) -> bool:
        """Whether the error of the worst type is minimised."""
        return isinstance(self.population, str) and self.population == "worst"

    @cached_property
    def shares(self) -> Array:
        """The shares that weigh the types; equal ones to begin with for the worst case."""
        if isinstance(self.population, str):
            return frozen(np.full(self.queries.size, 1.0 / self.queries.size))
        return np.asarray(self.population)

    @cached_property
    def centered(self) -> Array:
        """The Gram matrix of the queries less their averages over the shares."""
        return self.queries.centered(self.shares)

    def directions(self, matrix: Array, population: Array | None = None) -> Array:
        """Return B = F~ X for a bound, F~ the centered rows of :attr:`Workload.factor`."""
        rows = self.queries.factor[0]
        shares = self.shares if population is None else population
        directions: Array = (rows - (rows @ shares)[:, None]) @ matrix
        return directions

    @cached_property
    def design_gram(self) -> Array:
        """The centered Gram matrix that methods design for: with a little of every type's share added.

        Only where the queries do not determine the shares; the optimum would not determine them either, and
        no mechanism could be told from its moment matrix. The value is that of the queries alone.
        """
        centered, size = self.centered, self.queries.size
        levels = np.linalg.eigvalsh(centered)
        if int((levels > RANK * levels[-1]).sum()) >= size - 1:
            return centered
        outside = np.eye(size) - self.shares[:, None]
        raised: Array = centered + RIDGE * float(np.trace(centered)) / size * (outside @ outside.T)
        return raised

    # As a program

    def statement(self) -> cvxpy.Problem:
        """Return the program over all patterns v in {1, e^eps}^n: M is the moment matrix of a report."""
        import cvxpy as cp

        patterns = columns_of(all_sets(self.queries.size), math.exp(self.epsilon))
        weights = cp.Variable(len(patterns), name="weights", nonneg=True)
        rows = [(patterns.T @ weights == 1).set_label("row sums")]
        if self.is_worst:
            return self._worst_statement(patterns, weights, rows)
        scaled = patterns / np.sqrt(patterns @ self.shares)[:, None]
        moment = scaled.T @ cp.diag(weights) @ scaled
        levels, vectors = np.linalg.eigh(self.centered)
        used = levels > RANK * levels[-1]
        root = vectors[:, used] * np.sqrt(levels[used])
        error = cp.matrix_frac(root, moment) - self.shares @ np.diag(self.centered)
        return cp.Problem(cp.Minimize(error), rows)

    def _worst_statement(self, patterns: Array, weights: cvxpy.Variable, rows: list[Any]) -> cvxpy.Problem:
        """Return the program for the worst type, in the sums a_y = w_y V_y of the estimates."""
        import cvxpy as cp

        levels, vectors = np.linalg.eigh(self.queries.gram)
        used = levels > RANK * levels[-1]
        answers = np.sqrt(levels[used])[:, None] * vectors[:, used].T
        sums = cp.Variable((len(patterns), len(answers)), name="sums")
        squares, largest = cp.Variable(len(patterns), name="squares"), cp.Variable(name="largest")
        rows += [cp.quad_over_lin(sums[y], weights[y]) <= squares[y] for y in range(len(patterns))]
        rows.append((sums.T @ patterns == answers).set_label("no bias"))
        errors = patterns.T @ squares - (answers**2).sum(axis=0)
        return cp.Problem(cp.Minimize(largest), [*rows, (errors <= largest).set_label("types")])

    def why_no_statement(self) -> str | None:
        return "with epsilon = 0 a report says nothing" if self.epsilon == 0.0 else None

    def statement_size(self) -> int:
        return (1 << self.queries.size) * (self.queries.size if self.is_worst else 1)

    # Judging candidates

    def channel_value(self, variables: Variables) -> ChannelValue | OrbitValue:
        """Return the errors of the channel that the variables describe."""
        sets = np.asarray(variables["patterns"], dtype=bool)
        columns = columns_of(sets, float(np.exp(self.epsilon)))
        channel = columns * np.asarray(variables["weights"], dtype=np.float64)[:, None]
        if "translations" in variables:
            return OrbitValue(Translations(self.queries.size, variables["translations"]), channel)
        return ChannelValue(channel, np.asarray(variables["population"], dtype=np.float64))

    def objective(self, variables: Variables) -> float:
        """Return the error of one report with the best estimator for ``population``."""
        value = self.channel_value(variables)
        population = np.asarray(variables["population"], dtype=np.float64)
        if self.is_worst:
            return float(value.type_errors(self.queries.centered(population)).max())
        centered = self.queries.centered(population)
        if self.queries.size > MANY and isinstance(value, ChannelValue) and (population == self.shares).all():
            return value.average(centered)  # the same, without the errors of each type
        return float(self.shares @ value.type_errors(centered))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of the row sums, of signs and of unbiasedness, in floating point."""
        value = self.channel_value(variables)
        gram = self.centered
        size = float(np.sqrt(max(np.diag(gram).max(), 1e-300)))
        sums = value.columns.sum() if isinstance(value, OrbitValue) else value.channel.sum(axis=0)
        return {
            "row_sums": float(np.abs(sums - 1.0).max()),
            "signs": max(0.0, -float(np.min(variables["weights"]))),
            "bias": value.bias(gram) / size,
        }

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> WorkloadRelease:
        """Return the mechanism with exact integer weights and a blank report."""
        variables = solution.variables
        sets = np.asarray(variables["patterns"], dtype=bool)
        amounts = np.asarray(variables["weights"], dtype=np.float64)
        power = float(np.exp(self.epsilon))
        if "translations" in variables:
            group = Translations(self.queries.size, variables["translations"])
            sets, amounts = in_order(sets, amounts)
            whole = amounts / float((columns_of(sets, power).sum(axis=1) * amounts).sum())
            return WorkloadRelease(
                self.queries, self.epsilon, integer_orbits(sets, whole, group, self.epsilon)
            )
        patterns, amounts = feasible_patterns(sets, amounts, power)
        weights = integer_weights(patterns, amounts, self.epsilon)
        return WorkloadRelease(self.queries, self.epsilon, weights, variables["population"])

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy, sums and bias of what would run, and optimality with what is left to be gained.

        The bound is proven again here, from the numbers that the method stored.
        """
        mechanism = solution.mechanism()
        figures: dict[str, Any] = {"value": solution.value}
        deployed = mechanism.worst_error if self.is_worst else mechanism.average_error
        figures |= {"deployed_value": deployed, "worst_type": mechanism.worst_error}
        if solution.bound is None:
            return (*mechanism.certificates(), self.optimality(solution, unproven=figures))
        left = deployed / solution.bound - 1.0 if solution.bound else math.inf
        figures |= {"bound": solution.bound, "gap": solution.gap, "left": left}
        judged = self.optimality(solution, deployed - solution.bound, solution.value, figures=figures)
        stored, trivial = solution.realisation, solution.bound <= 0.0
        if (
            isinstance(stored, WorkloadBound | TraceBound)
            and not trivial
            and self.proven(stored) < solution.bound
        ):
            judged = Certificate(judged.property, False, False, figures, note="the stored numbers prove less")
        return (*mechanism.certificates(), judged)

    def proven(self, bound: WorkloadBound | TraceBound) -> float:
        """Return the bound that stored numbers prove, in outward rounding: the same number in any process.

        The libraries for linear algebra add in another order with several threads.
        """
        if not self.is_worst and (bound.population != self.shares).any():
            raise ParameterError("bound", "it is for another population", "solve the problem again")
        with one_thread(loading=True):
            return bound.check(*self.queries.factor, self.epsilon)
