"""Packages whose names are found on first use, so that a command imports only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def offered(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__`` of a package, and its functions ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping
        The modules of the package, each with the names that are offered of it, with spaces between them.

    Examples
    --------
    >>> names, find, _ = offered("mechdesign.show", {"figure": "Figure Panel"})
    >>> names, find("Figure").__name__
    (['Figure', 'Panel'], 'Figure')
    >>> find("Picture")
    Traceback (most recent call last):
        ...
    AttributeError: module 'mechdesign.show' has no attribute 'Picture'
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), find, lambda: sorted({*vars(sys.modules[package]), *homes})
