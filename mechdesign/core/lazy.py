"""Packages whose names are found on first use, so that a command imports only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def found_in(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping
        The names that it offers, and the module of the package where each is defined.

    Examples
    --------
    >>> find = found_in("mechdesign.core", {"Figure": "figure"})
    >>> find("Figure").__name__
    'Figure'
    >>> find("Picture")
    Traceback (most recent call last):
        ...
    AttributeError: module 'mechdesign.core' has no attribute 'Picture'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
