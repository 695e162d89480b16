"""Tables in memory and missing reports; servers, which count reports, merge in any order, and are saved.

Counts that come from a file or another machine are integers, and not more than can be counted; contents that
are damaged raise an error of this package, whatever reading them raises.

A data frame is read like a file: by the names of its columns, in the same blocks, with the same rule for
missing values and the same refusals of reports of another mechanism. So a seed gives the same reports, and a
frame that is written to a file can be read by the command line.

A report is never empty, and leaving some out by value is biased. Other programs read some words as missing
values and write them as empty fields. Where such a word is a report, rows without a report are not rows of
users who sent none.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import HasSurvey, other_owner, owner_entries
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    counted,
    named_option,
    option,
)
from mechdesign.data.frames import FrameTable, is_partitioned, is_table, merge_partitions
from mechdesign.data.intake import READ_AS_MISSING, Block, MissingRule, Source
from mechdesign.exact.numbers import number_of_text, plain, require_no_mask, text_of

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.collecting import Operation, Settings
    from mechdesign.collect.estimate import Estimated


def run_on_tables(mechanism: Mechanism, name: str, tables: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Run an operation of a mechanism on data frames or series; see :meth:`Mechanism.run`."""
    from mechdesign.collect.collecting import operation_of

    operation = operation_of(mechanism.operations(), name, mechanism.type)
    settings = settings_of(operation, {key: value for key, value in options.items() if key != "missing"})
    _require_tables(operation, tables)
    rule = rule_for(mechanism, operation, options.get("missing"))
    sources = [FrameTable(table, rule) for table in tables]
    result = operation.run(sources, settings)
    if not operation.gives:
        return result
    columns = _joined(list(result))
    return sources[0].like(columns, operation.in_order) if sources else columns


def on_table(mechanism: Mechanism, name: str, table: Any, **options: Any) -> NDArray[Any]:
    """Run an operation on one data frame; type checkers take what comes back for an array."""
    result: NDArray[Any] = run_on_tables(mechanism, name, [table], options)
    return result


def _require_tables(operation: Operation, tables: Sequence[Any]) -> None:
    least, most = (1 if operation.takes else 0), (None if operation.several else 1)
    most = most if operation.takes else 0
    if len(tables) < least or (most is not None and len(tables) > most):
        number = "one or more" if most is None else "none" if most == 0 else "one"
        raise ParameterError("tables", f"{len(tables)} given, '{operation.name}' takes {number}")


def settings_of(operation: Operation, options: Mapping[str, Any]) -> Settings:
    """Return the options of an operation as Python writes them: ``rng`` is the seed, a text may be a list."""
    named = {"seed" if key == "rng" else key: value for key, value in options.items()}
    lists = [option.name for option in operation.options if option.kind == "texts"]
    for key in lists:
        if isinstance(named.get(key), str):
            named[key] = [named[key]]
        elif named.get(key) is not None:
            named[key] = [",".join(text) if isinstance(text, (list, tuple)) else text for text in named[key]]
    return operation.settings(named)


def missing_rule(mechanism: Mechanism, rule: str | None = None, codes: tuple[str, ...] = ()) -> MissingRule:
    """Return the treatment of rows without a value: as requested, or as the mechanism was built."""
    chosen = rule or mechanism.intake.missing
    mechanism._require_missing(chosen)
    result = MissingRule(chosen, codes, _takes_missing(mechanism), mechanism._missing_word)
    require_no_category(mechanism, result)
    return result


def rule_for(
    mechanism: Mechanism, operation: Operation, rule: str | None = None, codes: tuple[str, ...] = ()
) -> MissingRule:
    """Return the treatment of rows without a value for an operation: of answers, or of reports."""
    from mechdesign.collect.collecting import mark_in

    if any(mark_in(column.name) for column in operation.takes):
        return report_rule(mechanism, rule, codes)
    return missing_rule(mechanism, rule, codes)


