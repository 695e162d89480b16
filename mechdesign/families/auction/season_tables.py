"""Tables and picture of an online auction: bids of a slot in, winners and payments out, readings, long waits.

A reading is drawn by the mechanism of one report at the announced epsilon
(:meth:`SteppedAuction.randomizer`), and the column of reports carries the digest of that mechanism: range
and noise have to be the same on both sides. Fused are the reports of a slot that was decided, of its
winners, and on tasks that were open.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism, Mechanism
from mechdesign.collect.collecting import (
    CLIP,
    SEED,
    Column,
    Operation,
    Option,
    Settings,
    located,
    marked,
    number_column,
    report_column,
    require_columns,
)
from mechdesign.core.errors import (
    DataError,
    MethodError,
    ParameterError,
    RowError,
    named_option,
    option,
    suggestion,
)
from mechdesign.core.validation import in_range, integer
from mechdesign.data.identifiers import identifier_or
from mechdesign.data.intake import Block, Source
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.auction.season import Bid, Decision, Member, Season
from mechdesign.show.figure import Figure, Line, Panel
from mechdesign.work.files import one_at_a_time

USER, TASK, READING = "user", "task", "reading"

SEASON = Option("state", "path", "the file of the season")
NAMED = Option("season", "text", "the name of the season, given with slot 1; the state of another is refused")
SLOT = Option("slot", "whole number", "the number of the slot, from 1; one that was decided is only repeated")
DEFAULT_NOISE = "laplace"
"""How users hide their readings where nobody says how: as the source does."""

LOW = Option("low", "number", "the lower end of the readings")
HIGH = Option("high", "number", "the upper end of the readings")
NOISE = Option("noise", "text", "laplace (default, as published), duchi (exact) or piecewise")
DELTA = Option("delta", "number", "the probability with which alpha may be exceeded (default: 0.1)")
SENSING, PRIVACY, TASKS = "sensing", "privacy", "tasks"
PAYMENT = "payment"

STATE = Option("state", "path", "the file of the season; made with slot 1, replaced with every slot")
REQUEST = Option("request", "texts", "a task that asks for data in this slot (default: by its period)")


class SteppedAuction(Mechanism):
    """What the tables use of an auction."""

    tasks: tuple[str, ...]
    epsilon: float
    participation: float

    @abstractmethod
    def season(self, name: str | None = None) -> Season:
        """Return the state before the first slot, of a new identity."""

    @abstractmethod
    def step(
        self,
        season: Season,
        bids: Mapping[str, Bid],
        slot: int | None = None,
        requested: Iterable[str] | None = None,
    ) -> Decision:
        """Decide a slot and take it up in the season."""

    @abstractmethod
    def randomizer(self, low: float, high: float, noise: str = "laplace") -> CollectingMechanism[Any]:
        """Return the mechanism for one task: a device randomizes with it, a server estimates."""


def auction_operations(auction: SteppedAuction) -> tuple[Operation, ...]:
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
        *_reading_operations(auction),
    )


def _stepped(auction: SteppedAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Decide the slot and save the state; only then yield what was decided."""
    (source,) = sources
    path, slot = _state(settings), settings["slot"]
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


def _status(auction: SteppedAuction, settings: Settings) -> Iterator[Block]:
    """Yield a row for each user; payments are added exactly, and rounded once."""
    season = _known_season(auction, settings)
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


def _season(auction: SteppedAuction, path: str, slot: int, name: str | None) -> Season:
    if Path(path).exists():
        return Season.load(path, auction.fingerprint, _share(auction), name)
    if slot != 1:
        raise ParameterError(option("state", path), "does not exist", "a season begins with slot 1")
    return auction.season(name)


def _bids(source: Source) -> dict[str, Bid]:
    """Return the bids of a table by user."""
    require_columns(source, [USER, SENSING, PRIVACY, TASKS])
    bids: dict[str, Bid] = {}
    for block in source.blocks([USER, SENSING, PRIVACY, TASKS]):
        with located(source, USER):
            names = _texts("users", block[USER])
        sensing, privacy = (
            number_column(source, block, column, _is_cost, "{} is not a finite cost >= 0", what="bids")
            for column in (SENSING, PRIVACY)
        )
        with located(source, TASKS):
            lists = [tuple(text.replace(";", " ").split()) for text in _texts("tasks", block[TASKS])]
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


def _reading_operations(auction: SteppedAuction) -> tuple[Operation, ...]:
    """Return ``noise``, where the winners are, and ``fuse``, where the season is."""
    winner, task = Column(USER, "a winner of the slot"), Column(TASK, "a task that the winner reports on")
    report = Column(f"{READING}__...", "the report, marked with the digest of its noise", any_name=True)
    return (
        Operation(
            "noise",
            "one private report for each reading of a winner; run it where the winner is",
            (winner, task, Column(READING, "what was measured")),
            (winner, task, report),
            partial(_noisy, auction),
            (LOW, HIGH, NOISE, CLIP, SEED),
        ),
        Operation(
            "fuse",
            "the average of each task of a slot from its winners' reports, and how accurate it is",
            (winner, task, report),
            (
                Column(TASK, "that asked for data in the slot"),
                Column("reports", "that were received"),
                Column("winners", "who are able to do the task"),
                Column("average", "of the readings; nan without a report"),
                Column("standard_error", "of the noise, from the reports"),
                Column(
                    "alpha", "the average is this near to that of the readings, but with probability delta"
                ),
            ),
            partial(_fused, auction),
            (SEASON, NAMED, SLOT, LOW, HIGH, NOISE, DELTA),
            several=True,
        ),
    )


