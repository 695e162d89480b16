"""mechdesign: state a privacy design problem, get the provably best mechanism with a certificate.

Problem classes, such as ``RandomizedResponse``, are found by name among the families under
``mechdesign.problems``; import them from there where a type checker has to see them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.compare import Comparison, compare
from mechdesign.core.errors import MechDesignError, suggestion
from mechdesign.core.method import Method, Outcome
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.solve import methods_of, solve

if TYPE_CHECKING:
    from mechdesign.catalog import Model, load_model, models
    from mechdesign.mechanisms import Mechanism, load_mechanism

try:
    __version__ = version("mechdesign")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0.0.0"

__all__ = [
    "Certificate",
    "Comparison",
    "MechDesignError",
    "Mechanism",
    "Method",
    "Model",
    "Outcome",
    "Problem",
    "Solution",
    "compare",
    "load_mechanism",
    "load_model",
    "methods_of",
    "models",
    "solve",
]

_CATALOG = ("Model", "load_model", "models")
_SUBPACKAGES = ("audit", "catalog", "cli", "core", "mechanisms", "problems", "report", "solvers")
_MECHANISMS = ("Mechanism", "load_mechanism")


def __getattr__(name: str) -> Any:
    """Find catalog, mechanism and problem names on first use, so that importing stays quick."""
    if name.startswith("_"):
        raise AttributeError(f"module 'mechdesign' has no attribute '{name}'")
    if name in _CATALOG:
        return getattr(import_module("mechdesign.catalog"), name)
    if name in _MECHANISMS:
        return getattr(import_module("mechdesign.mechanisms"), name)
    if name in _SUBPACKAGES:  # the import system asks before it imports one
        raise AttributeError(f"module 'mechdesign' has no attribute '{name}'")
    exported = _exported()
    if name in exported:
        return exported[name]
    raise AttributeError(
        f"module 'mechdesign' has no attribute '{name}'; {suggestion(name, [*exported, *__all__])}"
    )


def _exported() -> dict[str, Any]:
    names: dict[str, Any] = import_module("mechdesign.problems").exported_names()
    return names


def __dir__() -> list[str]:
    return sorted([*__all__, *_exported()])
