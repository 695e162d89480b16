"""The problem ``spectrum-primary``: how far the owner of a channel widens its protection radius.

The radius is widened by the mean itself, or by an exponential random length X. With a = d_m - s the granted
radius is R = clip(a - X, 0, r0), and T(R) = c R (s + R)^2. For X with mean L, integrating by parts with
rho = min(r0, a),

    E T(R) = T(rho) - integral over y from 0 to rho of T'(y) exp(-(a - y) / L) dy,

which is elementary, and evaluated in rational numbers with rational bounds of the two exponentials.

The methods of ``spectrum-primary``: the first one that applies is the default.

*The mean widening* is the published way, done exactly: all real roots of a quartic in the interval, and its
two ends.

*The expected utility* rises, then falls: U'(L) = (kp - H(L)) / L^2 with H rising from 0 to A, the integral of
the revenue over all widenings. With kp < A there is one turning point, where H(L) = kp, and it is the
optimum; else U rises towards 0 for ever.

*Global search by intervals*, for both widenings: on [l, u] the utility is at most the revenue at l less
kp / u, for revenue and the loss of privacy fall with L. Intervals whose bound does not exceed the best value
are dropped, the others halved. The expectation is a quadrature here, so nothing is shared with the exact
methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.fields import amount, checked, choice, frozen_problem
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.exact.randomness import exp_lower, exp_upper, float_down
from mechdesign.families.spectrum.geometry import coordinate, positive, rounded_up
from mechdesign.show.figure import Figure, Line, Panel, Points
from mechdesign.solvers.roots import evaluated, maximum, sign_change

Bounds = tuple[Fraction, Fraction]

Derivatives = list[tuple[Fraction, list[Fraction]]]
"""Places, each with the values of a polynomial and of its derivatives there."""

NEGLIGIBLE = 900
"""e^-z is bounded by 0 and 2^-1200 beyond this."""


def falling(exponent: Fraction) -> Bounds:
    """Return rational bounds of exp(-exponent) for an exponent >= 0.

    Examples
    --------
    >>> low, high = falling(Fraction(1))
    >>> float(low), high - low < 10**-45
    (0.36787944117144233, True)
    """
    if exponent > NEGLIGIBLE:
        return Fraction(0), Fraction(1, 2**1200)
    return 1 / exp_upper(exponent), 1 / exp_lower(exponent)


@dataclass(frozen=True)
class Widened:
    """Revenue from one user whose circle may reach up to ``room`` = a, exactly for the given doubles.

    Attributes
    ----------
    factor, privacy, radius, room : Fraction
        c, s, r0 and a.
    """

    factor: Fraction
    privacy: Fraction
    radius: Fraction
    room: Fraction

    @cached_property
    def most(self) -> Fraction:
        """rho: the largest radius that can be granted."""
        return min(self.radius, self.room)

    @cached_property
    def revenue(self) -> list[Fraction]:
        """The coefficients of T."""
        c, s = self.factor, self.privacy
        return [Fraction(0), c * s * s, 2 * c * s, c]

    @cached_property
    def worth(self) -> Fraction:
        """A, the integral of T(R) over all widenings X > 0: E T(R) < A / L, and nearly so for large L."""
        whole = sum((c * self.most ** (k + 1) / (k + 1) for k, c in enumerate(self.revenue)), Fraction(0))
        return evaluated(self.revenue, self.most) * (self.room - self.most) + whole

    def expected(self, level: Fraction) -> Bounds:
        """Return bounds of E T(R) for the mean widening ``level``."""
        low, high = self._integral(self._rise, level)
        full = evaluated(self.revenue, self.most)
        return full - high, full - low

    def expected_radius(self, level: Fraction) -> Fraction:
        """Return E R to many digits."""
        low, high = self._integral(self._derivatives([Fraction(1)]), level)
        return self.most - (low + high) / 2

    def marginal(self, level: Fraction) -> Bounds:
        """Return bounds of H(L): the derivative of E T(R) is -H(L) / L^2, and H rises with L."""
        return self._integral(self._shifted, level)

    @cached_property
    def _rise(self) -> Derivatives:
        """Those of T'."""
        return self._derivatives(_slope(self.revenue))

    @cached_property
    def _shifted(self) -> Derivatives:
        """Those of (a - y) T'(y)."""
        slope = _slope(self.revenue)
        shifted = [self.room * c for c in slope] + [Fraction(0)]
        for power, c in enumerate(slope):
            shifted[power + 1] -= c
        return self._derivatives(shifted)

    def _derivatives(self, polynomial: list[Fraction]) -> Derivatives:
        """Return the values of a polynomial and of its derivatives at rho and at 0."""
        ends: Derivatives = [(self.most, []), (Fraction(0), [])]
        while polynomial:
            for place, values in ends:
                values.append(evaluated(polynomial, place))
            polynomial = _slope(polynomial)
        return ends

    def _integral(self, derivatives: Derivatives, level: Fraction) -> Bounds:
        """Return bounds of the integral of q(y) exp(-(a - y) / L) for y from 0 to rho."""
        ends = []
        for place, values in derivatives:
            total = Fraction(0)
            for value in reversed(values):  # L q - L^2 q' + L^3 q'' - ...
                total = level * (value - total)
            ends.append((total, falling((self.room - place) / level)))
        (top, (top_low, top_high)), (bottom, (bottom_low, bottom_high)) = ends
        low = min(top * top_low, top * top_high) - max(bottom * bottom_low, bottom * bottom_high)
        high = max(top * top_low, top * top_high) - min(bottom * bottom_low, bottom * bottom_high)
        return low, high


