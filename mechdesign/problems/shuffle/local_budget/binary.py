"""``shuffle-local-budget`` of binary randomized response over all data of the others, in ranges of them."""

from mechdesign.core.method import Outcome
from mechdesign.problems.shuffle.judge import binary, blanket, bracket, guessed
from mechdesign.problems.shuffle.local_budget.outcomes import outcome
from mechdesign.problems.shuffle.local_budget.problem import ShuffleLocalBudget
from mechdesign.problems.shuffle.theorems import LARGEST


def run(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon for which delta is proven in every range of the data."""
    central, delta = problem.central_epsilon, problem.delta

    def enough(local: float) -> bool:
        if local <= central:
            return True
        setting = problem.setting_with(local)
        return blanket(setting)(central) <= delta or binary(setting).enough(central, delta)

    guess = guessed(problem.setting, central)
    found, _ = bracket(enough, central, LARGEST, guess, precision=1e-5)
    return outcome(problem, found, "proven here; rounding and omitted tails are added", "bisection")
