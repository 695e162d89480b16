"""All protocols of the list that fit, each with its noise: the one with the least error."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.candidates import best_of
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram


def run(problem: ShuffleHistogram) -> Outcome:
    """Return the protocol of least error."""
    return best_of(problem)


METHOD = Method(
    name="best",
    problem=ShuffleHistogram,
    kind="analytic",
    preference=10,
    summary="the protocol of least error of all that fit",
    run=run,
)
