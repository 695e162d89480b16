"""The protocols of ``shuffle-counting`` with the constants of their papers."""

from mechdesign.papers.shuffle.constants import published_methods
from mechdesign.problems.shuffle.counting.problem import ShuffleCounting

METHODS = published_methods(ShuffleCounting)
