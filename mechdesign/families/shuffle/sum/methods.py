"""The methods of ``shuffle-sum``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.sum.problem import ShuffleSum

METHODS = protocol_methods(ShuffleSum)