def _takes_missing(mechanism: Mechanism) -> bool:
    try:
        mechanism._require_missing("category")
    except ParameterError:
        return False
    return True


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    names = list(blocks[0]) if blocks else []
    return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in names}


class WithTables:
    """Objects that run their operations on data frames: every mechanism."""

    def run(self, operation: str, *tables: Any, **options: Any) -> Any:
        """Run an operation on data frames or series, as the command ``run`` does it on files.

        Parameters
        ----------
        operation : str
            One that :meth:`operations` lists, such as ``randomize``.
        *tables : data frame or series
            Of pandas, polars, pyarrow and their like. A series is a table of one column.
        **options
            Those of the operation: ``column="city"``, ``clip=True``; ``rng`` for simulations only; and
            ``missing``, what to do with rows without a value: ``"refuse"``, ``"drop"`` or ``"category"``.

        Returns
        -------
        data frame, series or result
            The like of the first table, with the index of its rows; or the result, such as an estimate.

        Examples
        --------
        >>> import pandas as pd
        >>> from mechdesign.primitives import KaryResponse
        >>> mechanism = KaryResponse.of(2, epsilon=2.0, labels=["no", "yes"])
        >>> people = pd.DataFrame({"name": ["a", "b"], "smoker": ["yes", "no"]})
        >>> mechanism.run("randomize", people, column="smoker", rng=1).shape
        (2, 1)
        """
        mechanism: Any = self
        return run_on_tables(mechanism, operation, tables, options)


def alphabets_of(mechanism: Any) -> list[tuple[str, ...]]:
    """Return the named answers of every question or attribute.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> alphabets_of(KaryResponse.of(2, epsilon=1.0, labels=["no", "yes"]))
    [('no', 'yes')]
    """
    inner = getattr(mechanism, "local", mechanism)  # behind a shuffler
    attributes = getattr(getattr(inner, "attributes", None), "labels", None) or ()
    questions = getattr(getattr(inner, "questions", None), "all", None) or ()
    named = [getattr(getattr(inner, "labels", None), "names", None), *(each.names for each in attributes)]
    named += [question.labels for question in questions]
    return [tuple(names) for names in named if names]


MOST_CODES = 1 << 20
"""Categories without names that are compared with codes for missing values."""

BITS = re.compile(r"x[0-9a-fA-F]+", re.ASCII)
"""How a report of bits is written."""


def report_rule(mechanism: Mechanism, rule: str | None = None, codes: Sequence[str] = ()) -> MissingRule:
    """Return the treatment of empty fields in columns of reports: refused, unless rows are to be dropped.

    Parameters
    ----------
    mechanism : Mechanism
    rule : {"refuse", "drop", "category"}, optional
        That the mechanism was built with another one concerns answers.
    codes : sequence of str
        Texts that stand for no report.

    Raises
    ------
    ParameterError
        For a category, for a code that is a report, and for dropping where an empty field may be a report.
    """
    if rule == "category":
        raise ParameterError(
            option("missing", "category"), "is for answers; a report has no category", "omit it"
        )
    for code in codes:
        if is_report(mechanism, code):
            what = f"'{code}' can be a report of this mechanism; leaving it out makes the estimates wrong"
            raise ParameterError(named_option("missing_code"), what, "omit it")
    if rule == "drop" and (words := [word for word in risky_labels(mechanism) if is_report(mechanism, word)]):
        raise ParameterError(
            option("missing", "drop"),
            f"an empty field may be the report '{words[0]}', which other programs read as missing",
            "use the file that randomize wrote",
        )
    return MissingRule(rule or "refuse", tuple(codes), reports=True)


def is_report(mechanism: Any, text: str) -> bool:
    """Return whether a text of a table can be a report: the mechanism counts it.

    Where a report takes several columns, every number and all bits can be one.
    """
    server = mechanism.counter() if hasattr(mechanism, "counter") else None
    server = mechanism.aggregator() if hasattr(mechanism, "aggregator") else server
    if server is None:
        return False
    try:
        server.update(np.array([text], dtype=object))
    except RowError:
        return False
    except MechDesignError:
        return number_of_text(text) is not None or BITS.fullmatch(text) is not None
    return True


