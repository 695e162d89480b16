"""What one channel grants in a slot: the best mean widening, the drawn one, and the best radii for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechdesign.core.certificate import Certificate
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
    level : float
        The best mean L; 0 where the channel is idle.
    widening : (n,) array
        What was drawn towards each user, infinite where no draw is left.
    bound : float
        No radii pay more for this widening.
    """

    channel: Channel
    radii: Array
    level: float
    widening: Array
    bound: float

    def certificate(self, name: str) -> Certificate:
        """Return the exact check that nobody was disturbed in the last slot."""
        wide = np.where(np.isfinite(self.widening), self.widening, 0.0)
        audit = self.channel.audit(self.radii, wide).certificate()
        note = f"channel {name}: what was granted in the last slot"
        return Certificate(audit.property, audit.holds, True, audit.figures, audit.witness, note)

    def optimality(self, name: str) -> Certificate:
        """Return whether no other radii pay more, given what was drawn."""
        value = self.channel.utility(self.radii, math.inf)
        figures = {"value": value, "bound": self.bound, "gap": self.bound - value}
        note = f"channel {name}: a search tree over all vertices for the drawn widenings"
        holds = self.bound - value <= 1e-6 * float(self.channel.revenue(self.channel.radius).sum())
        return Certificate("optimality", holds, False, figures, note=note)

    def said(self, user: int) -> tuple[str, float]:
        """Return status and radius of a user."""
        radius = float(self.radii[user])
        if radius > 0:
            return "served", radius
        if self.channel.owner is not None:
            if self.channel.reach[user] <= 0:
                return "covered", 0.0
            if math.isinf(self.widening[user]):
                return "draws spent", 0.0
            if self.channel.reach[user] <= self.widening[user]:
                return "owner hidden", 0.0
        return "not served", 0.0


def granted(channel: Channel, units: Array) -> Grant:
    """Return the best radii when the widening towards each user is the best mean times its unit draw.

    Where nobody can be served whatever is drawn, the status of each user says so.
    """
    if channel.owner is None:
        return _radii(channel, 0.0, np.zeros(channel.size))
    if channel.most <= 0:
        return Grant(channel, np.zeros(channel.size), 0.0, np.zeros(channel.size), 0.0)
    if channel.size <= FEW:
        level = best_pattern(channel, NODES).level
    else:
        level = Greedy(channel).best().level
    return _radii(channel, level, level * units)


def _radii(channel: Channel, level: float, widening: Array) -> Grant:
    caps = np.clip(np.minimum(channel.radius, channel.reach - widening), 0.0, None)
    radii, bound = best_radii(channel, caps, NODES)
    finite = np.where(np.isfinite(widening), widening, channel.most)
    return Grant(channel, channel.allowed(radii, finite), level, widening, bound + channel.rounding)
