"""The rows of a program as tables: thresholds, bases and slopes of all users, and what columns cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.spectrum.crowding import Row

Array = NDArray[np.float64]
Places = NDArray[np.int64]


class RowTable:
    """Rows of crowding, one below the other.

    Parameters
    ----------
    width : int
        The users, and the owner as the last.
    """

    def __init__(self, width: int) -> None:
        self.alpha, self.base, self.slope = (np.zeros((0, width)) for _ in range(3))

    def __len__(self) -> int:
        return len(self.alpha)

    def add(self, rows: list[Row]) -> None:
        """Append rows."""
        if rows:
            self.alpha = np.concatenate([self.alpha, [row.alpha for row in rows]])
            self.base = np.concatenate([self.base, [row.base for row in rows]])
            self.slope = np.concatenate([self.slope, [row.slope for row in rows]])

    def keep(self, left: NDArray[np.bool_]) -> None:
        """Keep these rows alone."""
        self.alpha, self.base, self.slope = self.alpha[left], self.base[left], self.slope[left]

    def entries(self, user: int, low: float, paid: float) -> Array:
        """Return the entries of one column in all rows."""
        inside = low >= self.alpha[:, user]
        found: Array = np.where(
            inside, np.clip(self.base[:, user] + self.slope[:, user] * paid, 0.0, 1.0), 0.0
        )
        return found

    def costs(self, prices: Array, users: Places, low: Array, paid: Array) -> Array:
        """Return the costs of columns at prices of the rows."""
        cost = np.zeros(len(users))
        priced = prices > 0
        for user in np.unique(users).tolist():
            mine = users == user
            at = np.flatnonzero(priced & np.isfinite(self.alpha[:, user]))
            shares = np.clip(self.base[at, user][:, None] + self.slope[at, user][:, None] * paid[mine], 0, 1)
            cost[mine] = prices[at] @ np.where(self.alpha[at, user][:, None] <= low[mine], shares, 0.0)
        return cost
