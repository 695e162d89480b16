"""Kernels: the integer weights that reports are drawn with, and how a report is drawn from them.

A kernel is the second of the three parts of a collecting mechanism (:mod:`mechdesign.collect.collector`).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BITS

Codes = NDArray[np.int64]


MAX_TABLE = 1 << 20
"""Entries of the search table; more would leave the cache."""


class Kernel(Sealed):
    """Integer weights out of 2**62 of the reports of every code, and how a report is drawn from them.

    Reports have numbers from 0. What is drawn is what is audited: of the 2**62 integers that :meth:`draw` may
    get for a code, as many lead to a report as :meth:`row` says.

    Class attributes
    ----------------
    block : int
        So many users are drawn for at a time: their tables stay in the processor's cache.
    """

    block: ClassVar[int] = 1 << 62

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of reports, those that are never made included."""

    @abstractmethod
    def row(self, code: int) -> Codes:
        """Return the weights of all reports for a code; they sum to 2**62."""

    @abstractmethod
    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the number of a report for each code, from one uniform integer below 2**62 each."""

    @abstractmethod
    def client_steps(self) -> dict[str, Any]:
        """Return how a report is drawn for a code, as plain values for clients in other languages."""

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which reports are possible; by default all."""
        return frozen(np.ones(self.reports, dtype=np.bool_))


class Rows(Kernel):
    """A row of weights for every code, searched by a table of leading bits.

    Parameters
    ----------
    weights : (n, m) int64 array
        Row x holds the weights of the m reports of code x; every row sums to 2**62.

    Examples
    --------
    >>> half = 1 << 61
    >>> Rows(np.array([[half, half], [TOTAL, 0]])).draw(np.array([0, 0, 1]), np.array([0, half, half]))
    array([0, 1, 0])
    """

    block = 1 << 16

    def __init__(self, weights: Codes) -> None:
        self.weights = weights

    @property
    def reports(self) -> int:
        return int(self.weights.shape[1])

    def row(self, code: int) -> Codes:
        row: Codes = self.weights[code]
        return row

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        return frozen(self.weights.max(axis=0) > 0)

    @cached_property
    def cumulative(self) -> Codes:
        """Cumulative rows; the last entry of each is 2**62."""
        return np.cumsum(self.weights, axis=1, dtype=np.int64)

    @cached_property
    def _start(self) -> tuple[NDArray[np.int32], int]:
        """Where the search may begin, by the leading bits of the drawn integer, and how many bits."""
        rows, reports = self.weights.shape
        bits = min(12, max(1, (4 * reports - 1).bit_length()))
        while rows << bits > MAX_TABLE and bits > 1:
            bits -= 1
        edges = np.arange(1 << bits, dtype=np.int64) << (BITS - bits)
        table = np.empty((rows, 1 << bits), dtype=np.int32)
        for row in range(rows):
            table[row] = np.searchsorted(self.cumulative[row], edges, side="right")
        return table.ravel(), bits

    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the first report whose cumulative weight exceeds the integer."""
        table, bits = self._start
        cumulative, width = self.cumulative.ravel(), self.weights.shape[1]
        base = codes * width
        place = base + table[(codes << bits) + (uniform >> (BITS - bits))]
        ahead = np.flatnonzero(uniform >= cumulative[place])
        steps = 0
        while len(ahead) and steps < 8:
            place[ahead] += 1
            ahead = ahead[uniform[ahead] >= cumulative[place[ahead]]]
            steps += 1
        for index in ahead.tolist():  # long runs of tiny weights inside one cell of the table: rare
            row = self.cumulative[codes[index]]
            place[index] = base[index] + np.searchsorted(row, uniform[index], side="right")
        result: Codes = place - base
        return result

    def client_steps(self) -> dict[str, Any]:
        from mechdesign.collect.client import row_hex  # clients in other languages

        return {"step": "row", "rows": [row_hex(row) for row in self.cumulative.tolist()]}
