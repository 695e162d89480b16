"""The methods of ``shuffle-histogram``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.families.shuffle.methods import protocol_methods

METHODS = protocol_methods(ShuffleHistogram)
