"""``shuffle-amplification`` exactly, for few users: all data of the others in rational arithmetic."""

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.shuffle.amplification.outcomes import settled
from mechdesign.problems.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.problems.shuffle.exact import exact_attack, exact_epsilon, why_not_exact


def run(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon that holds for all data, and one next to it that fails for some."""
    setting = problem.setting
    epsilon = exact_epsilon(setting)
    bound, text = exact_attack(setting, epsilon)
    return settled(epsilon, bound, text, "exact", "enumeration in rational arithmetic")


METHOD = Method(
    name="exact",
    problem=ShuffleAmplification,
    kind="numeric",
    preference=10,
    summary="every data set of few users in rational arithmetic",
    run=run,
    why_not=lambda problem: why_not_exact(problem.setting),
)
