"""Randomize the files of a data set: into one file, or into a folder with a file for each of them.

Files of a data set on a Dask cluster: workers read them, and only counts or numbers of rows travel.

Workers get the mechanism as text and audit it themselves. They open the files by the same paths: these lie
on a file system that all share.

Files of users' data that were randomized before: what all their reports reveal together.

The user's cache remembers the digest of each file, never its content, and the epsilon of each randomization.
With ``MECHDESIGN_CACHE=off`` nothing is remembered. Where the same people stand in another file this is not
noticed: a note is a help, no guarantee.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mechdesign.collect.base import Mechanism, mechanism_of
from mechdesign.collect.collecting import Operation, Settings, operation_of
from mechdesign.collect.server import SavedCounts
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.data.data_set import STANDARD_INPUT, open_table
from mechdesign.data.forms import PLAIN, FileForm, plain_suffix
from mechdesign.data.intake import Block, MissingRule
from mechdesign.data.outputs import DATA, require_output
from mechdesign.data.reading import Copies, CountedFile
from mechdesign.export.messages import with_messages
from mechdesign.report.counting import Counting, count_one, server_of
from mechdesign.work.bars import Watch
from mechdesign.work.files import read_text, sha256_of, whole_file

if TYPE_CHECKING:
    from mechdesign.work.cache import Cache

SPOOLED = "reports.csv"
"""The name in a folder of the reports of what came on the standard input."""


def is_folder(path: str) -> bool:
    """Whether an output is a folder: a name that ends like that of one, or one that exists.

    Examples
    --------
    >>> is_folder("reports/"), is_folder("reports.csv")
    (True, False)
    """
    return path.endswith((os.sep, "/")) or (os.path.isdir(path) and not path.lower().endswith(DATA))


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


def require_folder(folder: str, names: Sequence[str], inputs: Sequence[str], force: bool) -> None:
    """Raise ParameterError when writing these files to a folder would destroy something."""
    path = folder.rstrip("/" + os.sep) or folder
    if os.path.lexists(path) and not os.path.isdir(path):
        raise ParameterError(f"-o {folder}", "is a file, not a folder", "choose another path")
    if not os.path.isdir(path):
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise ParameterError(f"-o {folder}", "its parent folder does not exist", "choose another path")
        return
    for name in names:
        place = os.path.join(path, name)
        if os.path.isdir(os.path.dirname(place)):
            require_output(place, inputs, force)


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
        rule = with_messages(MissingRule(*self.missing), self.mechanism)
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


FOLDER = "randomized"
"""The folder of the records within that of the cache."""
PIECE = 1 << 20
MOST = 1 << 20
"""Bytes of a record that are read."""


def repeated_note(paths: Sequence[str | os.PathLike[str]], epsilon: float) -> str:
    """Remember that files were randomized, and return what that costs if it was not the first time.

    Parameters
    ----------
    paths : sequence of path
        People's data.
    epsilon : float
        Of each report that was made.

    Returns
    -------
    str
        One line, however many files there are; empty the first time, and where nothing can be remembered.
    """
    from mechdesign.work.cache import default_cache

    cache = default_cache()
    if cache is None:
        return ""
    before = {path: earlier for path in paths if (earlier := _remembered(cache, path, epsilon))}
    if not before:
        return ""
    most = max(map(len, before.values()))
    times = "once" if most == 1 else f"{most} times"
    first, more = next(iter(before)), len(before) - 1
    what = f"{first}: was randomized {times} before"
    if more:
        up_to = times if min(map(len, before.values())) == most else f"up to {times}"
        what = f"{first} and {more} more of {len(paths)} files: were randomized {up_to} before"
    total = max(map(sum, before.values())) + epsilon
    return (
        f"{what}; a user whose reports are all sent has epsilon = {total:g} "
        f"in all, not {epsilon:g}: send one of them, or collect with a mechanism for several reports"
    )


def _remembered(cache: Cache, path: str | os.PathLike[str], epsilon: float) -> list[float]:
    """Add a randomization to the record of a file, and return the epsilons of the earlier ones."""
    record = cache.root / FOLDER / _digest(path)
    earlier = _read(record)
    with suppress(OSError, DataError):
        cache.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.parent.mkdir(mode=0o700, exist_ok=True)
        with whole_file(record, DataError, private=True) as temporary:
            temporary.write_text(json.dumps([*earlier, epsilon]), encoding="utf-8")
    return earlier


def _digest(path: str | os.PathLike[str]) -> str:
    if os.path.getsize(path) <= PIECE:
        with open(path, "rb") as stream:
            return sha256_of(stream.read())
    import hashlib  # loads OpenSSL, which is faster for more than a few bytes

    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _read(record: Path) -> list[float]:
    """Return the epsilons of earlier randomizations; none where the record is missing or damaged."""
    with suppress(OSError, ValueError):
        content: Any = json.loads(read_text(record, MOST, DataError))
        if isinstance(content, list) and all(isinstance(number, (int, float)) for number in content):
            return [float(number) for number in content]
    return []
