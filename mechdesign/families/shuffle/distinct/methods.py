"""The methods of ``shuffle-distinct``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.distinct.problem import ShuffleDistinct
from mechdesign.families.shuffle.methods import protocol_methods

METHODS = protocol_methods(ShuffleDistinct)
