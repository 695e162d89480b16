"""The protocol ``cnt-sgm`` with the noise that its own divergence is proven for."""

from mechdesign.problems.shuffle.counting.problem import ShuffleCounting
from mechdesign.problems.shuffle.methods import protocol_method

METHOD = protocol_method(ShuffleCounting, "cnt-sgm", 50)
