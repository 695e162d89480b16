"""The methods of ``shuffle-uniformity``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.uniformity import ShuffleUniformity

METHODS = protocol_methods(ShuffleUniformity)
