"""Own convex constraints and own concave utilities on top of a response problem.

The user writes them as cvxpy expressions of the channel, an (n, m) cvxpy variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, values_of
from mechdesign.core.problem import Variables
from mechdesign.core.solution import Solution
from mechdesign.core.values import frozen_value
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

    given: Callable[[cvxpy.Variable], Sequence[cvxpy.Constraint]]
    dropped: tuple[str, ...]

    def __call__(self, channel: cvxpy.Variable) -> list[cvxpy.Constraint]:
        """Return the constraints that are kept."""
        numbered = enumerate(self.given(channel))
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
