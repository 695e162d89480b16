"""What one channel grants in a slot: the best mean widening, the drawn one, and the best radii for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mechdesign.mechanisms.spectrum.allocate import best_pattern, best_radii
from mechdesign.mechanisms.spectrum.channel import Array, Channel
from mechdesign.mechanisms.spectrum.greedy import Greedy

FEW = 7
"""Up to so many users the best mean widening is found by all vertex patterns, beyond by a heuristic."""

NODES = 20_000


@dataclass(frozen=True)
class Grant:
    """Radii of all who asked for a channel.

    Attributes
    ----------
    channel : Channel
    radii : (n,) array
    level, widening : float
        The best mean L, and what was drawn; 0 where the channel is idle.
    bound : float
        No radii pay more for this widening.
    """

    channel: Channel
    radii: Array
    level: float
    widening: float
    bound: float

    def said(self, user: int) -> tuple[str, float]:
        """Return status and radius of a user."""
        radius = float(self.radii[user])
        if radius > 0:
            return "served", radius
        if self.channel.owner is not None:
            if self.channel.reach[user] <= 0:
                return "covered", 0.0
            if self.channel.reach[user] <= self.widening:
                return "owner hidden", 0.0
        return "not served", 0.0


def granted(channel: Channel, unit: float) -> Grant:
    """Return the best radii when the owner's widening is its best mean times a unit exponential draw.

    Where nobody can be served whatever is drawn, the status of each user says so.
    """
    if channel.owner is None:
        return _radii(channel, 0.0, 0.0)
    if channel.most <= 0:
        return Grant(channel, np.zeros(channel.size), 0.0, 0.0, 0.0)
    if channel.size <= FEW:
        level = best_pattern(channel, NODES).level
    else:
        level = Greedy(channel).best().level
    return _radii(channel, level, level * unit)


def _radii(channel: Channel, level: float, widening: float) -> Grant:
    caps = np.clip(np.minimum(channel.radius, channel.reach - widening), 0.0, None)
    radii, bound = best_radii(channel, caps, NODES)
    return Grant(channel, channel.allowed(radii, widening), level, widening, bound + channel.rounding)
