"""The families of design problems. A family is one folder here; nothing else has to be registered.

Another distribution brings a family of its own by an entry point of the group ``mechdesign.problems``, whose
value is the family's package: the shell, model files and the front then know its problems as well.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mechdesign.core.errors import ModelFileError, UnknownNameError, suggestion
from mechdesign.core.problem import Problem

GROUP = "mechdesign.problems"


@cache
def families() -> tuple[ModuleType, ...]:
    """Return the packages of all families, those of other distributions last.

    Raises
    ------
    ModelFileError
        When another distribution's family cannot be imported, naming it.

    Examples
    --------
    >>> "mean" in [family.__name__.rpartition(".")[2] for family in families()]
    True
    """
    own = [
        importlib.import_module(f"{__name__}.{module_info.name}")
        for module_info in pkgutil.iter_modules(__path__)
    ]
    from importlib.metadata import entry_points  # takes longer than a family

    others = []
    for point in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            others.append(importlib.import_module(point.value))
        except Exception as error:
            raise ModelFileError(
                f"entry point '{point.name}' of {GROUP}",
                f"{point.value} cannot be imported ({error})",
                "repair or uninstall the package that brings it",
            ) from None
    return (*own, *others)


@cache
def problem_classes() -> dict[str, type[Problem]]:
    """Return every problem class by its stable name.

    A family package lists its classes, or their names, in ``PROBLEMS``.

    Examples
    --------
    >>> "randomized-response" in problem_classes()
    True
    """
    classes: dict[str, type[Problem]] = {}
    for family in families():
        for problem_class in _problems(family):
            if problem_class.name in classes:
                places = f"{classes[problem_class.name].__module__} and {problem_class.__module__}"
                raise ModelFileError(f"problem '{problem_class.name}'", f"brought by {places}", "rename one")
            classes[problem_class.name] = problem_class
    return classes


def _problems(family: ModuleType, first: str = "") -> Iterator[type[Problem]]:
    """Yield the classes that a family lists, itself or by name; first the one that is likely ``first``."""
    name = family.__name__
    if not hasattr(family, "PROBLEMS"):
        raise ModelFileError(f"entry point of {GROUP}", f"{name} has no PROBLEMS", "list its classes there")
    for entry in sorted(family.PROBLEMS, key=lambda entry: bool(first) and _word(entry) != first):
        item: Any = getattr(family, entry, entry) if isinstance(entry, str) else entry
        if not (isinstance(item, type) and issubclass(item, Problem)):
            what = f"{item!r} in PROBLEMS of {name} is no class of problems"
            raise ModelFileError(f"entry point of {GROUP}", what, "list classes, or their names")
        yield item


def _word(entry: object) -> str:
    """Return the name of a problem that the name of its class is like: mean-channel for MeanChannel."""
    return re.sub("(?<=.)(?=[A-Z])", "-", entry if isinstance(entry, str) else "").lower()


@cache
def exported_names() -> dict[str, Any]:
    """Return the names that ``mechdesign`` exports: the problem classes and the ``EXPORTS`` of families.

    Examples
    --------
    >>> {"MeanChannel", "shuffled"} <= set(exported_names())
    True
    """
    names: dict[str, Any] = {item.__name__: item for item in problem_classes().values()}
    for family in families():
        names |= {name: getattr(family, name) for name in getattr(family, "EXPORTS", ())}
    return names


def exported(name: str) -> Any:
    """Return the object that ``mechdesign`` exports by this name, or None; its own folder is tried first.

    Examples
    --------
    >>> exported("MeanChannel").name, exported("NoSuchProblem")
    ('mean-channel', None)
    """
    near = _in_its_folder(_word(name))
    return near if near is not None and near.__name__ == name else exported_names().get(name)


def problem_class(name: str) -> type[Problem]:
    """Return the problem class of this name.

    Raises
    ------
    UnknownNameError
        With a suggestion.
    """
    problem = find_problem(name)
    if problem is None:
        raise UnknownNameError("problem", f"no '{name}'", suggestion(name, problem_classes()))
    return problem


def find_problem(name: str) -> type[Problem] | None:
    """Return the problem class of this name, or None; the families where it is likely are tried first.

    Examples
    --------
    >>> find_problem("mean-channel").__name__, find_problem("no-such-problem")
    ('MeanChannel', None)
    """
    return _in_its_folder(name) or problem_classes().get(name)


@cache
def _in_its_folder(name: str) -> type[Problem] | None:
    """Return the class of a problem whose name begins with that of its family, or is that of its module.

    So one family is imported and not all of them. None where there is no such family.
    """
    module = name.replace("-", "_")
    for family in pkgutil.iter_modules(__path__):
        home = Path(__path__[0]) / family.name / module
        near = name.startswith(f"{family.name}-") or home.is_dir() or home.with_suffix(".py").is_file()
        if family.ispkg and near:
            package = importlib.import_module(f"{__name__}.{family.name}")
            for problem in _problems(package, name):
                if problem.name == name:
                    return problem
    return None
