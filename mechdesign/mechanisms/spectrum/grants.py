"""What one channel grants in a slot: the mean of a new widening, and the best radii for what was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechdesign.audit.exponential import float_down
from mechdesign.core.certificate import Certificate
from mechdesign.mechanisms.spectrum.allocate import best_pattern, best_radii
from mechdesign.mechanisms.spectrum.channel import Array, Channel, Owner, Point, distance_below
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
    widening : (n,) array
        What was drawn for the cell of each user, infinite where no draw is left; 0 where the channel is idle.
    rooms : (n,) array
        What is left of the distance between owner and cell, once both circles are taken away.
    bound : float
        No radii pay more in these rooms.
    """

    channel: Channel
    radii: Array
    widening: Array
    rooms: Array
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
        among = "all radii in the rooms that were drawn"
        return Certificate("optimality", holds, False, figures, note=note, among=among)

    def said(self, user: int) -> tuple[str, float]:
        """Return status and radius of a user.

        Whether the protection alone or only the widened circle is in the way is not told: who asks with one
        privacy radius after the other would find the edge of the protection.
        """
        radius = float(self.radii[user])
        if radius > 0:
            return "served", radius
        if math.isinf(self.widening[user]):
            return "draws spent", 0.0
        return ("covered" if self.rooms[user] <= 0 else "not served"), 0.0


def best_mean(channel: Channel, least: float) -> float:
    """Return the best mean widening for those who ask, or the least one, so that nobody makes it vanish.

    Without that, a user whose privacy radius leaves next to no room would have next to no widening drawn.
    """
    if channel.most <= 0:
        return least
    if channel.size <= FEW:
        return max(least, best_pattern(channel, NODES).level)
    return max(least, Greedy(channel).best().level)


def room_of(owner: Owner, corner: Point, side: Fraction, widening: float, privacy: float) -> float:
    """Return what is left of the distance between an owner and the nearest point of a cell, rounded down.

    All places of the cell get the same room, so that they tell one number together.

    Examples
    --------
    >>> cell = (Fraction(3), Fraction(-1))
    >>> room_of(Owner(0.0, 0.0, 1.0), cell, Fraction(2), 0.5, 0.25)
    1.25
    """
    near = [
        min(max(Fraction(place), low), low + side)
        for place, low in zip((owner.x, owner.y), corner, strict=True)
    ]
    apart = distance_below((near[0], near[1]), (owner.x, owner.y))
    return float_down(apart - Fraction(owner.protection) - Fraction(widening) - Fraction(privacy))


def granted(channel: Channel, widening: Array, rooms: Array) -> Grant:
    """Return the best radii for the rooms that the owner leaves."""
    caps = np.clip(np.minimum(channel.radius, rooms), 0.0, None)
    radii, bound = best_radii(channel, caps, NODES)
    allowed = channel.allowed(np.minimum(radii, caps), 0.0)
    return Grant(channel, allowed, widening, rooms, bound + channel.rounding)
