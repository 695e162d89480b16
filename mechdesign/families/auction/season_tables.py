"""Tables and picture of an online auction: bids of a slot in, winners and payments out; the longest waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import (
    Column,
    Operation,
    Option,
    Settings,
    located,
    number_column,
    require_columns,
)
from mechdesign.core.errors import (
    DataError,
    MethodError,
    ParameterError,
    RowError,
    named_option,
    option,
)
from mechdesign.core.tables import Block, Source
from mechdesign.core.validation import integer
from mechdesign.data.identifiers import identifier_or
from mechdesign.families.auction.readings import (
    NAMED,
    SEASON,
    SLOT,
    USER,
    known_season,
    reading_operations,
    share_of,
    texts,
)
from mechdesign.families.auction.season import Bid, Member, Season
from mechdesign.show.figure import Figure, Line, Panel
from mechdesign.work.files import one_at_a_time

if TYPE_CHECKING:
    from mechdesign.families.auction.online import OnlineAuction

SENSING, PRIVACY, TASKS = "sensing", "privacy", "tasks"
PAYMENT = "payment"

STATE = Option("state", "path", "the file of the season; made with slot 1, replaced with every slot")
REQUEST = Option("request", "texts", "a task that asks for data in this slot (default: by its period)")


def auction_operations(auction: OnlineAuction) -> tuple[Operation, ...]:
    """Return the operations on the tables of a season and of its readings.

    ``step`` decides a slot, and ``status`` says how the season stands. ``noise`` makes the reports of winners
    out of their readings, on their side, and ``fuse`` the average of each task.
    """
    takes = (
        Column(USER, "a name, once"),
        Column(SENSING, "what taking part costs it, >= 0"),
        Column(PRIVACY, "what a unit of epsilon costs it, >= 0"),
        Column(TASKS, "names of the tasks it can do, separated by spaces or ';'"),
    )
    gives = (
        Column(USER, "a winner"),
        Column(PAYMENT, "what it is paid, exactly"),
    )
    return (
        Operation(
            "step",
            "decide one slot, truthful within it: bids in, payments out; the state is saved first",
            takes,
            gives,
            partial(_stepped, auction),
            (STATE, SLOT, REQUEST, NAMED),
        ),
        Operation(
            "status",
            "print the state of the season: winners, payments, waiting users; it changes nothing",
            (),
            (
                Column(USER, "users present, and users who left with a payment"),
                Column("slots", "that it took part in since it came; 0 if it has left"),
                Column("won", "number of slots that the user won"),
                Column("idle", "slots since it last won"),
                Column("backlog", "its virtual queue"),
                Column("paid", "in the whole season"),
            ),
            lambda sources, settings: _status(auction, settings),
            (SEASON, NAMED),
        ),
        *reading_operations(auction),
    )


def _stepped(auction: OnlineAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Decide the slot and save the state; only then yield what was decided."""
    (source,) = sources
    path, slot = settings["state"], settings["slot"]
    if not path:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps the season")
    if slot is None:
        raise ParameterError(
            named_option("slot"), "is missing", "give the slot's number, from 1, so that none is paid twice"
        )
    integer(named_option("slot"), slot, 1)
    bids = _bids(source)
    with one_at_a_time(path, DataError):
        season = _season(auction, path, slot, settings["season"])
        before = season.slot
        try:
            decision = auction.step(season, bids, slot, settings["request"])
        except (DataError, MethodError, ParameterError) as error:
            raise error.within(source.name).as_a(DataError) from None
        if decision.status != "decided":
            raise DataError(f"{source.name}: slot {slot}", decision.message)
        if season.slot > before:
            season.save(path)
        else:
            settings.count("slot that was decided before, repeated", 1)
    settings.count("winner(s), payments truthful within this slot", len(decision.winners))
    yield {USER: np.array(decision.winners, dtype=object), PAYMENT: np.array(decision.payments)}


def _status(auction: OnlineAuction, settings: Settings) -> Iterator[Block]:
    """Yield a row for each user; payments are added exactly, and rounded once."""
    season = known_season(auction, settings)
    paid: dict[str, Fraction] = {}
    for decision in season.decisions:
        for name, payment in zip(decision.winners, decision.payments, strict=True):
            paid[name] = paid.get(name, Fraction(0)) + Fraction(payment)
    names = sorted({*season.members, *paid})
    members = [season.members.get(name, Member()) for name in names]
    for count, what, state in ((season.slot, "slot", "decided"), (len(season.members), "user", "there")):
        settings.count(f"{what}(s) {state}", count)
    yield {
        USER: np.array(names, dtype=object),
        "slots": np.array([member.slots for member in members], dtype=np.int64),
        "won": np.array([member.won for member in members], dtype=np.int64),
        "idle": np.array([member.idle for member in members], dtype=np.int64),
        "backlog": np.array([float(season.backlog(name)) for name in names]),
        "paid": np.array([float(paid.get(name, Fraction(0))) for name in names]),
    }


def _season(auction: OnlineAuction, path: str, slot: int, name: str | None) -> Season:
    if Path(path).exists():
        return Season.load(path, auction.fingerprint, share_of(auction), name)
    if slot != 1:
        raise ParameterError(option("state", path), "does not exist", "a season begins with slot 1")
    return auction.season(name)


def _bids(source: Source) -> dict[str, Bid]:
    """Return the bids of a table by user."""
    require_columns(source, [USER, SENSING, PRIVACY, TASKS])
    bids: dict[str, Bid] = {}
    for block in source.blocks([USER, SENSING, PRIVACY, TASKS]):
        with located(source, USER):
            names = texts("users", block[USER])
        sensing, privacy = (
            number_column(source, block, column, _is_cost, "{} is not a finite cost >= 0", what="bids")
            for column in (SENSING, PRIVACY)
        )
        with located(source, TASKS):
            lists = [tuple(text.replace(";", " ").split()) for text in texts("tasks", block[TASKS])]
        with located(source, USER):
            for row, name in enumerate(names):
                if name in bids:
                    raise RowError("users", row, f"'{name}' appears twice", "a user bids once")
                if not name:
                    raise RowError("users", row, "has no name", "give one")
                if name != name.strip():
                    raise RowError("users", row, f"'{name}' begins or ends with a space", "remove the space")
                if name != identifier_or(name):
                    what = f"'{name}' and '{identifier_or(name)}' are one user"
                    raise RowError("users", row, what, "write the latter in every slot")
                bids[name] = Bid(float(sensing[row]), float(privacy[row]), lists[row])
    return bids


def _is_cost(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (numbers >= 0.0) & np.isfinite(numbers)


def waiting_figures(
    wait: Callable[[float], int | None], reserve: float | None, tradeoff: float
) -> list[Figure]:
    """Return the longest wait over the cost; nothing where there is no limit.

    Parameters
    ----------
    wait : callable
        The most slots in a row that a user of a cost loses; None without a limit.
    reserve : float or None
        The largest cost.
    tradeoff : float
    """
    costs = np.linspace(0.0, 10.0 / tradeoff if reserve is None else reserve, 61)
    waits = [wait(float(cost)) for cost in costs]
    there = [(cost, slots) for cost, slots in zip(costs.tolist(), waits, strict=True) if slots is not None]
    if not there:
        return []
    x, y = zip(*there, strict=True)
    marks = [Line(x=x, y=y, label="proven limit")]
    panel = Panel("cost that a user asks for", "slots that it loses in a row, at most", marks)
    return [Figure("How long a user can lose", [panel], "Backlogs grow until the user wins.")]
