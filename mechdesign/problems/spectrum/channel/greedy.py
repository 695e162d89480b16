"""Users served one after the other from good lists, over a grid of L; no bound."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.mechanisms.spectrum.greedy import Greedy
from mechdesign.problems.spectrum.channel.problem import SpectrumChannel, nobody, outcome


def run(problem: SpectrumChannel) -> Outcome:
    """Return the best list found."""
    covered = nobody(problem, "lists")
    if covered is not None:
        return covered
    found = Greedy(problem.channel).best()
    radii = problem.channel.allowed(found.radii, found.level)
    return outcome(problem, radii, found.level, "lists")


METHOD = Method(
    name="greedy",
    problem=SpectrumChannel,
    kind="heuristic",
    preference=50,
    summary="users served in the order of a list that is improved",
    run=run,
)
