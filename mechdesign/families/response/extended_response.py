"""Own convex constraints and own concave utilities on top of a response problem.

The user writes them as cvxpy expressions of the channel, an (n, m) cvxpy variable.

The model in cvxpy says what a linear program cannot. The proven bound uses the solver's multipliers but none
of its numbers on trust. Let f be the concave utility, g_k <= 0 the user's convex constraints with multipliers
l_k >= 0, and R the privacy rows with multipliers y >= 0. With L = f - sum_k l_k g_k, concave, and G its
gradient at the solution P*,

    f(P) <= L(P) <= L(P*) + G . (P - P*)     for every feasible P,

and the maximum of G . P over the privacy rows is bounded by weak duality with y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.metric import needed_pairs
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, values_of
from mechdesign.core.problem import Outcome, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.values import frozen_value
from mechdesign.families.response.linear_program import polished
from mechdesign.families.response.randomized_response import RandomizedResponse

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]

NO_PRIVACY = 20.0
"""An epsilon at which privacy hardly constrains a channel, and which a conic solver still bears."""

OWN_TOLERANCE = 1e-7
"""Own constraints are met up to what interior-point solvers reach; the certificate gives the figure."""


def custom_name(number: int) -> str:
    """Return the name of a custom constraint, counted from 0 as in the list that is returned."""
    return f"custom constraint {number}"


@frozen_value()
class WithoutCustom:
    """Custom constraints less those with these names."""

    constraints: Callable[[cvxpy.Variable], Sequence[cvxpy.Constraint]]
    dropped: tuple[str, ...]

    def __call__(self, channel: cvxpy.Variable) -> list[cvxpy.Constraint]:
        """Return the constraints that are kept."""
        numbered = enumerate(self.constraints(channel))
        return [item for number, item in numbered if custom_name(number) not in self.dropped]


@frozen_problem(eq=False)
class ExtendedResponse(RandomizedResponse):
    """A response problem with own constraints, an own utility, or both.

    Raises
    ------
    ParameterError
        When an expression is not convex where it has to be, naming it.

    Examples
    --------
    The most truthful channel that leaks at most 0.02 bits about the answer:

    >>> import mechdesign as md
    >>> from mechdesign.families.response import ExtendedResponse, mutual_information
    >>> prior = [0.5, 0.3, 0.2]
    >>> problem = ExtendedResponse(
    ...     prior=prior, epsilon=1.0,
    ...     own_constraints=lambda channel: [mutual_information(prior, channel) <= 0.02])
    >>> solution = md.solve(problem)
    >>> solution.method, solution.value < md.solve(md.RandomizedResponse(prior=prior, epsilon=1.0)).value
    ('convex', True)
    """

    is_extended: ClassVar[bool] = True

    own_constraints: Callable[[cvxpy.Variable], Sequence[cvxpy.Constraint]] | None = checked(
        "``own_constraints(channel)`` returns a list of convex cvxpy constraints.",
        lambda _, constraints: constraints,
        form="callable",
        default=None,
    )
    own_utility: Callable[[cvxpy.Variable], cvxpy.Expression] | None = checked(
        "``own_utility(channel)`` returns a concave cvxpy expression to maximise instead of "
        "``utility``; ``utility`` then only sets the number of reports.",
        lambda _, utility: utility,
        form="callable",
        default=None,
    )

    @property
    def is_linear(self) -> bool:
        """Whether the objective is the linear utility."""
        return self.own_utility is None and super().is_linear

    def objective(self, variables: Variables) -> float:
        """Return the own utility, or the linear one, of the channel."""
        if self.own_utility is None:
            return super().objective(variables)
        return float(np.sum(self.own_utility(self._constant(variables)).value))

    def trivial_bound(self) -> float | None:
        """Return what answers in clear are worth; nothing is known of an own utility."""
        return super().trivial_bound() if self.own_utility is None else None

    def objective_scale(self) -> float:
        """Return the largest utility; that of an own one is taken to be about 1."""
        return super().objective_scale() if self.own_utility is None else 1.0

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return also by how much the own constraints are violated."""
        result = super().residuals(variables)
        if self.own_constraints is not None:
            constraints = self._constraints(self._constant(variables))
            violations = [np.max(item.violation()) for item in constraints]
            result["own_constraints"] = max([0.0, *(float(value) for value in violations)])
        return result

    def droppable(self) -> tuple[str, ...]:
        """Return the custom constraints, and privacy."""
        count = 0 if self.own_constraints is None else len(self._constraints(self._variable()))
        return (*(custom_name(number) for number in range(count)), "epsilon")

    def without(self, names: Sequence[str]) -> ExtendedResponse:
        """Return the problem without these custom constraints, or with hardly any privacy."""
        own = None if self.own_constraints is None else WithoutCustom(self.own_constraints, tuple(names))
        epsilon = NO_PRIVACY if "epsilon" in names else self.epsilon
        changes = {"own_constraints": own, "epsilon": max(self.epsilon, epsilon)}
        return type(self)(**{**values_of(self), **changes})

    def _variable(self) -> cvxpy.Variable:
        import cvxpy

        return cvxpy.Variable((self.size, self.reports), name="channel", nonneg=True)

    def expressions(self, channel: cvxpy.Variable) -> tuple[cvxpy.Expression, list[cvxpy.Constraint]]:
        """Return the utility and the own constraints, checked for convexity."""
        import cvxpy

        constraints = self._constraints(channel)
        for number, constraint in enumerate(constraints):
            if not isinstance(constraint, cvxpy.Constraint):
                raise ParameterError(
                    "own_constraints", f"number {number} is not a cvxpy constraint: {constraint!r}"
                )
            if not constraint.is_dcp():
                text = " ".join(str(constraint).split())
                raise ParameterError(
                    "own_constraints", f"number {number} is not convex: {text}", "see cvxpy's DCP rules"
                )
        for number, constraint in enumerate(constraints):
            self._only_the_channel(f"own_constraints: number {number}", constraint, channel)
        if self.own_utility is None:
            return cvxpy.sum(cvxpy.multiply(self.weights(), channel)), constraints
        utility = cvxpy.sum(self.own_utility(channel))
        self._only_the_channel("own_utility:", utility, channel)
        if not utility.is_concave():
            raise ParameterError(
                "own_utility",
                "is not concave, so its maximum is not a convex program",
                "mutual information is convex in the channel: maximise it with utility='mutual-information'",
            )
        return utility, constraints

    def utility_of(self, channel: cvxpy.Variable) -> cvxpy.Expression:
        return self.expressions(channel)[0]

    def own_rows(self, channel: cvxpy.Variable) -> list[cvxpy.Constraint]:
        rows = self.expressions(channel)[1]
        return [row.set_label(custom_name(number)) for number, row in enumerate(rows)]

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return also by how much the channel that would run violates the own constraints."""
        certificates = super().certificates(solution)
        if self.own_constraints is None:
            return certificates
        violation = self.residuals({"channel": solution.mechanism().channel})["own_constraints"]
        own = Certificate("own constraints", violation <= OWN_TOLERANCE, False, {"violation": violation})
        return (*certificates, own)

    def _constraints(self, channel: Any) -> list[cvxpy.Constraint]:
        if self.own_constraints is None:
            return []
        constraints = self.own_constraints(channel)
        if not isinstance(constraints, (list, tuple)):
            raise ParameterError(
                "own_constraints", "must return a list of constraints", "put brackets around one"
            )
        return list(constraints)

    @staticmethod
    def _only_the_channel(what: str, item: Any, channel: cvxpy.Variable) -> None:
        if {variable.id for variable in item.variables()} - {channel.id}:
            raise ParameterError(
                f"{what} uses variables of its own", remedy="state it in terms of the channel alone"
            )

    def _constant(self, variables: Variables) -> Any:
        import cvxpy

        channel = cvxpy.Variable((self.size, self.reports))
        channel.value = np.asarray(variables["channel"], dtype=np.float64)
        return channel


def mutual_information(prior: Any, channel: cvxpy.Expression) -> cvxpy.Expression:
    """Return I(answer; report) in bits as a cvxpy expression: convex in the channel.

    Being convex it may be bounded from above (a cap on what leaks) or subtracted from a utility; it
    may not be maximised, see :mod:`mechdesign.families.response.randomized_response_methods`.

    Parameters
    ----------
    prior : (n,) array
    channel : (n, m) cvxpy expression

    Examples
    --------
    >>> import cvxpy, numpy as np
    >>> channel = cvxpy.Variable((2, 2)); channel.value = np.eye(2)
    >>> expression = mutual_information([0.5, 0.5], channel)
    >>> expression.is_convex(), round(float(expression.value), 9)
    (True, 1.0)
    """
    import cvxpy

    weights = np.asarray(prior, dtype=np.float64)
    joint = cvxpy.multiply(weights[:, None] * np.ones(channel.shape), channel)
    product = cvxpy.multiply(
        weights[:, None] * np.ones(channel.shape), np.ones((len(weights), 1)) @ (weights @ channel)[None, :]
    )
    return cvxpy.sum(cvxpy.rel_entr(joint, product)) / np.log(2.0)


def output_entropy(prior: Any, channel: cvxpy.Expression) -> cvxpy.Expression:
    """Return H(report) in bits as a cvxpy expression: concave in the channel, so it may be maximised."""
    import cvxpy

    return cvxpy.sum(cvxpy.entr(np.asarray(prior, dtype=np.float64) @ channel)) / np.log(2.0)


MAX_ANSWERS = 64


@attrs.define(slots=False)
class ConvexModel:
    """A response problem as cvxpy objects; add constraints or change the utility before solving.

    Attributes
    ----------
    channel : cvxpy.Variable, shape (n, m)
    utility : cvxpy.Expression
        Concave; maximised.
    constraints : list of cvxpy.Constraint
        Row sums first, then the privacy rows.
    privacy : list of cvxpy.Constraint
        The privacy rows, for their multipliers.
    own : list of cvxpy.Constraint
        The user's.
    scale : float
        Size of the utility's coefficients.
    """

    channel: cvxpy.Variable
    utility: cvxpy.Expression
    constraints: list[cvxpy.Constraint]
    privacy: list[cvxpy.Constraint]
    own: list[cvxpy.Constraint]

    scale: float = 1.0

    def program(self) -> cvxpy.Problem:
        """Return the cvxpy problem, its objective divided by ``scale`` (solvers have absolute tolerances)."""
        import cvxpy

        objective = cvxpy.Maximize(self.utility / self.scale)
        return cvxpy.Problem(objective, [*self.constraints, *self.privacy, *self.own])

    def names(self) -> list[str]:
        """Return the names of all constraints of the program; of those that are always there none."""
        own = [custom_name(number) for number in range(len(self.own))]
        return [*([""] * len(self.constraints)), *(["privacy"] * len(self.privacy)), *own]

    def multipliers(self, constraint: cvxpy.Constraint) -> Array:
        """Return a constraint's multipliers in the units of the utility."""
        return self.scale * np.asarray(constraint.dual_value, dtype=np.float64)


