"""A ledger: what was collected from each group of participants, and whether more is within the limit.

The file is replaced whole, on the disk before the command says so, and by one process after the other: a
killed one leaves the ledger as it was before or after its collection, never between.

Whoever enters a collection may have looked at the results of earlier ones: the limit is kept for epsilons
that are chosen so, by a Renyi filter.

Mechanism files as entries of an account: what a user reveals who answers all of them.

A table has a row for each collection, with mechanism file, group and number of answers.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.audit.losses import LossCurve
from mechdesign.collect import totals
from mechdesign.collect.base import CollectingMechanism, Mechanism, load_mechanism
from mechdesign.collect.totals import PROMISES, Collected, Total, total_text
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ModelFileError,
    ParameterError,
    RowError,
    named_option,
    unread,
)
from mechdesign.core.guarantee import Exact, Guarantee, exact_text, precise_text
from mechdesign.core.validation import delta_number, epsilon_number, integer, one_of, probability_text
from mechdesign.data.intake import Block, MissingRule
from mechdesign.exact.numbers import number_of_text
from mechdesign.ledger.account import total
from mechdesign.ledger.renyi_filter import FILTER, account_of, decided
from mechdesign.work.files import one_at_a_time, parse_json, read_text, whole_file

FORMAT = "mechdesign-ledger"
VERSION = 3
"""In version 2 numbers are exact and an entry names its survey; in version 3 it has the curve of delta of its
reports. Earlier ones are still read."""
LARGEST_FILE = 1 << 28
MOST_DIGITS = 1000
"""Of a limit."""

ACCOUNTS = ("filter", "sums")
SUMS = ACCOUNTS[1]
DAMAGED = "restore a copy"


@dataclass(frozen=True)
class Entry:
    """One collection: which mechanism, from which file, when, of which survey, and what reports reveal.

    Two waves of one mechanism are two collections: the surveys' identities differ.
    """

    collected: Collected
    mechanism: str
    file: str
    when: str
    survey: str = ""

    def is_again(self, other: Entry) -> bool:
        """Whether another one is of the same mechanism and survey, as far as they say."""
        return (self.mechanism, self.survey) == (other.mechanism, other.survey)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; the survey where it has an identity."""
        plain = {name: value for name, value in vars(self).items() if name != "survey" or value}
        return {**plain, "collected": _written(self.collected)}


@dataclass(frozen=True)
class Ledger:
    """Record of what was collected, by groups.

    Attributes
    ----------
    survey : str
        Which survey it belongs to.
    limit : Guarantee
        The owner's limit for each group, exactly.
    shuffled : bool
        Whether the limit is for what is known after shufflers, rather than for the reports themselves.
    groups : mapping
        The entries of each group.
    filtered : bool
        Whether a Renyi filter may decide; in a ledger of sums it does not.
    """

    survey: str
    limit: Guarantee
    shuffled: bool
    groups: Mapping[str, tuple[Entry, ...]]
    filtered: bool = True

    @property
    def epsilon(self) -> float:
        """The epsilon of the limit."""
        return float(self.limit.epsilon)

    @property
    def delta(self) -> float:
        """The delta of the limit."""
        return float(self.limit.delta)

    def total(self, group: str) -> Total:
        """Return the sums of what a group has revealed, in the account that decides."""
        collected = [entry.collected for entry in self.groups.get(group, ())]
        if self.decided(group)[1] == PROMISES:
            collected = [one.as_promised for one in collected]
        return total(collected)

    def with_entry(self, group: str, entry: Entry) -> Ledger:
        """Return the ledger with one more collection."""
        entries = (*self.groups.get(group, ()), entry)
        return replace(self, groups={**self.groups, group: entries})

    def without_last(self, group: str) -> Ledger:
        """Return the ledger without the last collection of a group."""
        return replace(self, groups={**self.groups, group: self.groups.get(group, ())[:-1]})

    def used(self, group: str) -> float:
        """Return the part of the limit that a group has used, however its collections were chosen."""
        return self.decided(group)[0]

    def decided(self, group: str) -> tuple[float, str]:
        """Return the part of the limit that a group has used, and the account that says so."""
        collected = [entry.collected for entry in self.groups.get(group, ())]
        return decided(collected, self.limit.epsilon, self.limit.delta, self.shuffled, self.filtered)

    def account(self, group: str) -> str:
        """Return the account that the first collection of a group has fixed."""
        collected = [entry.collected for entry in self.groups.get(group, ())]
        return account_of(collected, self.limit.epsilon, self.limit.delta, self.shuffled, self.filtered)

    def has_room_for(self, group: str, entry: Entry) -> bool:
        """Whether the account of a group takes such a collection: a Renyi filter takes none with a delta."""
        return self.account(group) != FILTER or entry.collected.delta == 0.0

    def named(self, group: str) -> str:
        """Return the name under which a group is kept: that of one it has, or a new one.

        Raises
        ------
        ParameterError
            For a name that differs from one of the ledger by blanks, capitals or forms of letters alone: it
            would have a limit of its own.
        """
        return _named(group, self.groups, {_bare(known): known for known in reversed(list(self.groups))})

    def allows(self, group: str) -> bool:
        """Whether a group is within the limit."""
        return self.used(group) <= 1.0

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        groups = {name: [entry.as_json() for entry in entries] for name, entries in self.groups.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "survey": self.survey,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "limit": self.limit.as_json(),
            "shuffled": self.shuffled,
            "groups": groups,
            **({} if self.filtered else {"account": SUMS}),
        }


