"""The methods of ``shuffle-histogram``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.histogram import ShuffleHistogram

METHODS = protocol_methods(ShuffleHistogram)
