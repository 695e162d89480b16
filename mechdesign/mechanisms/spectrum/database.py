"""The mechanism ``spectrum-database``: who may send on which channel, how far, while everybody hides."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Circles
from mechdesign.core.numbers import rational
from mechdesign.core.randomness import BITS, BitSource, Rng
from mechdesign.core.validation import in_range, integer
from mechdesign.mechanisms.base import Mechanism, digest
from mechdesign.mechanisms.operations import Operation
from mechdesign.mechanisms.spectrum.channel import Array, Channel, Owner, positive
from mechdesign.mechanisms.spectrum.grants import Grant, best_mean, granted, room_of
from mechdesign.mechanisms.spectrum.queries import Answer, Answers, Query, checked, levels_of
from mechdesign.mechanisms.spectrum.state import State, load_state, save_state
from mechdesign.mechanisms.spectrum.tables import database_operations

MOST_CHANNELS = 1000

USER_DRAWS = 100
"""Cells of a channel for which one user may be the first to ask."""


class SpectrumDatabase(Mechanism):
    """A database of channels that answers location-private queries, slot after slot.

    Each slot: the queries for a channel are allocated by the exact method (or, from eight users on, the
    heuristic); that gives the owner's best mean widening L. For a cell of the map that nobody asked from
    before a widening is drawn, exponential with mean L, at least ``cell``, and kept. All places of a cell
    get the same room, what this widening leaves of the distance between owner and cell, and the radii are
    the best ones in these rooms, or as good as a limited search finds (certificate ``optimality``).
    Nobody who is within its privacy radius of its report is ever disturbed.

    Parameters
    ----------
    channels : list of {name, x, y, protection} or {name}
        The owner of each channel; without a place it is idle.
    price : number > 0
        k1, for a unit of area.
    privacy_cost : number > 0
        kp of every owner.
    budget : number > 0
        What a user may spend in all: epsilons of its different reports, per unit of distance, add up. A
        report that is sent again is free, for it tells nothing new.
    draws : int
        For how many cells of the map an owner's widening is drawn; who asks from a further one is told
        that the draws are spent.
    user_draws : int
        For how many of these cells one user may be the first to ask, so that nobody spends all of an owner's
        draws alone. Cells that were drawn before stay open to everybody.
    levels : number or list of numbers, optional
        The least epsilon that a report may declare, or all that are accepted. Who asks declares it:
        without a least one, a budget lasts as long as somebody likes.
    cell : number > 0
        The side of a cell. A widening is drawn once for each cell and kept, so that asking again from
        the same cell tells nothing new, while one widening for all places would hide no place at all.
    path_loss : number > 0
        The maximum transmission power for a radius R is R ** path_loss, in units of that of radius 1.

    Raises
    ------
    ParameterError
        Naming the entry, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, sections 6.2 to 6.5. The owner's widening is a one-sided shift: it is no differential
    privacy. Users' privacy is that of their reports, which are made on their side.

    Examples
    --------
    >>> database = SpectrumDatabase([{"name": "tv", "x": 0, "y": 0, "protection": 1}], 0.1, 2.0, budget=1.0)
    >>> query = {"user": "ann", "channel": "tv", "x": 9, "y": 0, "radius": 3, "privacy": 0.5, "epsilon": 0.7}
    >>> print(database.answer([query], rng=2)[0].status, database.state.spent["ann"])
    served 3152519739159347/4503599627370496
    >>> print(database.answer([{**query, "x": 8}], rng=2)[0].status)
    budget spent
    """

    type: ClassVar[str] = "spectrum-database"

    def __init__(
        self,
        channels: Sequence[Mapping[str, Any]],
        price: float,
        privacy_cost: float,
        budget: float = 1.0,
        draws: int = 1000,
        cell: float = 1.0,
        path_loss: float = 4.0,
        user_draws: int = USER_DRAWS,
        levels: float | Sequence[float] | None = None,
    ) -> None:
        self.owners = _owners(channels)
        self.price = positive("price", price)
        self.privacy_cost = positive("privacy_cost", privacy_cost)
        self.budget = rational("budget", positive("budget", budget))
        self.draws = integer("draws", draws, 1)
        self.cell = positive("cell", cell)
        self.path_loss = in_range("path_loss", path_loss, 0.0, 10.0, low_open=True)
        self.user_draws = integer("user_draws", user_draws, 1)
        self.levels = levels_of(levels)
        self.state = State()
        self.grants: dict[str, Grant] = {}
        """The allocations of the last slot by channel; positions are not kept beyond it."""

    # Answering

    def answer(self, queries: Iterable[Query | Mapping[str, Any]], rng: Rng = None) -> Answers:
        """Answer the queries of one slot, and account for them.

        Parameters
        ----------
        queries : iterable of Query or mapping
            ``user, channel, x, y, radius, privacy, epsilon``.
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's random bits by default.

        Raises
        ------
        RowError
            For a query that makes no sense, naming its row; nothing is then answered or spent.
        """
        asked = checked(queries, list(self.owners), self.levels)
        print_ = digest(self.type, {"queries": [list(vars(query).values()) for query in asked]})
        if asked and self.state.last.get("queries") == print_:
            rows = [Answer(*row) for row in self.state.last["answers"]]
            return Answers(tuple(rows), (self._budget(),), repeated=True)
        state = self.state.copy()
        refused = _accounted(state, asked, self.budget)
        source = self.source(rng)
        answers: dict[tuple[str, str], Answer] = {}
        grants: dict[str, Grant] = {}
        for name, owner in self.owners.items():
            here = [query for query in asked if query.channel == name]
            accepted = [query for query in here if query.user not in refused]
            if accepted:
                users = [vars(query) for query in accepted]
                channel = Channel.of(self.price, self.privacy_cost, users, owner)
                widening, rooms = np.zeros(len(accepted)), np.full(len(accepted), math.inf)
                if owner is not None:
                    widening = self._widening(state, name, accepted, channel, source)
                    asking = zip(accepted, widening.tolist(), strict=True)
                    rooms = np.array([self._room(owner, query, width) for query, width in asking])
                grants[name] = granted(channel, widening, rooms)
            for query in here:
                place = accepted.index(query) if query in accepted else -1
                status, radius = ("budget spent", 0.0) if place < 0 else grants[name].said(place)
                power = radius**self.path_loss
                spent = float(state.spent.get(query.user, Fraction(0)))
                answers[query.user, name] = Answer(query.user, name, status, radius, power, spent)
        rows = [answers[query.user, query.channel] for query in asked]
        state.slots += 1
        state.last = {"queries": print_, "answers": [list(vars(row).values()) for row in rows]}
        self.state, self.grants = state, grants
        best = [grant.optimality(name) for name, grant in grants.items()]
        return Answers(tuple(rows), (*self.certificates(), *best))

    def _widening(
        self, state: State, name: str, queries: Sequence[Query], channel: Channel, source: BitSource
    ) -> Array:
        """Return the widening for the cell of each query; infinite where no draw is left."""
        cells, drawn = state.widenings.setdefault(name, {}), state.drawn.setdefault(name, {})
        keys = ["{},{}".format(*self._cell(query)) for query in queries]
        new: list[str] = []
        for query, key in zip(queries, keys, strict=True):
            count = drawn.get(query.user, 0)
            if key in cells or key in new or count >= self.user_draws or len(cells) + len(new) >= self.draws:
                continue
            new.append(key)
            drawn[query.user] = count + 1
        if new:
            mean = best_mean(channel, self.cell)
            cells |= {key: mean * _exponential(source) for key in new}
        return np.array([cells.get(key, math.inf) for key in keys])

    def _cell(self, query: Query) -> tuple[int, int]:
        side = Fraction(self.cell)
        return math.floor(Fraction(query.x) / side), math.floor(Fraction(query.y) / side)

    def _room(self, owner: Owner, query: Query, widening: float) -> float:
        """Return how far a user may send as far as the owner is concerned; below 0 where no draw is left."""
        if math.isinf(widening):
            return -math.inf
        side = Fraction(self.cell)
        across, up = self._cell(query)
        return room_of(owner, (across * side, up * side), side, widening, query.privacy)

    def query(self, user: str, channel: str, *, rng: Rng = None, **report: float) -> Answer:
        """Answer one user who is alone in a slot: ``x, y, radius, privacy, epsilon``."""
        return self.answer([{"user": user, "channel": channel, **report}], rng)[0]

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Save what is remembered between slots."""
        save_state(path, self.state, self.fingerprint)

    def restore_state(self, path: str | os.PathLike[str]) -> None:
        """Continue from a saved state; refuse that of another database."""
        self.state, self.grants = load_state(path, self.fingerprint), {}

    def operations(self) -> tuple[Operation, ...]:
        """Return ``answer``: the queries of a slot in, radii and powers out."""
        return database_operations(self)

    # What it promises

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the budget, and that nobody interfered in the last slot."""
        found = [self._budget()]
        found += [grant.certificate(name) for name, grant in self.grants.items()]
        return tuple(found)

    def _budget(self) -> Certificate:
        """Return whether nobody has spent more than the budget, exactly."""
        most = max(self.state.spent.items(), key=lambda item: item[1], default=("nobody", Fraction(0)))
        figures = {"budget": float(self.budget), "most_spent": float(most[1]), "users": len(self.state.spent)}
        witness = {"user": most[0]} if self.state.spent else {}
        note = "epsilon per unit of distance, summed over a user's different reports"
        return Certificate("privacy", most[1] <= self.budget, True, figures, witness, note)

    def figures(self) -> list[Figure]:
        """Return the map of the occupied channels; nothing where all are idle."""
        owners = {name: owner for name, owner in self.owners.items() if owner is not None}
        if not owners:
            return []
        x, y, radius = zip(*((own.x, own.y, own.protection) for own in owners.values()), strict=True)
        circles = Circles(x=x, y=y, radius=radius, names=list(owners), label="protected receivers")
        panel = Panel("x (units of distance)", "y (units of distance)", [circles], equal_aspect=True)
        return [Figure("Channels and where their owners are protected", [panel])]

    def _figures(self) -> str:
        idle = sum(owner is None for owner in self.owners.values())
        return f"{len(self.owners)} channels, {idle} idle, budget {float(self.budget):g} a user"

    def content(self) -> dict[str, Any]:
        """Return channels, prices and budgets as plain values; the state is a file of its own."""
        channels: list[dict[str, Any]] = []
        for name, owner in self.owners.items():
            place = {} if owner is None else {"x": owner.x, "y": owner.y, "protection": owner.protection}
            channels.append({"name": name, **place})
        levels = list(self.levels) if isinstance(self.levels, tuple) else self.levels
        return {
            "channels": channels,
            "price": self.price,
            "privacy_cost": self.privacy_cost,
            "budget": float(self.budget),
            "draws": self.draws,
            "cell": self.cell,
            "path_loss": self.path_loss,
            "user_draws": self.user_draws,
            **({} if self.levels is None else {"levels": levels}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the database from plain values."""
        return cls(**content)


