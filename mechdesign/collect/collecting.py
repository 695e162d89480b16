"""Operations of mechanisms on tables: their columns and options; ``randomize`` and ``estimate`` for all.

A mechanism lists its operations; whatever reads and writes files runs them and knows no class of mechanism.

Columns of reports carry a digest of the mechanism and its survey in their name, ``age__m3f2a91c07d4e``: a
name survives what spreadsheets, statistics programs and databases do to a table (sorting, filtering,
appending rows, converting), costs nothing per row, and two columns of different mechanisms or surveys
cannot be merged by mistake. A comment line before the header would be lost or taken for data, a column of
its own would cost 14 bytes a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    UnknownNameError,
    counted,
    named_option,
    option,
    suggestion,
)
from mechdesign.core.values import frozen_value
from mechdesign.data.intake import Block, Source, Values
from mechdesign.exact.randomness import Rng

if TYPE_CHECKING:
    from mechdesign.collect.base import CollectingMechanism, Mechanism

OptionKind = Literal["flag", "whole number", "number", "text", "texts", "path"]


@frozen_value()
class Column:
    """A column that an operation takes or gives.

    Attributes
    ----------
    name : str
    content : str
        What stands in it, for people.
    any_name : bool
        Whether the user's column may have any name; ``name`` then is only what it is called here.
    """

    name: str
    content: str
    any_name: bool = False

    def __str__(self) -> str:
        return f"{f'<{self.name}>' if self.any_name else self.name} ({self.content})"


@frozen_value()
class Option:
    """An option of an operation; from a shell ``--name``.

    A ``path`` names a file that the operation keeps for itself: no output may take its place.
    """

    name: str
    kind: OptionKind
    summary: str


COLUMN = Option("column", "texts", "column of the file, one per attribute (repeatable)")
CLIP = Option("clip", "flag", "move numbers outside the range to its nearest end")
SEED = Option("seed", "whole number", "for simulations only: repeatable, and not private")
POPULATION = Option("population", "flag", "estimate the population the users were drawn from")
UNMARKED = Option("unmarked", "flag", "take reports whose column carries no digest of a mechanism")
ANYWAY = Option("anyway", "flag", "collect although nothing can be estimated from the reports")
STANDARD = (COLUMN, CLIP, SEED, POPULATION, UNMARKED, ANYWAY)
"""Options of the operations ``randomize`` and ``estimate``."""


@dataclass
class Settings:
    """The options a user gave, and counts of what happened to the rows, for the last line of output.

    Examples
    --------
    >>> settings = Settings({"clip": True})
    >>> settings["clip"], settings["seed"]
    (True, None)
    >>> settings.count("value(s) clipped", 3); settings.said()
    ['3 values clipped']
    >>> settings.count("value(s) clipped", -2); settings.said()
    ['1 value clipped']
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.options.get(name)

    def count(self, what: str, number: int) -> None:
        """Add to a count; 0 adds nothing. The noun is written ``value(s)``."""
        if number:
            self.counts[what] = self.counts.get(what, 0) + int(number)

    def said(self) -> list[str]:
        """Return the counts as texts, their nouns in the plural unless the count is 1."""
        return [
            f"{number} {what.replace('(s)', '' if number == 1 else 's', 1)}"
            for what, number in self.counts.items()
        ]


Run = Callable[[Sequence[Source], Settings], Any]


