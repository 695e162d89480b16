"""The protocols of ``shuffle-counting`` with the constants of their papers."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.methods import published_methods

METHODS = published_methods(ShuffleCounting)
