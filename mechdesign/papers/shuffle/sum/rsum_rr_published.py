"""The protocol ``rsum-rr`` with the constants of its paper."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

METHOD = protocol_method(ShuffleSum, "rsum-rr-published", 37)
