"""Tables of a contract menu: people's types in, the items they take and what they are paid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import data_column, located, require_columns
from mechdesign.collect.domain import as_floats
from mechdesign.collect.operations import COLUMN, Column, Operation, Option, Settings
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Source

if TYPE_CHECKING:
    from mechdesign.families.contract.menu import ContractMenu

ITEM, EPSILON, PAYMENT = "item", "epsilon", "payment"

MOST_EXPLAINED = 8
"""Items of a menu that are put into sentences."""


KEEP = Option("keep", "texts", "column to copy next to the results, such as a name (repeatable)")


def items_in_words(items: NDArray[np.float64]) -> list[str]:
    """Return each item (epsilon, payment) in a sentence; of a long menu the first few.

    >>> print(items_in_words(np.array([[1.5, 3.25]]))[0])
    A user who takes item 0 sends a report with epsilon 1.5 and is paid 3.25.
    """
    said = [
        f"A user who takes item {number} sends a report with epsilon {epsilon:.6g} and is paid {payment:.6g}."
        for number, (epsilon, payment) in enumerate(items[:MOST_EXPLAINED].tolist())
    ]
    rest = len(items) - len(said)
    return [*said, *([f"{rest} more items follow, with less epsilon and less pay."] if rest else [])]


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
    kept = list(settings["keep"] or [])
    require_columns(source, [column, *kept])
    for name in (column, *kept):
        if name in (ITEM, EPSILON, PAYMENT):
            raise DataError(source.name, f"column '{name}' has the name of a result", "rename it")
    with_nothing = np.vstack([menu.items, [0.0, 0.0]])  # so that item -1 is nothing for nothing
    for block in source.blocks([*kept, column]):
        with located(source, column):
            types = as_floats(block[column], 1, "types")
            wrong = ~((types > 0.0) & np.isfinite(types))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise RowError("types", row, f"{types[row]:g} is not a finite price above 0", "correct it")
            items = menu.choose(types)
        settings.count("user(s) staying out", int((items < 0).sum()))
        yield {
            **{name: block[name] for name in (*kept, column)},
            ITEM: items,
            EPSILON: with_nothing[items, 0],
            PAYMENT: with_nothing[items, 1],
        }
