"""Whether and when a loop is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from mechdesign.core.errors import ParameterError
from mechdesign.exact.numbers import text_of

VARIABLE = "MECHDESIGN_KERNELS"
CHOICES = ("auto", "on", "off")

PATIENCE = 1_500_000_000
"""Nanoseconds of numpy's work before a compiler is worth its time."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


class _Spent:
    """How long numpy has worked in this process, by rough estimates, on what could have been compiled."""

    nanoseconds = 0


def compiled(loop: Loop, work: int) -> Loop | None:
    """Return a loop compiled, or None where numpy is to do its work.

    Parameters
    ----------
    loop : callable
        A function of :mod:`mechdesign.exact.draw.compiled.loops`.
    work : int
        About how many nanoseconds numpy takes for what is to be done now.

    Raises
    ------
    ParameterError
        For another word in ``MECHDESIGN_KERNELS``.

    Examples
    --------
    >>> from mechdesign.exact.draw.compiled.loops import own_bits
    >>> compiled(own_bits, work=1000) is None  # too little to start a compiler for
    True
    """
    named = os.environ.get(VARIABLE, "") or "auto"
    if named not in CHOICES:
        raise ParameterError(VARIABLE, f"expected {', '.join(CHOICES)}, got {text_of(named)}", "unset it")
    if named == "off":
        return None
    if named == "auto" and _Spent.nanoseconds < PATIENCE:
        _Spent.nanoseconds += work
        return None
    result: Loop | None = _made(loop)
    return result


@cache
def _made(loop: Any) -> Any:
    """Return a loop compiled by numba; None without it. What was compiled once is read from its cache."""
    try:
        import numba as module
    except ImportError:
        return None
    numba: Any = module
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder for the cache can be written to
        return numba.njit(**options)(loop)