def _slope(polynomial: Sequence[Fraction]) -> list[Fraction]:
    return [power * c for power, c in enumerate(polynomial)][1:]


WIDENINGS = ("mean", "exponential")


@frozen_problem()
class SpectrumPrimary(Problem[Mechanism]):
    """The best mean widening L of the protection radius of a channel's owner, for one secondary user.

    ::

        maximize  (R / r0) price pi (s + R)^2 - privacy_cost / L   over L

    With ``widening = "mean"`` R = distance - L - s and max(0, distance - s - r0) <= L <= distance - s, as
    published. With "exponential" the expectation is maximised over L > 0, where R = clip(distance - X - s, 0,
    r0) and X is exponential with mean L, as it is drawn.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, problem 6.4.5, eqs. (6.7) and (6.8). ``granted_radius`` is R, or its mean.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.SpectrumPrimary(
    ...     price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, distance=6.0)
    >>> solution = md.solve(problem)
    >>> print(round(solution.variables["privacy"], 6), round(solution.value, 6))
    0.625832 5.649356
    """

    name: ClassVar[str] = "spectrum-primary"
    example: ClassVar[Mapping[str, Any]] = {
        "price": 0.1,
        "privacy_cost": 2.0,
        "radius": 5.0,
        "location_privacy": 0.5,
        "distance": 6.0,
    }
    sense: ClassVar[Sense] = "max"
    levers: ClassVar[tuple[str, ...]] = ("price", "privacy_cost", "radius", "location_privacy", "distance")
    value_name: ClassVar[str] = "owner's utility"
    unstated: ClassVar[str] = "revenue is neither convex nor concave in the widening"
    summary: ClassVar[str] = "widening of a channel owner's protection radius that hides the owner"
    compared_with: ClassVar[str] = "all mean widenings L"

    price: float = amount("k1: cost of a unit of area.", positive)
    privacy_cost: float = amount("kp: the owner's loss of privacy is privacy_cost / L.", positive)
    radius: float = amount("r0: range that the secondary user requests.", positive)
    location_privacy: float = amount("s: the secondary user's privacy radius.", positive)
    distance: float = checked(
        "d_m: between the two users, less the protection radius. At most s: no user can be served.",
        coordinate,
        form="number",
    )
    widening: Literal["mean", "exponential"] = choice(
        "Whether the utility is taken at the mean widening, or expected over the drawn one.",
        WIDENINGS,
        default="mean",
    )

    @property
    def factor(self) -> float:
        """The factor c = k1 pi / r0 of the revenue."""
        return self.price * math.pi / self.radius

    @cached_property
    def widened(self) -> Widened:
        """The revenue as a function of the widening, in exact numbers."""
        room = Fraction(self.distance) - Fraction(self.location_privacy)
        return Widened(Fraction(self.factor), Fraction(self.location_privacy), Fraction(self.radius), room)

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        """The interval of L of problem 6.4.5; its upper end is not positive where no user can be served."""
        room = self.widened.room
        return max(Fraction(0), room - self.widened.radius), room

    def granted(self, level: float) -> float:
        """Return R, or its mean."""
        if self.widening == "exponential":
            return float(self.widened.expected_radius(Fraction(level)))
        return float_down(min(max(self.widened.room - Fraction(level), Fraction(0)), self.widened.radius))

    def revenue(self, level: float) -> float:
        """Return the payment of the secondary user, or its mean."""
        if self.widening == "exponential":
            low, high = self.widened.expected(Fraction(level))
            return float((low + high) / 2)
        radius = self.granted(level)
        return self.factor * radius * (self.location_privacy + radius) ** 2

    def utility(self, level: float) -> float:
        """Return the owner's utility; L = 0 is minus infinity."""
        return self.revenue(level) - self.privacy_cost / level if level > 0 else -math.inf

    def objective(self, variables: Variables) -> float:
        return self.utility(float(variables["privacy"]))

    def objective_scale(self) -> float:
        room = float(self.widened.room)
        full = self.factor * self.radius * (self.location_privacy + self.radius) ** 2
        return full + (self.privacy_cost / room if room > 0 else 0.0)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much L leaves its interval, and how wrong the granted radius is."""
        level = float(variables["privacy"])
        low, high = map(float, self.limits)
        outside = max(0.0, low - level, level - high) if self.widening == "mean" else max(0.0, -level)
        wrong = abs(float(variables["granted_radius"]) - self.granted(level))
        return {"privacy": outside, "granted_radius": wrong}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return that nobody is disturbed whatever is drawn, that the owner is found, and optimality.

        The second, ``cloak``, fails: from many places an attack locates the owner. It needs a home that has
        ``published_widening``.
        """
        level = float(solution.variables["privacy"])
        if self.widening == "mean":
            safe = Fraction(self.granted(level)) + Fraction(level) <= self.widened.room
        else:
            safe = level > 0
        published = companion(type(self), "published_widening")
        return (
            Certificate("interference", safe, True, {"widening": level}, note=self._how()),
            *(() if published is None else (published(level).audit(),)),
            self.optimality(solution, scale=self.objective_scale()),
        )

    def mechanism(self, solution: Solution[Any]) -> Mechanism:
        """Refuse: the widening does not hide the owner.

        How near an attack comes is in the error where a home has ``published_widening``.
        """
        published = companion(type(self), "published_widening")
        if published is not None:
            raise published(float(solution.variables["privacy"])).refusal()
        raise CertificateError(
            "exponential widening: not built",
            "answers from many places locate the owner",
            "register the owner's tile with spectrum-cloak",
        )

    def _how(self) -> str:
        if self.widening == "mean":
            return "radius, privacy radius, protection and widening fit into the distance"
        return "the radius is what the drawn widening leaves; a one-sided shift is not differential privacy"


