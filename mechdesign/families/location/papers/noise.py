"""The sources of ``location-noise``: planar Laplace noise cut off at a radius, and what noise gives away.

Noise cut off as published is to be drawn and measured, and never built: a place x excludes every report
beyond the radius, a place x' nearer to the report does not: no epsilon is enough. The witness is in whole
numbers of eighths of the radius. Its method is never a default, and not counted for agreement.

The quantities are the radius of the noise, the epsilon that the audit states, and what a report tells of two
places.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kernel import rng_alone
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.guarantee import Proof
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range, privacy_epsilon
from mechdesign.exact.randomness import BITS, Rng, bit_source, numpy_generator
from mechdesign.families.location.location_audit import LocationAudit, per_length
from mechdesign.families.location.mechanism import PlanarLaplace, planar_epsilon, planar_quantile
from mechdesign.families.location.noise import LocationNoise

Array = NDArray[np.float64]


class TruncatedPlanarLaplace:
    """Planar Laplace noise cut off at a radius, as in Zhang (2019), section 6.4: not private.

    It cannot be built or saved, and its audit fails with a witness. It is here so that what was published can
    be run and measured.

    Parameters
    ----------
    epsilon, radius : float
        > 0.

    Examples
    --------
    >>> published = TruncatedPlanarLaplace(epsilon=1.0, radius=2.0)
    >>> reports = published.randomize([[5.0, 5.0]] * 1000, rng=1)
    >>> bool((np.hypot(*(reports - 5.0).T) <= 2.0).all()), published.audit().holds
    (True, False)
    """

    def __init__(self, epsilon: float, radius: float) -> None:
        self.epsilon = planar_epsilon(epsilon)
        self.radius = in_range("radius", radius, 0.0, math.inf, low_open=True, high_open=True)

    @property
    def mean_distance(self) -> float:
        """The expected distance: (2 - (t^2 + 2 t + 2) e^-t) / (eps (1 - (1 + t) e^-t)), t = eps radius."""
        t = self.epsilon * self.radius
        if t < 0.01:  # both differences vanish: the first terms of their series
            return self.radius * (2.0 / 3.0 - t / 18.0)
        share = -math.expm1(-t) - t * math.exp(-t)
        return (2.0 - (t * t + 2.0 * t + 2.0) * math.exp(-t)) / (self.epsilon * share)

    @rng_alone
    def randomize(self, answers: Any, rng: Rng = None) -> Array:
        """Return the points plus noise, its radius by inversion with the Lambert W function."""
        from scipy.special import lambertw

        places = PlanarLaplace(self.epsilon).checked(answers)
        source = bit_source(None if rng is None else numpy_generator(rng, "truncated"))
        part, turn = (source.integers(len(places)) + 0.5 for _ in range(2))
        scaled = self.epsilon * self.radius
        share = -math.expm1(-scaled) - scaled * math.exp(-scaled)
        beyond = 1.0 - part * 2.0**-BITS * share
        radius = np.clip((-lambertw(-beyond / math.e, -1).real - 1.0) / self.epsilon, 0.0, self.radius)
        angle = turn * (2.0 * math.pi / (1 << BITS))
        reports: Array = places + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return reports

    def audit(self) -> LocationAudit:
        """Return the audit, which fails: two places and a report that one of them excludes."""
        return audit_truncated(self.epsilon, self.radius)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificate of its privacy, which fails."""
        return (self.audit().certificate(),)

    def refusal(self) -> CertificateError:
        """Return the error that says why it is not built, with the witness."""
        return CertificateError("truncated planar Laplace: not built", self.audit())


