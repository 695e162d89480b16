"""The protocol ``rsum-rr`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.sum.problem import ShuffleSum

METHOD = protocol_method(ShuffleSum, "rsum-rr", 35)
