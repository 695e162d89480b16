"""The shuffle model: protocols whose messages are mixed before anybody sees them."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting

PROBLEMS = (ShuffleCounting,)

__all__ = ["PROBLEMS", "ShuffleCounting"]
