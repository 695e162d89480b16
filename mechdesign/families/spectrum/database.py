"""The mechanism ``spectrum-database``: who may send on which channel, how far, while every user hides.

In a slot a channel grants the best radii in the rooms that the owner's tiles leave.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.collect.base import digest
from mechdesign.collect.collecting import Operation
from mechdesign.core.certificate import WITHIN, Certificate
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    ParameterError,
    UnknownNameError,
    counted,
    suggestion,
)
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import rational
from mechdesign.exact.randomness import float_down
from mechdesign.families.spectrum.allocation import best_radii
from mechdesign.families.spectrum.channel_program import Array, Channel, root_below
from mechdesign.families.spectrum.geometry import audit_interference, positive, squared_distance_to
from mechdesign.families.spectrum.queries import (
    ABOVE,
    SPENT,
    Answer,
    AnsweredQueries,
    Answers,
    Query,
    State,
    checked_queries,
    database_operations,
    levels_of,
    load_state,
    save_state,
)
from mechdesign.families.spectrum.registration import Registered
from mechdesign.families.spectrum.tiling import Tiling, tiles_the_plane
from mechdesign.show.figure import Figure, Line, Panel, Points

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

    def answer_of(self, user: int) -> tuple[str, float]:
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


MOST_CHANNELS = 1000

DRAWN = 200
"""Tiles of a channel that are drawn in its figure."""

FORMER = ("draws", "user_draws", "privacy_cost")
"""Parameters of the former database, which drew widenings around owners' places."""

NOTE = "rooms are those of the tiles; answers reveal the tiles of an owner and no more of its location"

UNUSED = "no user has sent a report yet, so this is about nobody"
"""The note of a budget of which nothing is spent because nobody is there."""


