"""Pictures of a menu: its items, and what each type of user chooses from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Intervals, Line, Mark, Points

Array = NDArray[np.float64]

CURVES = 3
"""Number of types whose lines of indifference are drawn."""


def menu_figures(items: Array, types: Array, epsilon: Array, payment: Array) -> list[Figure]:
    """Return the items with indifference lines of some types, and what each type chooses and keeps.

    Parameters
    ----------
    items : (k, 2) array
        Rows (epsilon, payment).
    types : (n,) array
        The preferences that the menu was designed for: the cost of a unit of epsilon.
    epsilon, payment : (n,) arrays
        What each of them is to choose.
    """
    caption = (
        "A user of type theta is indifferent along a line of slope theta and prefers to be as far up as "
        "possible: each type's own item lies on its highest line."
    )
    panels = [_items(items, types, epsilon, payment), *_choices(types, epsilon, payment)]
    return [Figure("The menu, and who chooses what", panels, caption)]


def _items(items: Array, types: Array, epsilon: Array, payment: Array) -> Panel:
    ordered = items[np.argsort(items[:, 0])]
    marks: list[Mark] = [Points(x=ordered[:, 0], y=ordered[:, 1], label="items")]
    buying = np.flatnonzero(epsilon > 0)
    shown = buying[np.unique(np.linspace(0, len(buying) - 1, min(CURVES, len(buying))).astype(int))]
    ends = np.array([0.0, 1.08 * float(ordered[-1, 0])])
    for place in shown.tolist():
        y = payment[place] + types[place] * (ends - epsilon[place])
        marks.append(Line(x=ends, y=y, label=f"as good for type {types[place]:.4g}"))
    top = 1.15 * float(ordered[:, 1].max())
    return Panel("epsilon", "payment", marks, title="Items", y_limits=(0.0, top) if top > 0 else None)


def _choices(types: Array, epsilon: Array, payment: Array) -> list[Panel]:
    """Return the epsilon that each type buys, and the money it gets and keeps."""
    order = np.argsort(types, kind="stable")
    x, name = types[order], "type: cost of a unit of epsilon"
    gain = np.where(epsilon > 0, payment - types * epsilon, 0.0)
    bought = [Line(x=x, y=epsilon[order], label="chosen item", dots=True)]
    money = [
        Line(x=x, y=payment[order], label="payment", dots=True),
        Line(x=x, y=gain[order], label="left after the cost of privacy", dots=True),
    ]
    return [
        Panel(name, "epsilon bought", bought, title="Choices of the types"),
        Panel(name, "money", money, title="Payments for them"),
    ]


def average_figures(
    value: float, standard_error: float, alpha: float, confidence: float, users: int
) -> list[Figure]:
    """Return the average of the buyers with both of its errors, side by side.

    Parameters
    ----------
    value, standard_error : float
    alpha, confidence : float
        The truth is within alpha with at least this probability.
    users : int
        How many bought.
    """
    marks = [
        Intervals(x=[0.0], y=[value], low=[value - error], high=[value + error], label=label)
        for error, label in (
            (standard_error, "one standard error, at most"),
            (alpha, f"where the truth is with probability {confidence:g} at least"),
        )
    ]
    caption = "Of the noise alone, at its worst; the second is by Chebyshev's inequality, eq. (4.1)."
    title = f"Average of {users} buyers"
    return [Figure(title, [Panel("buyers", "average", marks, x_names=["all"])], caption)]
