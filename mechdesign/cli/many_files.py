"""An operation on the files of a data set, one after the other or on a cluster.

Randomized files go into one file, or into a folder with a file for each of them.

Workers of a Dask cluster read the files, and only counts or numbers of rows travel. They get the mechanism as
text and audit it themselves. They open the files by the same paths: these lie on a file system that all
share.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mechdesign.collect.base import Mechanism, mechanism_of
from mechdesign.collect.collecting import Operation, Settings, operation_of
from mechdesign.collect.server import SavedCounts
from mechdesign.core.errors import MechDesignError, ParameterError, counted
from mechdesign.data.data_set import COUNTS, STANDARD_INPUT, open_table, rows_about
from mechdesign.data.intake import Block, MissingRule, length
from mechdesign.data.outputs import DATA, is_folder, require_folder, require_output, whole_folder
from mechdesign.data.reading import Copies, CountedFile
from mechdesign.data.text_files import PLAIN, FileForm, plain_suffix
from mechdesign.export.messages import MessageReader
from mechdesign.report.counting import Counting, count_one, require_one_question, require_one_set, server_of
from mechdesign.work.bars import Watch

if TYPE_CHECKING:
    import argparse

    from mechdesign.data.data_set import Opened
    from mechdesign.report.counting import Header

SPOOLED = "reports.csv"
"""The name in a folder of the reports of what came on the standard input."""


class FileWork(Protocol):
    """An operation with what its files need: ``operations.Work``."""

    mechanism: Mechanism
    operation: Operation
    settings: Settings
    missing: MissingRule
    data: Opened
    options: argparse.Namespace
    owner: str
    copies: Copies

    def count_header(self, header: Header) -> None:
        """Raise what is wrong with the columns of reports."""

    def counts(self, path: str) -> Any:
        """Return the counts of a file, when they are this mechanism's."""

    def table(self, path: str, shows: bool = False) -> Any:
        """Return a table of many, which count once each."""


def outputs_of(paths: Sequence[str]) -> list[str]:
    """Return the names of the files of reports in a folder, those of the data where they can be.

    Raises
    ------
    ParameterError
        For two files of data whose reports would have one name.

    Examples
    --------
    >>> outputs_of(["days/1/people.csv", "days/2/people.jsonl"])
    ['1/people.csv', '2/people.csv']
    """
    files = [path for path in paths if path != STANDARD_INPUT]
    common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files] or ["/"])
    sources: dict[str, str] = {}
    for path in paths:
        name = SPOOLED if path == STANDARD_INPUT else os.path.relpath(os.path.abspath(path), common)
        name = name if plain_suffix(name) == Path(name).suffix.lower() else os.path.splitext(name)[0]
        if not name.lower().endswith(DATA):
            name = f"{os.path.splitext(name)[0]}.csv"
        other = sources.setdefault(name, path)
        if other is not path:
            raise ParameterError(path, f"its reports would have the name of those of {other}", "rename it")
    return list(sources)


def seeded(mechanism: Mechanism, settings: Settings, number: int | None = None) -> Settings:
    """Return the settings with the random stream of a seed: files in a folder have one each."""
    seed = settings["seed"]
    if seed is None:
        return settings
    purpose = "" if number is None else f"file {number}"
    return Settings({**settings.options, "seed": mechanism.seeded(seed, purpose)}, settings.counts)


def reports_of(operation: Operation, table: Any, settings: Settings) -> Iterator[Block]:
    """Yield the reports of a file; errors name it."""
    try:
        yield from operation.run([table], settings)
    except MechDesignError as error:
        raise (error if error.is_about(table.name) else error.within(table.name)) from None


def randomize_one(operation: Operation, table: Any, settings: Settings, place: Path) -> tuple[int, list[str]]:
    """Write the reports of a file to a file; return the number of rows and the columns."""
    from mechdesign.data.writing import write_blocks  # counting writes none

    blocks = reports_of(operation, table, settings)
    first = next(blocks)
    place.parent.mkdir(parents=True, exist_ok=True)
    return write_blocks(place, chain([first], blocks), operation.private), list(first)


