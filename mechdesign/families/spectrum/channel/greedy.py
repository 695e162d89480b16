"""Users served one after the other from good lists, over a grid of L, then annealing; no bound."""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.families.spectrum.channel.problem import SpectrumChannel, nobody, outcome
from mechdesign.families.spectrum.many import quick


def run(problem: SpectrumChannel) -> Outcome:
    """Return the best allocation found."""
    covered = nobody(problem, "lists and annealing")
    if covered is not None:
        return covered
    found = quick(problem.channel)
    radii = problem.channel.allowed(found.radii, found.level)
    return outcome(problem, radii, found.level, "lists and annealing")
