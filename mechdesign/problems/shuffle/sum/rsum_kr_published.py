"""The protocol ``rsum-kr`` with the constants of its paper."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.candidates import kind_of, single, why_not
from mechdesign.problems.shuffle.sum.kinds import KINDS
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

KIND = kind_of(KINDS, "rsum-kr-published")


def run(problem: ShuffleSum) -> Outcome:
    """Return the protocol with its noise."""
    return single(problem, KIND)


METHOD = Method(
    name=KIND.name,
    problem=ShuffleSum,
    kind="heuristic",
    preference=25,
    summary=KIND.summary,
    run=run,
    why_not=lambda problem: why_not(problem, KIND),
)
