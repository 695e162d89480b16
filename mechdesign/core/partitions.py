"""Data frames of Dask: counted partition by partition where they are, the results merged in a tree.

Nothing of Dask is imported before such a frame is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FAN = 8
"""Results that are merged at a time."""


def is_partitioned(thing: Any) -> bool:
    """Whether a thing is a data frame or a series of Dask.

    Examples
    --------
    >>> is_partitioned([1, 2])
    False
    """
    return type(thing).__module__.partition(".")[0].startswith("dask") and hasattr(thing, "to_delayed")


def merge_partitions(frame: Any, function: Callable[..., Any], merge: Callable[..., Any], shared: Any) -> Any:
    """Return the merged results of all partitions of a Dask frame, merged in a tree where they are.

    Parameters
    ----------
    frame : Dask data frame or series
    function, merge : callable
        ``function(shared, partition)`` and ``merge(shared, *results)``.
    shared : object
        What all pieces need.
    """
    import dask as module

    dask: Any = module
    common = dask.delayed(shared, pure=False, traverse=False)
    level = [dask.delayed(function, pure=False)(common, part) for part in frame.to_delayed()]
    while len(level) > 1:
        groups = [level[start : start + FAN] for start in range(0, len(level), FAN)]
        level = [dask.delayed(merge, pure=False)(common, *group) for group in groups]
    return level[0].compute()