@frozen_value()
class Operation:
    """One thing a mechanism does with tables.

    Attributes
    ----------
    name, summary : str
    takes : tuple of Column
        Empty when it reads no table, only files that its options name.
    gives : tuple of Column
        Empty when the result is not a table, but an object that prints and has ``as_json``.
    run : callable
        ``run(sources, settings)`` returns an iterator of blocks, or the result.
    options : tuple of Option
    several : bool
        Whether it takes several tables, such as the reports of many days.
    private : bool
        Whether what it gives stays with the client: the file can be read by its owner only.
    in_order : bool
        Whether it gives one row for each row of its table, in the same order. A shuffler does not: then no
        index of a data frame may stay next to its rows.
    apart : bool
        Whether each input is a table by itself, such as a week; a folder is one, and two may be alike.
    """

    name: str
    summary: str
    takes: tuple[Column, ...]
    gives: tuple[Column, ...]
    run: Run
    options: tuple[Option, ...] = ()
    several: bool = False
    private: bool = False
    in_order: bool = False
    apart: bool = False

    def settings(self, options: Mapping[str, Any]) -> Settings:
        """Return the settings for the given options; refuse an option that is not one of this operation's.

        Options that were not given (None, False or empty) are left out; the number 0 was given.
        """
        used = {name: value for name, value in options.items() if value is not None and value is not False}
        used = {name: value for name, value in used.items() if value not in ([], ())}  # 0 is a value
        known = [option.name for option in self.options]
        for name in used:
            if name not in known:
                listing = "; it has none"
                for place, other in enumerate(known):
                    listing = (listing + ", " if place else "; its options are ") + named_option(other)
                what = f"is not an option of '{self.name}' of this mechanism" + listing
                raise ParameterError(named_option(name), what)
        return Settings(used)


def operation_of(operations: Iterable[Operation], name: str, owner: str) -> Operation:
    """Return the operation of this name.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    known = {operation.name: operation for operation in operations}
    if not known:
        raise UnknownNameError(owner, "has no operations on tables", "load it in Python instead")
    if name not in known:
        raise UnknownNameError(owner, f"no operation '{name}'", suggestion(name, known))
    return known[name]


MARK = re.compile(r"(.*)__(m[0-9a-f]{12})", re.DOTALL)


def mark_of(digest: str) -> str:
    """Return the short form of the digest of mechanism and survey that stands in column names.

    It starts with a letter, so that no program takes it for a number.

    Examples
    --------
    >>> mark_of("3f2a91c07d4e55")
    'm3f2a91c07d4e'
    """
    return f"m{digest[:12]}"


def marked(column: str, digest: str) -> str:
    """Return the name of a column of reports: the column's own name and the digest of mechanism and survey.

    A mark that the name carries already is replaced.

    Examples
    --------
    >>> marked("age", "3f2a91c07d4e55")
    'age__m3f2a91c07d4e'
    """
    return f"{unmarked(column)}__{mark_of(digest)}"


def mark_in(column: str) -> str | None:
    """Return the mark in a column's name, in whatever case and with spaces around it; None without one.

    Examples
    --------
    >>> mark_in("Age__M3F2A91C07D4E "), mark_in("age")
    ('m3f2a91c07d4e', None)
    """
    match = MARK.fullmatch(column.casefold().strip())
    return match.group(2) if match else None


def unmarked(column: str) -> str:
    """Return a column's name without a mark.

    Examples
    --------
    >>> unmarked("age__m3f2a91c07d4e"), unmarked("age")
    ('age', 'age')
    """
    match = MARK.fullmatch(column)
    return match.group(1) if match else column


# What columns are read


def data_column(source: Source, settings: Settings, mechanism: Mechanism) -> str:
    """Return the one column of users' data to randomize."""
    columns = _one_at_most(settings["column"] or mechanism.data_columns)
    if not columns:
        _require_one(source)
        require_commas(source)
        if mechanism._is_value(source.columns[0]):
            raise DataError(
                source.name,
                f"its first line is '{source.columns[0]}', which is an answer: add a header line, or, "
                "if this is the column's name, give it with " + option("column"),
            )
        columns = [source.columns[0]]
    require_data(source, columns)
    return str(columns[0])


def require_data(source: Source, columns: Sequence[str]) -> None:
    """Raise DataError for columns that are not there, and for those that hold reports already."""
    require_columns(source, columns)
    for column in columns:
        if mark_in(column):
            raise DataError(
                source.name,
                f"column '{column}' holds reports, which would be randomized a second time",
                "name a column of true answers, or rename this one if it has them",
            )
        if not column.isprintable():
            raise DataError(source.name, f"the name of column '{column}' cannot be printed", "rename it")


def require_columns(source: Source, columns: Sequence[str]) -> None:
    """Raise DataError for a column that the source lacks, has twice, or that is requested twice."""
    for column in columns:
        if column not in source.columns:
            require_commas(source)
            raise DataError(source.name, f"no column '{column}'", suggestion(column, source.columns))
        if source.columns.count(column) > 1:
            raise DataError(source.name, f"several columns are named '{column}'", "rename all but one")
        if list(columns).count(column) > 1:
            raise DataError(source.name, f"column '{column}' is requested twice", "name it once")


