"""The protocol ``hist-rr`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleHistogram, "hist-rr", 62)