def best_mean(problem: SpectrumPrimary) -> tuple[float, Fraction]:
    """Return the best L for the mean widening, and a proven bound; of equal values the larger L."""
    room, s, c = problem.widened.room, problem.widened.privacy, problem.widened.factor
    far = room + s
    # c (a - L)(d - L)^2 with d = a + s
    polynomial = [c * room * far**2, -c * (far**2 + 2 * room * far), c * (room + 2 * far), -c]
    peak = maximum(polynomial, Fraction(problem.privacy_cost), *problem.limits)
    return float_down(peak.place), peak.bound


def outcome(
    problem: SpectrumPrimary, level: float, bound: Fraction | float, source: str, solver: str
) -> Outcome:
    """Return the outcome of a method; its bound includes the rounding error of the value."""
    lost = max(problem.objective_scale(), problem.privacy_cost / level)
    return Outcome(
        status="optimal",
        variables={"privacy": level, "granted_radius": problem.granted(level)},
        bound=rounded_up(bound, lost),
        bound_source=source,
        solver=solver,
    )


def infeasible(problem: SpectrumPrimary, solver: str) -> Outcome | None:
    """Return the outcome ``infeasible`` where no user can be served, or serving is never worth it."""
    if problem.widened.room <= 0:
        text = (
            f"no user can be served: the distance {problem.distance:g} is not above the privacy radius "
            f"{problem.location_privacy:g}; take a user farther away"
        )
        return Outcome(status="infeasible", solver=solver, message=text)
    if problem.widening == "exponential" and problem.widened.worth <= Fraction(problem.privacy_cost):
        text = (
            "no widening is best: the utility is negative and rises towards 0 as it grows, since "
            f"privacy_cost {problem.privacy_cost:g} is at least {float(problem.widened.worth):.4g}; "
            "keep the channel closed"
        )
        return Outcome(status="infeasible", solver=solver, message=text)
    return None


