"""Mean estimation: the one-bit interval (Liu, Zhou 2023), and the best mechanism itself."""

from mechdesign.problems.mean.channel.problem import MeanChannel
from mechdesign.problems.mean.choose import choose
from mechdesign.problems.mean.interval.problem import MeanInterval

PROBLEMS = (MeanInterval, MeanChannel)
EXPORTS = ("choose",)

__all__ = ["EXPORTS", "PROBLEMS", "MeanChannel", "MeanInterval", "choose"]
