"""The protocol ``range-tree`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.range.problem import ShuffleRange

METHOD = protocol_method(ShuffleRange, "range-tree", 20)