def figures(problem: SpectrumPrimary, solution: Solution[Any]) -> list[Figure]:
    """Return utility and revenue over the widening, with the optimum."""
    best = float(solution.variables["privacy"])
    low, high = map(float, problem.limits)
    levels = np.linspace(
        max(low, 0.15 * best), min(2.5 * best, high) if problem.widening == "mean" else 2.5 * best, 100
    )
    marks = [
        Line(x=levels, y=[problem.utility(float(level)) for level in levels], label="owner's utility"),
        Line(x=levels, y=[problem.revenue(float(level)) for level in levels], label="revenue alone"),
        Points(x=[best], y=[problem.utility(best)], label="best widening"),
    ]
    panel = Panel("widening L of the protected circle (units of distance)", "money", marks)
    caption = "A wider circle leaves less room to rent out. It does not hide the owner from many queries."
    return [Figure("Widening of an owner", [panel], caption)]


def widening_from_quartic(problem: SpectrumPrimary) -> Outcome:
    """Return the best of roots and ends."""
    if (nobody := infeasible(problem, "roots")) is not None:
        return nobody
    level, bound = best_mean(problem)
    return outcome(
        problem, level, bound, "all real roots of a quartic, isolated in exact arithmetic", "roots"
    )


def why_no_quartic(problem: SpectrumPrimary) -> str | None:
    """Only for the utility as published."""
    return "the expected utility is not a polynomial with a pole" if problem.widening != "mean" else None


Array = NDArray[np.float64]

GAP = 1e-9
"""The gap that is aimed at, as a part of the utility's terms."""

MOST_INTERVALS = 200_000

NODES, PANELS, TAIL = 24, 6, 45.0
"""Gauss's rule on panels of at most 7.5 means: its error is below 1e-13 of the result; e^-45 is left out."""


def _revenue(problem: SpectrumPrimary, levels: Array) -> Array:
    """Return the revenue, or its expectation, at many L."""
    a, s, r0, c = (
        float(v) for v in (problem.widened.room, problem.location_privacy, problem.radius, problem.factor)
    )
    if problem.widening == "mean":
        radii = np.clip(a - levels, 0.0, r0)
        return np.asarray(c * radii * (s + radii) ** 2)
    most = min(a, r0)
    reach = np.minimum(most, TAIL * levels)
    points, weights = np.polynomial.legendre.leggauss(NODES)
    total = np.zeros_like(levels)
    for panel in range(PANELS):
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
            step = reach * ((panel + (point + 1.0) / 2.0) / PANELS)  # t = rho - y
            radii = most - step
            slope = c * (s + radii) * (s + 3.0 * radii)
            total += weight / 2.0 * slope * np.exp(-(a - most + step) / levels)
    return np.asarray(c * most * (s + most) ** 2 - total * reach / PANELS)


