"""The methods of ``shuffle-uniformity``: the best protocol, then the table of ``kinds``."""

from mechdesign.problems.shuffle.methods import protocol_methods
from mechdesign.problems.shuffle.uniformity.problem import ShuffleUniformity

METHODS = protocol_methods(ShuffleUniformity)
