"""Large packing programs by a first-order method: steps of a sparse matrix, begun from the last solution.

The primal-dual hybrid gradient method (Chambolle and Pock 2011), with step sizes from the sums of rows and
columns (Pock and Chambolle 2011) and restarts from the mean (Applegate et al. 2021). Its multipliers are
inexact; whoever asks proves a bound of its own from them (weak duality).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

BLOCK, MOST = 200, 3
"""Steps from restart to restart, and blocks at most."""

BALANCE = 3.0
"""Steps of the variables against those of the multipliers, for gains of at most 1 and entries of about 1."""


class SteppedProgram:
    """Maximise ``gains . x`` over x >= 0: groups of variables sum to at most 1, and so do further rows.

    Parameters
    ----------
    gains : (n,) array
    groups : (n,) array
        The group of each variable; group g is row g.
    exactly : (groups,) array of bool
        Groups that sum to exactly 1.

    Examples
    --------
    >>> none = np.zeros(1, dtype=bool)
    >>> program = SteppedProgram(np.array([2.0, 1.0]), np.zeros(2, dtype=np.int64), none)
    >>> program.solve(10.0, 1e-6)
    True
    >>> program.values.round(3).tolist(), program.multipliers.round(3).tolist()
    ([1.0, 0.0], [2.0])
    """

    def __init__(self, gains: Array, groups: Places, exactly: NDArray[np.bool_]) -> None:
        self.gains, self.groups = np.zeros(0), np.zeros(0, dtype=np.int64)
        self.exactly, self.size = exactly, len(exactly)
        self.open = np.zeros(0, dtype=bool)
        self._parts: list[tuple[Places, Places, Array]] = []
        self.values: Array = np.zeros(0)
        self.multipliers: Array = np.zeros(0)
        self.sums: Array = np.zeros(0)
        self._append(gains, groups)

    def begin(self, values: Array, multipliers: Array) -> None:
        """Take a solution to begin from."""
        self.values, self.multipliers = values, multipliers

    def _append(self, gains: Array, groups: Places) -> None:
        first = len(self.gains)
        self._parts.append((groups, np.arange(first, first + len(gains)), np.ones(len(gains))))
        self.gains = np.concatenate([self.gains, gains])
        self.groups = np.concatenate([self.groups, groups])
        self.open = np.concatenate([self.open, np.ones(len(gains), dtype=bool)])

    def column(self, gain: float, rows: Places, entries: Array) -> None:
        """Add a variable with its entries in the rows that exist; the first row is its group."""
        self._append(np.array([gain]), rows[:1])
        self._parts.append((rows[1:], np.full(len(rows) - 1, len(self.gains) - 1), entries[1:]))

    def rows(self, value: list[tuple[Places, Array]]) -> None:
        """Add rows whose sums are at most 1, each with its columns and their entries."""
        for columns, entries in value:
            self._parts.append((np.full(len(columns), self.size), columns, entries))
            self.size += 1

    def entry(self, row: int, column: int, value: float) -> None:
        """Set one entry that was 0."""
        self._parts.append((np.array([row]), np.array([column]), np.array([value])))

    def close(self, columns: Places) -> None:
        """Keep variables at 0 from now on."""
        self.open[columns] = False

    def drop(self, rows: Places) -> None:
        """Remove rows; those behind move up."""
        places, columns, entries = self._entries()
        left = np.ones(self.size, dtype=bool)
        left[rows] = False
        kept = left[places]
        self._parts = [((np.cumsum(left) - 1)[places[kept]], columns[kept], entries[kept])]
        self.multipliers = _longer(self.multipliers, self.size)[left]
        self.size = int(left.sum())

    def _entries(self) -> tuple[Places, Places, Array]:
        rows, columns, entries = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        self._parts = [(rows, columns, entries)]
        return rows, columns, entries

    def solve(self, seconds: float, error: float, blocks: int = 3) -> bool:
        """Step until the multipliers' bound is above the solution's value by ``error`` at most.

        Parameters
        ----------
        seconds : float
            After this time no further block of steps is begun.
        error : float
        blocks : int
            Largest number of blocks.
        """
        until = time.monotonic() + seconds
        rows, columns, entries = self._entries()
        used = self.open[columns]
        shape = (self.size, len(self.gains))
        matrix: Any = sparse.csr_array((entries[used], (rows[used], columns[used])), shape=shape)
        x = np.where(self.open, _longer(self.values, len(self.gains)), 0.0)
        y = _longer(self.multipliers, self.size)
        steps = Steps(matrix, self.gains, self.groups, self.exactly, self.open)
        self.values, self.multipliers = steps.taken(x, y, until, error, blocks)
        self.sums = matrix @ self.values
        return True


class Steps:
    """Steps of the method on one matrix, whose first rows are those of the groups.

    Parameters
    ----------
    matrix : sparse (rows, n)
    gains, groups, exactly
        As those of :class:`SteppedProgram`.
    open_ : (n,) array of bool
        The variables that may be above 0.
    """

    def __init__(
        self, matrix: Any, gains: Array, groups: Places, exactly: NDArray[np.bool_], open_: NDArray[np.bool_]
    ) -> None:
        self.matrix, self.turned = matrix, matrix.T.tocsr()
        self.scale = max(float(gains.max(initial=0.0)), 1e-300)
        self.gains, self.groups, self.exactly, self.open = gains / self.scale, groups, exactly, open_

    def taken(self, x: Array, y: Array, until: float, error: float, blocks: int) -> tuple[Array, Array]:
        """Return variables and multipliers after at most ``blocks`` blocks of steps from those given."""
        matrix, turned, gains = self.matrix, self.turned, self.gains
        step = np.where(self.open, BALANCE / np.maximum(matrix.sum(axis=0), 1.0), 0.0)
        price_step = 1.0 / (BALANCE * np.maximum(matrix.sum(axis=1), 1.0))
        least = np.zeros(len(y))
        least[: len(self.exactly)][self.exactly] = -np.inf
        y = y / self.scale
        for _ in range(blocks):
            total_x, total_y = np.zeros(len(x)), np.zeros(len(y))
            for _ in range(BLOCK):
                after = np.maximum(x + step * (gains - turned @ y), 0.0)
                y = np.maximum(y + price_step * (matrix @ (2.0 * after - x) - 1.0), least)
                x = after
                total_x += x
                total_y += y
            x, y = total_x / BLOCK, total_y / BLOCK
            bound = self._bound(gains - turned @ y, y)
            if bound - float(gains @ x) <= error / self.scale or time.monotonic() > until:
                break
        return x, y * self.scale

    def _bound(self, left: Array, prices: Array) -> float:
        """Return the bound of weak duality, with the best prices of the groups."""
        best = np.where(self.exactly, -np.inf, 0.0)
        own = prices[: len(best)]
        np.maximum.at(best, self.groups[self.open], (left + own[self.groups])[self.open])
        return float(prices[len(best) :].sum() + best.sum())


def _longer(found: Array, size: int) -> Array:
    return np.concatenate([found, np.zeros(size - len(found))])
