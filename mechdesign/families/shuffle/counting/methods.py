"""The methods of ``shuffle-counting``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.counting.problem import ShuffleCounting
from mechdesign.families.shuffle.methods import protocol_methods

METHODS = protocol_methods(ShuffleCounting)
