"""What holds for every test: one thread a process, and modules that exist once.

Examples of docstrings run in the modules that all others use, also where one file is collected alone.

With ``--import-mode=importlib``, pytest imports the packages above a file, and then executes the file, even
if one of those packages has imported it already. The class of a problem would then exist twice, and its
methods, which are declared for one of the two, would not be found for the other.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

HERE = Path(__file__).parent

# The workers have the cores between them; the threads of a matrix product would only wait for one another.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Import a module of the package by its name before pytest looks for it: it takes what is imported.

    Examples are looked for only in files that have some: elsewhere, no object has to be asked for its text.
    """
    place = file_path.relative_to(HERE) if file_path.is_relative_to(HERE) else file_path
    if place.parts[0] == "mechdesign" and place.suffix == ".py" and place.stem != "__main__":
        parts = place.with_suffix("").parts
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    found = yield
    if place.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return [collector for collector in found if not isinstance(collector, DoctestModule)]
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests and examples of the solvers: they run on each Python and with each release of theirs."""
    folders = tuple(str(HERE / place / "solvers") + os.sep for place in ("mechdesign", "tests"))
    for item in items:
        if str(item.path).startswith(folders):
            item.add_marker("everywhere")
