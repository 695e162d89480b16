"""``shuffle-amplification`` of binary randomized response over all data of the others, in ranges of them."""

from mechdesign.core.method import Outcome
from mechdesign.families.shuffle.amplification.outcomes import outcome
from mechdesign.families.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.families.shuffle.judge import binary, blanket, least_epsilon


def binary_central(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon for which delta is proven in every range of the data."""
    setting = problem.setting
    epsilon = 0.0
    if problem.local_epsilon > 0.0:
        # Near the least and the largest local epsilons the blanket loses less than the ranges do.
        plain = least_epsilon(blanket(setting), setting.delta, setting.local_epsilon)
        epsilon = min(plain, binary(setting).least(setting.delta, plain))
    return outcome(problem, epsilon, "proven here; rounding and omitted tails are added", "bisection")
