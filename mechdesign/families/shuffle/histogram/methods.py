"""The methods of ``shuffle-histogram``: the best protocol, then the table of ``kinds``."""

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.histogram.problem import ShuffleHistogram

METHODS = protocol_methods(ShuffleHistogram)
