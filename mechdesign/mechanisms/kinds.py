"""Find every class of a kind: by importing the modules in which they can be."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Kind = TypeVar("Kind")


GIVEN = 'type: ClassVar[str] = "'
"""How the text of a module gives a class its type, up to the word."""


def import_all(packages: Iterable[str], group: str) -> None:
    """Import the modules that give a class a type, of packages and below; and those of entry points."""
    for name in packages:
        import_naming(name)
    from importlib.metadata import entry_points  # takes as long as many modules

    for point in entry_points(group=group):
        importlib.import_module(point.value)


def import_naming(package: str, word: str | None = None) -> None:
    """Import those modules of a package and below whose text gives this word, or any, as a class's type."""
    folder = Path(importlib.import_module(package).__path__[0])
    given = (GIVEN if word is None else f'{GIVEN}{word}"').encode()
    for path in sorted(folder.rglob("*.py")):
        if given in path.read_bytes() and path != Path(__file__):
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
