"""The methods of ``shuffle-distinct``: the best protocol, then the table of ``kinds``."""

from mechdesign.problems.shuffle.distinct.problem import ShuffleDistinct
from mechdesign.problems.shuffle.methods import protocol_methods

METHODS = protocol_methods(ShuffleDistinct)
