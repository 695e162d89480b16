"""What belongs to a problem, found by name in its package or its papers: methods, quantities, simulation."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mechdesign.core.extensions import papers_beside
from mechdesign.core.problem import Problem

COMPANIONS = ("figures", "outlook", "quantities", "simulation")
"""The modules next to a problem that hold one function each; they hold no methods."""


def modules_of(
    problem_class: type[Problem], wanted: Callable[[str], bool] = lambda name: True, word: str = ""
) -> Iterator[ModuleType]:
    """Yield the modules next to a problem's class, then those next to the classes it derives from.

    A class in a package brings the whole package, and what its family's papers hold for it; one in a script
    or a single file brings that. Of a package, only the modules are imported whose last names are ``wanted``
    and whose text has a ``word``: a family's folder has its mechanisms as well.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> any(module.__name__.endswith("closed_form") for module in modules_of(RandomizedResponse))
    True
    """
    seen = set()
    for owner in problem_class.__mro__:
        if not issubclass(owner, Problem) or owner is Problem:
            continue
        package = owner.__module__.rpartition(".")[0]
        if package not in seen:
            seen.add(package)
            yield from _modules_in(package, owner.__module__, wanted, word)


def _modules_in(package: str, own: str, wanted: Callable[[str], bool], word: str) -> Iterator[ModuleType]:
    if not package:
        if own in sys.modules:
            yield sys.modules[own]
        return
    for parent in (importlib.import_module(package), *papers_beside(package)):
        for module_info in pkgutil.iter_modules(parent.__path__):
            name = f"{parent.__name__}.{module_info.name}"
            chosen = wanted(module_info.name) and (not word or _has(parent.__path__, module_info.name, word))
            if chosen or name == own:
                yield importlib.import_module(name)


def _has(folders: Iterable[str], name: str, word: str) -> bool:
    """Whether the text of a module has a word; also where the text is not in a file of its own."""
    files = [path for folder in folders if (path := Path(folder, f"{name}.py")).is_file()]
    is_package = any(Path(folder, name).is_dir() for folder in folders)
    return any(word in path.read_text(encoding="utf-8") for path in files) or not (files or is_package)


@cache
def companion(problem_class: type[Problem], name: str) -> Callable[..., Any] | None:
    """Return the function of this name in the module of the same name next to the problem, or None.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> companion(RandomizedResponse, "quantities").__module__
    'mechdesign.families.response.papers.randomized_response.quantities'
    """
    for module in modules_of(problem_class, name.__eq__):
        if module.__name__.rpartition(".")[2] == name:
            function: Callable[..., Any] = getattr(module, name)
            return function
    return None
