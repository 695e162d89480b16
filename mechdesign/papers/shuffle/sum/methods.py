"""The protocols of ``shuffle-sum`` with the constants of their papers."""

from mechdesign.papers.shuffle.constants import published_methods
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

METHODS = published_methods(ShuffleSum)
