"""The sources of ``spectrum-primary``: the published method, formula and widening, judged and measured.

The published optimum is that of the utility at the mean widening, judged by the utility that is expected.
Theorem 6.4.6 prints the slope of the utility: its formula, and how often it vanishes. The widening of the
thesis, section 6.3.2, is to be drawn and measured, and never built. The quantities are what the optimum is
worth next to fixed privacy levels, when the widening is drawn, and to an attacker; the simulation draws
widenings slot after slot.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.fields import replace_parameters
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Quantities, Solution
from mechdesign.core.validation import in_range, integer
from mechdesign.exact.randomness import Rng, numpy_generator
from mechdesign.families.spectrum.papers.attack import attack_errors
from mechdesign.families.spectrum.papers.secondary import FIXED_PRIMARY, FIXED_SECONDARY
from mechdesign.families.spectrum.primary import SpectrumPrimary, best_mean, infeasible
from mechdesign.solvers.roots import roots


def run(problem: SpectrumPrimary) -> Outcome:
    """Return the L that problem 6.4.5 has as its optimum; it claims none for the expectation."""
    if (nobody := infeasible(problem, "roots")) is not None:
        return nobody
    level = best_mean(problem)[0]
    variables = {"privacy": level, "granted_radius": problem.granted(level)}
    return Outcome(status="feasible", variables=variables, solver="roots")


def why_not(problem: SpectrumPrimary) -> str | None:
    """For the mean widening it is right, and is the method ``quartic``."""
    return "for the mean widening it is the method 'quartic'" if problem.widening == "mean" else None


METHODS = (
    Method("published", SpectrumPrimary, "published",
           "the optimum at the mean widening, although the widening is random", run, why_not),
)  # fmt: skip


def printed_slope(problem: SpectrumPrimary, level: float) -> float:
    """Return dE[U_p]/dL as printed, at a widening.

    Examples
    --------
    >>> problem = SpectrumPrimary(price=0.1, privacy_cost=2.0, radius=5.0, location_privacy=0.5, distance=6.0)
    >>> step = 1e-6
    >>> slope = (problem.utility(1.0 + step) - problem.utility(1.0 - step)) / (2 * step)
    >>> abs(printed_slope(problem, 1.0) - slope) < 1e-6
    True
    """
    far, s = problem.distance, problem.location_privacy
    square = -3.0 * level**2 + (6.0 * far - 2.0 * s) * level - 3.0 * far**2 + 2.0 * s * far
    return problem.price * math.pi / problem.radius * square + problem.privacy_cost / level**2


def quartic(problem: SpectrumPrimary) -> list[Fraction]:
    """Return L^2 times the printed slope as a polynomial in L, the coefficient of L^0 first."""
    far, s, c = (Fraction(x) for x in (problem.distance, problem.location_privacy, problem.factor))
    return [
        Fraction(problem.privacy_cost),
        Fraction(0),
        c * (2 * s * far - 3 * far**2),
        c * (6 * far - 2 * s),
        -3 * c,
    ]


def stationary_points(problem: SpectrumPrimary) -> tuple[int, int]:
    """Return the number of different real roots of the quartic, and of those that problem 6.4.5 admits.

    Examples
    --------
    >>> one = {"price": 0.1, "privacy_cost": 2.0, "radius": 5.0, "location_privacy": 0.5}
    >>> near, far = (SpectrumPrimary(**one, distance=distance) for distance in (2.0, 4.0))
    >>> stationary_points(near), stationary_points(far)
    ((2, 0), (4, 2))
    """
    polynomial = quartic(problem)
    largest = Fraction(
        1 + math.ceil(max(abs(part / polynomial[-1]) for part in polynomial))
    )  # Cauchy's bound
    low, high = problem.limits
    inside = roots(polynomial, low, high) if low < high else []
    return len(roots(polynomial, -largest, largest)), len(inside)


Array = NDArray[np.float64]

SEED, ATTACKS = 1, 200
PLACES = 100
"""Places that the attack of the certificate asks from; with N of them the error is about 2.5 L / N."""

NEEDED = 0.5
"""The certificate requires that a median error of this part of L remains."""


class SpectrumWidening:
    """An exponential widening of the owner's circle, drawn for each place: it does not hide the owner.

    It cannot be built or saved, and its audit fails with the error of an attack. It is here so that what was
    published can be run and measured. ``SpectrumCloak`` hides an owner.

    Parameters
    ----------
    level : number > 0
        L, the mean of the widening.
    protection : number > 0
        The radius within which the owner must not be disturbed.

    Examples
    --------
    >>> published = SpectrumWidening(level=1.0, protection=1.0)
    >>> edges = published.edges([[9.0, 0.0]] * 1000, owner=(0.0, 0.0), rng=1)
    >>> bool((edges <= 8.0).all()), published.audit().holds
    (True, False)
    """

    def __init__(self, level: float, protection: float) -> None:
        self.level, self.protection = (
            in_range(name, value, 0.0, math.inf, low_open=True, high_open=True)
            for name, value in (("level", level), ("protection", protection))
        )

    def edges(self, places: Any, owner: tuple[float, float], rng: Rng = None) -> Array:
        """Return the distances from places to the edge of the owner's widened circle, one draw for each."""
        spots = np.asarray(places, dtype=np.float64)
        source = numpy_generator(rng, "widening")
        far: Array = np.hypot(spots[:, 0] - owner[0], spots[:, 1] - owner[1])
        return far - self.protection - source.exponential(self.level, len(spots))

    def attacked(self, places: int = PLACES, attacks: int = ATTACKS) -> float:
        """Return the median error, a distance, of the attack by linear programs from ``places`` places."""
        share = _attacked(self.protection / self.level, integer("places", places, 4), attacks)
        return self.level * share

    def audit(self) -> Certificate:
        """Return the certificate ``cloak``, which fails: how near an attacker comes to the owner."""
        error = self.attacked()
        figures = {"mean_widening": self.level, "required_error": NEEDED * self.level}
        witness = {"places": PLACES, "median_error": float(f"{error:.4g}")}
        note = "error of an attack by linear programs, about 2.5 L / N from N places; use spectrum-cloak"
        return Certificate("cloak", error >= NEEDED * self.level, False, figures, witness, note)

    def refusal(self) -> CertificateError:
        """Return the error that says why it is not built, with the attack's figure."""
        return CertificateError(
            "exponential widening: not built", self.audit(), "register the owner's tile there"
        )


