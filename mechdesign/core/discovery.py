"""What belongs to a problem, found by name beside its class or in its papers: methods, figures, quantities.

A problem in the module ``families/mean/interval.py`` has its table ``METHODS`` there or in
``interval_methods.py``, and what reproduces its sources in ``families/mean/papers/interval.py``. A method in
a file of its own is found where that file is named ``interval_<word>.py`` and has a line that begins with
``METHOD = ``. Where the problem has a folder of its own, ``interval/problem.py``, all modules of that folder
and of ``papers/interval/`` belong to it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mechdesign.core.extensions import PAPERS, papers_beside
from mechdesign.core.problem import Problem

METHODS, OWN_FOLDER = "_methods", "problem"
"""The ending of the module of a problem's methods, and the module of a problem in a folder of its own."""

ONE_METHOD = "\nMETHOD = "
"""In the text of a module with one method."""


def modules_of(problem_class: type[Problem], word: str = "") -> Iterator[ModuleType]:
    """Yield the modules that belong to a problem's class, then those of the classes that it derives from.

    Only modules whose text has a ``word`` are imported.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> any("methods" in module.__name__ for module in modules_of(RandomizedResponse, "METHODS"))
    True
    """
    seen = set()
    for owner in problem_class.__mro__:
        if not issubclass(owner, Problem) or owner is Problem:
            continue
        for name in _names(owner.__module__):
            if name not in seen and (not word or _has(name, word)):
                seen.add(name)
                yield importlib.import_module(name)


def _names(own: str) -> Iterator[str]:
    """Yield the names of the modules that belong to a class of a module, itself first."""
    if own in sys.modules:  # a script has no other way to be found
        yield own
    package, _, last = own.rpartition(".")
    if not package:
        return
    if last == OWN_FOLDER:
        for parent in (importlib.import_module(package), *papers_beside(package)):
            for module_info in pkgutil.iter_modules(parent.__path__):
                yield f"{parent.__name__}.{module_info.name}"
        return
    for name in (f"{own}{METHODS}", f"{package}.{PAPERS}.{last}"):
        if _exists(name):
            yield name
    for module_info in pkgutil.iter_modules(getattr(sys.modules.get(package), "__path__", ())):
        if module_info.name.startswith(f"{last}_") and _has(f"{package}.{module_info.name}", ONE_METHOD):
            yield f"{package}.{module_info.name}"


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a family without papers
        return False


def _has(name: str, word: str) -> bool:
    """Whether the text of a module has a word, or is not in a file of its own."""
    module = sys.modules.get(name)
    spec = None if module is not None else importlib.util.find_spec(name)
    file = getattr(module, "__file__", None) if module is not None else spec and spec.origin
    if not file or not Path(file).is_file():
        return True
    return word in Path(file).read_text(encoding="utf-8")


@cache
def companion(problem_class: type[Problem], name: str) -> Callable[..., Any] | None:
    """Return the function of this name that a module of the problem's own defines, or None.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> ".response.papers." in companion(RandomizedResponse, "quantities").__module__
    True
    """
    for module in modules_of(problem_class, f"def {name}("):
        function: Callable[..., Any] | None = vars(module).get(name)
        if function is not None and function.__module__ == module.__name__:
            return function
    return None