def risky_labels(mechanism: Any) -> list[str]:
    """Return the labels that other programs read as missing values.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> risky_labels(KaryResponse.of(3, epsilon=1.0, labels=["yes", "no", "N/A"]))
    ['N/A']
    """
    names = (name for alphabet in alphabets_of(mechanism) for name in alphabet)
    return list(dict.fromkeys(name for name in names if name.strip() in READ_AS_MISSING))


def all_categories(mechanism: Any) -> list[str]:
    """Return the categories of all columns of answers as a table has them: labels, or codes from 0.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> all_categories(KaryResponse.of(3, epsilon=1.0))
    ['0', '1', '2']
    >>> all_categories(KaryResponse.of(2, epsilon=1.0, labels=["a", "b"]))
    ['a', 'b']
    """
    inner = getattr(mechanism, "local", mechanism)  # behind a shuffler
    attributes = getattr(getattr(inner, "attributes", None), "labels", None) or ()
    alphabets = (getattr(inner, "labels", None), *attributes)
    unnamed = [labels for labels in alphabets if not getattr(labels, "names", None)]
    codes = [map(str, range(min(getattr(labels, "size", 0), MOST_CODES))) for labels in unnamed]
    names = [name for alphabet in (*alphabets_of(mechanism), *codes) for name in alphabet]
    return list(dict.fromkeys(names))


def require_no_category(mechanism: Any, rule: MissingRule) -> None:
    """Refuse a code for missing values that is a category: answers would be left out by their value.

    Raises
    ------
    ParameterError
        Naming the category.
    """
    for name in all_categories(mechanism) if rule.codes else ():
        if rule.is_missing(name):
            what = f"'{name}' is a category here; without such answers the estimates are wrong"
            raise ParameterError(
                named_option("missing_code"), what, "omit it, or give the category another name"
            )


MOST_USERS = 1 << 53
"""More reports than that are an error: all their counts are exact in 64 bits and as doubles."""


def whole_rows(rows: Any, width: int, count: int, signed: bool = False) -> list[list[int]]:
    """Return the lists of integers, each below 2**180 in size, or raise DataError.

    Examples
    --------
    >>> whole_rows([[1, 1.9]], 2, 1)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: 1.9 is not a count; ...
    """
    damaged = "aggregator: the counts are damaged"
    if not isinstance(rows, list) or len(rows) != count:
        raise DataError(damaged, f"not {counted(count, 'list')}", "count the reports again")
    if not all(isinstance(row, list) and len(row) == width for row in rows):
        raise DataError(damaged, f"not {counted(width, 'number')} in each list", "count the reports again")
    numbers = [[plain(value) for value in row] for row in rows]
    for row, read in zip(rows, numbers, strict=True):
        for entry, number in zip(row, read, strict=True):
            if not isinstance(number, int) or abs(number) >> 180 or (number < 0 and not signed):
                raise DataError(damaged, f"{text_of(entry)} is not a count", "count the reports again")
    return numbers  # type: ignore[return-value]


def require_users(count: int) -> None:
    """Raise DataError when there are more reports than counters hold without rounding."""
    if count > MOST_USERS:
        raise DataError(
            "aggregator", f"{count} reports are more than {MOST_USERS}", "count the reports again"
        )


def require_own(document: object, mechanism: HasSurvey, what: str = "counts") -> None:
    """Raise DataError unless these are what a server of this mechanism and survey wrote.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> require_own([], KaryResponse.of(3, 1.0))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: aggregator: the counts are damaged: not a JSON object; count ...
    """
    if not isinstance(document, Mapping):
        raise DataError("aggregator", f"the {what} are damaged: not a JSON object", "count the reports again")
    if document.get("mechanism") != mechanism.survey_digest:
        owner = other_owner(mechanism, document.get("survey"), document.get("mechanism"))
        raise DataError("aggregator", f"the {what} belong to {owner}", "load the one they were made with")


