"""What the devices of weekly reports keep, and the operations on tables.

**What is kept.** The permanent sets and the number of weeks, not the answer. Where the answer does not change
that is one set. Where every cell may occur, the sets of all cells are drawn at once: which of them were used
is not kept. Only where there are more cells than the guarantee covers must a device know which it has used,
to refuse one too many: then the numbers of these cells stand next to their sets.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.collecting import (
    CLIP,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Option,
    Settings,
    data_column,
    located,
    marked,
    report_column,
    require_data,
)
from mechdesign.core.errors import (
    DataError,
    MethodError,
    ModelFileError,
    ParameterError,
    counted,
    named_option,
)
from mechdesign.data.identifiers import identifiers
from mechdesign.data.intake import ROWS, Block, Source
from mechdesign.exact.bits import Packed, as_texts, read_sets, width
from mechdesign.exact.numbers import plain, text_of
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.marginals.oracles.support import SupportOracle
from mechdesign.families.marginals.weeks.cells import Cells
from mechdesign.families.marginals.weeks.law import WeeklyLaw
from mechdesign.primitives.combine import PermanentReports

if TYPE_CHECKING:
    from mechdesign.collect.estimate import FrequencyEstimate
    from mechdesign.families.marginals.weeks.estimates import ChangeEstimate

Entry = dict[str, Any]
"""What is kept of a user: ``front``, the permanent ``sets`` by cell, and the number of ``weeks`` so far."""

ONLY = "0"
"""The one set of an answer that does not change: its cell is not kept."""


class WeeklyReports(SupportOracle):
    """What devices and tables use of the mechanism."""

    cells: Cells
    law: WeeklyLaw
    weeks: int
    distinct: int

    @property
    def permanent_reports(self) -> int:
        """The most permanent sets of one user: for as many distinct cells as the guarantee covers."""
        return min(self.distinct, self.cells.count)

    @property
    def counts_cells(self) -> bool:
        """Whether there are more cells than the guarantee covers, so that the device counts them."""
        return 1 < self.permanent_reports < self.cells.count

    @property
    def report_bits(self) -> int:
        return 8 * self.cells.front + self.cells.count

    def parts_of(self, packed: Packed) -> tuple[Packed, Packed]:
        """Return what was drawn once and the weekly sets of reports."""
        return packed[:, : self.cells.front], packed[:, self.cells.front :]

    @abstractmethod
    def estimate_weeks(self, tables: Sequence[Any], population: bool = False) -> FrequencyEstimate:
        """Return the mean share over weeks from the reports of the same users, in the same order."""

    @abstractmethod
    def estimate_change(self, before: Any, after: Any, population: bool = False) -> ChangeEstimate:
        """Return the change of each share between two weeks of the same users, in the same order."""


class PermanentSets(PermanentReports[Entry]):
    """The permanent sets of users, and in how many weeks each has reported.

    Parameters
    ----------
    mechanism : WeeklyResponse
    entries : mapping, optional

    Examples
    --------
    >>> from mechdesign.families.marginals.weeks.response import WeeklyResponse
    >>> mechanism = WeeklyResponse.of(3, 4.0, 1.0, 1, 1, weeks=2, distinct=3)
    >>> memory = mechanism.remember(["0", "2"], rng=1, users=["ann", "bob"])
    >>> memory.report([2, 2], ["ann", "bob"], rng=1).tolist(), memory.weeks_of("ann")
    (['x40', 'x20'], 1)
    """

    format: ClassVar[str] = "mechdesign-weekly-state"
    contents: ClassVar[str] = "weekly reports"

    def __init__(self, mechanism: WeeklyReports, entries: dict[str, Entry] | None = None) -> None:
        super().__init__(mechanism, entries)
        self.mechanism = mechanism
        for user, entry in self._entries.items():
            self._require_entry(user, entry)

    def __repr__(self) -> str:
        return f"PermanentSets({counted(len(self), 'user')}, of {self.mechanism!r})"

    def weeks_of(self, user: Any) -> int:
        """Return in how many weeks a user has reported."""
        (name,) = identifiers([user])
        return int(self.entry(name)["weeks"])

    def report(
        self, answers: Any = None, users: Sequence[Any] | None = None, rng: Rng = None
    ) -> NDArray[np.str_]:
        """Return a report of each user for the next week.

        Parameters
        ----------
        answers : array, optional
            This week's answers; not needed where they do not change.
        users : sequence, optional
            Whose they are; by default all users, in the order of their first report.
        rng : None, int or numpy Generator

        Raises
        ------
        MethodError
            When a user has reported in all planned weeks, or has more different answers than the guarantee
            covers. Nothing is counted then.
        """
        names = list(self.users) if users is None else identifiers(users)
        if answers is None:
            if self.mechanism.distinct > 1:
                raise DataError("answers", "are missing", "give this week's: they may have changed")
            codes = np.zeros(len(names), dtype=np.int64)
        else:
            codes = self.mechanism.codec.codes(answers)
        return as_texts(self.reports_for(names, codes, self.mechanism.source(rng, "reports")))

    def draw(self, users: Sequence[str], codes: Codes, source: BitSource) -> None:
        """Draw the permanent sets that these answers need."""
        self._require_rows(users, codes)

        def change() -> bool:
            _, entries = self._prepared(users, codes, source)
            self.add(entries)
            return bool(entries)

        self.in_file(change)

    def reports_for(self, users: Sequence[str], codes: Codes, source: BitSource) -> Packed:
        """Return the next week's reports for the codes of answers; the week is counted before."""
        self._require_rows(users, codes)
        result: list[Packed] = []

        def change() -> bool:
            permanent, new = self._prepared(users, codes, source)
            entries = {user: new.get(user) or self.entry(user) for user in users}
            for user, entry in entries.items():
                if entry["weeks"] >= self.mechanism.weeks:
                    planned = counted(self.mechanism.weeks, "week")
                    what = f"user {text_of(user)} has reported in all {planned} that were planned"
                    raise MethodError(self._place("weeks"), what, "build a mechanism for more weeks")
            self.add({user: {**entry, "weeks": entry["weeks"] + 1} for user, entry in entries.items()})
            result.append(permanent)
            return True

        self.in_file(change)
        front, sets = self.mechanism.parts_of(result[0])
        weekly = self.mechanism.law.draw_weekly(np.ascontiguousarray(sets), source)
        return np.concatenate([front, weekly], axis=1)

    def _place(self, what: str) -> str:
        return what if self.path is None else f"{self.name}: {what}"

    def _require_rows(self, users: Sequence[str], codes: Codes) -> None:
        if len(users) != len(codes):
            what = f"{len(users)} for {counted(len(codes), 'row')} of answers"
            raise DataError("users", what, "give one per row")

    def _prepared(
        self, users: Sequence[str], codes: Codes, source: BitSource
    ) -> tuple[Packed, dict[str, Entry]]:
        """Return front and permanent set of each user's cell, and the entries with what was drawn for it."""
        mechanism, law = self.mechanism, self.mechanism.law
        fresh = [row for row, user in enumerate(users) if user not in self]
        fronts = mechanism.cells.draw(len(fresh), source)
        first: dict[str, Entry] = {}
        for row, text in zip(fresh, as_texts(fronts).tolist(), strict=True):
            first[users[row]] = {"front": text, "sets": {}, "weeks": 0}
        entries = [first.get(user) or dict(self.entry(user)) for user in users]
        front = np.zeros((len(users), 0), dtype=np.uint8)
        if mechanism.cells.front:
            texts = np.array([entry["front"] for entry in entries], dtype=object)
            front = read_sets(texts, 8 * mechanism.cells.front)
        cells = mechanism.cells.of(front, codes)
        keys = [ONLY if mechanism.permanent_reports == 1 else str(cell) for cell in cells.tolist()]
        rows, places = self._lacking(entries, keys, cells)
        if len(rows):
            texts = as_texts(law.draw_permanent(np.array(places, dtype=np.int64), source)).tolist()
            for row, place, text in zip(rows, places, texts, strict=True):
                key = ONLY if mechanism.permanent_reports == 1 else str(place)
                entries[row]["sets"] = {**entries[row]["sets"], key: text}
            self._require_few(users, entries)
        chosen = np.array(
            [entry["sets"][key] for entry, key in zip(entries, keys, strict=True)], dtype=object
        )
        new = {users[row]: entries[row] for row in rows}
        return np.concatenate([front, read_sets(chosen, law.cells)], axis=1), new

    def _lacking(
        self, entries: Sequence[Entry], keys: Sequence[str], cells: Codes
    ) -> tuple[list[int], list[int]]:
        """Return for which users and cells sets are to be drawn: of all cells, where all may occur."""
        rows, places, mechanism = [], [], self.mechanism
        every = mechanism.permanent_reports > 1 and not mechanism.counts_cells
        for row, (entry, key) in enumerate(zip(entries, keys, strict=True)):
            if key not in entry["sets"]:
                needed = list(range(mechanism.law.cells)) if every else [int(cells[row])]
                rows += [row] * len(needed)
                places += needed
        return rows, places

    def _require_few(self, users: Sequence[str], entries: Sequence[Entry]) -> None:
        most = self.mechanism.permanent_reports
        for user, entry in zip(users, entries, strict=True):
            if len(entry["sets"]) > most:
                what = f"user {text_of(user)} has more than {counted(most, 'different answer')}"
                remedy = "build with a larger 'distinct', or omit this user"
                raise MethodError(self._place("answers"), what, remedy)

    def differ(self, mine: Entry, theirs: Entry) -> bool:
        """Whether the sets of a user were drawn apart: for a cell that both have."""
        common = mine["sets"].keys() & theirs["sets"].keys()
        apart = any(mine["sets"][key] != theirs["sets"][key] for key in common)
        return apart or mine["front"] != theirs["front"]

    def _require_entry(self, user: str, entry: Any) -> None:
        """Raise unless an entry is what this mechanism keeps: a file may have been written by anybody."""
        mechanism, size = self.mechanism, self.mechanism.law.size
        what = "what is kept is damaged"
        damaged = ModelFileError(f"user {text_of(user)}", what, "use a copy of the file")
        if not isinstance(entry, dict) or set(entry) != {"front", "sets", "weeks"}:
            raise damaged
        weeks, sets = plain(entry["weeks"]), entry["sets"]
        if isinstance(weeks, bool) or not isinstance(weeks, int) or weeks < 0 or not isinstance(sets, dict):
            raise damaged
        cells = {str(place) for place in range(mechanism.law.cells)}
        if not sets or len(sets) > mechanism.permanent_reports or not sets.keys() <= cells:
            raise damaged
        packed = read_sets(np.array(list(sets.values()), dtype=object), mechanism.law.cells)
        if (np.bitwise_count(packed).sum(axis=1) != size).any():
            raise damaged
        front = np.array([entry["front"]], dtype=object)
        mechanism.cells.require_front(read_sets(front, 8 * mechanism.cells.front))


