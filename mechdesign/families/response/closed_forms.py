"""Own convex constraints and own concave utilities on top of a response problem.

The user writes them as cvxpy expressions of the channel, an (n, m) cvxpy variable.

Noise with a remap: truncated geometric noise on a line, planar Laplace noise on a few places.

**On a line** the truncated geometric channel with its best remap is optimal for every prior. With a =
e^-eps the channel of Ghosh, Roughgarden and Sundararajan (2012) shows symbol s for answer i with
probability

    g_is = c_s a^|i - s|,    c_s = 1 / (1 + a) at both ends,  (1 - a) / (1 + a) between them,

and every symbol is turned into the report that is best given the symbol. No private channel does better when
the loss does not decrease with the distance between answer and report: docs/families/response.md has
the proof, by a dual solution whose value is that of the channel.

**In the plane** every observed point is turned into a report: the nearest location, or the best report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, values_of
from mechdesign.core.problem import Outcome, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.values import frozen_value
from mechdesign.families.response.linear_program import polished, shifted
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


MAX_SIZE = 2048
"""Larger channels would hold more than four million numbers."""

UNDERFLOW = 745.0
"""The exponential of minus this is 0 in double precision."""


def geometric_channel(size: int, epsilon: float) -> Array:
    """Return the truncated geometric channel of ``size`` answers and as many symbols.

    Examples
    --------
    >>> geometric_channel(3, 0.6931471805599453).round(6).tolist()  # doctest: +NORMALIZE_WHITESPACE
    [[0.666667, 0.166667, 0.166667],
     [0.333333, 0.333333, 0.333333],
     [0.166667, 0.166667, 0.666667]]
    """
    if size == 1:
        return np.ones((1, 1))
    places = np.arange(size, dtype=np.float64)
    ratio = math.exp(-epsilon)
    scales = np.full(size, -math.expm1(-epsilon) / (1.0 + ratio))
    scales[[0, -1]] = 1.0 / (1.0 + ratio)
    channel: Array = np.exp(-epsilon * np.abs(places[:, None] - places)) * scales
    return channel


def truncated_geometric(problem: RandomizedResponse) -> Outcome:
    """Turn every symbol into the report with the largest expected utility."""
    seen = geometric_channel(problem.size, problem.epsilon)
    gains, offset = problem.centred_weights()
    expected = gains.T @ seen  # [report, symbol], nowhere positive
    best = expected.argmax(axis=0)
    channel = np.zeros((problem.size, problem.reports))
    np.add.at(channel.T, best, seen.T)
    lost = _rounded_up(problem, expected.max(axis=0))
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=shifted(lost, offset) if lost or offset else 0.0,
        bound_source="the proof of optimality for every prior",
        solver="closed form",
        notes={"kept_reports": len(np.unique(best))},
    )


def _rounded_up(problem: RandomizedResponse, losses: Array) -> float:
    """Return the sum of the losses, all <= 0, enlarged by what double precision may have lost.

    No terms cancel, so relative errors stay what they are: one unit a summand, the exponent's size in
    units from the exponential, and a dozen for the rest.
    """
    exponent = min(problem.epsilon * (problem.size - 1), UNDERFLOW)
    error = (problem.size + exponent + 16.0) * 2.0**-52
    total = math.fsum(losses.tolist())
    return (
        total * (1.0 - error) + 1e-300 if total else 0.0
    )  # a loss that underflows to 0 is above the true one


def why_no_geometric(problem: RandomizedResponse) -> str | None:
    """Return why the remapped geometric channel does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not isinstance(problem.distance, str):
        return "it is for the distance 'line'"
    if not isinstance(problem.utility, str) or not problem.is_linear:
        return "it is for the utilities 'truth', 'absolute-loss' and 'squared-loss'"
    if problem.size > MAX_SIZE:
        return f"it would have {counted(problem.size, 'answer')}, more than {MAX_SIZE}"
    return None


MARGIN = 25.0
"""Observed points reach so far beyond the places, in 1 / epsilon: less than 10**-9 lies beyond."""

FINENESS = 4
"""Observed points, at most, in the smaller of 1 / epsilon and the least distance of two places."""

