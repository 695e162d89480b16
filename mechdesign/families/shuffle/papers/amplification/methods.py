"""The published methods of ``shuffle-amplification``: never a default, and not counted for agreement."""

from mechdesign.core.method import Method, Outcome
from mechdesign.families.shuffle.amplification.outcomes import outcome, theorem_method
from mechdesign.families.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.families.shuffle.judge import least_epsilon
from mechdesign.families.shuffle.papers.theorem_2 import THEOREM_2
from mechdesign.families.shuffle.papers.variation_ratio import MOST_USERS, variation_ratio

GRADE = "the literature's variation ratio for k-ary response: refuted by exact counterexamples"


def run(problem: ShuffleAmplification) -> Outcome:
    """Return the central epsilon at which the formula says delta."""
    setting = problem.setting
    curve = variation_ratio(setting.users, setting.local_epsilon, setting.randomizer.size)
    epsilon = least_epsilon(curve, setting.delta, setting.local_epsilon)
    found = outcome(problem, epsilon, GRADE, "closed form")
    return Outcome("feasible", found.variables, found.bound, found.bound_source, "sum", "", found.notes)


def why_not(problem: ShuffleAmplification) -> str | None:
    """Return why the method does not apply, or None."""
    setting = problem.setting
    if setting.randomizer.kind != "k-ary" or setting.randomizer.size < 3:
        return "it is for k-ary response with three values or more"
    if setting.users > MOST_USERS:
        return f"it is evaluated for {MOST_USERS} honest users at most"
    return "its range is local epsilon > 0" if setting.local_epsilon == 0.0 else None


METHODS = (
    # The constant 1 makes it no theorem.
    theorem_method(THEOREM_2, "theorem 2 of the survey, asymptotic, with the constant 1"),
    Method("variation-ratio", ShuffleAmplification, "published",
           "the variation ratio of k-ary response as published", run, why_not),
)  # fmt: skip