STATE = Option("state", "path", "the file that keeps permanent sets of users; made when it is not there")
KEY = Option("key", "text", "the column that identifies users")

TABLES = (".csv", ".parquet", ".pq")

SAME = "of the same users in the same order, a file or a folder a week"


def weekly_operations(mechanism: WeeklyReports, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate`` of one week, and ``remember``, ``weeks`` and ``change``."""
    randomize, estimate = operations
    people = (*randomize.takes, Column("user", "identifier of the user, see --key", any_name=True))
    weekly = "a report of each user for this week, from the permanent sets that the file keeps"
    clip = (CLIP,) if mechanism.codec.clips else ()
    joint, shared = (COLUMN, POPULATION, UNMARKED), {"several": True, "apart": True}
    return (
        randomize,
        Operation(
            "remember", weekly, people, randomize.gives, partial(_weekly, mechanism),
            (STATE, KEY, COLUMN, *clip, SEED), in_order=True,
        ),
        estimate,
        Operation("weeks", f"the mean share over weeks {SAME}", estimate.takes, (),
                  partial(_over_weeks, mechanism), joint, **shared),
        Operation("change", f"the change of each share between two weeks {SAME}", estimate.takes, (),
                  partial(_changed, mechanism), joint, **shared),
    )  # fmt: skip


def _over_weeks(mechanism: WeeklyReports, sources: Sequence[Source], settings: Settings) -> FrequencyEstimate:
    tables = [_reports(mechanism, source, settings) for source in sources]
    return mechanism.estimate_weeks(tables, bool(settings["population"]))


def _changed(mechanism: WeeklyReports, sources: Sequence[Source], settings: Settings) -> ChangeEstimate:
    if len(sources) != 2:
        raise ParameterError("change", f"{counted(len(sources), 'file')}", "give two: before and after")
    before, after = (_reports(mechanism, source, settings) for source in sources)
    return mechanism.estimate_change(before, after, bool(settings["population"]))


def _weekly(mechanism: WeeklyReports, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Yield this week's reports after they were counted in the file."""
    (source,) = sources
    state, key = settings["state"], settings["key"]
    if not state:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps permanent sets")
    if not key:
        raise ParameterError(named_option("key"), "is missing", "name the column that identifies users")
    if str(state).lower().endswith(TABLES):
        what = f"{state} is named like a table"
        raise ParameterError(named_option("state"), what, "give it another name")
    require_data(source, [key])
    column = _answers_beside(source, settings, mechanism, str(key))
    bits = mechanism.source(settings["seed"], "remember")
    users: list[str] = []
    seen: set[str] = set()
    codes = [np.zeros(0, dtype=np.int64)]
    for block in source.blocks([column, key]):
        with located(source, key):
            users += identifiers(np.asarray(block[key]).tolist(), seen)
        with located(source, column):
            clip = bool(settings["clip"])
            if clip:
                settings.count(*mechanism.codec.moved(block[column]))
            codes.append(mechanism.codec.codes(block[column], clip))
    memory = PermanentSets.load(mechanism, state) if os.path.exists(state) else PermanentSets(mechanism)
    if memory.path is None:
        memory.save(state)
    before = len(memory)
    reports = memory.reports_for(users, np.concatenate(codes), bits)
    settings.count("user(s) remembered from before", len(users) - (len(memory) - before))
    name, texts = marked(column, mechanism.survey_digest), as_texts(reports)
    for start in range(0, len(texts), ROWS):
        yield {name: texts[start : start + ROWS]}


def _answers_beside(source: Source, settings: Settings, mechanism: WeeklyReports, key: str) -> str:
    """Return the column of answers: the one that is named, or the only one beside that of users."""
    columns = list(settings["column"] or mechanism.data_columns)
    others = [name for name in source.columns if name != key]
    if not columns and len(others) == 1:
        require_data(source, others)
        return others[0]
    column = data_column(source, settings, mechanism)
    if column == key:
        raise ParameterError(named_option("key"), f"'{key}' is the column of answers", "name that of users")
    return column


def _reports(mechanism: WeeklyReports, source: Source, settings: Settings) -> Packed:
    """Return the reports of a week's table."""
    column = report_column(source, settings, mechanism)
    parts = [np.zeros((0, width(mechanism.report_bits)), dtype=np.uint8)]
    for block in source.blocks([column]):
        with located(source, column):
            parts.append(mechanism.read(block[column]))
    return np.concatenate(parts)
