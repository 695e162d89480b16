"""The methods of ``shuffle-histogram``: the best protocol, then the table of ``kinds``."""

from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.methods import protocol_methods

METHODS = protocol_methods(ShuffleHistogram)
