"""The widening of the thesis, section 6.3.2, as published: to be drawn and measured, and never built."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.randomness import Rng, numpy_generator
from mechdesign.core.validation import integer
from mechdesign.mechanisms.spectrum.channel import positive
from mechdesign.papers.spectrum.primary.attack import attack_errors

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
        self.level, self.protection = positive("level", level), positive("protection", protection)

    def edges(self, places: Any, owner: tuple[float, float], rng: Rng = None) -> Array:
        """Return the distances from places to the edge of the owner's widened circle, one draw for each."""
        spots = np.asarray(places, dtype=np.float64)
        source = numpy_generator(rng, "widening")
        far: Array = np.hypot(spots[:, 0] - owner[0], spots[:, 1] - owner[1])
        return far - self.protection - source.exponential(self.level, len(spots))

    def attacked(self, places: int = PLACES, attacks: int = ATTACKS) -> float:
        """Return the median error of the attack by linear programs from so many places, a distance."""
        rng = np.random.default_rng(SEED)
        ring = 10.0 * max(self.level, self.protection)
        count = integer("places", places, 4)
        errors = attack_errors(self.level, rng, count, attacks, ring=ring, protection=self.protection)
        return float(np.median(errors))

    def audit(self) -> Certificate:
        """Return the certificate ``cloak``, which fails: how near an attacker comes to the owner."""
        error = self.attacked()
        figures = {"mean_widening": self.level, "required_error": NEEDED * self.level}
        witness = {"places": PLACES, "median_error": float(f"{error:.4g}")}
        note = "error of an attack by linear programs; about 2.5 L / N from N places"
        return Certificate("cloak", error >= NEEDED * self.level, False, figures, witness, note)

    def refusal(self) -> CertificateError:
        """Return the error that says why it is not built, with the attack's figure."""
        return CertificateError(
            "exponential widening: not built", self.audit(), "register the owner's tile with spectrum-cloak"
        )


def published_widening(level: float) -> SpectrumWidening:
    """Return the widening with this mean, for an owner whose protection radius is the unit of length."""
    return SpectrumWidening(level, 1.0)
