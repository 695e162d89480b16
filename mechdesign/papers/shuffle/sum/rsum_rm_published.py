"""The protocol ``rsum-rm`` with the constants of its paper."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

METHOD = protocol_method(ShuffleSum, "rsum-rm-published", 32)
