"""Owners of channels: how near an attack comes to a widening and to a tile; what each costs in revenue."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.allocation import best_radii
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.database import Region
from mechdesign.families.spectrum.papers.attack import attack_errors, locate
from mechdesign.families.spectrum.registration import Registered
from mechdesign.families.spectrum.tiling import WIDTH, Tiling
from mechdesign.show.tables import table

Array = NDArray[np.float64]

TITLE = "Spectrum: what hides an owner, and what it costs"

SIDE, PRICE, PRIVACY, RADIUS, PROTECTION = 20.0, 0.1, 0.536173, 5.0, 1.0
"""Section 6.6 of the thesis: the map, k1, the user's best privacy radius, r0, and our protection radius."""

NOTES = """\
errors     medians of the distance from the attacker's guess to the owner, L = 1, places 5 to 10 away
widening   exponential with mean L for each place; attack by linear programs, protection radius unknown
hexagon    area pi L^2, the attack's answers from the tile alone, owner anywhere in it
revenue    two users a channel in 20 x 20, exact allocation; in brackets the standard error
formula    lambda (A T + P M): without the map's edge and without users in each other's way"""


def run(quick: bool) -> None:
    """Print the errors of the attack and the revenue lost."""
    print(NOTES)
    rows = [["1", f"{one_place(30 if quick else 150):.2f}", "-"]]
    for places, times in ((8, 2000), (100, 2000), (1000, 1000), (10_000, 200)):
        times = times // 20 if quick else times
        drawn = float(np.median(attack_errors(1.0, np.random.default_rng(7), places, times)))
        rows.append([str(places), f"{drawn:.3g}", f"{tile_error(places, 20 if quick else 400):.3g}"])
    print(table(["places", "widening", "hexagon"], rows), flush=True)
    channels = 60 if quick else 1500
    lost = [(level, losses(level, channels)) for level in (0.5, 1.0, 2.0)]
    known = lost[0][1]["known"][0]
    print(f"\n{channels} channels: {known:.3f} a channel where the place is known; lost:")
    names = [name for name in lost[0][1] if name != "known"]
    lines = [
        [
            f"{level:g}",
            *(f"{found[name][0]:.3f} ({found[name][1]:.3f})" for name in names),
            f"{formula(level):.3f}",
        ]
        for level, found in lost
    ]
    print(table(["L", *names, "hexagon by formula"], lines))


def one_place(times: int) -> float:
    """Return the median error after one answer, to the place with the least expected distance.

    The owner is uniform in the map, the attacker in its corner; places are a grid of 40 x 40.
    """
    rng, axis = np.random.default_rng(7), (np.arange(40) + 0.5) * SIDE / 40
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    apart = np.hypot(grid[:, None, 0] - grid[:, 0], grid[:, None, 1] - grid[:, 1])
    errors = []
    for _ in range(times):
        owner = rng.uniform(0.0, SIDE, 2)
        width = np.hypot(*grid.T) - (np.hypot(*owner) - rng.exponential())
        weight = np.where(width >= 0, np.exp(-np.maximum(width, 0.0)), 0.0)
        if weight.sum() > 0:
            errors.append(float(np.hypot(*(grid[int(np.argmin(apart @ weight))] - owner))))
    return float(np.median(errors))


def tile_error(places: int, times: int) -> float:
    """Return the median error of the same attack on the answers from one tile, over owners in it."""
    tiling, rng = hexagons(1.0), np.random.default_rng(7)
    far, angle = rng.uniform(5.0, 10.0, places), rng.uniform(0.0, 2.0 * np.pi, places)
    x, y = far * np.cos(angle), far * np.sin(angle)
    region = Region(tiling, Registered(((0, 0),), PROTECTION))
    edge = [region.room(*spot) for spot in zip(x.tolist(), y.tolist(), strict=True)]
    guess = locate(x, y, edge)[:2]
    owners = rng.uniform(-2.0, 2.0, size=(8 * times, 2))
    inside = np.array([owner for owner in owners if tiling.tile_of(*owner) == (0, 0)])
    return float(np.median(np.hypot(*(inside - guess).T)))


def hexagons(level: float, origin: tuple[float, float] = (0.0, 0.0)) -> Tiling:
    """Return the tiling whose hexagons have the area of a disc of radius L, nearly."""
    return Tiling.of(level * math.sqrt(math.pi / (3.0 * float(WIDTH))), origin)


# Revenue

Rooms = Callable[[Array, Array], Array]
"""From the users' places and the owner's to the rooms that the owner leaves."""


def losses(level: float, channels: int) -> dict[str, tuple[float, float]]:
    """Return mean and standard error of the revenue, or of what of it each way of hiding loses."""
    rng = np.random.default_rng(3)
    found: dict[str, list[float]] = {}
    for _ in range(channels):
        users, owner = rng.uniform(0.0, SIDE, (2, 2)), rng.uniform(0.0, SIDE, 2)
        rooms = {"known": distances(users, owner)}
        rooms["widening each"] = rooms["known"] - level * rng.exponential(size=2)
        rooms["one X a slot"] = rooms["known"] - level * rng.exponential()
        turn, far = rng.uniform(0.0, 2.0 * np.pi), level * math.sqrt(rng.uniform())
        center = owner + far * np.array([math.cos(turn), math.sin(turn)])
        rooms["disc"] = distances(users, center) - level
        tiling = hexagons(level, tuple(rng.uniform(0.0, 10.0 * level, 2).tolist()))
        region = Region(tiling, Registered((tiling.tile_of(*owner.tolist()),), PROTECTION))
        rooms["hexagon"] = np.array([region.room(*user, PRIVACY) for user in users.tolist()])
        paid = {name: revenue(users, room) for name, room in rooms.items()}
        for name, value in paid.items():
            found.setdefault(name, []).append(value if name == "known" else paid["known"] - value)
    root = math.sqrt(channels)
    return {name: (float(np.mean(part)), float(np.std(part)) / root) for name, part in found.items()}


def distances(users: Array, owner: Array) -> Array:
    """Return the rooms of users whose distance to the owner is known."""
    return np.hypot(*(users - owner).T) - PROTECTION - PRIVACY


def revenue(users: Array, rooms: Array) -> float:
    """Return the revenue of the best radii in these rooms."""
    given = [{"x": x, "y": y, "radius": RADIUS, "privacy": PRIVACY} for x, y in users.tolist()]
    channel = Channel.of(PRICE, 1.0, given, None)
    radii, _ = best_radii(channel, np.clip(np.minimum(channel.radius, rooms), 0.0, None))
    return math.fsum(channel.revenue(radii).tolist())


def formula(level: float) -> float:
    """Return lambda (A T + P M) for the hexagon of area pi L^2."""
    k, s, r0 = PRICE * math.pi / RADIUS, PRIVACY, RADIUS
    full = k * r0 * (s + r0) ** 2
    whole = k * (s * s * r0**2 / 2.0 + 2.0 * s * r0**3 / 3.0 + r0**4 / 4.0)
    area = math.pi * level**2
    slope = (PROTECTION + s + r0) * full - whole
    return 2.0 / SIDE**2 * (area * full + 3.72241944 * math.sqrt(area) * slope)
