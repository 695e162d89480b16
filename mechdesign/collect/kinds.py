"""Find every class of a kind: by importing the modules in which they can be."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

Kind = TypeVar("Kind")


GIVEN = 'type: ClassVar[str] = "'
"""How the text of a module gives a class its type, up to the word."""


def import_all(packages: Iterable[str], group: str) -> None:
    """Import the modules that give a class a type, of packages and below; and those of entry points."""
    for module in _naming(packages, ""):
        importlib.import_module(module)
    from importlib.metadata import entry_points  # takes as long as many modules

    for point in entry_points(group=group):
        importlib.import_module(point.value)


def import_naming(packages: Iterable[str], word: str) -> None:
    """Import the first module of packages and below whose text gives this word as a class's type.

    Those whose file or folder is called like a part of the word are looked at first: all of them are some
    hundred.
    """
    for module in _naming(packages, word):
        importlib.import_module(module)
        return


def _naming(packages: Iterable[str], word: str) -> Iterator[str]:
    """Yield the names of modules whose text gives a class this type, or any type where it is empty."""
    given = (f'{GIVEN}{word}"' if word else GIVEN).encode()
    others: list[tuple[str, str]] = []
    for path, module in _all_files(packages):
        if not word or set(word.split("-")).isdisjoint(module.split(".")):
            others.append((path, module))
        elif _has(path, given):
            yield module
    yield from (module for path, module in sorted(others) if _has(path, given))


def _all_files(packages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield path and name of each module of packages and below."""
    for package in packages:
        yield from _files(importlib.import_module(package).__path__[0], package)


def _files(folder: str, package: str) -> Iterator[tuple[str, str]]:
    """Yield path and name of each module, those of a folder before those below it."""
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py") and f"{package}.{entry.name}" != f"{__name__}.py":
                yield entry.path, f"{package}.{entry.name[:-3]}"
            elif "." not in entry.name and entry.is_dir():
                inner.append(entry)
    for entry in inner:
        yield from _files(entry.path, f"{package}.{entry.name}")


def _has(path: str, given: bytes) -> bool:
    with open(path, "rb") as file:
        return given in file.read()


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