def convex_model(problem: RandomizedResponse) -> ConvexModel:
    """State the problem in cvxpy as it stands on paper.

    Examples
    --------
    >>> import mechdesign as md
    >>> model = convex_model(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    >>> round(float(model.program().solve()) * model.scale, 5)
    0.73106
    """
    import cvxpy

    channel = cvxpy.Variable((problem.size, problem.reports), name="channel", nonneg=True)
    scale = 1.0
    if isinstance(problem, ExtendedResponse):
        utility, own = problem.expressions(channel)
    else:
        weights, offset = problem.centred_weights()
        utility, own = cvxpy.sum(cvxpy.multiply(weights, channel)), []
        scale, utility = float(np.abs(weights).max()) or 1.0, utility + offset
    rows = [cvxpy.sum(channel, axis=1) == 1]
    return ConvexModel(channel, utility, rows, _privacy(problem, channel), own, scale)


def _privacy(problem: RandomizedResponse, channel: cvxpy.Variable) -> list[cvxpy.Constraint]:
    import cvxpy

    exponential = float(np.exp(problem.epsilon))
    distance = problem.distances()
    if distance is not None:
        first, second = needed_pairs(distance).T
        if not len(first):
            return []
        factors = np.exp(problem.epsilon * distance[first, second])[:, None] * np.ones((1, problem.reports))
        return [channel[first, :] <= cvxpy.multiply(factors, channel[second, :])]
    if problem.delta > 0 and problem.notion == "ldp":
        first, second = (side[~np.eye(problem.size, dtype=bool)] for side in np.indices((problem.size,) * 2))
        if not len(first):
            return []
        excess = cvxpy.Variable((len(first), problem.reports), name="excess", nonneg=True)
        within = cvxpy.sum(excess, axis=1) <= problem.delta
        return [channel[first, :] - exponential * channel[second, :] <= excess, within]
    least = cvxpy.Variable((1, problem.reports), name="least")
    below = np.ones((problem.size, 1)) @ least
    return [below <= channel, channel <= exponential * below + problem.delta]


