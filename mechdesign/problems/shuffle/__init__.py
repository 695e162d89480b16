"""The shuffle model: how private shuffled reports are, and how private each has to be by itself."""

from mechdesign.problems.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.problems.shuffle.local_budget.problem import ShuffleLocalBudget

PROBLEMS = (ShuffleAmplification, ShuffleLocalBudget)

__all__ = ["PROBLEMS", "ShuffleAmplification", "ShuffleLocalBudget"]
