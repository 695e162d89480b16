"""The random censoring model itself, eqs. (3) to (8): the interval [0, 1], an unbiased mean and no privacy.

A user draws y uniformly in [a, a + b] and reports whether x >= y. The share Z of ones has the expectation
(E X - a)/b, so b Z + a is unbiased, and for given users n times its variance is the mean of
(x - a)(a + b - x), at most (mu - a)(a + b - mu) by Jensen's inequality: eqs. (3) to (7). The ratio x/x' of
the probabilities of a one has no bound, eq. (8). It is the protocol that the source calls pure, or No-DP.
"""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.mean.interval.problem import MeanInterval


def run(problem: MeanInterval) -> Outcome:
    """Return the interval [0, 1], whatever epsilon is."""
    return Outcome(
        status="feasible",
        variables={"interval": [0.0, 1.0]},
        solver="the random censoring model",
        notes={"source": "eqs. (3) to (8); theorems 3 and 4"},
    )


METHOD = Method(
    name="censoring",
    problem=MeanInterval,
    kind="published",
    preference=92,
    summary="the random censoring model without differential privacy: not private",
    run=run,
)
