"""All protocols of the list that fit, each with its noise: the one with the least error."""

from mechdesign.problems.shuffle.distinct.problem import ShuffleDistinct
from mechdesign.problems.shuffle.methods import best_method

METHOD = best_method(ShuffleDistinct)
