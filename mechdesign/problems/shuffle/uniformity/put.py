"""The protocol ``put`` with the least noise and the fewest shares."""

from mechdesign.problems.shuffle.methods import protocol_method
from mechdesign.problems.shuffle.uniformity.problem import ShuffleUniformity

METHOD = protocol_method(ShuffleUniformity, "put", 22)
