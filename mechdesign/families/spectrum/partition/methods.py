"""The methods of ``spectrum-partition``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.spectrum.partition import (
    convex,
    dynamic_program,
    linear_program,
    milp,
    search,
    truncated_laplace,
)
from mechdesign.families.spectrum.partition.problem import SpectrumPartition

METHODS = (
    Method("dynamic-program", SpectrumPartition, "analytic", "the cheapest chain of intervals, in fractions",
           dynamic_program.run, dynamic_program.why_not),
    Method("search", SpectrumPartition, "analytic",
           "complete search for exact covers by sets of small reduced cost, in integers",
           search.run, search.why_not),
    Method("linear-program", SpectrumPartition, "numeric",
           "the linear program over all sets (HiGHS), with a bound of its own",
           linear_program.run, linear_program.why_not),
    Method("truncated-laplace", SpectrumPartition, "heuristic",
           "a window around a location with truncated Laplace noise",
           truncated_laplace.run, truncated_laplace.why_not),
    Method("milp", SpectrumPartition, "numeric", "set partitioning by an integer program (pulp)",
           milp.run, milp.why_not),
    Method("convex", SpectrumPartition, "numeric",
           "the program in full for a conic solver (cvxpy), without a bound", convex.run, convex.why_not),
)  # fmt: skip
