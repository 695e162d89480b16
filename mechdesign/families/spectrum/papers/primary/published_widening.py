"""The widening of the thesis, section 6.3.2, as published: to be drawn and measured, and never built."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.validation import in_range, integer
from mechdesign.exact.randomness import Rng, numpy_generator
from mechdesign.families.spectrum.papers.primary.attack import attack_errors

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
