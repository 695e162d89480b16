"""The best utility that a channel has with a widening that is given."""

from __future__ import annotations

import numpy as np

from mechdesign.families.spectrum.allocate import best_radii
from mechdesign.families.spectrum.channel_program import Channel

NODES = 20_000
"""Of the search for the best radii."""


def best_utility(channel: Channel, level: float) -> float:
    """Return the utility with the best radii for a widening L."""
    caps = np.clip(np.minimum(channel.radius, channel.reach - level), 0.0, None)
    return channel.utility(channel.allowed(best_radii(channel, caps, NODES)[0], level), level)
