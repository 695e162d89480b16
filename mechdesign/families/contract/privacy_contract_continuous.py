"""The problem ``privacy-contract-continuous``: preferences with a density, and the curve that bounds costs.

The curve R(q) = q theta(q) is what it costs to serve the cheapest share q of the users, per unit of epsilon.
A menu with non-increasing epsilon costs the integral of epsilon dR. For any convex curve below R the cost is
at least the integral of epsilon along that curve (epsilon is a mixture of indicators of [0, q]), which
makes a separable problem and a proven bound. Tangents lie below a convex piece, a chord below a concave one.

Its figures show epsilon and payment over the types (figures 4.4 and 4.5 of the source), and the menu.

The methods of ``privacy-contract-continuous``: the first one that applies is the default.

The closed form is eps(theta) = G v(theta)^(-1/3) with the ironed virtual cost v. The discretized method
takes the continuum as many types: the finite problem on a grid, solved by any of its methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import counted
from mechdesign.core.fields import amount, checked, frozen_problem, real, whole
from mechdesign.core.problem import Method, Outcome, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS
from mechdesign.families.contract.allocation import ROUNDING, UNIT, Costs, best_within_budget, least_error
from mechdesign.families.contract.incentives import audit_menu
from mechdesign.families.contract.menu import ContractMenu, MenuProblem
from mechdesign.families.contract.noise import LAPLACE
from mechdesign.families.contract.payments import Rules, post, post_within_budget
from mechdesign.families.contract.population import (
    Density,
    Piece,
    Population,
    checked_amount,
    checked_floor,
    checked_noise,
    density_of,
)
from mechdesign.families.contract.privacy_contract import PrivacyContract, best_deviation
from mechdesign.solvers.least_squares import increasing_blocks
from mechdesign.solvers.solve import solve

Array = NDArray[np.float64]

LEAST_SHARE = 1e-13
"""Cells with fewer users than this share are merged."""

CLEAR_SHARE = 1e-8
"""From this share on the slope of a cell is known to eight digits: enough to see where it falls."""

LEAST_TYPE = 1e-9
"""Types below this part of the highest are merged: together they cost next to nothing."""

STEEPEST = 1e12
"""Tangents steeper than this many times the highest type say nothing that a chord does not."""

NODES = 20_000
"""Tangent points for the bound, over all pieces."""


def nodes(density: Density, size: int, least_share: float = LEAST_SHARE) -> Array:
    """Return about ``size`` increasing types: quantiles, equally spaced ones, the upper tail, all breaks.

    Neighbours hold at least ``LEAST_SHARE`` of the users, so that differences of the cdf mean something, and
    none but
    the lowest is below ``LEAST_TYPE`` of the highest.
    """
    third = size // 3
    spaced = np.linspace(density.low, density.high, size - 2 * third)
    tail = 1.0 - np.geomspace(LEAST_SHARE, 0.5, third)
    shares = np.concatenate([np.linspace(0.0, 1.0, third + 2), tail])
    breaks = [piece.high for piece in density.pieces()[:-1]]
    places = np.unique(np.concatenate([density.quantile(shares), spaced, breaks]))
    lowest = max(density.low, LEAST_TYPE * density.high)
    inside = places[(places > lowest) & (places < density.high)]
    ends = [density.low]
    reached, below = 0.0, density.cdf(inside).tolist()
    for theta, share in zip(inside.tolist(), below, strict=True):
        if reached + least_share <= share <= 1.0 - least_share:
            ends.append(theta)
            reached = share
    return np.array([*ends, density.high])


def minorant(density: Density, size: int = NODES) -> Costs:
    """Return a convex curve below R as shares of users and slopes, the slopes ironed.

    The shares of all corners are raised by the rounding of the cdf: where R is steep, a curve through points
    that are off by this rounding would lie above it.

    Examples
    --------
    >>> from mechdesign.families.contract.population import density_of
    >>> costs = minorant(density_of({"name": "uniform", "low": 5.0, "high": 15.0}), 400)
    >>> round(float(costs.weights @ costs.prices), 6)  # R(1) = high
    15.0
    """
    places = nodes(density, size)
    corners = [np.array([[0.0, 0.0]])]
    for piece in density.pieces():
        corners.append(_below(density, piece, places[(places >= piece.low) & (places <= piece.high)]))
    points = np.concatenate(corners)
    order = np.argsort(points[:, 0], kind="stable")
    shares, heights = points[order, 0], points[order, 1]
    shares = np.where(shares > 0.0, shares + density.rounding, 0.0)
    last = float(np.interp(1.0, shares, heights))
    shares, heights = np.append(shares[shares < 1.0], 1.0), np.append(heights[shares < 1.0], last)
    starts = np.flatnonzero(np.diff(shares, prepend=-1.0))  # of corners on top of each other, the lowest
    shares, heights = shares[starts], np.minimum.reduceat(heights, starts)
    widths = np.diff(shares)
    return _ironed(widths, np.diff(heights) / widths)


def _ironed(widths: Array, slopes: Array) -> Costs:
    starts = increasing_blocks(slopes, widths)
    sums = np.add.reduceat(widths * slopes, starts) / np.add.reduceat(widths, starts)
    prices = np.repeat(np.maximum.accumulate(sums), np.diff(np.append(starts, len(slopes))))
    ratios = np.cumsum(widths * slopes)[prices > 0] / np.cumsum(widths * prices)[prices > 0]
    positive = prices > 0  # what costs nothing adds no error to a lower bound
    slack = ROUNDING * len(prices) * UNIT
    return Costs(widths[positive], prices[positive], min(1.0, float(ratios.min())) * (1.0 - slack))


def _below(density: Density, piece: Piece, places: Array) -> Array:
    """Return corners (q, height) of a curve below R on one piece."""
    shares = density.cdf(places)
    heights = shares * places
    ends = np.array([[shares[0], heights[0]], [shares[-1], heights[-1]]])
    if piece.shape == "concave":
        return ends
    slopes = density.virtual_cost(places, "right")
    if np.isfinite(slopes[-1]):
        slopes[-1] = density.virtual_cost(places[-1:], "left")[0]
    slopes = np.maximum.accumulate(slopes)
    usable = slopes <= STEEPEST * density.high
    if usable.sum() < 2:
        return np.array([[shares[0], heights[0]], [shares[-1], shares[-1] * piece.low]])
    q, r, v = shares[usable], heights[usable], slopes[usable]
    rising = np.diff(v) > 0
    crossing = np.where(
        rising, (r[:-1] - r[1:] + v[1:] * q[1:] - v[:-1] * q[:-1]) / np.where(rising, np.diff(v), 1.0), q[1:]
    )
    crossing = np.clip(crossing, q[:-1], q[1:])
    corners = np.column_stack([crossing, r[:-1] + v[:-1] * (crossing - q[:-1])])
    if usable[-1]:
        return np.concatenate([ends[:1], corners, ends[1:]])
    last = np.array([[shares[-1], r[-1] + v[-1] * (shares[-1] - q[-1])]])
    return np.concatenate([ends[:1], corners, last])


def ironed_virtual_cost(density: Density, theta: Array, size: int = NODES) -> Array:
    """Return the ironed virtual cost at any types: v itself outside the ironed intervals, constant inside.

    Examples
    --------
    >>> from mechdesign.families.contract.population import density_of
    >>> uniform = density_of({"name": "uniform", "low": 5.0, "high": 15.0})
    >>> ironed_virtual_cost(uniform, np.array([5.0, 10.0, 15.0]))
    array([ 5., 15., 25.])
    """
    pieces = density.pieces()
    if len(pieces) == 1 and pieces[0].shape == "convex":
        return density.virtual_cost(theta)
    places = nodes(density, size, CLEAR_SHARE)
    shares = density.cdf(places)
    slopes = np.diff(shares * places) / np.diff(shares)
    starts = increasing_blocks(slopes, np.diff(shares))
    ends = np.append(starts[1:], len(slopes))
    result = density.virtual_cost(theta)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            level = (shares[end] * places[end] - shares[start] * places[start]) / (
                shares[end] - shares[start]
            )
            result = np.where((theta >= places[start]) & (theta <= places[end]), level, result)
    return result


def _density(field: str, value: Any) -> Any:
    density_of(value)
    return value


@frozen_problem(eq=False)
class PrivacyContractContinuous(MenuProblem):
    """The best menu when preferences have a density h with cdf H on [low, high].

    minimize    integral of h / eps^2
    subject to  integral of h p <= budget,  IR and IC for every pair of types

    The variables are a menu that can be posted: types theta_1 < ... < theta_m = high with one item each,
    meant
    for all users between the type before and this one. Such a menu is feasible for the continuum, so its
    value is also one.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: REAP section 4.4, with the signs corrected: eps = G v^(-1/3), v = theta + H/h ironed,
    p(theta) = theta eps + integral of eps from theta to high.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContractContinuous(density={"name": "uniform", "low": 5, "high": 15}, budget=5)
    >>> exact = (0.03 * (25 ** (5 / 3) - 5 ** (5 / 3))) ** 3 / 25  # v = 2 theta - 5
    >>> abs(md.solve(problem).value / exact - 1) < 1e-6
    True
    """

    name: ClassVar[str] = "privacy-contract-continuous"
    example: ClassVar[Mapping[str, Any]] = {
        "density": {"name": "uniform", "low": 5.0, "high": 15.0},
        "budget": 5.0,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("budget",)
    value_name: ClassVar[str] = "mean loss of a user"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = (
        "types are a continuum, so that it has infinitely many variables and constraints"
        "; a grid of types is privacy-contract"
    )
    summary: ClassVar[str] = "menu of privacy levels and payments for preferences with a density"
    compared_with: ClassVar[str] = "all menus for this density that keep IR, IC and the budget"
    optimal_within: ClassVar[float] = 1e-4
    """A menu is optimal for the continuum when having finitely many items costs less than this part."""

    density: Mapping[str, Any] = checked(
        '``{name = "uniform", low, high}``, ``{name = "truncated-normal", low, high, mean, '
        'deviation}``, ``{name = "beta", a, b, low, high}``, ``{name = "histogram", edges, shares}`` '
        'or ``{name = "empirical", sample, method = "histogram" / "kernel", bins, bandwidth}``.',
        _density,
        form="mapping",
    )
    budget: float = amount("Money per user.", checked_amount)
    data_range: float = amount("As those of ``privacy-contract``.", checked_amount, form="", default=1.0)
    confidence: float = real(
        "As those of ``privacy-contract``.", low=0.0, high=1.0, high_open=True, form="", default=0.9
    )
    noise: str | Mapping[str, Any] = checked(
        "As those of ``privacy-contract``.", checked_noise, form="", default="laplace"
    )
    epsilon_min: float = checked(
        "As those of ``privacy-contract``.", checked_floor, limits={"minimum": 0}, form="", default=0.0
    )
    epsilon_max: float | None = amount(
        "As those of ``privacy-contract``.", checked_amount, form="", default=None
    )
    participation_cost: float = checked(
        "What taking part costs a user besides privacy.",
        checked_floor,
        limits={"minimum": 0},
        form="number >= 0",
        default=0.0,
    )
    users: int = whole(
        "Number of users of the predicted error and the menu.", low=1, high=MOST_USERS, default=1000
    )
    cells: int = whole(
        "Approximate number of items of the menu; the value tends to the continuum's as their number grows.",
        low=2,
        high=1_000_000,
        default=1000,
    )

    def __attrs_post_init__(self) -> None:
        self.require_limits()
        _ = self.types

    @cached_property
    def types(self) -> Density:
        """The density as an object."""
        return density_of(self.density)

    def ironed_virtual_cost(self, theta: Any) -> Array:
        """Return the ironed virtual cost at any types."""
        return ironed_virtual_cost(self.types, np.asarray(theta, dtype=np.float64))

    def population(self, upper: Array) -> Population:
        """Return the shares of users between neighbouring types, each counted at its upper end."""
        shares = np.diff(self.types.cdf(upper), prepend=0.0)
        positive = shares > 0
        return Population(
            upper[positive], shares[positive], np.full(int(positive.sum()), self.participation_cost)
        )

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        people = self.population(np.asarray(variables["types"]))
        return math.fsum(people.counts * self.noise_model.loss(np.asarray(variables["epsilon"])))

    def residuals(self, variables: Variables) -> dict[str, float]:
        epsilon, payment = np.asarray(variables["epsilon"]), np.asarray(variables["payment"])
        people = self.population(np.asarray(variables["types"]))
        utility = payment - people.types * epsilon - people.cost
        outside = np.maximum(self.limits.low - epsilon, epsilon - self.limits.high)
        return {
            "individual_rationality": max(0.0, -float(utility.min())),
            "incentive_compatibility": best_deviation(people, epsilon, payment),
            "budget": max(0.0, math.fsum(people.counts * payment) - self.budget),
            "epsilon_limits": max(0.0, float(outside.max())),
            "coverage": self.types.high - float(people.types[-1]),
        }

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        variables = solution.variables
        people = self.population(np.asarray(variables["types"]))
        incentives = audit_menu(
            people.types, people.counts, variables["epsilon"], variables["payment"], self.budget, people.cost
        )
        return (*incentives, self.optimality(solution, unproven={"value": solution.value}))

    def mechanism(self, solution: Solution[Any]) -> ContractMenu:
        """Return the menu for ``users`` users; refused when its exact audit fails."""
        people = self.population(np.asarray(solution.variables["types"]))
        return self.menu(
            solution.variables,
            types=people.types,
            counts=np.array([_times_down(share, self.users) for share in people.counts.tolist()]),
            cost=people.cost,
            budget=_times_down(self.budget, self.users),
        )


def _times_down(number: float, count: int) -> float:
    """Return number * count rounded down, so that a budget kept per user is kept for all of them."""
    product = number * count
    return product if Fraction(product) <= Fraction(number) * count else math.nextafter(product, 0.0)


ROOM = 1.0 - 2.0**-48
"""The part of the budget that is spent, so that it is also kept after multiplying by a number of users."""


def continuum_in_closed_form(problem: PrivacyContractContinuous) -> Outcome:
    """Evaluate the formula at the middle quantile of each cell and scale it to the budget."""
    people = problem.population(nodes(problem.types, problem.cells)[1:])
    middles = problem.types.quantile(np.cumsum(people.counts) - 0.5 * people.counts)
    prices = np.maximum.accumulate(problem.ironed_virtual_cost(middles))
    if too_small(problem):
        return infeasible(problem)
    own = Costs(people.counts, prices, 1.0)
    left = problem.budget - problem.participation_cost
    best_epsilon = best_within_budget(own, problem.noise_model, left, problem.limits).epsilon
    # The menu's own cost, cell by cell, differs a little from the formula's; scale epsilon to the budget.
    increments = np.diff(np.cumsum(people.counts) * people.types, prepend=0.0)
    scale = left / math.fsum(increments * best_epsilon)
    return posted_outcome(
        problem,
        people,
        best_epsilon * scale,
        "closed form" if problem.noise_model is LAPLACE else "root of the budget",
    )


def posted_outcome(
    problem: PrivacyContractContinuous, people: Population, epsilon: Array, solver: str
) -> Outcome:
    """Post the menu exactly and prove the bound for the continuum."""
    limits = problem.limits
    rules = Rules(people.types, people.counts, people.cost, low=limits.low, high=limits.high)
    posted = post_within_budget(rules, epsilon, problem.budget * ROOM)
    if posted is None:
        return infeasible(problem)
    bound = continuum_bound(problem)
    value = math.fsum(people.counts * problem.noise_model.loss(posted.epsilon))
    return Outcome(
        status="optimal" if value - bound <= problem.optimal_within * value else "feasible",
        variables={"types": people.types, "epsilon": posted.epsilon, "payment": posted.payment},
        bound=bound,
        bound_source="a convex curve below q theta(q), Lagrangian dual",
        solver=solver,
    )


def continuum_bound(problem: PrivacyContractContinuous) -> float:
    """Return a lower bound of the error of any menu for the continuum.

    Where the curve ends below R(1) = high, the rest is a jump that at least the floor of epsilon pays for.
    """
    curve = minorant(problem.types)
    jump = max(0.0, problem.types.high * (1.0 - 1e-9) - math.fsum(curve.weights * curve.prices))
    left = problem.budget - problem.participation_cost - problem.limits.low * jump
    multiplier = best_within_budget(curve, problem.noise_model, left, problem.limits).multiplier
    bound = least_error(curve, problem.noise_model, left, problem.limits, multiplier)
    free = max(0.0, 1.0 - math.fsum(curve.weights) - 1e-9)  # users that the curve counts as costing nothing
    return bound + free * float(problem.noise_model.loss(np.array([problem.limits.high]))[0])


def too_small(problem: PrivacyContractContinuous) -> bool:
    """Whether the budget cannot pay for participation and the floor of epsilon."""
    floor = problem.limits.low * problem.types.high
    left = problem.budget * ROOM - problem.participation_cost
    return left <= 0 or left < floor


def infeasible(problem: PrivacyContractContinuous) -> Outcome:
    """Return an infeasible outcome with the budget that would be enough."""
    top = np.array([problem.types.high])
    cost = np.array([problem.participation_cost])
    floor = problem.limits.low
    if floor > 0:
        least = float(post(Rules(top, np.ones(1), cost), np.full(1, floor)).total) / ROOM
        text = (
            f"budget: {problem.budget:g} per user does not pay for epsilon >= {floor:g}; the "
            f"least budget that does is {least!r}"
        )
    else:
        least = problem.participation_cost
        text = (
            f"budget: {problem.budget:g} per user is used up by the participation cost; it "
            f"must exceed {least!r}"
        )
    return Outcome("infeasible", message=text, notes={"least_budget": least})


def finite_problem(problem: PrivacyContractContinuous, cells: int) -> PrivacyContract:
    """Return the finite problem in which every user of a cell has the type of its upper end.

    Its menus are feasible for the continuum, so its optimum is an upper bound; it falls to the continuum's
    as the cells shrink.
    """
    people = problem.population(nodes(problem.types, cells)[1:])
    return PrivacyContract(
        types=people.types,
        counts=people.counts,
        budget=problem.budget,
        noise=problem.noise,
        epsilon_min=problem.epsilon_min,
        epsilon_max=problem.epsilon_max,
        participation_cost=problem.participation_cost,
    )


def solve_discretized(
    problem: PrivacyContractContinuous, cells: int | None = None, method_for_finite: str | None = None
) -> Outcome:
    """Solve the finite problem.

    Parameters
    ----------
    cells : int, optional
        ``problem.cells`` by default.
    method_for_finite : str, optional
        Method for the finite problem; by default the reduced conic program for up to 300 cells, then the
        closed form.
    """
    size = problem.cells if cells is None else cells
    if too_small(problem):
        return infeasible(problem)
    finite = finite_problem(problem, size)
    chosen = method_for_finite or (
        "reduced-program" if size <= MAX_CONIC and isinstance(problem.noise, str) else "closed-form"
    )
    answer = solve(finite, chosen)
    if not answer.found:
        return Outcome(answer.status, message=answer.message, notes=answer.notes)
    return posted_outcome(
        problem,
        finite.population,
        np.asarray(answer.variables["epsilon"]),
        f"{chosen} on {counted(size, 'type')}: {answer.solver}",
    )


MAX_CONIC = 300


METHODS = (
    Method("closed-form", PrivacyContractContinuous, "analytic",
           "ironed virtual cost theta + H/h (section 4.4 with its signs corrected)",
           continuum_in_closed_form),
    Method("discretized", PrivacyContractContinuous, "numeric",
           "finite problem on a grid of types; converges from above", solve_discretized),
)  # fmt: skip
