"""The methods of ``shuffle-distinct``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.distinct.problem import ShuffleDistinct

METHODS = protocol_methods(ShuffleDistinct)
