"""The protocol ``solh`` with the noise that its own divergence is proven for."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.candidates import kind_of, single, why_not
from mechdesign.problems.shuffle.histogram.kinds import KINDS
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram

KIND = kind_of(KINDS, "solh")


def run(problem: ShuffleHistogram) -> Outcome:
    """Return the protocol with its noise."""
    return single(problem, KIND)


METHOD = Method(
    name=KIND.name,
    problem=ShuffleHistogram,
    kind="numeric",
    preference=30,
    summary=KIND.summary,
    run=run,
    why_not=lambda problem: why_not(problem, KIND),
)
