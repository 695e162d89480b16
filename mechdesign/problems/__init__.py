"""The families of design problems. A family is one folder here; nothing else has to be registered."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.core.problem import Problem


@cache
def problem_classes() -> dict[str, type[Problem]]:
    """Return every problem class by its stable name.

    A family package lists its classes in ``PROBLEMS``.

    Examples
    --------
    >>> "randomized-response" in problem_classes()
    True
    """
    classes: dict[str, type[Problem]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        family = importlib.import_module(f"{__name__}.{module_info.name}")
        for problem_class in family.PROBLEMS:
            classes[problem_class.name] = problem_class
    return classes


@cache
def exported_names() -> dict[str, Any]:
    """Return what ``mechdesign`` offers by name: the problem classes and what families list in ``EXPORTS``.

    Examples
    --------
    >>> sorted(exported_names())[:2]
    ['MeanChannel', 'MeanInterval']
    """
    names: dict[str, Any] = {item.__name__: item for item in problem_classes().values()}
    for module_info in pkgutil.iter_modules(__path__):
        family = importlib.import_module(f"{__name__}.{module_info.name}")
        names |= {name: getattr(family, name) for name in getattr(family, "EXPORTS", ())}
    return names


def problem_class(name: str) -> type[Problem]:
    """Return the problem class of this name.

    Raises
    ------
    UnknownNameError
        With a suggestion.
    """
    known = problem_classes()
    if name not in known:
        raise UnknownNameError(f"problem: no '{name}'; {suggestion(name, known)}")
    return known[name]
