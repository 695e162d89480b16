"""The protocol ``cnt-bn`` with the noise that its own divergence is proven for."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.candidates import kind_of, single, why_not
from mechdesign.problems.shuffle.counting.kinds import KINDS
from mechdesign.problems.shuffle.counting.problem import ShuffleCounting

KIND = kind_of(KINDS, "cnt-bn")


def run(problem: ShuffleCounting) -> Outcome:
    """Return the protocol with its noise."""
    return single(problem, KIND)


METHOD = Method(
    name=KIND.name,
    problem=ShuffleCounting,
    kind="numeric",
    preference=40,
    summary=KIND.summary,
    run=run,
    why_not=lambda problem: why_not(problem, KIND),
)
