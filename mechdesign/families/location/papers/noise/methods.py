"""The published methods of ``location-noise``: never a default, and not counted for agreement."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.location.noise.methods import named
from mechdesign.families.location.noise.problem import LocationNoise

METHODS = (
    # Cut off at the radius, as in Zhang (2019), section 6.4: it excludes reports.
    Method("truncated", LocationNoise, "published",
           "planar Laplace noise cut off at the radius, as published: not private", named("truncated")),
)  # fmt: skip
