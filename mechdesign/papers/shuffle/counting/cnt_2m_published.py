"""The protocol ``cnt-2m`` with the constants of its paper."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleCounting, "cnt-2m-published", 35)