def audit_truncated(epsilon: float, radius: float) -> LocationAudit:
    """Return the failing audit of planar Laplace noise that is cut off at a radius, with a witness.

    Examples
    --------
    >>> audit = audit_truncated(1.0, 2.0)
    >>> audit.holds, audit.true_epsilon, audit.witness["report"]
    (False, inf, [1.75, 0.0])
    """
    limit = privacy_epsilon(epsilon)
    reach = Fraction(in_range("radius", radius, 0.0, float("inf"), low_open=True, high_open=True))
    place, other, report = Fraction(0), -reach / 4, reach * 7 / 8
    if not (report - place < reach < report - other):  # the witness is checked, not believed
        raise CertificateError("location", "the witness does not show what it should", "report this as a bug")
    witness = {
        "place": [float(place), 0.0],
        "other": [float(other), 0.0],
        "report": [float(report), 0.0],
    }
    note = "cut off at the radius: the report is possible from the first location, impossible from the other"
    return LocationAudit(Proof(per_length(limit), None), witness, note)


def published_noise(problem: LocationNoise) -> dict[str, TruncatedPlanarLaplace]:
    """Return ``truncated``: cut off at the radius that planar Laplace noise exceeds with probability beta.

    Examples
    --------
    >>> problem = LocationNoise(epsilon=2.0, area=[0.0, 0.0, 10.0, 10.0])
    >>> round(published_noise(problem)["truncated"].radius, 6)
    2.371932
    """
    radius = planar_quantile(problem.epsilon, problem.beta)
    return {"truncated": TruncatedPlanarLaplace(problem.epsilon, radius)}


def truncated(problem: LocationNoise) -> Outcome:
    """Return the noise that is cut off; the problem judges it."""
    return problem.outcome("truncated")


METHODS = (
    # Cut off at the radius, as in Zhang (2019), section 6.4: it excludes reports.
    Method("truncated", LocationNoise, "published",
           "planar Laplace noise cut off at the radius, as published: not private", truncated),
)  # fmt: skip


PARTS = 20_000
"""Of the integrals, by the midpoint rule."""


def quantities(problem: LocationNoise, solution: Solution[Any]) -> dict[str, Any]:
    """Return ``radius``, ``true_epsilon``, and what reports tell, for claims.

    ``scaled_radius`` is the radius in units of 1 / epsilon. ``telling_apart`` is the probability of guessing
    from a report of planar Laplace noise which of two equally likely places one unit apart it comes from,
    0.5 for one who learns nothing. ``excluded`` is the probability that a report of the truncated noise
    cannot come from a place one radius away, ``witness_ratio`` the distance of the audit's two places in
    radii; both are 0 for other noise.
    """
    noise = problem.noise(solution.variables)
    audit = noise.audit()
    cut = solution.variables["noise"] == "truncated"
    apart = math.dist(audit.witness["place"], audit.witness["other"]) if cut else 0.0
    return {
        "radius": noise.radius,
        "scaled_radius": problem.epsilon * noise.radius,
        "true_epsilon": audit.true_epsilon,
        "telling_apart": telling_apart(problem.epsilon),
        "excluded": excluded(problem.epsilon, noise.radius) if cut else 0.0,
        "witness_ratio": apart / noise.radius,
    }


def telling_apart(epsilon: float) -> float:
    """Return the probability of guessing right which of two places at the distance 1 made a report.

    The likelier place is the nearer one, so the guess is right unless the noise reaches beyond 1/2 in the
    other's direction: at the angle t to it that is a length above 1 / (2 cos t).

    Examples
    --------
    >>> round(telling_apart(1e-3), 3), round(telling_apart(2.0), 3)
    (0.5, 0.761)
    """
    angles = (np.arange(PARTS) + 0.5) * (math.pi / 2.0 / PARTS)
    length = epsilon / (2.0 * np.cos(angles))
    return 1.0 - float(np.mean((1.0 + length) * np.exp(-length))) / 2.0


def excluded(epsilon: float, radius: float) -> float:
    """Return the probability that truncated noise leaves the disc around a place one radius away.

    Examples
    --------
    >>> round(excluded(1e-4, 1.0), 3)  # almost uniform: 1/3 + sqrt(3) / (2 pi)
    0.609
    """
    lengths = (np.arange(PARTS) + 0.5) * (radius / PARTS)
    density = lengths * np.exp(-epsilon * lengths)
    outside = 1.0 - np.arccos(lengths / (2.0 * radius)) / math.pi
    return float(density @ outside / density.sum())
