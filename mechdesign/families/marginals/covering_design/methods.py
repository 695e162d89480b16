"""The methods of ``covering-design``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.marginals.covering_design import exhaustive, geometric, greedy, milp, portfolio
from mechdesign.families.marginals.covering_design.problem import CoveringDesign

METHODS = (
    Method("portfolio", CoveringDesign, "numeric",
           "constructions, then greedy choice and local search, until the proven bound is met",
           portfolio.run, geometric.why_not),
    Method("geometric", CoveringDesign, "analytic",
           "geometries, triple systems, groups, products, doubling, deleted points",
           geometric.run, geometric.why_not),
    Method("milp", CoveringDesign, "numeric", "integer program over all blocks, for small cases",
           milp.run, milp.why_not),
    Method("exhaustive", CoveringDesign, "numeric", "exhaustive search up to symmetry, for small cases",
           exhaustive.run, exhaustive.why_not),
    Method("greedy", CoveringDesign, "heuristic",
           "lazy greedy choice, removal of redundant blocks, local search", greedy.run, greedy.why_not),
)  # fmt: skip
