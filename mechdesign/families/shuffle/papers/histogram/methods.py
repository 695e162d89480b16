"""The protocols of ``shuffle-histogram`` with the constants of their papers."""

from mechdesign.families.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.families.shuffle.papers.constants import published_methods

METHODS = published_methods(ShuffleHistogram)
