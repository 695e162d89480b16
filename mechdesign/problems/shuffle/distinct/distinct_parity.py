"""The protocol ``distinct-parity`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.distinct.problem import ShuffleDistinct
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleDistinct, "distinct-parity", 20)
