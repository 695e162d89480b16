"""Readings of a slot's winners, as tables: their reports, and the average of each task.

A reading is drawn by the mechanism of one report at the announced epsilon (:meth:`OnlineAuction.randomizer`),
and the column of reports carries the digest of that mechanism: range and noise have to be the same on both
sides. Fused are the reports of a slot that was decided, of its winners, and on tasks that were open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.base import CollectingMechanism
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
from mechdesign.collect.noise import LAPLACE
from mechdesign.core.errors import DataError, ParameterError, RowError, named_option, suggestion
from mechdesign.core.tables import Block, Source
from mechdesign.core.validation import in_range, integer
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.auction.season import Season

if TYPE_CHECKING:
    from mechdesign.families.auction.online import OnlineAuction

USER, TASK, READING = "user", "task", "reading"

SEASON = Option("state", "path", "the file of the season")
NAMED = Option("season", "text", "the name of the season, given with slot 1; the state of another is refused")
SLOT = Option("slot", "whole number", "the number of the slot, from 1; one that was decided is only repeated")
LOW = Option("low", "number", "the lower end of the readings")
HIGH = Option("high", "number", "the upper end of the readings")
NOISE = Option("noise", "text", "laplace (default, as published), duchi (exact) or piecewise")
DELTA = Option("delta", "number", "the probability with which alpha may be exceeded (default: 0.1)")


def reading_operations(auction: OnlineAuction) -> tuple[Operation, ...]:
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


def _device(auction: OnlineAuction, settings: Settings) -> CollectingMechanism[Any]:
    """Return the mechanism of one reading, which the options name."""
    for name in ("low", "high"):
        if settings[name] is None:
            raise ParameterError(named_option(name), "is missing", "state the range of the readings")
    return auction.randomizer(settings["low"], settings["high"], settings["noise"] or LAPLACE.name)


def _noisy(auction: OnlineAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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


def _pairs(auction: OnlineAuction, source: Source, block: Block) -> tuple[list[str], list[str]]:
    """Return users and tasks of a block's rows; the tasks are those of the auction."""
    with located(source, USER):
        names = texts("users", block[USER])
    with located(source, TASK):
        tasks = texts("tasks", block[TASK])
        for row, task in enumerate(tasks):
            if task not in auction.tasks:
                raise RowError("tasks", row, f"'{task}' is unknown", suggestion(task, auction.tasks))
    return names, tasks


def _fused(auction: OnlineAuction, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Fuse the reports of a slot that was decided: each of a winner, on a task that was open, and once."""
    device = _device(auction, settings)
    season = known_season(auction, settings)
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


def known_season(auction: OnlineAuction, settings: Settings) -> Season:
    """Return the season of a state file that exists."""
    path = settings["state"]
    if not path:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps the season")
    return Season.load(path, auction.fingerprint, share_of(auction), settings["season"])


def share_of(auction: OnlineAuction) -> Fraction:
    """Return the participation that is promised, exactly."""
    return rational("participation", auction.participation)


def texts(what: str, column: Any) -> list[str]:
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