@cache
def _attacked(protection: float, places: int, attacks: int) -> float:
    """Return the median error in units of L: the attack knows no other unit of length."""
    ring = 10.0 * max(1.0, protection)
    rng = np.random.default_rng(SEED)
    return float(np.median(attack_errors(1.0, rng, places, attacks, ring=ring, protection=protection)))


def published_widening(level: float) -> SpectrumWidening:
    """Return the widening with this mean; the attack hardly depends on the protection radius, here L, too."""
    return SpectrumWidening(level, level)


DECIMALS = 12
"""An error that is rounding alone is 0 in these."""

FEW_ATTACKS, EXACT_ATTACKS = 100, 20
"""Of the attacks, which are simulated with the same places whatever the widening is."""


def quantities(problem: SpectrumPrimary, solution: Solution[Any]) -> Quantities:
    """Return the utility at fixed levels, the gain over it, the expected utility, and the attacker's errors.

    ``fixed_utility`` has the owner's widening 1 of section 6.6.1 and the user's privacy radius as given, and
    ``gain`` is how much more the solution has; ``both_fixed_utility`` and ``gain_over_both_fixed`` have the
    user's privacy radius 2 of section 6.6.1, too. ``revenue`` is what the user pays, ``full_payment`` its
    cost (6.5) for all that it wants. ``expected_utility`` is that of the solution when the widening is drawn,
    whatever was maximised. ``printed_slope`` is the derivative of theorem 6.4.6 at the solution,
    ``real_roots`` how many zeros it has, ``stationary_points`` how many of them are admitted.

    Where the widening is drawn there are the median errors of attacks that maximise the likelihood, for L to
    four digits, in units of distance, to twelve decimals:
    ``plain_attack_error`` from four places without a widening, ``common_attack_error`` from four with one
    widening for all, ``attack_error`` from eight with a new widening for each, ``attack_error_of_100`` and
    ``attack_error_of_1000`` from a hundred and a thousand; ``attack_error_constant`` is the last of these in
    units of L / 1000.
    """
    level = float(solution.variables["privacy"])
    fixed = problem.utility(FIXED_PRIMARY)
    both_fixed = replace_parameters(problem, {"location_privacy": FIXED_SECONDARY}).utility(FIXED_PRIMARY)
    real, admitted = stationary_points(problem)
    numbers = {
        "fixed_utility": fixed,
        "gain": solution.value - fixed,
        "both_fixed_utility": both_fixed,
        "gain_over_both_fixed": solution.value - both_fixed,
        "revenue": problem.revenue(level),
        "full_payment": problem.factor * problem.radius * (problem.location_privacy + problem.radius) ** 2,
        "expected_utility": replace_parameters(problem, {"widening": "exponential"}).utility(level),
        "printed_slope": printed_slope(problem, level),
        "real_roots": real,
        "stationary_points": admitted,
    }
    attacks = attack_medians(float(f"{level:.4g}")) if problem.widening == "exponential" else {}
    return Quantities({**numbers, **attacks})


def attack_medians(level: float) -> dict[str, partial[float]]:
    """Return the attacker's median errors at a mean widening; each takes up to seconds to compute."""
    return {
        "plain_attack_error": partial(_median, level, "none", 4),
        "common_attack_error": partial(_median, level, "common", 4),
        "attack_error": partial(_median, level, "each", 8),
        "attack_error_of_100": partial(_median, level, "each", 100),
        "attack_error_of_1000": partial(_median, level, "each", 1000),
        "attack_error_constant": partial(_constant, level),
    }


@cache
def _median(level: float, draw: Literal["none", "common", "each"], queries: int) -> float:
    rng, times = np.random.default_rng(SEED), FEW_ATTACKS if draw == "each" else EXACT_ATTACKS
    return round(float(np.median(attack_errors(level, rng, queries, times, draw))), DECIMALS)


def _constant(level: float) -> float:
    return 1000.0 * _median(level, "each", 1000) / level


def simulation(
    problem: SpectrumPrimary, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the mean utility of ``users`` slots, ``repetitions`` times, with exponential widenings.

    ``attack_error`` is the median error of an attacker who locates the owner from eight places, a widening
    drawn for each, ``common_attack_error`` with one for all (section 6.3.2).
    """
    level = float(solution.variables["privacy"])
    widenings = rng.exponential(level, size=users * repetitions)
    radii = np.clip(float(problem.widened.room) - widenings, 0.0, problem.radius)
    paid = problem.factor * radii * (problem.location_privacy + radii) ** 2
    spread = float(np.std(paid, ddof=1)) / math.sqrt(len(paid)) if len(paid) > 1 else math.nan
    return {
        "measured_value": float(np.mean(paid)) - problem.privacy_cost / level,
        "standard_error": spread,
        "attack_error": float(np.median(attack_errors(level, rng))),
        "common_attack_error": float(np.median(attack_errors(level, rng, draw="common"))),
    }