def run(problem: RandomizedResponse, solver: str | None = None, **options: Any) -> Outcome:
    """Solve the cvxpy model, repair the channel, and prove a bound from the multipliers."""
    from mechdesign.solvers.convex import ConvexPrices, solve_convex

    model = convex_model(problem)
    program = model.program()
    result = solve_convex(program, solver, **options)
    if result.status not in ("optimal", "feasible"):
        reason = "no channel satisfies the custom constraints together with privacy; relax one of them"
        message = reason if result.status == "infeasible" else result.message
        return Outcome(status=result.status, solver=f"cvxpy, {result.solver}", message=message)
    channel, notes = polished(problem, np.asarray(model.channel.value, dtype=np.float64))
    bound = _proven_bound(problem, model)
    return Outcome(
        status=result.status,
        variables={"channel": channel},
        bound=bound,
        bound_source="concavity and weak duality with the solver's multipliers" if bound is not None else "",
        solver=f"cvxpy, {result.solver}",
        notes=notes,
        prices=ConvexPrices.of(program, partial(_program_of, model.scale), model.scale, model.names()),
    )


def _program_of(scale: float, problem: RandomizedResponse) -> cvxpy.Problem:
    return attrs.evolve(convex_model(problem), scale=scale).program()


def _proven_bound(problem: RandomizedResponse, model: ConvexModel) -> float | None:
    """Return the bound of the module's docstring, or None where a gradient or multiplier is missing."""
    point = np.maximum(np.asarray(model.channel.value, dtype=np.float64), 1e-300)
    model.channel.value = point
    value, gradient = float(model.utility.value), _gradient(model.utility, model.channel, np.ones(1))
    if gradient is None:
        return None
    for constraint in model.own:
        part = _own_part(constraint, model.channel)
        if part is None:
            return None
        value, gradient = value - part[0], gradient - part[1]
    if not np.isfinite(gradient).all():
        return None
    linear = _linear_bound(problem, model, gradient)
    if problem.is_extended:  # the gradient is only as good as the point: let exact multipliers sharpen it
        linear = min(
            (item for item in (linear, _sharper(problem, gradient)) if item is not None), default=None
        )
    if linear is None:
        return None
    offset = float((gradient * point).sum())
    rounding = 2.0**-50 * point.size * float(np.abs(gradient * point).sum() + abs(value))
    return value - offset + linear + rounding