class SpectrumDatabase(AnsweredQueries):
    """A database of channels that knows owners by their tiles, and answers location-private queries.

    An owner registers tiles of a public tiling, made where it is (``SpectrumCloak``); the database never
    holds its place. The room of a user is the distance from its report to the tiles, less protection radius
    and privacy radius, rounded down. The radii of a slot are the best ones in these rooms, or as good as a
    limited search finds (certificate ``optimality``). No place of the tiles is disturbed by users who are
    within their privacy radius of their report. Nothing is drawn, and nothing that a user sends changes
    anything about an owner: answers are functions of tiles and reports.

    Parameters
    ----------
    channels : list of {name, tiles, protection} or {name}
        The tiles [column, row] of each channel's owner, or owners; without them it is idle.
    price : number > 0
        k1, for a unit of area.
    budget : number > 0
        What a user may spend in all: epsilons of its different reports, per unit of distance, add up. A
        report that is sent again is free, for it tells nothing new. It protects users alone.
    cell : number > 0
        The side of the hexagons of the tiling.
    origin : (x, y)
        The center of a hexagon.
    path_loss : number > 0
        The maximum transmission power for a radius R is R ** path_loss, in units of that of radius 1.
    levels : number or list of numbers, optional
        The least epsilon that a report may declare, or all that are accepted. Who asks declares it:
        without a least one, a budget lasts as long as somebody likes.

    Raises
    ------
    ParameterError
        Naming the entry, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, sections 6.2 to 6.5, with tiles in place of the widening, which hides no owner from many
    queries. Tiles are not differential privacy. Users' privacy is that of their reports, which are made on
    their side.

    Examples
    --------
    >>> database = SpectrumDatabase([{"name": "tv", "tiles": [[0, 0]], "protection": 1}], 0.1)
    >>> query = {"user": "ann", "channel": "tv", "x": 9, "y": 0, "radius": 9, "privacy": 0.5, "epsilon": 0.7}
    >>> print(database.answer([query])[0])
    Answer(user='ann', channel='tv', status='served', radius=6.633..., power=1936.7..., spent=0.7)
    >>> print(database.answer([{**query, "x": 8}])[0].status)
    budget spent
    """

    type: ClassVar[str] = "spectrum-database"
    exact_alternative = (
        "it protects places of radio users: build 'finite-channel' on the places that are asked for"
    )
    moving: ClassVar[tuple[str, ...]] = ("state", "grants")

    def __init__(
        self,
        channels: Sequence[Mapping[str, Any]],
        price: float,
        budget: float = 1.0,
        cell: float = 1.0,
        origin: Sequence[float] = (0.0, 0.0),
        path_loss: float = 4.0,
        levels: float | Sequence[float] | None = None,
    ) -> None:
        self.owners = _owners(channels)
        self.price = positive("price", price)
        self.budget = rational("budget", positive("budget", budget))
        self.tiling = Tiling.of(cell, origin)
        self.path_loss = in_range("path_loss", path_loss, 0.0, 10.0, low_open=True)
        self.levels = levels_of(levels)
        self.state = State()
        self.grants: dict[str, Grant] = {}
        """The allocations of the last slot by channel; positions are not kept beyond it."""

    # What owners register

    def registered(self) -> dict[str, Registered | None]:
        """Return the tiles registered for each channel; None where it is idle."""
        return self.owners | self.state.registered

    def register(self, owners: Mapping[str, Registered | None]) -> None:
        """Replace the registrations of some channels; None: the channel is idle from now on.

        Raises
        ------
        UnknownNameError
            For a channel that the database does not have; nothing is then registered.
        DataError
            For tiles of another tiling, such as those of a cloak with another origin.
        """
        for name, owner in owners.items():
            if name not in self.owners:
                raise UnknownNameError("name", f"no channel '{name}'", suggestion(name, self.owners))
            if owner is not None:
                try:
                    owner.require_tiling(self.tiling.mark)
                except DataError as error:
                    raise error.within(f"channel '{name}'") from None
        state = self.state.copy()
        state.registered |= owners
        state.last = {}  # the same queries may get other answers now
        self.state, self.grants = state, {}

    def region(self, name: str) -> Region | None:
        """Return where the owner of a channel may be; None where it is idle."""
        owner = self.registered()[name]
        return None if owner is None else Region(self.tiling, owner)

    def room(self, channel: str, x: float, y: float) -> float:
        """Return the radius that the owner leaves to a user at a location; infinite if it is idle.

        For a user's own device, at its true place: tiles are public, so nothing has to be reported for it,
        and no privacy radius is lost. Other users are not considered; for those it has to ask.

        Examples
        --------
        >>> database = SpectrumDatabase([{"name": "tv", "tiles": [[0, 0]], "protection": 1}], 0.1)
        >>> database.room("tv", 0.0, 9.0)
        7.0
        """
        if channel not in self.owners:
            raise UnknownNameError("channel", f"no '{channel}'", suggestion(channel, self.owners))
        region = self.region(channel)
        return float("inf") if region is None else region.room(x, y)

    # Answering

    def answer(self, queries: Iterable[Query | Mapping[str, Any]]) -> Answers:
        """Answer the queries of one slot, and account for them.

        Parameters
        ----------
        queries : iterable of Query or mapping
            ``user, channel, x, y, radius, privacy, epsilon``.

        Raises
        ------
        RowError
            For a query that makes no sense, naming its row; nothing is then answered or spent.
        """
        checked = checked_queries(queries, list(self.owners), self.levels)
        print_ = digest(self.type, {"queries": [list(vars(query).values()) for query in checked]})
        if checked and self.state.last.get("queries") == print_:
            rows = [Answer(*row) for row in self.state.last["answers"]]
            return Answers(tuple(rows), (self._budget(),), repeated=True)
        state = self.state.copy()
        refused = _accounted(state, checked, self.budget)
        answers: dict[tuple[str, str], Answer] = {}
        grants: dict[str, Grant] = {}
        for name in self.owners:
            here = [query for query in checked if query.channel == name]
            accepted = [query for query in here if query.user not in refused]
            if accepted:
                users = [vars(query) for query in accepted]
                channel = Channel.of(self.price, 1.0, users, None)
                grants[name] = granted(channel, self.region(name))
            for query in here:
                place = accepted.index(query) if query in accepted else -1
                status, radius = (refused[query.user], 0.0) if place < 0 else grants[name].answer_of(place)
                power = radius**self.path_loss
                spent = float(state.spent.get(query.user, Fraction(0)))
                answers[query.user, name] = Answer(query.user, name, status, radius, power, spent)
        rows = [answers[query.user, query.channel] for query in checked]
        state.slots += 1
        state.last = {"queries": print_, "answers": [list(vars(row).values()) for row in rows]}
        self.state, self.grants = state, grants
        best = [grant.optimality(name) for name, grant in grants.items()]
        return Answers(tuple(rows), (*self.certificates(), *best))

    def query(self, user: str, channel: str, **report: float) -> Answer:
        """Answer one user who is alone in a slot: ``x, y, radius, privacy, epsilon``."""
        return self.answer([{"user": user, "channel": channel, **report}])[0]

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Save what is remembered between slots."""
        save_state(path, self.state, self.fingerprint)

    def restore_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from a saved state; refuse that of another database."""
        state = load_state(path, self.fingerprint)
        for name in state.registered:
            if name not in self.owners:
                raise UnknownNameError(path, f"no channel '{name}'", suggestion(name, self.owners))
        self.state, self.grants = state, {}

    def operations(self) -> tuple[Operation, ...]:
        return database_operations(self)

    # What it guarantees

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the users' budget, the owners' cloak, and that nobody interfered in the last slot."""
        certificates = [self._budget(), *self._cloak()]
        certificates += [grant.certificate(name) for name, grant in self.grants.items()]
        return tuple(certificates)

    def _budget(self) -> Certificate:
        """Return whether nobody has spent more than the budget, exactly."""
        most = max(self.state.spent.items(), key=lambda item: item[1], default=("nobody", Fraction(0)))
        figures = {"budget": float(self.budget), "most_spent": float(most[1]), "users": len(self.state.spent)}
        witness = {"user": most[0]} if self.state.spent else {}
        note = "epsilon per unit of distance, summed over a user's different reports"
        promise = Guarantee(self.budget, distance="unit of distance", covers="all reports of a user")
        if not self.state.spent:
            note = f"{UNUSED}; {note}"
        return Certificate.of_privacy(Proof(promise, most[1]), figures, witness, note)

    def _cloak(self) -> tuple[Certificate, ...]:
        """Return whether every room of the last slot is one of the tiles, computed in a second way."""
        regions = {name: self.region(name) for name in self.owners}
        areas = {name: region.area for name, region in regions.items() if region is not None}
        if not areas:
            return ()
        smallest = min(areas, key=lambda name: (areas[name], name))
        same = [
            (name, grant.region == regions[name] and grant.of_tiles_alone())
            for name, grant in self.grants.items()
        ]
        wrong = [name for name, holds in same if not holds]
        figures = {
            "occupied": len(areas),
            "least_area": float(areas[smallest]),
            "rooms": sum(grant.channel.size for grant in self.grants.values()),
        }
        witness = {"channel": wrong[0] if wrong else smallest}
        holds = not wrong and tiles_the_plane(self.tiling)
        return (Certificate("cloak", holds, True, figures, witness, NOTE),)

    def figures(self) -> list[Figure]:
        """Return the map of the occupied channels' tiles; nothing where all are idle."""
        owners = {name: owner for name, owner in self.registered().items() if owner is not None}
        if not owners:
            return []
        marks: list[Any] = [
            Line(*self.tiling.outline(tile), series=number)
            for number, owner in enumerate(owners.values())
            for tile in owner.tiles[:DRAWN]
        ]
        centers = [self.tiling.center(owner.tiles[0]) for owner in owners.values()]
        x, y = zip(*((float(x), float(y)) for x, y in centers), strict=True)
        marks.append(Points(x=x, y=y, names=list(owners), label="first tile of each channel"))
        panel = Panel("x (units of distance)", "y (units of distance)", marks, equal_aspect=True)
        return [Figure("Channels and the tiles that their owners are in", [panel])]

    def _figures(self) -> str:
        idle = sum(owner is None for owner in self.owners.values())
        return f"{counted(len(self.owners), 'channel')}, {idle} idle, budget {float(self.budget):g} a user"

    def content(self) -> dict[str, Any]:
        channels: list[dict[str, Any]] = [
            {"name": name, **({} if owner is None else owner.as_json())}
            for name, owner in self.owners.items()
        ]
        levels = list(self.levels) if isinstance(self.levels, tuple) else self.levels
        return {
            "channels": channels,
            "price": self.price,
            "budget": float(self.budget),
            "cell": float(self.tiling.side),
            "origin": [float(part) for part in self.tiling.origin],
            "path_loss": self.path_loss,
            **({} if self.levels is None else {"levels": levels}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the database from plain values; refuse those of a release that held owners' places."""
        if any(key in content for key in FORMER):
            raise CertificateError(
                "written by an earlier release, which held owners' places behind widenings that many "
                "queries see through",
                remedy="register tiles with spectrum-cloak",
            )
        return cls(**content)


def _owners(channels: Sequence[Mapping[str, Any]]) -> dict[str, Registered | None]:
    if not isinstance(channels, (list, tuple)) or not channels:
        raise ParameterError("channels", "expected a list of {name, tiles, protection}", "give at least one")
    if len(channels) > MOST_CHANNELS:
        raise ParameterError("channels", f"{len(channels)} are too many", f"the limit is {MOST_CHANNELS}")
    owners: dict[str, Registered | None] = {}
    for number, entry in enumerate(channels, start=1):
        where = f"channels {number}"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise ParameterError(where, "has no name", "give {name, tiles, protection}")
        name = entry["name"]
        if name in owners:
            raise ParameterError(where, f"there is another channel '{name}'", "rename one")
        owner = {key: value for key, value in entry.items() if key != "name"}
        owners[name] = Registered.of(where, owner) if owner else None
    return owners


def _accounted(state: State, queries: Sequence[Query], budget: Fraction) -> dict[str, str]:
    """Charge each user once for a new report; return the statuses of those whose budget does not allow it."""
    refused: dict[str, str] = {}
    seen: set[str] = set()
    for query in queries:
        if query.user in seen:
            continue
        seen.add(query.user)
        x, y = query.x + 0.0, query.y + 0.0  # -0.0 becomes 0.0
        report = digest(query.user, {"x": x, "y": y, "epsilon": query.epsilon})
        if report in state.reports.get(query.user, ()):
            continue
        total = state.spent.get(query.user, Fraction(0)) + Fraction(query.epsilon)
        if total > budget:
            refused[query.user] = SPENT if Fraction(query.epsilon) <= budget else ABOVE
            continue
        state.spent[query.user] = total
        state.reports.setdefault(query.user, set()).add(report)
    return refused
