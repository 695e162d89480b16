"""What proves a bound, kept so that it can be asked again: multipliers, and the Lagrangian they belong to.

Let x be the variables of a convex program and y the multipliers of its constraints. When a parameter moves,
the optimum moves at the rate of the Lagrangian L(x, y), both held fixed (the envelope theorem). So whoever
proved a bound with multipliers hands them on, as an object that returns L for the problem with another
parameter; nothing is solved again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mechdesign.core.certificate import format_figure
from mechdesign.core.problem import Problem
from mechdesign.core.text import counted


@dataclass(frozen=True)
class Binding:
    """A constraint, or a group of equal ones, that the optimum pays for.

    Attributes
    ----------
    name : str
    price : float
        How much better the optimum becomes per unit by which the constraint is relaxed; the sum over a group.
    rows : int
        How many constraints of the group have a price.
    unit : str
        What it is relaxed in, where that is not the unit of its sides.

    Examples
    --------
    >>> print(Binding("privacy of report 0", 0.25, 3))
    privacy of report 0 (3 rows): 0.25 per unit
    >>> print(Binding("privacy of type 0", 0.25, unit="e^epsilon"))
    privacy of type 0: 0.25 per unit of e^epsilon
    """

    name: str
    price: float
    rows: int = 1
    unit: str = ""

    def __str__(self) -> str:
        count = f" ({counted(self.rows, 'row')})" if self.rows > 1 else ""
        unit = f" of {self.unit}" if self.unit else ""
        return f"{self.name}{count}: {format_figure(self.price)} per unit{unit}"


class PricedSolution(Protocol):
    """The multipliers of a solution, with the variables they were found with."""

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the Lagrangian of a problem with another parameter, variables and multipliers kept.

        None where the other problem has other constraints, so that these multipliers are not for it.
        """

    def binding(self) -> Sequence[Binding]:
        """Return the constraints with a price, the most expensive first."""


def most_expensive(found: Sequence[Binding], part: float = 1e-7) -> list[Binding]:
    """Return the constraints whose price is above this part of the largest, the most expensive first.

    Examples
    --------
    >>> [item.name for item in most_expensive([Binding("a", 1e-12), Binding("b", 1.0), Binding("c", 2.0)])]
    ['c', 'b']
    """
    largest = max((item.price for item in found), default=0.0)
    kept = [item for item in found if item.price > part * largest]
    return sorted(kept, key=lambda item: -item.price)
