"""The protocols of ``shuffle-counting`` with the constants of their papers."""

from mechdesign.families.shuffle.counting.problem import ShuffleCounting
from mechdesign.families.shuffle.papers.constants import published_methods

METHODS = published_methods(ShuffleCounting)
