"""What solvers keep from one problem to the next, where somebody solves a series of nearby ones.

A solver of linear programs then starts from the basis in which the last program ended. Bounds are proven from
the multipliers as always, so nothing rests on where it started. Where a program has several optima, another
one of them may be found. So series are kept together where values alone are used, or by request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_KEPT: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_starts(store: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    """Let solvers keep in this store where they end, and start from there.

    Parameters
    ----------
    store : dict
        Empty for a new series; it is changed.

    Examples
    --------
    >>> with kept_starts({}) as store:
    ...     current_starts() is store
    True
    >>> current_starts() is None
    True
    """
    token = _KEPT.set(store)
    try:
        yield store
    finally:
        _KEPT.reset(token)


def current_starts() -> dict[Any, Any] | None:
    """Return the store of the series that is being solved; None outside of one."""
    return _KEPT.get()