def open_ledger(
    path: str, survey: str, epsilon: Exact, delta: Exact, shuffled: bool, account: str = ACCOUNTS[0]
) -> Ledger:
    """Make the file of an empty ledger; never over one that exists.

    With the account "sums", the sums of epsilon and delta decide; else a Renyi filter may.

    Raises
    ------
    ParameterError
        For an impossible limit, or a file that exists: what was collected must not be forgotten.
    """
    limit = _limit(epsilon, delta)
    if not survey.strip() or not survey.isprintable():
        raise ParameterError(named_option("survey"), "is not a name", "name the survey in one line")
    ledger = Ledger(survey, limit, shuffled, {}, one_of(named_option("account"), account, ACCOUNTS) != SUMS)
    with one_at_a_time(path, ModelFileError):
        if Path(path).exists():
            raise ParameterError(path, "exists, and a ledger is never replaced", "choose another path")
        _write(path, ledger)
    return ledger


def record_collection(path: str, group: str, entry: Entry, survey: str | None = None) -> tuple[Ledger, bool]:
    """Add a collection to a ledger, unless the total of the group would be beyond the limit.

    Returns
    -------
    ledger : Ledger
        With the collection, also where it was refused.
    allowed : bool
        Whether it was written.
    """
    _group_name(group)
    with one_at_a_time(path, ModelFileError):
        ledger = load_ledger(path, survey)
        name = ledger.named(group)
        has_room = ledger.has_room_for(name, entry)
        ledger = ledger.with_entry(name, entry)
        allowed = has_room and ledger.allows(name)
        if allowed:
            _write(path, ledger)
    return ledger, allowed


def record_collections(
    path: str, collections: Sequence[tuple[str, Entry]], survey: str | None = None
) -> tuple[Ledger, int | None]:
    """Add many collections to a ledger, all of them or none: the file is locked and written once.

    What a group has used never falls as collections are added. So each group is within the limit all the time
    where it is at the end, and the time grows as their number does; only where it is not, halving finds
    the first collection that is too much.

    Parameters
    ----------
    path : str
    collections : sequence of (str, Entry)
        Groups and their collections, in order.
    survey : str, optional
        Refuse the ledger of another one.

    Returns
    -------
    ledger : Ledger
        With all collections up to the one that is refused, and that one.
    refused : int or None
        The place of the first collection that is refused; None where all were written.

    Raises
    ------
    RowError
        For the name of a group that differs from another one too little, or is none.
    """
    with one_at_a_time(path, ModelFileError):
        before = load_ledger(path, survey)
        groups = {name: list(entries) for name, entries in before.groups.items()}
        bare = {_bare(name): name for name in reversed(groups)}
        places = dict[str, list[int]]()
        for place, (group, entry) in enumerate(collections):
            try:
                name = _named(_group_name(group), groups, bare)
            except ParameterError as error:
                raise RowError("", place, error.what, error.remedy) from None
            bare.setdefault(_bare(name), name)
            groups.setdefault(name, []).append(entry)
            places.setdefault(name, []).append(place)
        each = [_first_refused(before, name, groups[name], rows) for name, rows in places.items()]
        refused = min((row for row in each if row is not None), default=None)
        if refused is not None:
            for name, rows in places.items():
                later = sum(row > refused for row in rows)
                del groups[name][len(groups[name]) - later :]
        ledger = replace(before, groups={name: tuple(entries) for name, entries in groups.items() if entries})
        if refused is None:
            _write(path, ledger)
    return ledger, refused


def _first_refused(before: Ledger, name: str, entries: Sequence[Entry], rows: Sequence[int]) -> int | None:
    """Return the row of the first new entry of a group that is refused; None where all are taken."""
    old = len(entries) - len(rows)

    def is_within(count: int) -> bool:
        return replace(before, groups={name: tuple(entries[: old + count])}).allows(name)

    opened = replace(before, groups={name: tuple(entries[: max(old, 1)])})
    has_room = [opened.has_room_for(name, entry) for entry in entries[old:]]
    most = has_room.index(False) if False in has_room else len(rows)
    promised = [entry.collected.promise is not None for entry in entries[: old + most]]
    if any(promised) and not promised[0]:  # one that states a promise may change the account
        low = next((count for count in range(most) if not is_within(count + 1)), most)
    elif is_within(most):
        low = most
    else:
        low, high = 0, most  # taken after low of them, refused after high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_within(middle) else (low, middle)
    return rows[low] if low < len(rows) else None


