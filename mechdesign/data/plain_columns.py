"""Plain values as columns of a table: what a file of JSON lines, and a message of a client, are read as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.tables import Values

LONGEST = 200
"""Characters beyond which texts are not kept in numpy's arrays of fixed width."""

MESSAGE_FORMAT = "mechdesign-report"
"""What the message of a client says of itself, as ``format``."""

INTEGERS = range(-(1 << 63), 1 << 63)


def texts(values: list[str]) -> NDArray[Any]:
    """Return texts as an array; numpy's texts have a fixed width and drop trailing NULs, others do not.

    Examples
    --------
    >>> texts(["yes", "no"])
    array(['yes', 'no'], dtype='<U3')
    """
    unusual = max(map(len, values), default=0) > LONGEST or any("\0" in value for value in values)
    return np.array(values, dtype=object if unusual else None)


def plain_column(values: Sequence[Any]) -> Values:
    """Return plain values as integers, numbers or texts; what is missing (None) does not count.

    Examples
    --------
    >>> plain_column([3, 1]), plain_column([3, None]), plain_column([3, "x2a"])
    (array([3, 1]), array([ 3., nan]), array(['3', 'x2a'], dtype='<U3'))
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and None not in values and all(value in INTEGERS for value in values):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    return texts(["" if value is None else str(value) for value in values])
