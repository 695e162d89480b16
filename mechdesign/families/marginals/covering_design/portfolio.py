"""``covering-design`` by everything that is quick: constructions first, then search, until a bound is met."""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.families.marginals.covering_design.bounds import lower_bound
from mechdesign.families.marginals.covering_design.exhaustive import HOW, NODES, settle
from mechdesign.families.marginals.covering_design.geometric import construct
from mechdesign.families.marginals.covering_design.greedy import searched, why_not as why_no_search
from mechdesign.families.marginals.covering_design.problem import CoveringDesign, outcome


def run(problem: CoveringDesign, effort: int | None = None, nodes: int = NODES) -> Outcome:
    """Construct; where that does not meet the bound, search, and go through all cases while there are few.

    Parameters
    ----------
    problem : CoveringDesign
    effort : int, optional
        How many subsets the local search may look at; by default as many as take a few seconds.
    nodes : int
        How many partial coverings may be looked at, to find a smaller covering or to exclude it.
    """
    blocks, name = construct(problem)
    bound = lower_bound(problem.points, problem.order, problem.block)
    if len(blocks) == bound[0]:
        return outcome(problem, blocks, name)
    blocks, settled = settle(problem, blocks, nodes)
    if not settled and why_no_search(problem) is None:
        better = searched(problem, blocks, effort)
        if len(better) < len(blocks):
            blocks, settled = settle(problem, better, nodes)
            name = "search"
    return outcome(problem, blocks, name, (len(blocks), HOW) if settled else bound)
