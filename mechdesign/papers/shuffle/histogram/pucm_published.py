"""The protocol ``pucm`` with the constants of its paper."""

from mechdesign.problems.shuffle.histogram.problem import ShuffleHistogram
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleHistogram, "pucm-published", 90)
