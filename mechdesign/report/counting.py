"""Count the reports of many files: one data set, checked before its first row is read.

Counts as files: what a server keeps of reports, which files they came from, and of which mechanism.

A count file is whole or absent. It names its mechanism and survey by their digest, and holds the mechanism
itself where that is small, so that counts can be merged without another file. It keeps a digest of each
file that was counted: the same reports are not counted twice, however often count files are merged.

Numbers where names are expected: a column of ages is not taken for the codes of categories.

A mechanism without labels takes the codes 0, 1, 2, ... of its categories. Any column of small numbers would
fit, and nobody would notice. So a file in whose column no row has the code 0 is refused until its owner says
that it holds codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mechdesign.collect.base import Mechanism, mechanism_of
from mechdesign.collect.collecting import Operation, Settings, mark_in, operation_of, unmarked
from mechdesign.collect.server import SavedCounts, new_server
from mechdesign.core.errors import DataError, MechDesignError, option, unread
from mechdesign.core.values import frozen_value
from mechdesign.data.about import About
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import Block, Coded, MissingRule, Source
from mechdesign.data.reading import Copies, CountedFile
from mechdesign.data.text_files import PLAIN, FileForm
from mechdesign.exact.numbers import file_values, plain_values
from mechdesign.work.files import parse_json, read_text, sha256_of, whole_file

COUNTING = ("analyze", "estimate")
"""The operations that read reports: of protocols, and of mechanisms that collect."""


def counting_operation(mechanism: Mechanism, owner: str) -> Operation:
    """Return the operation that estimates from reports; UnknownNameError where there is none."""
    known = [operation.name for operation in mechanism.operations()]
    return operation_of(mechanism.operations(), COUNTING[COUNTING[0] not in known], owner)


def server_of(mechanism: Mechanism, owner: str) -> Any:
    """Return an empty server of a mechanism, which counts its reports."""
    counting_operation(mechanism, owner)
    try:
        return new_server(mechanism)
    except DataError as error:
        raise error.changed(where=owner) from None


class Header:
    """A table without its rows: it notes which columns are requested.

    Examples
    --------
    >>> from mechdesign.export.messages import MemoryTable
    >>> header = Header(MemoryTable({"age": [31]}))
    >>> list(header.blocks(["age"])), header.request
    ([], ['age'])
    """

    def __init__(self, table: Source) -> None:
        self.table, self.name, self.columns = table, table.name, table.columns
        self.request: list[str] = []

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Note the columns; there are no rows."""
        self.request = list(columns)
        return iter(())

    def row(self, number: int) -> int:
        """Return the number itself: there are no rows."""
        return number


def require_one_set(tables: Iterable[Source], run: Callable[[Header], Any]) -> list[str]:
    """Return the columns of files; DataError when one has others, or belongs to another mechanism.

    Parameters
    ----------
    tables : iterable of Source
        Headers are looked at, no rows.
    run : callable
        Does to a table what is to be done to all; it raises for reports of another mechanism.
    """
    first: Header | None = None
    for table in tables:
        header = Header(table)
        run(header)
        if first is None:
            first = header
        elif [name.casefold() for name in header.request] != [name.casefold() for name in first.request]:
            columns, others = (", ".join(map(repr, one.request)) for one in (header, first))
            remedy: str = "give files of one kind"
            if _one_each(header, first):
                remedy = "name the column with " + option("column")
            raise DataError(table.name, f"has the column {columns}, {first.name} has {others}", remedy)
    return [] if first is None else first.request


def require_one_question(counts: Sequence[SavedCounts], columns: Sequence[str] = ()) -> None:
    """Raise DataError when counts are about columns of other names, or others than those of reports."""
    for other in counts[1:]:
        first = counts[0]
        if other.question.casefold() != first.question.casefold():
            what = f"counts the column '{other.question}', {first.name} counts '{first.question}'"
            raise DataError(other.name, what, "estimate them apart")
    if counts and len(columns) == 1 and counts[0].question:
        first, column = counts[0], unmarked(columns[0])
        if first.question.casefold() != column.casefold():
            what = f"counts the column '{first.question}', and the reports are of '{column}'"
            raise DataError(first.name, what, "estimate them apart")


