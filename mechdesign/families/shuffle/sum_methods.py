"""The methods of ``shuffle-sum``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.sum import ShuffleSum

METHODS = protocol_methods(ShuffleSum)