def _group_name(group: str) -> str:
    if not group.strip() or not group.isprintable():
        raise ParameterError(named_option("group"), "is not a name", "name the group in one line")
    return group


def _named(group: str, groups: Mapping[str, Any], bare: Mapping[str, str]) -> str:
    """Return the name of a group; ``bare`` has the names of the groups by what a slip does not change."""
    name = unicodedata.normalize("NFC", " ".join(group.split()))
    for known in (group, name):
        if known in groups:
            return known
    alike = bare.get(_bare(name))
    if alike is not None:
        there = f"'{name}' is not a group of this ledger, and '{alike}' is"
        raise ParameterError(
            named_option("group"), there, "write it like that, or take a name that differs in letters"
        )
    return name


def load_ledger(path: str, survey: str | None = None) -> Ledger:
    """Return the ledger in a file.

    Raises
    ------
    DataError
        For a file that is none, is damaged or of a newer format, or the ledger of another survey.
    """
    try:
        document = parse_json(read_text(path, LARGEST_FILE, DataError))
    except OSError as error:
        raise DataError(path, unread(error), "make one with ledger open") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, MechDesignError):
            raise
        raise DataError(path, f"is damaged: not JSON ({error})", DAMAGED) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(path, "is not a ledger", "make one with ledger open")
    version = document.get("version")
    if version not in range(1, VERSION + 1) or isinstance(version, bool):
        known = f"this release reads 1 to {VERSION}"
        raise DataError(path, f"has version {version}, {known}", "use a newer release")
    if document.pop("sha256", None) != _digest(document):
        raise DataError(path, "is damaged: its digest is that of another content", DAMAGED)
    try:
        ledger = _read(document)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(path, "is damaged: a part is missing", DAMAGED) from None
    if survey is not None and survey != ledger.survey:
        raise DataError(path, f"is the ledger of the survey '{ledger.survey}'", "name that of this survey")
    return ledger


def entry_of(collected: Collected, mechanism: str, file: str, survey: str = "") -> Entry:
    """Return a collection that begins now."""
    return Entry(collected, mechanism, file, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), survey)


def _read(document: Mapping[str, Any]) -> Ledger:
    groups = {
        str(name): tuple(Entry(**{**item, "collected": _collected(item["collected"])}) for item in entries)
        for name, entries in document["groups"].items()
    }
    if "limit" in document:
        limit = Guarantee.from_json(document["limit"])
    else:  # of version 1: doubles
        limit = Guarantee(float(document["epsilon"]), float(document["delta"]))
    filtered = document.get("account", ACCOUNTS[0]) != SUMS
    return Ledger(str(document["survey"]), limit, bool(document["shuffled"]), groups, filtered)


def _limit(epsilon: Exact, delta: Exact) -> Guarantee:
    """Return the limit of numbers as they are, or of texts as they are written."""
    limit, most = epsilon_number(epsilon, named_option("epsilon")), delta_number(delta, named_option("delta"))
    if limit == 0:
        raise ParameterError(named_option("epsilon"), f"{exact_text(limit)} is outside (0, inf)")
    for name, number in ((named_option("epsilon"), limit), (named_option("delta"), most)):
        if len(precise_text(number)) > MOST_DIGITS:
            raise ParameterError(name, f"has more than {MOST_DIGITS} digits", "write a shorter one")
    if most == 1:
        raise ParameterError(named_option("delta"), f"{exact_text(most)} is outside [0, 1)")
    return Guarantee(limit, most, covers="all reports of a participant")


def _bare(group: str) -> str:
    """Return a name without what a slip changes: blanks, capitals, forms of letters."""
    return "".join(unicodedata.normalize("NFKC", group).casefold().split())


def _written(collected: Collected) -> dict[str, Any]:
    """Return reports as plain values, with their exact guarantee where it is known."""
    exact = {"guarantee": collected.guarantee, "promise": collected.promise, "curve": collected.curve}
    return {**collected.as_json(), **{key: each.as_json() for key, each in exact.items() if each is not None}}


def _collected(plain: Mapping[str, Any]) -> Collected:
    exact = {key: Guarantee.from_json(plain[key]) for key in ("guarantee", "promise") if plain.get(key)}
    curve = {"curve": LossCurve(plain["curve"])} if plain.get("curve") else {}
    return Collected(**{**plain, **exact, **curve})