def widening_by_intervals(problem: SpectrumPrimary) -> Outcome:
    """Halve intervals until the bound is near the value."""
    if (nobody := infeasible(problem, "intervals")) is not None:
        return nobody
    low, high = _bracket(problem)
    ends = np.linspace(low, high, 257)
    lows, highs = ends[:-1], ends[1:]
    level, value, scale = high, problem.utility(high), problem.objective_scale()
    while True:
        earned = _revenue(problem, lows)
        utilities = earned - problem.privacy_cost / lows
        best = int(np.argmax(utilities))
        if utilities[best] > value:
            level, value = float(lows[best]), float(utilities[best])
        bounds = earned - problem.privacy_cost / highs
        bound = max(float(bounds.max()), value)
        if bound - value <= GAP * scale or 2 * len(lows) > MOST_INTERVALS:
            break
        keep = bounds > value
        lows, highs = lows[keep], highs[keep]
        middles = (lows + highs) / 2.0
        lows, highs = np.concatenate([lows, middles]), np.concatenate([middles, highs])
    return outcome(
        problem, level, bound + 1e-12 * scale, "revenue falls and privacy rises with L", "intervals"
    )


def _bracket(problem: SpectrumPrimary) -> tuple[float, float]:
    """Return an interval outside of which no L is better than one inside."""
    low, high = map(float_down, problem.limits)
    some = problem.utility(high)
    if problem.widening == "exponential":
        # U < (A - kp) / L, so beyond (A - kp) / value nothing is better, once a value is positive
        while some <= 0:
            high *= 2.0
            some = problem.utility(high)
        high = max(high, (float(problem.widened.worth) - problem.privacy_cost) / some)
        low = 0.0
    # kp / L is at most all revenue less the value
    least = problem.privacy_cost / (problem.objective_scale() - some)
    return min(max(low, least * (1.0 - 2.0**-40)), math.nextafter(high, 0.0)), high


FARTHEST = 2.0**60
"""A best L beyond this many times the distance is not looked for."""


def widening_at_turning_point(problem: SpectrumPrimary) -> Outcome:
    """Bracket the change of sign and halve it to the last bit."""
    if (nobody := infeasible(problem, "bisection")) is not None:
        return nobody
    cost = Fraction(problem.privacy_cost)

    def slope(level: float) -> float:
        low, high = problem.widened.marginal(Fraction(level))
        return float(cost - (low + high) / 2)

    low = high = float(problem.widened.room)
    largest = FARTHEST * high
    while slope(low) <= 0:
        low /= 2.0
    while slope(high) >= 0:
        high *= 2.0
        if high > largest:
            text = f"the best widening is beyond {largest:.3g}; keep the channel closed"
            return Outcome(status="infeasible", solver="bisection", message=text)
    level = sign_change(slope, low, high)
    below, above = level * (1 - 2.0**-50), level * (1 + 2.0**-50)
    while slope(below) <= 0:
        below -= level * 2.0**-50
    while slope(above) >= 0:
        above += level * 2.0**-50
    bound = problem.widened.expected(Fraction(below))[1] - cost / Fraction(above)
    return outcome(
        problem, level, bound, "revenue falls and privacy rises with L, around the turning point", "bisection"
    )


def why_no_turning_point(problem: SpectrumPrimary) -> str | None:
    """Only for the expected utility."""
    return "the utility at the mean widening can turn several times" if problem.widening == "mean" else None


METHODS = (
    Method("quartic", SpectrumPrimary, "analytic",
           "best of the real roots of a quartic and the ends of the interval",
           widening_from_quartic, why_no_quartic),
    Method("turning-point", SpectrumPrimary, "analytic",
           "the only turning point of the expected utility, in rational numbers",
           widening_at_turning_point, why_no_turning_point),
    Method("search", SpectrumPrimary, "numeric", "global search by intervals", widening_by_intervals),
)  # fmt: skip
