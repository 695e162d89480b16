"""The protocol ``uniformity-dump`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.uniformity.problem import ShuffleUniformity

METHOD = protocol_method(ShuffleUniformity, "uniformity-dump", 20)
