"""What one channel grants in a slot: the best radii in the rooms that the owner's tiles leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechdesign.core.certificate import WITHIN, Certificate
from mechdesign.exact.exponential import float_down
from mechdesign.families.spectrum.allocate import best_radii
from mechdesign.families.spectrum.audit.interference import audit_interference
from mechdesign.families.spectrum.audit.polygon import squared_distance_to
from mechdesign.families.spectrum.channel_program import Array, Channel, root_below
from mechdesign.families.spectrum.registered import Registered
from mechdesign.families.spectrum.tile import Tiling

NODES = 20_000


@dataclass(frozen=True)
class Region:
    """Where the owner of a channel may be: a union of tiles, and the protection radius around it.

    Attributes
    ----------
    tiling : Tiling
    registered : Registered
    """

    tiling: Tiling
    registered: Registered

    @property
    def area(self) -> Fraction:
        """The area of the tiles."""
        return len(self.registered.tiles) * self.tiling.area

    def room(self, x: float, y: float, privacy: float = 0.0) -> float:
        """Return the radius left to a user within ``privacy`` of a location; below 0 where it may not send.

        The distance to the nearest point of the tiles, less protection and privacy radius, rounded down.

        Examples
        --------
        >>> Region(Tiling.of(2.0), Registered(((0, 0),), 1.0)).room(0.0, 9.0, 0.5)
        5.5
        """
        apart = root_below(self.tiling.nearest(self.registered.tiles, x, y))
        return float_down(apart - Fraction(self.registered.protection) - Fraction(privacy))

    def room_by_sides(self, x: float, y: float, privacy: float) -> float:
        """Return the same by the sides of every tile, without its symmetry: for the audit."""
        place = Fraction(x), Fraction(y)
        tiles = self.registered.tiles
        square = min(squared_distance_to(place, self.tiling.vertices(tile)) for tile in tiles)
        return float_down(root_below(square) - Fraction(self.registered.protection) - Fraction(privacy))


@dataclass(frozen=True)
class Grant:
    """Radii of all users who asked for a channel.

    Attributes
    ----------
    channel : Channel
        The users; it knows no owner.
    region : Region or None
        The owner's tiles; None: the channel is idle.
    rooms : (n,) array
        How far each user may send as far as the owner is concerned.
    radii : (n,) array
    bound : float
        No radii pay more in these rooms.
    """

    channel: Channel
    region: Region | None
    rooms: Array
    radii: Array
    bound: float

    def certificate(self, name: str) -> Certificate:
        """Return the exact check that nobody was disturbed, wherever in its tiles the owner is."""
        channel, served = self.channel, np.flatnonzero(self.radii > 0)
        reach = [[float(channel.privacy[j]), float(self.radii[j])] for j in served]
        polygons = (
            []
            if self.region is None
            else list(map(self.region.tiling.vertices, self.region.registered.tiles))
        )
        ring = 0.0 if self.region is None else self.region.registered.protection
        x, y = channel.x[served], channel.y[served]
        audit = audit_interference(x, y, reach, regions=polygons, region_reach=[ring]).certificate()
        where = "" if self.region is None else ", anywhere in the owner's tiles"
        note = f"channel {name}: what was granted in the last slot{where}"
        return Certificate(audit.property, audit.holds, True, audit.figures, audit.witness, note)

    def optimality(self, name: str) -> Certificate:
        """Return whether no other radii pay more in these rooms."""
        value = float(sum(self.channel.revenue(self.radii).tolist()))
        figures = {"value": value, "bound": self.bound, "gap": self.bound - value}
        note = f"channel {name}: a search tree over all vertices, in the rooms that the tiles leave"
        holds = self.bound - value <= WITHIN * float(self.channel.revenue(self.channel.radius).sum())
        among = "all radii in the rooms that the tiles leave"
        return Certificate("optimality", holds, False, figures, note=note, among=among)

    def of_tiles_alone(self) -> bool:
        """Return whether every room is what the tiles give, computed in a second way."""
        if self.region is None:
            return bool(np.isinf(self.rooms).all())
        users = zip(
            self.channel.x.tolist(), self.channel.y.tolist(), self.channel.privacy.tolist(), strict=True
        )
        expected = [self.region.room_by_sides(*user) for user in users]
        return bool(self.rooms.tolist() == expected)

    def said(self, user: int) -> tuple[str, float]:
        """Return status and radius of a user: functions of the tiles and of the reports alone."""
        radius = float(self.radii[user])
        if radius > 0:
            return "served", radius
        return ("covered" if self.rooms[user] <= 0 else "not served"), 0.0


def granted(channel: Channel, region: Region | None) -> Grant:
    """Return the best radii for the rooms that the owner's tiles leave."""
    rooms = np.full(channel.size, np.inf)
    if region is not None:
        users: Sequence[tuple[float, float, float]] = list(
            zip(channel.x.tolist(), channel.y.tolist(), channel.privacy.tolist(), strict=True)
        )
        rooms = np.array([region.room(*user) for user in users])
    caps = np.clip(np.minimum(channel.radius, rooms), 0.0, None)
    radii, bound = best_radii(channel, caps, NODES)
    allowed = channel.allowed(np.minimum(radii, caps), 0.0)
    return Grant(channel, region, rooms, allowed, bound + channel.rounding)
