"""Set response: several attributes in one report of one epsilon, each a set of answers."""

from mechdesign.mechanisms.sets.response import SetResponse
from mechdesign.mechanisms.sets.server import SetCounts
from mechdesign.mechanisms.sets.shapes import CellSet, MatchSet, ProductSet, SetShape

__all__ = ["CellSet", "MatchSet", "ProductSet", "SetCounts", "SetResponse", "SetShape"]
