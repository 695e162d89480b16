"""The methods of ``shuffle-range``: the best protocol, then the table of ``kinds``."""

from mechdesign.problems.shuffle.methods import protocol_methods
from mechdesign.problems.shuffle.range.problem import ShuffleRange

METHODS = protocol_methods(ShuffleRange)
