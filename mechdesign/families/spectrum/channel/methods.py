"""The methods of ``spectrum-channel``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.spectrum.channel import cuts, enumeration, greedy, milp, piecewise
from mechdesign.families.spectrum.channel.problem import SpectrumChannel

METHODS = (
    Method("piecewise", SpectrumChannel, "analytic",
           "all vertex patterns of one or two users, by roots of quartics", piecewise.run, piecewise.why_not),
    Method("enumeration", SpectrumChannel, "numeric", "search tree over all vertex patterns of a few users",
           enumeration.run, enumeration.why_not),
    Method("cuts", SpectrumChannel, "numeric",
           "linear program of intervals of radii, cliques and ramps added, for many users",
           cuts.run, cuts.why_not),
    Method("milp", SpectrumChannel, "numeric", "mixed integer program with revenue by pieces, for many users",
           milp.run, milp.why_not),
    Method("greedy", SpectrumChannel, "heuristic",
           "users served in the order of a list, improved by annealing", greedy.run),
)  # fmt: skip
