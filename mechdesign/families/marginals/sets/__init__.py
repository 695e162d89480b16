"""Set response: several attributes in one report of one epsilon, each a set of answers."""

from mechdesign.families.marginals.sets.estimates import SetCounts
from mechdesign.families.marginals.sets.response import SetResponse
from mechdesign.families.marginals.sets.shapes import CellSet, MatchSet, ProductSet, SetShape

__all__ = ["CellSet", "MatchSet", "ProductSet", "SetCounts", "SetResponse", "SetShape"]
