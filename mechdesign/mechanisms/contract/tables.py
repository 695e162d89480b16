"""Tables of a contract menu: people's types in, the items they take and what they are paid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Source
from mechdesign.mechanisms.collecting import Owner, data_column, located
from mechdesign.mechanisms.mean.values import as_floats
from mechdesign.mechanisms.operations import COLUMN, Column, Operation, Settings

ITEM, EPSILON, PAYMENT = "item", "epsilon", "payment"


class Menu(Owner, Protocol):
    """What tables need of a menu."""

    @property
    def items(self) -> NDArray[np.float64]:
        """The distinct items as rows (epsilon, payment)."""

    def choose(self, theta: Any) -> NDArray[np.int64]:
        """Return the number of the best item for each theta, -1 for those who stay out."""


def menu_operations(menu: Menu) -> tuple[Operation, ...]:
    """Return ``choose``: who takes which item, at which epsilon, for which payment."""
    takes = Column("type", "a privacy preference > 0: the price of one unit of epsilon", any_name=True)
    gives = (
        Column(ITEM, "the number of the item, from 0; -1: stays out"),
        Column(EPSILON, "the privacy level of its reports, 0 for who stays out"),
        Column(PAYMENT, "what is owed, 0 for who stays out"),
    )
    return (
        Operation(
            "choose",
            "the best item for each type, and what is owed for it",
            (takes,),
            gives,
            lambda sources, settings: _chosen(menu, sources, settings),
            (COLUMN,),
        ),
    )


def _chosen(menu: Menu, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    column = data_column(source, settings, menu)
    if column in (ITEM, EPSILON, PAYMENT):
        raise DataError(f"{source.name}: column '{column}' has the name of a result; rename it")
    with_nothing = np.vstack([menu.items, [0.0, 0.0]])  # so that item -1 is nothing for nothing
    for block in source.blocks([column]):
        with located(source, column):
            types = as_floats(block[column], 1, "types")
            wrong = ~((types > 0.0) & np.isfinite(types))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise RowError("types", row, f": {types[row]:g} is no finite price above 0; correct it")
            items = menu.choose(types)
        settings.count("people stay out", int((items < 0).sum()))
        yield {
            column: block[column],
            ITEM: items,
            EPSILON: with_nothing[items, 0],
            PAYMENT: with_nothing[items, 1],
        }