def _owners(channels: Sequence[Mapping[str, Any]]) -> dict[str, Owner | None]:
    if not isinstance(channels, (list, tuple)) or not channels:
        raise ParameterError("channels: expected a list of {name, x, y, protection}; give at least one")
    if len(channels) > MOST_CHANNELS:
        raise ParameterError(f"channels: {len(channels)} are too many; {MOST_CHANNELS} at most")
    found: dict[str, Owner | None] = {}
    for number, given in enumerate(channels, start=1):
        where = f"channels {number}"
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str) or not given["name"]:
            raise ParameterError(f"{where}: has no name; give {{name, x, y, protection}}")
        name = given["name"]
        if name in found:
            raise ParameterError(f"{where}: there is another channel '{name}'; rename one")
        place = {key: value for key, value in given.items() if key != "name"}
        found[name] = Owner.of(where, place) if place else None
    return found


def _accounted(state: State, queries: Sequence[Query], budget: Fraction) -> set[str]:
    """Charge each user once for a new report; return those whose budget does not allow it."""
    refused: set[str] = set()
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
            refused.add(query.user)
            continue
        state.spent[query.user] = total
        state.reports.setdefault(query.user, set()).add(report)
    return refused


def _exponential(source: BitSource) -> float:
    """Return an exponential number of mean 1 by inversion; never 0, and at most 62 ln 2."""
    uniform = (int(source.integers(1)[0]) + 1) / (1 << BITS)
    return max(-math.log(uniform), 2.0**-BITS)
