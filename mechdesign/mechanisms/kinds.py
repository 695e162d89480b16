"""Find every class of a kind: by importing the modules in which they can be."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import TypeVar

Kind = TypeVar("Kind")


def import_all(packages: Iterable[str], group: str) -> None:
    """Import the modules of packages, and those that other distributions name by an entry point."""
    for name in packages:
        for found in pkgutil.iter_modules(importlib.import_module(name).__path__):
            importlib.import_module(f"{name}.{found.name}")
    for point in entry_points(group=group):
        importlib.import_module(point.value)


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
