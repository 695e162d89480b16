"""The protocols of ``shuffle-histogram`` with the constants of their papers."""

from mechdesign.papers.shuffle.constants import published_methods
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram

METHODS = published_methods(ShuffleHistogram)
