"""Find every class of a kind: by importing the modules in which they can be."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Kind = TypeVar("Kind")


def import_all(packages: Iterable[str], group: str) -> None:
    """Import the modules of packages, and those that other distributions name by an entry point."""
    for name in packages:
        for found in pkgutil.iter_modules(importlib.import_module(name).__path__):
            importlib.import_module(f"{name}.{found.name}")
    from importlib.metadata import entry_points  # takes as long as many modules

    for point in entry_points(group=group):
        importlib.import_module(point.value)


def import_naming(package: str, word: str) -> None:
    """Import those modules of a package and below whose text gives this word as the type of a class."""
    folder, given = Path(importlib.import_module(package).__path__[0]), f'type: ClassVar[str] = "{word}"'
    for path in sorted(folder.rglob("*.py")):
        if given in path.read_text(encoding="utf-8"):
            parts = path.relative_to(folder).with_suffix("").parts
            importlib.import_module(".".join((package, *parts)))


def derived(kinds: Iterable[type[Kind]]) -> Iterator[type[Kind]]:
    """Yield classes and those derived from them that were imported.

    Examples
    --------
    >>> {OSError, FileNotFoundError} <= set(derived(Exception.__subclasses__()))
    True
    """
    for kind in kinds:
        yield kind
        yield from derived(kind.__subclasses__())
