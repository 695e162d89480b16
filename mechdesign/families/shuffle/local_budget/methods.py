"""The methods of ``shuffle-local-budget``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.shuffle import judge, theorems
from mechdesign.families.shuffle.local_budget import binary, convolution, exact
from mechdesign.families.shuffle.local_budget.outcomes import search_method, theorem_method, why_not_channel
from mechdesign.families.shuffle.local_budget.problem import ShuffleLocalBudget
from mechdesign.families.shuffle.theorems import BENNETT, HOEFFDING

METHODS = (
    Method("exact", ShuffleLocalBudget, "numeric",
           "every data set of few users in rational arithmetic, by bisection",
           exact.exact_local, exact.why_not_exact_local),
    Method("binary", ShuffleLocalBudget, "numeric",
           "all data of binary randomized response, in ranges of them, rounded up",
           binary.binary_local, lambda problem: judge.why_not_binary(problem.setting)),
    search_method("blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  "proven here; rounding and omitted tails are added", judge.blanket, why_not_channel),
    Method("convolution", ShuffleLocalBudget, "numeric",
           "privacy blanket by convolution of positive terms, rounded up",
           convolution.convolution_local, convolution.why_no_convolution),
    search_method("clones", "numeric clones for any randomizer, rounded up",
                  "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
                  judge.clones, why_not_channel),
    theorem_method(theorems.THEOREM_4, "theorem 4 of the survey, for k-ary response, inverted"),
    theorem_method(theorems.THEOREM_3, "theorem 3 of the survey, for binary randomized response, inverted"),
    theorem_method(theorems.CLONES, "closed form of the clones, for any randomizer, inverted"),
    theorem_method(theorems.RELAXED_3, "eq. (7) of the survey, a relaxation of theorem 3, inverted"),
    theorem_method(theorems.THEOREM_1,
                   "theorem 1 of the survey, for any randomizer and interaction, inverted"),
    theorem_method(BENNETT, "privacy blanket with Bennett's inequality, inverted"),
    theorem_method(HOEFFDING, "privacy blanket with Hoeffding's inequality, inverted"),
    # These two are not proven here.
    theorem_method(theorems.STRONGER_KARY,
                   "closed form of the stronger clones for k-ary response, from the literature, inverted"),
    theorem_method(theorems.STRONGER_CLONES,
                   "closed form of the stronger clones, from the literature, inverted"),
)  # fmt: skip