def require_commas(source: Source) -> None:
    """Raise DataError when the header looks like one of columns that something else separates."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(source.columns) == 1 and separator in source.columns[0]:
            raise DataError(
                source.name,
                f"its columns are separated by {name}",
                f"add --delimiter {name.removesuffix('s')}",
            )


def report_column(source: Source, settings: Settings, mechanism: Mechanism) -> str:
    """Return the one column that holds this mechanism's reports; refuse those of another mechanism."""
    own, names = mark_of(mechanism.survey_digest), list(source.columns)
    columns = _one_at_most(settings["column"] or [])
    if columns:
        known = [
            name for name in names if columns[0].casefold() in (name.casefold(), unmarked(name).casefold())
        ]
        if not known:
            raise DataError(source.name, f"no column '{columns[0]}'", suggestion(columns[0], names))
        names = known
    marks = {name: mark for name in names if (mark := mark_in(name))}
    mine = [name for name, mark in marks.items() if mark == own]
    if len(mine) == 1:
        require_columns(source, mine)
        return mine[0]
    if mine:
        raise DataError(
            source.name,
            f"{counted(len(mine), 'column')} hold this mechanism's reports ({', '.join(mine[:8])})",
            "name one with " + option("column"),
        )
    if marks:
        other = next(iter(marks.values()))
        raise DataError(
            source.name,
            f"holds reports of {other_reports(mechanism, other)}",
            "use the mechanism file they were made with",
        )
    if not settings["unmarked"]:
        raise DataError(
            source.name,
            f"no column name ends in a mechanism's digest ({own} is this one's)",
            "use a file written by randomize, or "
            + option("unmarked", True)
            + " if you are sure that these are its reports",
        )
    _require_one(source, names)
    return names[0]


def _one_at_most(columns: Sequence[str]) -> list[str]:
    if len(columns) > 1:
        what = f"{counted(len(columns), 'column')} for a mechanism of one"
        raise ParameterError(named_option("column"), what, "name one")
    return list(columns)


def _require_one(source: Source, columns: Sequence[str] = ()) -> None:
    """Raise DataError for a table of several columns, or where several of them are in question."""
    names = columns or source.columns
    if len(names) > 1:
        what = f"has {counted(len(names), 'column')} ({', '.join(names[:8])})"
        raise DataError(source.name, what, "name one with " + option("column"))


def other_reports(mechanism: Mechanism, mark: str, what: str = "mechanism") -> str:
    """Return whose reports are marked so, to follow "reports of": another mechanism's, or another survey's.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> other_reports(KaryResponse.of(3, 1.0), "m3f2a91c07d4e")
    'another mechanism or survey (m3f2a91c07d4e, this one is m...)'
    """
    whose = f"another {what} or survey"
    if mechanism.about.id and mark == mark_of(mechanism.fingerprint):
        whose = f"this {what} from before it had an identity"
    survey = f" of {mechanism.about.survey}" if mechanism.about.id else ""
    return f"{whose} ({mark}, this one is {mark_of(mechanism.survey_digest)}{survey})"


# Running clients and servers over blocks


@contextmanager
def located(source: Source, column: str | None = None) -> Iterator[None]:
    """Put file, column and the row of the file into the errors that a block causes."""
    place = source.name if column is None else f"{source.name}: column '{column}'"
    try:
        yield
    except RowError as error:
        raise error.moved(place, source.row(error.row) - 1) from None
    except MechDesignError as error:
        raise error.within(place) from None


def number_column(
    source: Source,
    block: Block,
    column: str,
    fits: Callable[[NDArray[np.float64]], NDArray[np.bool_]] = np.isfinite,
    wrong: str = "is not a finite number",
    remedy: str = "correct it",
    what: str = "",
) -> NDArray[np.float64]:
    """Return a column of numbers; the error names file, column and the first row that does not fit.

    Parameters
    ----------
    source : Source
    block : mapping
        Of the source.
    column : str
    fits : callable
        From the numbers to which of them may stand there.
    wrong : str
        What is wrong with one that may not, with ``{}`` for it.
    remedy : str
    what : str
        What errors call the numbers; by default the column's name.
    """
    from mechdesign.collect.codec import as_floats

    with located(source, column):
        numbers = as_floats(block[column], 1, what or column)
        strange = ~fits(numbers)
        if strange.any():
            row = int(np.argmax(strange))
            raise RowError(what or column, row, wrong.format(f"{numbers[row]:g}"), remedy)
    return numbers


