"""Mean estimation: the one-bit interval (Liu, Zhou 2023), and the best mechanism itself."""

from mechdesign.problems.mean.channel import MeanChannel
from mechdesign.problems.mean.interval import MeanInterval

PROBLEMS = (MeanInterval, MeanChannel)

__all__ = ["PROBLEMS", "MeanChannel", "MeanInterval"]
