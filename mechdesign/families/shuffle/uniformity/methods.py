"""The methods of ``shuffle-uniformity``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.uniformity.problem import ShuffleUniformity

METHODS = protocol_methods(ShuffleUniformity)