def _write(path: str, ledger: Ledger) -> None:
    document = ledger.as_json()
    text = json.dumps({**document, "sha256": _digest(document)}, indent=1, allow_nan=False) + "\n"
    with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _digest(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def collected_of(mechanism: Mechanism, name: str, times: int = 1) -> Collected:
    """Return the privacy loss of a user who answers a mechanism ``times`` times.

    Parameters
    ----------
    mechanism : Mechanism
    name : str
        The path of its file.
    times : int

    Raises
    ------
    ParameterError
        For a mechanism without an epsilon, with one per unit of distance, or one that is not private.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> collected_of(KaryResponse.of(3, epsilon=0.5), "m.json", times=7)
    Collected(name='m.json', epsilon=0.5, delta=0.0, times=7, exact=True, users=0, size=0, ...)
    """
    if isinstance(mechanism, CollectingMechanism):
        return mechanism.collected(name, times)
    return totals.counted_by(mechanism, name, times)


@dataclass(frozen=True)
class Account:
    """The totals of several mechanisms.

    Attributes
    ----------
    collected : tuple of Collected
    own : Total
        Of the reports themselves.
    after : Total or None
        Of what is known after the shufflers, where there are some.
    """

    collected: tuple[Collected, ...]
    own: Total
    after: Total | None

    @property
    def is_within(self) -> bool:
        """Whether a finite epsilon is proven, with a delta below 1."""
        composed = math.isfinite(self.own.composed)
        return composed or (math.isfinite(self.own.epsilon) and self.own.delta < 1.0)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        after = None if self.after is None else self.after.as_json()
        return {
            "collected": [one.as_json() for one in self.collected],
            "total": self.own.as_json(),
            "shuffled": after,
        }

    def __str__(self) -> str:
        lines = []
        for one in self.collected:
            times = "" if one.times == 1 else f" {one.times} times"
            delta = f", delta = {probability_text(one.delta)}" if one.delta else ""
            mixed = f"; reports of {one.users} honest users are shuffled" if one.users else ""
            lines.append(f"{one.name}{times}: epsilon = {one.epsilon:g}{delta}{mixed}")
        lines.append(f"all reports of a user together: {total_text(self.own)}")
        if self.after is not None:
            lines.append(f"after the shufflers: {total_text(self.after)}")
        return "\n".join(lines)


def account(collected: Sequence[Collected], within: Exact) -> Account:
    """Return the account of mechanisms that one user answers.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the totals may have.
    """
    try:
        own = total(collected, within)
        mixed = any(one.users for one in collected)
        return Account(tuple(collected), own, total(collected, within, shuffled=True) if mixed else None)
    except MechDesignError as error:
        raise error.changed(where=named_option("delta")) from None


MECHANISM, GROUP, TIMES = "mechanism", "group", "times"
MOST_TIMES = 10**9


def entries_of(path: str | os.PathLike[str]) -> list[tuple[str, Entry]]:
    """Return the groups and collections of a table, in the order of its rows; each mechanism is read once.

    Parameters
    ----------
    path : path
        CSV, Excel, Parquet or JSON lines, with the columns ``mechanism`` (a file written by build) and
        ``group``, and ``times`` where participants answer another number of times than once.

    Raises
    ------
    DataError
        When a column is missing.
    RowError
        For the row whose mechanism or number cannot be used.
    """
    from mechdesign.data.data_set import open_table  # most ledgers have no table

    table = open_table(path, MissingRule())
    for name in (MECHANISM, GROUP):
        if table.columns.count(name) != 1:
            raise DataError(os.fspath(path), f"no column '{name}'", "give the columns mechanism and group")
    columns = [MECHANISM, GROUP, *([TIMES] if TIMES in table.columns else [])]
    result: list[tuple[str, Entry]] = []
    mechanisms = cache(load_mechanism)

    @cache
    def entry(file: str, times: int) -> Entry:
        mechanism = mechanisms(file)
        collected: Collected = collected_of(mechanism, file, times)
        return entry_of(collected, mechanism.fingerprint, file, mechanism.about.id)

    for block in _complete(table.blocks(columns)):
        lists = [np.asarray(block[name]).tolist() for name in columns]
        for row in zip(*lists, strict=True):
            file, group = str(row[0]), str(row[1])
            try:
                result.append((group, entry(file, _times(row[2]) if len(row) > 2 else 1)))
            except MechDesignError as error:
                raise RowError(os.fspath(path), len(result), str(error)) from None
    return result


def _complete(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks; of a row without a value, the error says what a row needs."""
    try:
        yield from blocks
    except RowError as error:
        raise error.changed(remedy="give mechanism, group and times in each row") from None


def _times(value: object) -> int:
    number = number_of_text(value) if isinstance(value, str) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return integer(TIMES, value if number is None else number, 1, MOST_TIMES)