def side_by_side(source: Source, columns: Sequence[str], readers: Sequence[Reader]) -> Iterator[NDArray[Any]]:
    """Yield columns side by side, (n, d) a block, each read by its function.

    Errors name the file, the column and the row.
    """
    for block in source.blocks(columns):
        parts = []
        for column, read in zip(columns, readers, strict=True):
            with located(source, column):
                parts.append(read(block[column]))
        yield np.stack(parts, axis=1)


def collect(
    sources: Sequence[Source], columns: Callable[[Source], Sequence[str]], update: Callable[..., None]
) -> None:
    """Hand the columns of all blocks of all tables to a server.

    Parameters
    ----------
    sources : sequence of Source
    columns : callable
        ``columns(source)`` returns the names of the columns to read.
    update : callable
        Takes the columns of a block, one argument each; errors are moved to file and row.
    """
    for source in sources:
        names = list(columns(source))
        for block in source.blocks(names):
            with located(source, names[0] if len(names) == 1 else None):
                update(*(block[name] for name in names))


Reader = Callable[[Values], NDArray[Any]]
"""From a column of a block to an array."""

Client = Callable[[Values, Settings, Rng], Values]
"""From a block of one column to its reports."""


def column_operations(
    mechanism: CollectingMechanism[Any],
    takes: Column,
    reports: str,
    client: Client,
    options: tuple[Option, ...],
    quantity: str,
) -> tuple[Operation, Operation]:
    """Return ``randomize`` and ``estimate`` of a mechanism of one column.

    Parameters
    ----------
    mechanism : CollectingMechanism
    takes : Column
        People's data.
    reports : str
        What stands in the column of reports.
    client : callable
        ``client(values, settings, rng)`` returns the reports of a block.
    options : tuple of Option
        Options of ``randomize`` besides ``column`` and ``seed``. If they include ``ANYWAY``, a mechanism
        whose reports do not allow any estimate is refused unless the user sets that option.
    quantity : str
        What is estimated.
    """

    def randomize(sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        if ANYWAY in options and not settings["anyway"]:
            mechanism.require_estimable()
        (source,) = sources
        column = data_column(source, settings, mechanism)
        rng, name = mechanism.seeded(settings["seed"]), marked(column, mechanism.survey_digest)
        for block in source.blocks([column]):
            with located(source, column):
                reports = client(block[column], settings, rng)
            yield {name: reports}

    gives = Column(marked(takes.name, mechanism.survey_digest), reports, any_name=True)
    one_each = f"one private report for each {takes.name}"
    return (
        Operation(
            "randomize", one_each, (takes,), (gives,), randomize, (COLUMN, *options, SEED), in_order=True
        ),
        estimation(mechanism, (gives,), quantity),
    )


def estimation(mechanism: CollectingMechanism[Any], takes: tuple[Column, ...], quantity: str) -> Operation:
    """Return the operation ``estimate`` of a mechanism whose server counts one column of reports."""
    summary, run = f"{quantity}, with standard errors and intervals", partial(estimated, mechanism)
    return Operation("estimate", summary, takes, (), run, (COLUMN, POPULATION, UNMARKED), several=True)


def estimated(mechanism: CollectingMechanism[Any], sources: Sequence[Source], settings: Settings) -> Any:
    """Return the estimate from the reports of all tables, or of counts in their place."""
    server = mechanism.aggregator()
    for source in sources:
        server.take(source, settings)
    return server.estimate(population=bool(settings["population"]))


def count_outside(values: Any, low: Any, high: Any) -> int:
    """Return the number of values outside a range.

    Examples
    --------
    >>> count_outside(np.array([0.0, 2.0, -1.0]), 0.0, 1.0)
    2
    """
    return int(np.count_nonzero((values < low) | (values > high)))
