"""The methods of ``spectrum-primary``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.spectrum.primary import quartic, search, turning
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary

METHODS = (
    Method("quartic", SpectrumPrimary, "analytic",
           "best of the real roots of a quartic and the ends of the interval", quartic.run, quartic.why_not),
    Method("turning-point", SpectrumPrimary, "analytic",
           "the only turning point of the expected utility, in rational numbers",
           turning.run, turning.why_not),
    Method("search", SpectrumPrimary, "numeric", "global search by intervals", search.run),
)  # fmt: skip
