"""The published optimum of the utility at the mean widening, judged by the utility that is expected."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.spectrum.primary.problem import SpectrumPrimary, infeasible
from mechdesign.families.spectrum.primary.quartic import best_mean


def run(problem: SpectrumPrimary) -> Outcome:
    """Return the L that problem 6.4.5 has as its optimum; it claims none for the expectation."""
    nobody = infeasible(problem, "roots")
    if nobody is not None:
        return nobody
    level = best_mean(problem)[0]
    variables = {"privacy": level, "granted_radius": problem.granted(level)}
    return Outcome(status="feasible", variables=variables, solver="roots")


def why_not(problem: SpectrumPrimary) -> str | None:
    """For the mean widening it is right, and is the method ``quartic``."""
    return "for the mean widening it is the method 'quartic'" if problem.widening == "mean" else None


METHODS = (
    Method("published", SpectrumPrimary, "published",
           "the optimum at the mean widening, although the widening is random", run, why_not),
)  # fmt: skip
