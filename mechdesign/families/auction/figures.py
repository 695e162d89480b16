"""Picture of an online auction: how long a user loses at most, by what it asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Line


def waiting_figures(
    wait: Callable[[float], int | None], reserve: float | None, tradeoff: float
) -> list[Figure]:
    """Return the longest wait over the cost; nothing where there is no limit.

    Parameters
    ----------
    wait : callable
        The most slots in a row that a user of a cost loses; None without a limit.
    reserve : float or None
        The largest cost.
    tradeoff : float
    """
    costs = np.linspace(0.0, 10.0 / tradeoff if reserve is None else reserve, 61)
    waits = [wait(float(cost)) for cost in costs]
    there = [(cost, found) for cost, found in zip(costs.tolist(), waits, strict=True) if found is not None]
    if not there:
        return []
    x, y = zip(*there, strict=True)
    marks = [Line(x=x, y=y, label="proven limit")]
    panel = Panel("cost that a user asks for", "slots that it loses in a row, at most", marks)
    return [Figure("How long a user can lose", [panel], "Backlogs grow until the user wins.")]
