"""The protocols of ``shuffle-sum`` with the constants of their papers."""

from mechdesign.families.shuffle.papers.constants import published_methods
from mechdesign.families.shuffle.sum.problem import ShuffleSum

METHODS = published_methods(ShuffleSum)
