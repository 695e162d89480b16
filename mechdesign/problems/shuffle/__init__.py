"""The shuffle model: how private shuffled reports are, what each needs by itself, and protocols that run."""

from mechdesign.problems.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.design import shuffled
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.local_budget.problem import ShuffleLocalBudget
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

PROBLEMS = (ShuffleAmplification, ShuffleCounting, ShuffleHistogram, ShuffleLocalBudget, ShuffleSum)
EXPORTS = ("shuffled",)

__all__ = [
    "EXPORTS",
    "PROBLEMS",
    "ShuffleAmplification",
    "ShuffleCounting",
    "ShuffleHistogram",
    "ShuffleLocalBudget",
    "ShuffleSum",
    "shuffled",
]
