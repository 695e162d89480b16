"""Mean estimation: the one-bit interval (Liu, Zhou 2023), and the best mechanism itself."""

from mechdesign.problems.mean.interval import MeanInterval

PROBLEMS = (MeanInterval,)

__all__ = ["PROBLEMS", "MeanInterval"]
