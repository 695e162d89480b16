"""The methods of ``shuffle-counting``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.counting.problem import ShuffleCounting

METHODS = protocol_methods(ShuffleCounting)
