"""The shuffle model: protocols whose messages are mixed before anybody sees them."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

PROBLEMS = (ShuffleCounting, ShuffleHistogram, ShuffleSum)

__all__ = ["PROBLEMS", "ShuffleCounting", "ShuffleHistogram", "ShuffleSum"]
