"""The protocols of ``shuffle-histogram`` with the constants of their papers."""

from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.methods import published_methods

METHODS = published_methods(ShuffleHistogram)
