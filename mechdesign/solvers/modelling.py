"""The first import of cvxpy, without scipy.stats: half of its time.

cvxpy takes one function of scipy.stats, ``entropy``, for the numeric values of atoms of quantum information.
While cvxpy is imported the function stands for that of scipy.stats, which is imported when it is called.
Whoever imports scipy.stats later gets all of it.
"""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

TAKEN = "scipy.stats"


class _StandIn(ModuleType):
    """A module with nothing but a function; what else is asked for comes from the module itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _entropy if name == "entropy" else getattr(_itself(), name)


def _entropy(*arguments: Any, **options: Any) -> Any:
    return _itself().entropy(*arguments, **options)


def _itself() -> Any:
    if isinstance(sys.modules.get(TAKEN), _StandIn):
        del sys.modules[TAKEN]
    return importlib.import_module(TAKEN)


def import_cvxpy() -> None:
    """Import cvxpy; whatever imports it afterwards gets the same module at once.

    As usual where another thread could look for scipy.stats meanwhile, or where it has been imported.

    Examples
    --------
    >>> import_cvxpy()
    >>> import cvxpy, scipy.stats
    >>> float(scipy.stats.entropy([0.5, 0.5], base=2))
    1.0
    """
    if "cvxpy" in sys.modules:
        return
    if TAKEN in sys.modules or threading.active_count() > 1:
        importlib.import_module("cvxpy")
        return
    stand_in = _StandIn(TAKEN)
    sys.modules[TAKEN] = stand_in
    try:
        importlib.import_module("cvxpy")
    finally:
        if sys.modules.get(TAKEN) is stand_in:
            del sys.modules[TAKEN]
