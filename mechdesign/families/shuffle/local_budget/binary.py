"""``shuffle-local-budget`` of binary randomized response over all data of the others, in ranges of them."""

from mechdesign.core.method import Outcome
from mechdesign.families.shuffle.judge import binary, blanket, guessed, local_bracket
from mechdesign.families.shuffle.local_budget.outcomes import outcome
from mechdesign.families.shuffle.local_budget.problem import ShuffleLocalBudget

PRECISION = 1e-5
"""To which part of it the largest local epsilon is found; always from below."""


def binary_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon for which delta is proven in every range of the data."""
    central, delta = problem.central_epsilon, problem.delta

    def ranges(local: float) -> float:
        return binary(problem.setting_with(local)).until(central, delta)

    def plain(local: float) -> float:
        return blanket(problem.setting_with(local))(central)

    guess = guessed(problem.setting, central)
    found, beyond = local_bracket(ranges, delta, central, guess, PRECISION)
    if found < beyond and plain(beyond) <= delta:  # the blanket loses less than the ranges do
        found, _ = local_bracket(plain, delta, central, guess, PRECISION)
    return outcome(problem, found, "proven here; rounding and omitted tails are added", "bisection")