def _gradient(expression: cvxpy.Expression, channel: cvxpy.Variable, weights: Array) -> Array | None:
    """Return the gradient of weights . vec(expression) in the channel, shape (n, m)."""
    gradients = expression.grad
    matrix = gradients.get(channel)
    if matrix is None:
        return None if any(item is None for item in gradients.values()) else np.zeros(channel.shape)
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.atleast_2d(np.asarray(matrix))
    return (dense.reshape(channel.size, -1) @ weights).reshape(channel.shape, order="F")


def _own_part(constraint: cvxpy.Constraint, channel: cvxpy.Variable) -> tuple[float, Array] | None:
    """Return l . g(P*) and its gradient for an own constraint g <= 0 (or = 0) in the channel alone."""
    import cvxpy

    kinds = (cvxpy.constraints.nonpos.Inequality, cvxpy.constraints.zero.Equality)
    if not isinstance(constraint, kinds) or {item.id for item in constraint.variables()} - {channel.id}:
        return None
    if constraint.dual_value is None:
        return None
    multipliers = np.asarray(constraint.dual_value, dtype=np.float64).ravel(order="F")
    if isinstance(constraint, kinds[0]):
        multipliers = np.maximum(multipliers, 0.0)
    expression = constraint.args[0] - constraint.args[1]
    gradient = _gradient(expression, channel, multipliers)
    values = np.asarray(expression.value, dtype=np.float64).ravel(order="F")
    return None if gradient is None else (float(multipliers @ values), gradient)


