"""Frequency oracles: unary encoding, subset selection, local hashing, Hadamard and projective response."""

from mechdesign.mechanisms.oracles.base import SupportOracle
from mechdesign.mechanisms.oracles.hadamard import HadamardResponse
from mechdesign.mechanisms.oracles.hashing import LocalHashing
from mechdesign.mechanisms.oracles.projective import ProjectiveGeometry
from mechdesign.mechanisms.oracles.server import SupportCounts
from mechdesign.mechanisms.oracles.subset import SubsetSelection
from mechdesign.mechanisms.oracles.unary import UnaryEncoding

__all__ = [
    "HadamardResponse",
    "LocalHashing",
    "ProjectiveGeometry",
    "SubsetSelection",
    "SupportCounts",
    "SupportOracle",
    "UnaryEncoding",
]