MOST_POINTS = 1 << 17
"""With more observed points the lattice is made coarser, at first so that it keeps the places of a grid."""

BATCH = 1 << 13

WIDEST = 1e9
"""Beyond this number of noise lengths, or below one over it, no lattice has both noise and places."""

PLANAR_NOISE_MAX_SIZE = 2000
"""More places would need tables of gigabytes."""


def observed(places: Array, epsilon: float) -> Array:
    """Return the points of a square lattice around the places; one of them is the first place."""
    low, high = places.min(axis=0), places.max(axis=0)
    apart = np.abs(places[:, None] - places).max(axis=2)
    least = min(1.0 / epsilon, float(apart[apart > 0].min(initial=math.inf)))
    coarsest = math.sqrt(float((high - low + 2.0 * MARGIN / epsilon).prod()) / MOST_POINTS)
    fineness = max(1, min(FINENESS, int(least / coarsest)))
    step = max(least / fineness, coarsest)
    ends = [np.ceil((side + MARGIN / epsilon) / step) for side in (places[0] - low, high - places[0])]
    sides = [places[0, k] + step * np.arange(-ends[0][k], ends[1][k] + 1) for k in (0, 1)]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)


def run_noise(problem: RandomizedResponse, remap: Literal["optimal", "nearest"]) -> Outcome:
    """Return the channel of planar Laplace noise whose observed points are turned into reports.

    On a lattice that has all places the noise e^(-eps d) / sum e^(-eps d) is private as it is, the sum being
    the same from every place, and what is done to the observed point costs no privacy. Where the lattice
    misses places the sums differ a little, which the repair mends.
    """
    places = problem.distance
    assert isinstance(places, np.ndarray)
    points = observed(places, problem.epsilon)
    gains, _ = problem.centred_weights()
    total = np.zeros(problem.size)
    channel = np.zeros((problem.size, problem.reports))
    for start in range(0, len(points), BATCH):
        part = points[start : start + BATCH]
        steps = places[:, None] - part
        apart = np.hypot(steps[..., 0], steps[..., 1])
        noise = np.exp(-problem.epsilon * apart)
        total += noise.sum(axis=1)
        best = (gains.T @ noise).argmax(axis=0) if remap == "optimal" else apart.argmin(axis=0)
        np.add.at(channel.T, best, noise.T)
    mixed, notes = polished(problem, channel / total[:, None])
    return Outcome(
        status="feasible",
        variables={"channel": mixed},
        solver="formula",
        notes={"observed_points": len(points), "kept_reports": int((mixed.max(axis=0) > 0).sum()), **notes},
    )


def remapped(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the report with the largest expected utility given it.

    Andres et al. (2013) for the noise; Chatzikokolakis, ElSalamouny and Palamidessi (2017) for the remap by
    the posterior. It is the usual mechanism for places, and seldom the best: ``compare`` shows what the
    optimum gains.
    """
    return run_noise(problem, "optimal")


def nearest(problem: RandomizedResponse) -> Outcome:
    """Turn every observed point into the nearest place: Andres et al. (2013) for a grid, section 5."""
    return run_noise(problem, "nearest")


def why_no_noise(problem: RandomizedResponse) -> str | None:
    """Return why planar noise does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    places = problem.distance
    if not isinstance(places, np.ndarray) or places.shape != (problem.size, 2) or problem.size == 2:
        return "it is for three or more points in the plane"
    if not problem.is_linear:
        return "the utility is not linear in the channel"
    if problem.epsilon == 0.0:
        return "with epsilon = 0 the noise would have no end"
    far = float(np.ptp(places, axis=0).max())
    if not 1.0 / WIDEST <= problem.epsilon * far <= WIDEST:
        return f"epsilon times the extent of the places is not from {1.0 / WIDEST:g} to {WIDEST:g}"
    if problem.size > PLANAR_NOISE_MAX_SIZE:
        return f"{problem.size} places are too many; the limit is {PLANAR_NOISE_MAX_SIZE}"
    return None


def why_not_nearest(problem: RandomizedResponse) -> str | None:
    """Return why the nearest location does not apply as a report, or None."""
    if problem.reports != problem.size:
        return "it is for as many reports as places"
    return why_no_noise(problem)
