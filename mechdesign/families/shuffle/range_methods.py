"""The methods of ``shuffle-range``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.range import ShuffleRange

METHODS = protocol_methods(ShuffleRange)
