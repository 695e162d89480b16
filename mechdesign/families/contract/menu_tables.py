"""What goes into a contract menu and comes out: tables of types and items, the buyers' average, pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import (
    COLUMN,
    Column,
    Operation,
    Settings,
    data_column,
    located,
    number_column,
    require_columns,
)
from mechdesign.core.errors import DataError
from mechdesign.core.tables import Block, Source
from mechdesign.families.contract.menu_reports import EPSILON, ITEM, KEEP
from mechdesign.show.figure import Figure, Intervals, Line, Mark, Panel, Points

if TYPE_CHECKING:
    from mechdesign.families.contract.menu import ContractMenu

PAYMENT = "payment"

MOST_EXPLAINED = 8
"""Items of a menu that are put into sentences."""


def items_in_words(items: NDArray[np.float64]) -> list[str]:
    """Return each item (epsilon, payment) in a sentence; of a long menu the first few.

    >>> print(items_in_words(np.array([[1.5, 3.25]]))[0])
    A user who takes item 0 sends a report with epsilon 1.5 and is paid 3.25.
    """
    sentences = [
        f"A user who takes item {number} sends a report with epsilon {epsilon:.6g} and is paid {payment:.6g}."
        for number, (epsilon, payment) in enumerate(items[:MOST_EXPLAINED].tolist())
    ]
    rest = len(items) - len(sentences)
    return [*sentences, *([f"{rest} more items follow, with less epsilon and less pay."] if rest else [])]


def menu_operations(menu: ContractMenu) -> tuple[Operation, ...]:
    """Return ``choose``: who takes which item, at which epsilon, for which payment."""
    takes = Column("type", "a privacy preference > 0: the price of one unit of epsilon", any_name=True)
    gives = (
        Column(ITEM, "the number of the item, from 0; -1: stays out"),
        Column(EPSILON, "the privacy level of its reports, 0 for a user who stays out"),
        Column(PAYMENT, "payment owed, 0 for a user who stays out"),
    )
    return (
        Operation(
            "choose",
            "the best item for each type, and the payment for it",
            (takes,),
            gives,
            partial(_chosen, menu),
            (COLUMN, KEEP),
            in_order=True,
        ),
    )


def _chosen(menu: ContractMenu, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    column = data_column(source, settings, menu)
    copied = list(settings["keep"] or [])
    require_columns(source, [column, *copied])
    for name in (column, *copied):
        if name in (ITEM, EPSILON, PAYMENT):
            raise DataError(source.name, f"column '{name}' has the name of a result", "rename it")
    with_nothing = np.vstack([menu.items, [0.0, 0.0]])  # so that item -1 is nothing for nothing
    for block in source.blocks([*copied, column]):
        types = number_column(
            source,
            block,
            column,
            lambda numbers: (numbers > 0.0) & np.isfinite(numbers),
            "{} is not a finite price above 0",
            what="types",
        )
        with located(source, column):
            items = menu.choose(types)
        settings.count("user(s) staying out", int((items < 0).sum()))
        yield {
            **{name: block[name] for name in (*copied, column)},
            ITEM: items,
            EPSILON: with_nothing[items, 0],
            PAYMENT: with_nothing[items, 1],
        }


Array = NDArray[np.float64]

CURVES = 3
"""Number of types whose lines of indifference are drawn."""


def menu_figures(types: Array, epsilon: Array, payment: Array) -> list[Figure]:
    """Return the items with indifference lines of some types, and what each type chooses and keeps.

    Parameters
    ----------
    types : (n,) array
        The preferences that the menu was designed for: the cost of a unit of epsilon.
    epsilon, payment : (n,) arrays
        What each of them is to choose.
    """
    items = np.unique(np.column_stack([epsilon, payment])[epsilon > 0], axis=0)
    if not len(items):
        return []
    caption = (
        "A user of type theta is indifferent along a line of slope theta and prefers to be as far up as "
        "possible: each type's own item lies on its highest line."
    )
    panels = [_items(items, types, epsilon, payment), *_choices(types, epsilon, payment)]
    return [Figure("The menu, and who chooses what", panels, caption)]


def _items(items: Array, types: Array, epsilon: Array, payment: Array) -> Panel:
    marks: list[Mark] = [Points(x=items[:, 0], y=items[:, 1], label="items")]
    buying = np.flatnonzero(epsilon > 0)
    examples = buying[np.unique(np.linspace(0, len(buying) - 1, min(CURVES, len(buying))).astype(int))]
    ends = np.array([0.0, 1.08 * float(items[-1, 0])])
    for place in examples.tolist():
        y = payment[place] + types[place] * (ends - epsilon[place])
        marks.append(Line(x=ends, y=y, label=f"as good for type {types[place]:.4g}"))
    top = 1.15 * float(items[:, 1].max())
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


@dataclass(frozen=True)
class ContractAverage:
    """The average of the buyers' reports.

    Attributes
    ----------
    value : float
    standard_error : float
        From the noise of the bought epsilons, at its worst value; the users are not a sample here.
    alpha, confidence : float
        The true average of the buyers is within alpha with at least this probability (Chebyshev).
    users : int

    Examples
    --------
    >>> ContractAverage(4.8, 0.07, 0.22, 0.9, 300).figures()
    [Figure('Average of 300 buyers', 1 panel)]
    """

    value: float
    standard_error: float
    alpha: float
    confidence: float
    users: int

    def figures(self) -> list[Figure]:
        """Return the average with its standard error, and with what holds at the stated confidence."""
        marks = [
            Intervals(
                x=[0.0], y=[self.value], low=[self.value - error], high=[self.value + error], label=label
            )
            for error, label in (
                (self.standard_error, "one standard error, at most"),
                (self.alpha, f"where the truth is with probability {self.confidence:g} at least"),
            )
        ]
        caption = "Of the noise alone, at its worst; the second is by Chebyshev's inequality, eq. (4.1)."
        title = f"Average of {self.users} buyers"
        return [Figure(title, [Panel("buyers", "average", marks, x_names=["all"])], caption)]
