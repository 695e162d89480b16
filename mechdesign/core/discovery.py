"""What belongs to a problem is found by name in its package or a home: methods, quantities, a simulation."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from mechdesign.core.homes import beside
from mechdesign.core.problem import Problem

COMPANIONS = ("figures", "outlook", "quantities", "simulation")
"""The modules next to a problem that hold one function each; they hold no methods."""


def modules_of(
    problem_class: type[Problem], wanted: Callable[[str], bool] = lambda name: True
) -> Iterator[ModuleType]:
    """Yield the modules next to a problem's class, then those next to the classes it derives from.

    A class in a package brings the whole package, and what homes hold for it; one in a script or a single
    file brings that. Of a package, only the modules whose last names are ``wanted`` are imported.

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
            yield from _modules_in(package, owner.__module__, wanted)


def _modules_in(package: str, own: str, wanted: Callable[[str], bool]) -> Iterator[ModuleType]:
    if not package:
        if own in sys.modules:
            yield sys.modules[own]
        return
    for parent in (importlib.import_module(package), *beside(package)):
        for module_info in pkgutil.iter_modules(parent.__path__):
            name = f"{parent.__name__}.{module_info.name}"
            if wanted(module_info.name) or name == own:
                yield importlib.import_module(name)


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
