"""``shuffle-local-budget`` by convolution on a lattice: whether a channel is enough, or how much noise is."""

from dataclasses import replace

from mechdesign.core.method import Outcome
from mechdesign.families.shuffle.judge import lattice, why_no_lattice
from mechdesign.families.shuffle.local_budget.outcomes import searched_epsilon
from mechdesign.families.shuffle.local_budget.problem import ShuffleLocalBudget

GRADE = "Balle et al. (2019), lemma 5.3, evaluated here with all tails"


def convolution_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the local epsilon of a channel if it is enough; of others the largest that is."""
    randomizer = problem.setting.randomizer
    if randomizer.kind != "channel":
        return searched_epsilon(problem, lattice, GRADE)
    local = randomizer.epsilon
    delta = lattice(problem.setting_with(local))(problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"for this channel only delta = {delta:.4g} is proven; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome("optimal", {"local_epsilon": local}, local, source, "convolution", notes={"grade": GRADE})


def why_no_convolution(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    setting = problem.setting
    if setting.randomizer.kind != "channel":
        return None
    return why_no_lattice(replace(setting, local_epsilon=setting.randomizer.epsilon))
