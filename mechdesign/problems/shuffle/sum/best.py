"""All protocols of the list that fit, each with its noise: the one with the least error."""

from mechdesign.problems.shuffle.methods import best_method
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

METHOD = best_method(ShuffleSum)
