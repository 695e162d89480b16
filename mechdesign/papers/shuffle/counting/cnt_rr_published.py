"""The protocol ``cnt-rr`` with the constants of its paper."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleCounting, "cnt-rr-published", 25)
