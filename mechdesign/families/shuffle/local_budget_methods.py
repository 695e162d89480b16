"""The methods of ``shuffle-local-budget``: the first one that applies is the default.

Those with an algorithm of their own: ``exact`` for few users, every data set in rational arithmetic, inverted
by bisection; ``binary`` for binary randomized response over all data of the others, in ranges of them;
``convolution`` on a lattice: whether a channel is enough, or how much noise is.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.shuffle import theorems
from mechdesign.families.shuffle.enumeration import enumeration, exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import (
    binary,
    blanket,
    clones,
    guessed,
    lattice,
    local_bracket,
    why_no_lattice,
    why_not_binary,
)
from mechdesign.families.shuffle.local_budget import (
    ShuffleLocalBudget,
    outcome,
    search_method,
    searched_epsilon,
    theorem_method,
    why_not_channel,
)

PROVEN_HERE = "proven here; rounding and omitted tails are added"
BY_CONVOLUTION = "Balle et al. (2019), lemma 5.3, evaluated here with all tails"
SOLVER = "enumeration in rational arithmetic"

STEPS = 30
"""About how many local epsilons are looked at, each with an enumeration of its own."""

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
    epsilon, beyond = local_bracket(ranges, delta, central, guess, PRECISION)
    if epsilon < beyond and plain(beyond) <= delta:  # the blanket loses less than the ranges do
        epsilon, _ = local_bracket(plain, delta, central, guess, PRECISION)
    return outcome(problem, epsilon, PROVEN_HERE, "bisection")


def exact_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon that holds for all data, and one next to it that fails for some."""
    central, delta = problem.central_epsilon, problem.delta
    if problem.setting.randomizer.kind == "channel":
        return _of_channel(problem)

    def divergence(local: float) -> float:
        return exact_delta(problem.setting_with(local), central)

    epsilon, beyond = local_bracket(divergence, delta, central, guessed(problem.setting, central))
    variables = {"local_epsilon": epsilon}
    if beyond <= epsilon:  # everything is enough
        return Outcome("optimal", variables, epsilon, "the largest local epsilon that is considered", SOLVER)
    data, fails = _worst_data(problem, beyond)
    return Outcome(
        "optimal" if fails else "feasible",
        variables,
        beyond if fails else None,
        f"the exact divergence when the others have {data}" if fails else "",
        SOLVER,
        notes={"grade": "exact"},
    )


def _worst_data(problem: ShuffleLocalBudget, local: float) -> tuple[str, bool]:
    """Return the worst data for a local epsilon, and whether it has more than delta, rounded down."""
    laws = enumeration(problem.setting_with(local), False)
    largest, place = laws.delta(problem.central_epsilon)
    return ", ".join(map(str, laws.laws[place][0])), largest > Fraction(problem.delta)


def _of_channel(problem: ShuffleLocalBudget) -> Outcome:
    local = problem.setting.randomizer.epsilon
    delta = exact_delta(problem.setting_with(local), problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"this channel has delta = {delta:.4g}; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome("optimal", {"local_epsilon": local}, local, source, SOLVER, notes={"grade": "exact"})


def why_not_exact_local(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    return why_not_exact(problem.setting, 1 if problem.setting.randomizer.kind == "channel" else STEPS)


def convolution_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the local epsilon of a channel if it is enough; of others the largest that is."""
    randomizer = problem.setting.randomizer
    if randomizer.kind != "channel":
        return searched_epsilon(problem, lattice, BY_CONVOLUTION)
    local = randomizer.epsilon
    delta = lattice(problem.setting_with(local))(problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"for this channel only delta = {delta:.4g} is proven; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome(
        "optimal", {"local_epsilon": local}, local, source, "convolution", notes={"grade": BY_CONVOLUTION}
    )


def why_no_convolution(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    setting = problem.setting
    if setting.randomizer.kind != "channel":
        return None
    return why_no_lattice(replace(setting, local_epsilon=setting.randomizer.epsilon))


METHODS = (
    Method("exact", ShuffleLocalBudget, "numeric",
           "every data set of few users in rational arithmetic, by bisection",
           exact_local, why_not_exact_local),
    Method("binary", ShuffleLocalBudget, "numeric",
           "all data of binary randomized response, in ranges of them, rounded up",
           binary_local, lambda problem: why_not_binary(problem.setting)),
    search_method("blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  PROVEN_HERE, blanket, why_not_channel),
    Method("convolution", ShuffleLocalBudget, "numeric",
           "privacy blanket by convolution of positive terms, rounded up",
           convolution_local, why_no_convolution),
    search_method("clones", "numeric clones for any randomizer, rounded up",
                  "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
                  clones, why_not_channel),
    theorem_method(theorems.THEOREM_4, "theorem 4 of the survey, for k-ary response, inverted"),
    theorem_method(theorems.THEOREM_3, "theorem 3 of the survey, for binary randomized response, inverted"),
    theorem_method(theorems.CLONES, "closed form of the clones, for any randomizer, inverted"),
    theorem_method(theorems.RELAXED_3, "eq. (7) of the survey, a relaxation of theorem 3, inverted"),
    theorem_method(theorems.THEOREM_1,
                   "theorem 1 of the survey, for any randomizer and interaction, inverted"),
    theorem_method(theorems.BENNETT, "privacy blanket with Bennett's inequality, inverted"),
    theorem_method(theorems.HOEFFDING, "privacy blanket with Hoeffding's inequality, inverted"),
    # These two are not proven here.
    theorem_method(theorems.STRONGER_KARY,
                   "closed form of the stronger clones for k-ary response, from the literature, inverted"),
    theorem_method(theorems.STRONGER_CLONES,
                   "closed form of the stronger clones, from the literature, inverted"),
)  # fmt: skip
