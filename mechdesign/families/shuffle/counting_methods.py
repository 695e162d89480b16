"""The methods of ``shuffle-counting``: the best protocol, then each of its ``KINDS``."""

from __future__ import annotations

from mechdesign.families.shuffle.choosing import protocol_methods
from mechdesign.families.shuffle.counting import ShuffleCounting

METHODS = protocol_methods(ShuffleCounting)
