"""The protocol ``hist-dump`` with the noise that its own divergence is proven for."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.candidates import kind_of, single, why_not
from mechdesign.problems.shuffle.histogram.kinds import KINDS
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram

KIND = kind_of(KINDS, "hist-dump")


def run(problem: ShuffleHistogram) -> Outcome:
    """Return the protocol with its noise."""
    return single(problem, KIND)


METHOD = Method(
    name=KIND.name,
    problem=ShuffleHistogram,
    kind="numeric",
    preference=45,
    summary=KIND.summary,
    run=run,
    why_not=lambda problem: why_not(problem, KIND),
)
