"""``covering-design`` by everything that is quick: constructions first, then search, until a bound is met."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.marginals.covering_design.bounds import lower_bound
from mechdesign.problems.marginals.covering_design.exhaustive import HOW, NODES, excluded
from mechdesign.problems.marginals.covering_design.geometric import construct, why_not
from mechdesign.problems.marginals.covering_design.greedy import searched, why_not as why_no_search
from mechdesign.problems.marginals.covering_design.problem import CoveringDesign, outcome


def run(problem: CoveringDesign, effort: int | None = None, nodes: int = NODES) -> Outcome:
    """Take the smaller of construction and greedy choice, improve it, and try to exclude one block fewer.

    Parameters
    ----------
    problem : CoveringDesign
    effort : int, optional
        How many subsets the local search may look at; by default as many as take a few seconds.
    nodes : int
        How many partial coverings may be looked at to exclude a smaller covering.
    """
    blocks, name = construct(problem)
    bound = lower_bound(problem.points, problem.order, problem.block)
    if len(blocks) == bound[0]:
        return outcome(problem, blocks, name)
    if excluded(problem, len(blocks) - 1, nodes):
        return outcome(problem, blocks, name, (len(blocks), HOW))
    if why_no_search(problem) is None:
        better = searched(problem, blocks, effort)
        if len(better) < len(blocks):
            blocks, name = better, "search"
            if len(blocks) > bound[0] and excluded(problem, len(blocks) - 1, nodes):
                bound = len(blocks), HOW
    return outcome(problem, blocks, name, bound)


METHOD = Method(
    name="portfolio",
    problem=CoveringDesign,
    kind="numeric",
    preference=10,
    summary="constructions, then greedy choice and local search, until the proven bound is met",
    run=run,
    why_not=why_not,
)
