"""The protocol ``aut`` with the coins that its own divergence is proven for."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.uniformity.problem import ShuffleUniformity

METHOD = protocol_method(ShuffleUniformity, "aut", 21)