def _device(auction: SteppedAuction, settings: Settings) -> CollectingMechanism[Any]:
    """Return the mechanism of one reading, which the options name."""
    for name in ("low", "high"):
        if settings[name] is None:
            raise ParameterError(named_option(name), "is missing", "state the range of the readings")
    return auction.randomizer(settings["low"], settings["high"], settings["noise"] or DEFAULT_NOISE)


def _noisy(auction: SteppedAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    device, rng = _device(auction, settings), auction.seeded(settings["seed"], "noise")
    require_columns(source, [USER, TASK, READING])
    is_exact = device.certificates()[0].exact
    what = "exactly" if is_exact else "in real numbers (the last bits of doubles can leak)"
    for block in source.blocks([USER, TASK, READING]):
        names, tasks = _pairs(auction, source, block)
        readings = number_column(source, block, READING)
        with located(source, READING):
            reports = device.randomize(readings, rng=rng, clip=bool(settings["clip"]))
        settings.count(f"report(s), each private at epsilon {auction.epsilon:g} {what}", len(names))
        report = marked(READING, device.survey_digest)
        yield {USER: np.array(names, dtype=object), TASK: np.array(tasks, dtype=object), report: reports}


def _pairs(auction: SteppedAuction, source: Source, block: Block) -> tuple[list[str], list[str]]:
    """Return users and tasks of a block's rows; the tasks are those of the auction."""
    with located(source, USER):
        names = _texts("users", block[USER])
    with located(source, TASK):
        tasks = _texts("tasks", block[TASK])
        for row, task in enumerate(tasks):
            if task not in auction.tasks:
                raise RowError("tasks", row, f"'{task}' is unknown", suggestion(task, auction.tasks))
    return names, tasks


def _fused(auction: SteppedAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Fuse the reports of a slot that was decided: each of a winner, on a task that was open, and once."""
    device = _device(auction, settings)
    season = _known_season(auction, settings)
    slot = (
        season.slot if settings["slot"] is None else integer(named_option("slot").shell, settings["slot"], 1)
    )
    if not 1 <= slot <= season.slot:
        raise ParameterError(named_option("slot"), f"slot {slot} is not decided", f"1 to {season.slot} are")
    decision = season.decisions[slot - 1]
    delta = in_range(
        "delta", 0.1 if settings["delta"] is None else settings["delta"], 0.0, 1.0, low_open=True
    )
    winners, reports = set(decision.winners), {task: list[Any]() for task in decision.requested}
    seen: set[tuple[str, str]] = set()
    for source in sources:
        column = report_column(source, settings, device)
        require_columns(source, [USER, TASK])
        for block in source.blocks([USER, TASK, column]):
            values = np.asarray(block[column])
            for row, pair in enumerate(zip(*_pairs(auction, source, block), strict=True)):
                wrong = (
                    f"'{pair[0]}' is no winner of slot {slot}"
                    if pair[0] not in winners
                    else f"task '{pair[1]}' did not ask for data in slot {slot}"
                    if pair[1] not in reports
                    else f"a second report of '{pair[0]}' on '{pair[1]}'"
                    if pair in seen
                    else ""
                )
                if wrong:
                    raise DataError(f"{source.name}: row {source.row(row)}", wrong, "omit the row")
                seen.add(pair)
                reports[pair[1]].append(values[row])
    settings.count(f"report(s) on slot {slot}", len(seen))
    rows = [_average(device, received, delta) for received in reports.values()]
    averages, errors, alphas = zip(*rows, strict=True) if rows else ((), (), ())
    yield {
        TASK: np.array(decision.requested, dtype=object),
        "reports": np.array([len(received) for received in reports.values()], dtype=np.int64),
        "winners": np.array(decision.covered, dtype=np.int64),
        "average": np.array(averages),
        "standard_error": np.array(errors),
        "alpha": np.array(alphas),
    }


def _average(
    device: CollectingMechanism[Any], reports: list[Any], delta: float
) -> tuple[float, float, float]:
    """Return the average of some reports, its standard error, and by Chebyshev how far off it may be."""
    if not reports:
        return math.nan, math.nan, math.nan
    estimate = device.estimate(np.array(reports))
    worst = math.sqrt(device.worst_variance() / len(reports))  # type: ignore[attr-defined]
    return float(estimate.value), float(estimate.standard_error), worst / math.sqrt(delta)


def _known_season(auction: SteppedAuction, settings: Settings) -> Season:
    """Return the season of a state file that exists."""
    return Season.load(_state(settings), auction.fingerprint, _share(auction), settings["season"])


def _state(settings: Settings) -> str:
    if not settings["state"]:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps the season")
    return str(settings["state"])


def _share(auction: SteppedAuction) -> Fraction:
    """Return the participation that is promised, exactly."""
    return rational("participation", auction.participation)


def _texts(what: str, column: Any) -> list[str]:
    """Return the texts of a column; integers may be names, bytes and other things may not."""
    result = []
    for row, value in enumerate(np.asarray(column).tolist()):
        if type(value) is int:
            result.append(str(value))
        elif isinstance(value, str):
            result.append(value)
        else:
            raise RowError(what, row, f"{text_of(value)} is not a string", "give names as text")
    return result


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
