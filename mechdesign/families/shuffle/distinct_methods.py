"""The methods of ``shuffle-distinct``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.distinct import ShuffleDistinct

METHODS = protocol_methods(ShuffleDistinct)
