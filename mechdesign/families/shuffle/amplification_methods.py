"""The methods of ``shuffle-amplification``: the first one that applies is the default.

``blanket`` and ``convolution`` share no code. For any randomizer the blanket is that of the pair of inputs,
e^-eps0 times the larger of their two laws; no pair does worse than binary randomized response
(docs/families/shuffle.md, theorem A).

``exact`` is for few users, ``binary`` for binary randomized response over all data of the others, in ranges.
"""

from __future__ import annotations

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.shuffle import theorems
from mechdesign.families.shuffle.amplification import (
    ShuffleAmplification,
    outcome,
    search_method,
    settled,
    theorem_method,
)
from mechdesign.families.shuffle.enumeration import exact_attack, exact_epsilon, why_not_exact
from mechdesign.families.shuffle.judge import (
    binary,
    blanket,
    clones,
    lattice,
    least_epsilon,
    why_no_lattice,
    why_not_binary,
)


def binary_central(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon for which delta is proven in every range of the data."""
    setting = problem.setting
    epsilon = 0.0
    if problem.local_epsilon > 0.0:
        # Near the least and the largest local epsilons the blanket loses less than the ranges do.
        plain = least_epsilon(blanket(setting), setting.delta, setting.local_epsilon)
        epsilon = min(plain, binary(setting).least(setting.delta, plain))
    return outcome(problem, epsilon, "proven here; rounding and omitted tails are added", "bisection")


def exact_central(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon that holds for all data, and one next to it that fails for some."""
    setting = problem.setting
    epsilon = exact_epsilon(setting)
    bound, text = exact_attack(setting, epsilon)
    return settled(epsilon, bound, text, "exact", "enumeration in rational arithmetic")


def why_no_blanket(problem: ShuffleAmplification) -> str | None:
    """Return why the blanket of all randomizers does not apply (a channel has its own), or None."""
    if problem.setting.randomizer.kind == "channel" and why_no_lattice(problem.setting) is None:
        return "a channel has a blanket of its own: see convolution"
    return None


METHODS = (
    Method("exact", ShuffleAmplification, "numeric", "every data set of few users in rational arithmetic",
           exact_central, lambda problem: why_not_exact(problem.setting)),
    Method("binary", ShuffleAmplification, "numeric",
           "all data of binary randomized response, in ranges of them, rounded up",
           binary_central, lambda problem: why_not_binary(problem.setting)),
    search_method("blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  "proven here; rounding and omitted tails are added", blanket, why_no_blanket),
    search_method("convolution",
                  "privacy blanket of a finite channel by convolution of positive terms, rounded up",
                  "Balle et al. (2019), lemma 5.3, evaluated here with all tails",
                  lattice, lambda problem: why_no_lattice(problem.setting)),
    search_method("clones", "numeric clones for any randomizer, rounded up",
                  "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
                  clones, lambda problem: None),
    theorem_method(theorems.THEOREM_4, "theorem 4 of the survey, for k-ary response"),
    theorem_method(theorems.THEOREM_3, "theorem 3 of the survey, for binary randomized response"),
    theorem_method(theorems.CLONES, "closed form of the clones, for any randomizer"),
    theorem_method(theorems.RELAXED_3, "eq. (7) of the survey, a relaxation of theorem 3"),
    theorem_method(theorems.THEOREM_1, "theorem 1 of the survey, for any randomizer and interaction"),
    theorem_method(theorems.BENNETT, "privacy blanket with Bennett's inequality"),
    theorem_method(theorems.HOEFFDING, "privacy blanket with Hoeffding's inequality"),
    # These two are not proven here.
    theorem_method(theorems.STRONGER_KARY,
                   "closed form of the stronger clones for k-ary response, from the literature"),
    theorem_method(theorems.STRONGER_CLONES, "closed form of the stronger clones, from the literature"),
)  # fmt: skip