def _linear_bound(problem: RandomizedResponse, model: ConvexModel, gradient: Array) -> float | None:
    """Return a proven upper bound of gradient . P over the private channels, from the multipliers.

    Per row of the channel the best single report, per column of the auxiliary m_j at most their sum 1.
    """
    if not gradient.any():
        return 0.0
    if any(item.dual_value is None for item in model.privacy):
        return None
    duals = [np.maximum(model.multipliers(item), 0.0) for item in model.privacy]
    exponential = float(np.exp(problem.epsilon))
    reduced, magnitude, constant = gradient.copy(), np.abs(gradient), 0.0
    distance = problem.distances()
    if distance is not None:
        for (first, second), prices in zip(needed_pairs(distance), duals[0] if duals else [], strict=True):
            factor = float(np.exp(problem.epsilon * distance[first, second]))
            reduced[first] -= prices
            reduced[second] += factor * prices
            magnitude[first] += prices
            magnitude[second] += factor * prices
    elif problem.delta > 0 and problem.notion == "ldp":
        first, second = (side[~np.eye(problem.size, dtype=bool)] for side in np.indices((problem.size,) * 2))
        for row, other, prices in zip(first, second, duals[0] if duals else [], strict=True):
            reduced[row] -= prices
            reduced[other] += exponential * prices
            magnitude[row] += prices
            magnitude[other] += exponential * prices
            # the excesses of a pair are >= 0 and sum to at most delta: they earn the largest price
            constant += problem.delta * float(prices.max())
    else:
        lower, upper = duals
        reduced += lower - upper
        magnitude += lower + upper
        columns = exponential * upper.sum(axis=0) - lower.sum(axis=0)
        lost = 2.0**-50 * problem.size * (exponential * upper.sum(axis=0) + lower.sum(axis=0))
        constant = max(0.0, float((columns + lost).max())) + problem.delta * float(upper.sum())
    reduced += 2.0**-50 * (problem.size + 4) * magnitude
    total = float(reduced.max(axis=1).sum()) + constant
    return total + 2.0**-50 * problem.size * (float(np.abs(reduced).max(axis=1).sum()) + constant)


def _sharper(problem: RandomizedResponse, gradient: Array) -> float | None:
    """Return the bound of gradient . P from a linear program's multipliers."""
    from mechdesign.families.response.linear_program import compact_program
    from mechdesign.solvers.linear import solve_linear

    return solve_linear(compact_program(problem, gradient)).bound


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the convex model does not apply, or None."""
    if not problem.is_linear and not problem.is_extended:
        return "mutual information is convex in the channel, so maximising it is not a convex program"
    if not problem.is_linear and isinstance(problem, ExtendedResponse) and problem.own_utility is None:
        return "mutual information is convex in the channel, so maximising it is not a convex program"
    if problem.size > MAX_ANSWERS or problem.reports > 4 * MAX_ANSWERS:
        return f"{problem.size} answers are too many for a declarative model; the limit is {MAX_ANSWERS}"
    if problem.delta > 0 and problem.notion == "ldp" and problem.size > 16:
        return "set-wise delta has too many rows here; the limit is 16 answers"
    distance = problem.distances()
    reach = problem.epsilon * (1.0 if distance is None else float(distance.max()))
    if reach > 40:
        return f"e^(epsilon d) reaches e^{reach:.0f}, beyond an interior-point solver's accuracy"
    return None
