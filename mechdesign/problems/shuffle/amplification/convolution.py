"""``shuffle-amplification`` of a finite channel by its blanket, by convolution on a lattice.

It shares no code with the binomial sums. For any randomizer it takes binary randomized response, the worst.
"""

from mechdesign.problems.shuffle.amplification.outcomes import numeric
from mechdesign.problems.shuffle.judge import lattice, why_no_lattice

METHOD = numeric(
    "convolution",
    30,
    "privacy blanket of a finite channel by convolution of positive terms, rounded up",
    "Balle et al. (2019), lemma 5.3, evaluated here with all tails",
    lattice,
    lambda problem: why_no_lattice(problem.setting),
)
