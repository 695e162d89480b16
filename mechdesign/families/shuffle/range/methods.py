"""The methods of ``shuffle-range``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.range.problem import ShuffleRange

METHODS = protocol_methods(ShuffleRange)