def _one_each(one: Header, other: Header) -> bool:
    return len(one.request) == len(other.request) == 1 and not any(map(mark_in, one.request + other.request))


@dataclass
class Counting:
    """A server, the files that it counted, and what happened to their rows.

    Attributes
    ----------
    server : Server
    files : list of CountedFile
    missing : MissingRule
        With the number of rows that lacked a value.
    """

    server: Any
    missing: MissingRule
    files: list[CountedFile] = field(default_factory=list)


def count_one(server: Any, table: Any, settings: Settings, copies: Copies) -> None:
    """Count the reports in a file with a server; errors name the file."""
    table.copies = copies
    try:
        server.count_table(table, settings)
    except MechDesignError as error:
        raise (error if error.is_about(table.name) else error.within(table.name)) from None


FORMAT = "mechdesign-counts"
VERSION = 1
LARGEST_FILE = 1 << 28
"""A count file with more bytes is neither written nor read."""
SMALL = 1 << 18
"""Characters of a mechanism that is written into the count file."""
AGAIN = "count the reports again"
WRITTEN_BY = "name a file written by count or merge"


@frozen_value()
class CountFile:
    """Content of a count file.

    Attributes
    ----------
    survey_digest : str
        Of the mechanism whose server counted, and of its survey.
    users : int
        How many reports were counted: of users, or of users' messages.
    unit : str
        What they are: reports, users, messages.
    question : str
        The column that was asked for, as far as it is known.
    files : tuple of CountedFile
    counts : dict
        What the server wrote.
    mechanism : dict or None
        The mechanism as in its own file, where it is small.
    """

    survey_digest: str
    users: int
    unit: str
    question: str
    files: tuple[CountedFile, ...]
    counts: dict[str, Any]
    mechanism: dict[str, Any] | None

    def source(self, name: str) -> SavedCounts:
        """Return the counts as what a server takes."""
        return SavedCounts(name, self.counts, self.question)

    def save(self, path: str) -> None:
        """Write the file; it appears whole, on the disk, or not at all."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": self.survey_digest,
            "users": self.users,
            "unit": self.unit,
            "question": self.question,
            "files": [[file.name, file.rows, file.digest] for file in self.files],
            "counts": file_values(self.counts),
            "built": self.mechanism,
        }
        text = json.dumps({**document, "sha256": _digest(document)}, indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST_FILE:
            raise DataError(path, f"the counts take more than {LARGEST_FILE >> 20} MiB", "count fewer files")
        with whole_file(path, DataError, durable=True) as temporary:
            temporary.write_text(text, encoding="utf-8")


def count_file_of(server: Any, files: Sequence[CountedFile], mechanism: Mechanism) -> CountFile:
    """Return the count file of a server of a mechanism."""
    document = mechanism.document()
    small = len(json.dumps(document)) <= SMALL
    return CountFile(
        server.mechanism.survey_digest,
        int(server.users),
        server.unit,
        server.question,
        tuple(files),
        server.as_json(),
        document if small else None,
    )


def load_counts(path: str) -> CountFile:
    """Return the content of a count file.

    Raises
    ------
    DataError
        For a file that cannot be read, is none, is cut short, was changed, or is of a newer format.
    """
    try:
        document = parse_json(read_text(path, LARGEST_FILE, DataError))
    except OSError as error:
        raise DataError(path, unread(error), WRITTEN_BY) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, MechDesignError):
            raise
        raise DataError(path, f"is damaged or cut short: not JSON ({error})", AGAIN) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(path, "is not a file of counts", WRITTEN_BY)
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise DataError(path, f"has version {version}, this release reads {VERSION}", AGAIN)
    if document.pop("sha256", None) != _digest(document):
        raise DataError(path, "is damaged: its digest is that of another content", AGAIN)
    try:
        files = tuple(
            CountedFile(str(name), int(rows), str(digest)) for name, rows, digest in document["files"]
        )
        counts = plain_values(document["counts"])
        built = document["built"]
        if not isinstance(counts, dict) or not (built is None or isinstance(built, dict)):
            raise TypeError
        return CountFile(
            str(document["mechanism"]),
            int(document["users"]),
            str(document["unit"]),
            str(document["question"]),
            files,
            counts,
            built,
        )
    except (KeyError, TypeError, ValueError):
        raise DataError(path, "is damaged: a part is missing", AGAIN) from None


def note_files(file_counts: CountFile, path: str, copies: Copies) -> None:
    """Note the files that were counted in another one; refuse what was counted before."""
    for file in file_counts.files:
        copies.add(file, inside=path)


def merged(paths: Sequence[str], identical: bool, mechanism: Mechanism | None = None) -> CountFile:
    """Return the counts of several count files together.

    Parameters
    ----------
    paths : sequence of str
    identical : bool
        Whether files that were counted in two of them are meant twice.
    mechanism : Mechanism, optional
        Theirs; only needed where it is too large to be inside.
    """
    loads = [(path, load_counts(path)) for path in paths]
    first, one = loads[0]
    for path, other in loads:
        if other.survey_digest != one.survey_digest:
            what = f"counts reports of another mechanism or survey than {first}"
            raise DataError(path, what + _surveys(other, one), "merge those of one")
        if other.question.casefold() != one.question.casefold():
            what = f"counts the column '{other.question}', {first} '{one.question}'"
            raise DataError(path, what, "merge counts of one column")
    copies = Copies(identical)
    for path, other in loads:
        note_files(other, path, copies)
    own = _mechanism(loads, mechanism)
    server = new_server(own)
    for path, other in loads:
        server.take(other.source(path), None)
    return count_file_of(server, copies.files, own)


def _surveys(*files: CountFile) -> str:
    """Return the surveys of files, in brackets, where they say whose they are."""
    surveys = [About.from_json(file.counts["survey"]).survey for file in files if "survey" in file.counts]
    return f" ({', and '.join(surveys)})" if surveys else ""


def _mechanism(loads: Sequence[tuple[str, CountFile]], value: Mechanism | None) -> Mechanism:
    if value is not None:
        return value
    for path, one in loads:
        if one.mechanism is not None:
            return mechanism_of(one.mechanism, path)
    raise DataError(
        loads[0][0],
        "its mechanism is too large to be inside",
        "name the mechanism file with " + option("mechanism"),
    )


def _digest(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256_of(text.encode())


LEAST_ROWS = 20
"""In fewer rows the code 0 may be missing by chance."""


def require_codes(
    mechanism: Mechanism, path: str, columns: Sequence[str] | None = None, form: FileForm = PLAIN
) -> None:
    """Raise DataError when a column that has to hold codes does not look as if it did.

    Parameters
    ----------
    mechanism : Mechanism
        Its :meth:`~mechdesign.collect.Mechanism.bare_codes` say which columns those are.
    path : str
        People's data.
    columns : sequence of str, optional
        As the user names them; else those that the mechanism was built for, or all of the file.
    form : FileForm
        What is stated about the form of the file.
    """
    coded = mechanism.bare_codes()
    try:
        table = open_table(path, MissingRule("drop"), form=form)
        places = list(columns or mechanism.data_columns or table.columns)
        names = [name if name is not None else places[place] for place, (name, _) in enumerate(coded)]
        sizes = {name: size for name, (_, size) in zip(names, coded, strict=True) if size}
        least_codes = _smallest(table.blocks(list(sizes)), list(sizes))
    except (MechDesignError, LookupError, ValueError, OSError):
        return  # what is wrong with the file is said where it is randomized
    for name, (rows, least) in least_codes.items():
        if rows >= LEAST_ROWS and least > 0:
            codes = f"codes of categories, 0 to {sizes[name] - 1},"
            raise DataError(
                f"{path}: column '{name}'",
                f"numbers from {least:g} on, where {codes} are expected",
                "set labels in the model, or use " + option("codes", True) + " if these are codes",
            )


def _smallest(blocks: Iterable[Block], names: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Return for each column the number of rows and the smallest number."""
    result = {name: (0, float("inf")) for name in names}
    for block in blocks:
        for name in names:
            rows, least = result[name]
            values = block[name]
            distinct = values.values if isinstance(values, Coded) else np.unique(np.asarray(values))
            result[name] = (rows + len(values), min(least, float(distinct.astype(np.float64).min())))
    return result
