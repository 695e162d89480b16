"""Randomize the files of a data set: into one file, or into a folder with a file for each of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Operation, Settings
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.tables import Block
from mechdesign.data.data_set import STANDARD_INPUT
from mechdesign.data.formats import DATA
from mechdesign.data.outputs import require_output

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
    found: dict[str, str] = {}
    for path in paths:
        name = SPOOLED if path == STANDARD_INPUT else os.path.relpath(os.path.abspath(path), common)
        if not name.lower().endswith(DATA):
            name = f"{os.path.splitext(name)[0]}.csv"
        other = found.setdefault(name, path)
        if other is not path:
            raise ParameterError(path, f"its reports would have the name of those of {other}", "rename it")
    return list(found)


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
