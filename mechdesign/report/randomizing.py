"""Randomize the files of a data set: into one file, or into a folder with a file for each of them.

Files of a data set on a Dask cluster: workers read them, and only counts or numbers of rows travel.

Workers get the mechanism as text and audit it themselves. They open the files by the same paths: these lie
on a file system that all share.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from mechdesign.collect.base import Mechanism, mechanism_of
from mechdesign.collect.collecting import Operation, Settings, operation_of
from mechdesign.collect.server import SavedCounts
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.data.data_set import STANDARD_INPUT, open_table
from mechdesign.data.intake import Block, MissingRule
from mechdesign.data.outputs import DATA
from mechdesign.data.reading import Copies, CountedFile
from mechdesign.data.text_files import PLAIN, FileForm, plain_suffix
from mechdesign.export.messages import MessageReader
from mechdesign.report.counting import Counting, count_one, server_of
from mechdesign.work.bars import Watch

SPOOLED = "reports.csv"
"""The name in a folder of the reports of what came on the standard input."""


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
    from mechdesign.data.writing import write_blocks  # is_folder is asked for where nothing is written

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
    from mechdesign.work.cluster import merge_pieces

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
    from mechdesign.work.cluster import run_pieces

    with Watch("files") as watch:
        results = run_pieces(client, randomize_piece, paths, pieces, order, watch)
    for _, _, counts, lacking, file in results:
        copies.add(file)
        missing.add(lacking)
        for what, number in counts.items():
            settings.count(what, number)
    return sum(result[0] for result in results), results[-1][1]