class SavedCounts:
    """Saved counts of a server, in place of a table of reports; it has no rows.

    Parameters
    ----------
    name : str
        What errors call it: the path of a file.
    document : mapping
        What :meth:`~mechdesign.collect.server.Server.as_json` gave.
    question : str
        The column that was asked for, as far as it is known.

    Examples
    --------
    >>> SavedCounts("all.json", {}).columns
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: all.json: holds counts, and single reports are needed here; ...
    """

    def __init__(self, name: str, document: Mapping[str, Any], question: str = "") -> None:
        self.name, self.document, self.question = name, document, question

    @property
    def columns(self) -> tuple[str, ...]:
        """None: reports are counted, and single ones are gone."""
        raise self._no_rows()

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def row(self, number: int) -> int:
        """Raise DataError: there are no rows."""
        raise self._no_rows()

    def _no_rows(self) -> DataError:
        return DataError(
            self.name, "holds counts, and single reports are needed here", "name files written by randomize"
        )


MechanismT = TypeVar("MechanismT", bound="Mechanism")
EstimatedT = TypeVar("EstimatedT", bound="Estimated")


class Server(ABC, Generic[MechanismT]):
    """Counts that a server keeps of a mechanism's reports; no report can be read from them.

    A subclass counts (``update``), estimates, and says how counts are added, written and read.

    Class attributes
    ----------------
    kept : str
        What it keeps, ``counts`` or ``sums``, for errors.
    unit : str
        What ``users`` counts, for its ``repr``.
    nothing : str
        What to give where there is nothing to estimate from.
    operation : str
        The operation of the mechanism that reads what it counts.
    """

    kept: ClassVar[str] = "counts"
    unit: ClassVar[str] = "reports"
    merged: ClassVar[str] = "counts of one"
    nothing: ClassVar[str] = "give at least one report"
    operation: ClassVar[str] = "estimate"
    users: Any
    """Number of users who reported: an attribute, or a property."""

    question: str = ""
    """The column that was asked for, as far as it is known; it stands in tables of the estimates."""

    def __init__(self, mechanism: MechanismT) -> None:
        self.mechanism = mechanism

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.users} {self.unit} of {self.mechanism!r})"

    def update(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible.

        Parameters
        ----------
        reports : array, data frame or series
            What ``randomize`` gave. Columns of a data frame are found by their names; those that carry the
            mark of another mechanism are refused. The partitions of a Dask data frame are counted where
            they are, and only counts come here.
        """
        from mechdesign.collect.collecting import Settings

        if is_partitioned(reports):
            document, question = merge_partitions(reports, _count_part, _merge_parts, self.mechanism)
            self.take(SavedCounts("data frame", document, question), Settings())
            return
        if not is_table(reports):
            require_no_mask(reports, "reports")
            return self._count(reports)
        source = FrameTable(reports, report_rule(self.mechanism))
        self.count_table(source, Settings({"unmarked": source.is_series}))

    @abstractmethod
    def _count(self, reports: Any) -> None:
        """Count an array of reports; nothing is counted when one of them is impossible."""

    def count_table(self, source: Source, settings: Settings) -> None:
        """Count the reports of a table, block by block."""
        from mechdesign.collect.collecting import collect, report_column, unmarked

        column = report_column(source, settings, self.mechanism)
        collect([source], lambda _: [column], self._count)
        self.question = unmarked(column)

    def receive(self, source: Source, settings: Settings) -> None:
        """Count a message: the rows of one whole report of one user; the server is empty."""
        self.count_table(source, settings)
        if self.users != 1:
            raise DataError(source.name, f"holds the reports of {self.users} users", "send one report")

    def take(self, source: Source, settings: Settings) -> None:
        """Count the reports of a table, or add the counts of a file."""
        if not isinstance(source, SavedCounts):
            self.count_table(source, settings)
            return
        try:
            self.merge(type(self).from_json(self.mechanism, source.document))
        except MechDesignError as error:
            raise error.within(source.name) from None
        self.question = source.question

    def _asked(self, estimate: EstimatedT) -> EstimatedT:
        """Return an estimate with the question that it answers, where that is known."""
        from dataclasses import replace  # not where a mechanism is only built

        columns = self.mechanism.data_columns
        question = columns[0] if len(columns) == 1 else self.question
        return replace(estimate, question=question) if question else estimate

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Add what another server of the same mechanism has counted."""

    @abstractmethod
    def _written(self) -> dict[str, Any]:
        """Return the counters as plain values."""

    @abstractmethod
    def _read(self, document: Mapping[str, Any]) -> None:
        """Take what :meth:`_written` gave, checked; the server is empty."""

    def merge(self, other: Self) -> None:
        """Add what another machine has counted; both must belong to the same mechanism and survey."""
        theirs = other.mechanism
        if theirs.survey_digest != self.mechanism.survey_digest:
            owner = other_owner(self.mechanism, owner_entries(theirs).get("survey"), theirs.fingerprint)
            raise DataError("aggregator", f"the other one belongs to {owner}", f"merge {self.merged} only")
        self._merge(other)

    def require_some(self) -> None:
        """Raise DataError when nothing was counted."""
        if self.users == 0:
            raise DataError("reports", "there are none", self.nothing)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values, with the digest of mechanism and survey."""
        return {**owner_entries(self.mechanism), **self._written()}

    @classmethod
    def from_json(cls, mechanism: MechanismT, document: Mapping[str, Any]) -> Self:
        """Restore what :meth:`as_json` gave, for the same mechanism."""
        require_own(document, mechanism, cls.kept)
        server = cls(mechanism)
        server._read(document)
        return server


def new_server(mechanism: Any) -> Any:
    """Return an empty server of a mechanism that collects, or the analyzer's counter of a protocol.

    Raises
    ------
    DataError
        For a mechanism without one.
    """
    make = getattr(mechanism, "aggregator", None) or getattr(mechanism, "counter", None)
    if make is None:
        raise DataError("mechanism", f"a {mechanism.type} has no server that counts", "use its operations")
    return make()


Part = tuple[dict[str, Any], str]
"""What comes of a partition: what its server wrote, and the column that was asked for."""


def _count_part(mechanism: Any, part: Any) -> Part:
    """Count the reports of a partition, on a worker."""
    server = new_server(mechanism)
    if len(part):
        server.update(part)
    return server.as_json(), server.question


def _merge_parts(mechanism: Any, *parts: Part) -> Part:
    """Merge the counts of partitions, on a worker."""
    from mechdesign.collect.collecting import Settings

    server = new_server(mechanism)
    for document, _ in parts:
        server.take(SavedCounts("data frame", document), Settings())
    return server.as_json(), next((question for _, question in parts if question), "")


Given = ParamSpec("Given")
Made = TypeVar("Made")

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What wrong types, missing keys and matrices that cannot be inverted raise."""


def damage_refused(read: Callable[Given, Made]) -> Callable[Given, Made]:
    """Return a reader of a content whose errors are all of this package.

    Examples
    --------
    >>> read = damage_refused(lambda content: 1 / content["parts"])
    >>> read({"parts": 0})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.CertificateError: content: is damaged (division by zero); rebuild it
    """

    @wraps(read)
    def checked(*value: Given.args, **named: Given.kwargs) -> Made:
        try:
            with np.errstate(all="ignore"):  # what overflows fails the checks of the content
                return read(*value, **named)
        except MechDesignError:
            raise
        except DAMAGE as error:
            reason = repr(error) if isinstance(error, LookupError) else str(error)
            raise CertificateError("content", f"is damaged ({reason})", "rebuild it") from None

    return checked