@dataclass(frozen=True)
class Order:
    """Settings that all pieces share.

    Attributes
    ----------
    text : str
        The mechanism as in its file.
    owner : str
        What errors call it.
    options : dict
        Of the operation.
    missing : tuple
        The rule for missing values: its name, the codes, whether they can be a category and which, and
        whether it is for reports.
    alone : bool
        Whether there is one file only; one of many may be without rows.
    form : FileForm
        What is stated about the form of the files.
    """

    text: str
    owner: str
    options: dict[str, Any]
    missing: tuple[str, tuple[str, ...], bool, str, bool]
    alone: bool
    form: FileForm = PLAIN

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, audited once a process."""
        return _mechanism(self.text, self.owner)

    def table(self, path: str, name: str) -> Any:
        """Return a table that notes its digest."""
        rule = MissingRule(*self.missing).with_messages(partial(MessageReader, self.mechanism))
        table = open_table(path, rule, name, Path(path).suffix.lower(), self.form)
        table.copies, table.shows = Copies(identical=True), False
        return table


@dataclass(frozen=True)
class Counts:
    """Counts of a piece, or of several."""

    document: dict[str, Any]
    question: str
    files: tuple[CountedFile, ...]
    missing: tuple[int, int]


@lru_cache(maxsize=2)
def _mechanism(text: str, owner: str) -> Mechanism:
    return mechanism_of(json.loads(text), owner)


def order_of(
    mechanism: Mechanism,
    owner: str,
    settings: Settings,
    missing: MissingRule,
    paths: Sequence[str],
    form: FileForm = PLAIN,
) -> Order:
    """Return the settings that all pieces share; refuse the standard input, which workers do not have."""
    if STANDARD_INPUT in paths:
        raise ParameterError("--dask", "workers cannot read the standard input", "save it to files")
    rule = (missing.rule, missing.codes, missing.category, missing.word, missing.reports)
    return Order(json.dumps(mechanism.document()), owner, dict(settings.options), rule, len(paths) == 1, form)


def count_piece(order: Order, path: str, name: str) -> Counts:
    """Count the reports in a file, on a worker."""
    server, table = server_of(order.mechanism, order.owner), order.table(path, name)
    table.needs_rows = order.alone
    count_one(server, table, Settings(order.options), table.copies)
    return Counts(server.as_json(), server.question, tuple(table.copies.files), table.missing.tally)


def merge_counts(order: Order, *parts: Counts) -> Counts:
    """Merge the counts of several pieces, on a worker."""
    server = server_of(order.mechanism, order.owner)
    for part in parts:
        server.take(SavedCounts("counts", part.document, part.question), Settings())
    files = tuple(file for part in parts for file in part.files)
    missing = (sum(part.missing[0] for part in parts), sum(part.missing[1] for part in parts))
    return Counts(server.as_json(), server.question, files, missing)


def count_on(
    client: Any, order: Order, paths: Sequence[str], missing: MissingRule, copies: Copies
) -> Counting:
    """Count the reports in files on a cluster; what comes back is what one process would have counted.

    Parameters
    ----------
    client : Client
    order : Order
    paths : sequence of str
    missing : MissingRule
        Gets the number of rows that lacked a value.
    copies : Copies
        Gets the files, and refuses those that were counted before.
    """
    from mechdesign.work.parallel import merge_pieces

    with Watch("files") as watch:
        pieces = [(os.path.abspath(path), path) for path in paths]
        counts: Counts = merge_pieces(client, count_piece, merge_counts, paths, pieces, order, watch)
    for file in counts.files:
        copies.add(file)
    server = server_of(order.mechanism, order.owner)
    server.take(SavedCounts("counts", counts.document, counts.question), Settings())
    missing.add(counts.missing)
    return Counting(server, missing, copies.files)


def randomize_piece(
    order: Order, path: str, name: str, operation: str, number: int, place: str
) -> tuple[int, list[str], dict[str, int], tuple[int, int], CountedFile]:
    """Randomize a file, on a worker; its random stream is that of its number."""
    mechanism, table = order.mechanism, order.table(path, name)
    settings = seeded(mechanism, Settings(order.options), number)
    chosen = operation_of(mechanism.operations(), operation, order.owner)
    rows, columns = randomize_one(chosen, table, settings, Path(place))
    return rows, columns, settings.counts, table.missing.tally, table.copies.files[0]


def randomize_on(
    client: Any,
    order: Order,
    operation: str,
    paths: Sequence[str],
    places: Sequence[Path],
    settings: Settings,
    missing: MissingRule,
    copies: Copies,
) -> tuple[int, list[str]]:
    """Randomize files on a cluster; return the number of rows and the columns."""
    pieces = [
        (os.path.abspath(path), path, operation, number, str(place))
        for number, (path, place) in enumerate(zip(paths, places, strict=True))
    ]
    from mechdesign.work.parallel import run_pieces

    with Watch("files") as watch:
        results = run_pieces(client, randomize_piece, paths, pieces, order, watch)
    for _, _, counts, lacking, file in results:
        copies.add(file)
        missing.add(lacking)
        for what, number in counts.items():
            settings.count(what, number)
    return sum(result[0] for result in results), results[-1][1]


def counts_of(work: FileWork, paths: Sequence[str], address: str) -> list[Any]:
    """Return the counts of all files, counted on a cluster; and those of files that hold counts."""
    tables = [path for path in paths if Path(path).suffix.lower() != COUNTS]
    result = [work.counts(path) for path in paths if path not in tables]
    if tables:
        server = reports_counted(work, tables, address).server
        result.append(SavedCounts(tables[0], server.as_json(), server.question))
    require_one_question(result)
    return result


def reports_counted(work: FileWork, paths: Sequence[str], address: str | None) -> Counting:
    """Return the counts of the reports in all files; nothing is counted when one has other columns."""
    require_one_set((work.data.table(path, work.missing) for path in paths), work.count_header)
    if address is not None:
        from mechdesign.work.parallel import connected

        order = order_of(work.mechanism, work.owner, work.settings, work.missing, paths, work.data.form)
        with connected(address) as client:
            _note_cost(address, paths, counts=True)
            return count_on(client, order, paths, work.missing, work.copies)
    server = server_of(work.mechanism, work.owner)
    with Watch("files") as watch:
        watch.begin(len(paths), 0)
        for path in paths:
            watch.started(path)
            table = work.table(path, len(paths) == 1)
            table.needs_rows = len(paths) == 1
            count_one(server, table, work.settings, work.copies)
            watch.finished(path)
    return Counting(server, work.missing, work.copies.files)


def randomized(work: FileWork, paths: Sequence[str]) -> str:
    """Write the reports of all files, when all have the same columns; return what to say of it."""
    require_one_set(
        (work.data.table(path, work.missing) for path in paths),
        lambda header: list(work.operation.run([header], work.settings)),
    )
    if is_folder(work.options.output):
        return _into_folder(work, paths)
    if getattr(work.options, "dask", None) is not None:
        raise ParameterError("--dask", "workers write a file each", "name a folder: -o reports/")
    return _into_one(work, paths)


def _into_one(work: FileWork, paths: Sequence[str]) -> str:
    from mechdesign.data.writing import write_blocks

    output = work.options.output
    require_output(output, [work.owner, *paths], work.options.force)
    settings, columns = seeded(work.mechanism, work.settings), list[str]()

    def blocks() -> Iterator[Block]:
        with Watch("files") as watch:
            watch.begin(len(paths), 0)
            for path in paths:
                watch.started(path)
                for block in reports_of(work.operation, work.table(path), settings):
                    columns[:] = list(block)
                    if length(block):
                        yield block
                watch.finished(path)

    rows = write_blocks(output, blocks(), work.operation.private)
    return (
        f"{output}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} "
        f"from {counted(len(paths), 'file')}"
    )


def _into_folder(work: FileWork, paths: Sequence[str]) -> str:
    folder, names = work.options.output, outputs_of(paths)
    require_folder(folder, names, [work.owner, *paths], work.options.force)
    with whole_folder(folder) as temporary:
        places = [temporary / name for name in names]
        rows, columns = _on_cluster(work, paths, places) or _one_by_one(work, paths, places)
    files = counted(len(paths), "file")
    return f"{folder}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} in {files}"


def _on_cluster(work: FileWork, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]] | None:
    address = getattr(work.options, "dask", None)
    if address is None:
        return None
    from mechdesign.work.parallel import connected

    order = order_of(work.mechanism, work.owner, work.settings, work.missing, paths, work.data.form)
    with connected(address) as client:
        _note_cost(address, paths)
        name, settings, missing = work.operation.name, work.settings, work.missing
        return randomize_on(client, order, name, paths, places, settings, missing, work.copies)


def _one_by_one(work: FileWork, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]]:
    total, columns = 0, list[str]()
    with Watch("files") as watch:
        watch.begin(len(paths), 0)
        for number, (path, place) in enumerate(zip(paths, places, strict=True)):
            watch.started(path)
            settings = seeded(work.mechanism, work.settings, number)
            rows, columns = randomize_one(work.operation, work.table(path), settings, place)
            total += rows
            watch.finished(path)
    return total, columns


def _note_cost(address: str, paths: Sequence[str], counts: bool = False) -> None:
    """Say where starting processes for these files takes longer than it saves."""
    from mechdesign.work.parallel import PAYS, PAYS_TO_COUNT, does_not_pay

    note = does_not_pay(address, rows_about(paths), least=PAYS_TO_COUNT if counts else PAYS)
    if note:
        print(f"mechdesign: note: {note}", file=sys.stderr)
