"""The mechanism ``screening-menu``: items of quantity and price, and who takes which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.codec import as_floats
from mechdesign.collect.collecting import (
    COLUMN,
    SEED,
    Column,
    Operation,
    Settings,
    data_column,
    located,
)
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, RowError
from mechdesign.core.tables import Block, Source
from mechdesign.core.validation import integer
from mechdesign.exact.draws import below
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.incentives.deviations import (
    Demands,
    ExactAudit,
    ExactRule,
    certificates_of,
    common_integers,
)
from mechdesign.families.incentives.environment import (
    Environment,
    amounts_of,
    decimal_name,
    environment_of_tables,
    written,
)
from mechdesign.families.incentives.implementation import repaired
from mechdesign.show.figure import Figure, Line, Panel

Codes = NDArray[np.int64]

REFUSES = -1
"""The item of a buyer who takes none."""


class ScreeningMenu(Mechanism):
    """A menu of quantities, or lotteries over them, each at its price; a buyer takes the item it likes best.

    Parameters
    ----------
    types, prior : (k,) lists of numbers
        What it was designed for.
    quantities : (q,) list of numbers
    out_of : int
        The lotteries are integers out of it.
    weights : (k, q) list of int
        The lottery meant for each type.
    payments : (k,) list of numbers

    Examples
    --------
    >>> import mechdesign as md
    >>> menu = md.solve(md.Screening(types=[1, 2])).mechanism()
    >>> menu.items
    (((0, 1), Fraction(4, 1)),)
    >>> menu.choose([1.0, 2.0, 7.5]).tolist()
    [-1, 0, 0]
    """

    type: ClassVar[str] = "screening-menu"
    fields: ClassVar[tuple[str, ...]] = ("types", "prior", "quantities", "out_of", "weights", "payments")

    def __init__(
        self, types: Any, prior: Any, quantities: Any, out_of: Any, weights: Any, payments: Any
    ) -> None:
        self.types = amounts_of("types", list(types))
        self.prior = amounts_of("prior", list(prior), len(self.types))
        self.quantities = amounts_of("quantities", list(quantities))
        self.out_of = integer("out_of", out_of, 1, TOTAL)
        self.weights: Codes = np.array(
            [[integer("weights", entry, 0, self.out_of) for entry in row] for row in weights], dtype=np.int64
        )
        if self.weights.shape != (len(self.types), len(self.quantities)):
            raise CertificateError("weights", f"are not {len(self.types)} rows of {len(self.quantities)}")
        self.payments = amounts_of("payments", list(payments), len(self.types))
        for certificate in self._judged:
            if not certificate.holds:
                raise CertificateError("screening menu", certificate)

    @classmethod
    def of(
        cls, types: Any, prior: Any, quantities: Any, environment: Environment, rule: ExactRule
    ) -> ScreeningMenu:
        """Return the menu of a rule; lotteries with too large a denominator are rounded and priced again."""
        if rule.out_of > TOTAL:
            other = repaired(environment, Demands(), rule, TOTAL)
            assert other is not None  # one buyer and no budget: rounding monotone quantities keeps the order
            rule = other
        payments = rule.payment_fractions().reshape(-1).tolist()
        return cls(types, prior, quantities, rule.out_of, rule.lotteries.tolist(), payments)

    def _part(self, name: str) -> Any:
        part = getattr(self, name)
        return [written(value) for value in part] if isinstance(part, tuple) else part

    @cached_property
    def _judged(self) -> tuple[Certificate, ...]:
        environment = environment_of_tables(
            types=[[decimal_name(value) for value in self.types]],
            outcomes=[decimal_name(quantity) for quantity in self.quantities],
            values=[[[value * quantity for quantity in self.quantities] for value in self.types]],
            prior=[list(self.prior)],
            agents=["buyer"],
        )
        paid, per = common_integers(np.array([[payment] for payment in self.payments], dtype=object))
        rule = ExactRule(self.weights, self.out_of, paid, per)
        return certificates_of(ExactAudit(environment, rule), Demands())

    def certificates(self) -> tuple[Certificate, ...]:
        return self._judged

    @cached_property
    def items(self) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
        """The different items that are sold: the weights of the quantities, and the price."""
        rows = zip(map(tuple, self.weights.tolist()), self.payments, strict=True)
        return tuple(dict.fromkeys(row for row in rows if self.expected(row[0]) > 0 or row[1] != 0))

    def expected(self, weights: Sequence[int]) -> Fraction:
        """Return the expected quantity of an item."""
        pairs = zip(weights, self.quantities, strict=True)
        return sum((weight * quantity for weight, quantity in pairs), Fraction(0)) / self.out_of

    @cached_property
    def _offers(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return tuple((self.expected(weights), price) for weights, price in self.items)

    def choose(self, types: Any) -> Codes:
        """Return the item that each type takes, compared exactly: the dearest of those it likes best.

        -1 stands for no item.
        """
        values = as_floats(types, 1, "types")
        named = {float(value): value for value in self.types}  # 1/3 is meant by the double next to it
        known = {value: self._best(named.get(value, Fraction(value))) for value in set(values.tolist())}
        return np.array([known[value] for value in values.tolist()], dtype=np.int64)

    def _best(self, value: Fraction) -> int:
        best, place = (Fraction(0), Fraction(0)), REFUSES
        for number, (quantity, price) in enumerate(self._offers):
            gain = (value * quantity - price, price)
            if gain > best:
                best, place = gain, number
        return place

    def operations(self) -> tuple[Operation, ...]:
        return (
            Operation(
                "choose",
                "the item for each type, its quantity and its price",
                (Column("type", "a buyer's value of a unit, >= 0", any_name=True),),
                (
                    Column("item", "the number of the item, from 0; -1: none"),
                    Column("quantity", "the quantity that it gets, drawn where the item is a lottery"),
                    Column("payment", "what it pays"),
                ),
                partial(_chosen, self),
                (COLUMN, SEED),
                in_order=True,
            ),
        )

    def explained(self) -> tuple[str, ...]:
        sentences = [
            f"Item {number} is {'a lottery with ' if sum(weight > 0 for weight in weights) > 1 else ''}"
            f"quantity {decimal_name(self.expected(weights))} for {decimal_name(price)}."
            for number, (weights, price) in enumerate(self.items[:8])
        ]
        return *super().explained(), *sentences

    def figures(self) -> list[Figure]:
        """Return quantity and payment by type."""
        x = [float(value) for value in self.types]
        lines = [
            Line(
                x=x,
                y=[float(self.expected(row)) for row in self.weights.tolist()],
                label="quantity",
                dots=True,
            ),
            Line(x=x, y=[float(payment) for payment in self.payments], label="payment", dots=True),
        ]
        return [Figure("The menu by type", [Panel("type", "quantity, payment", lines)])]

    def _figures(self) -> str:
        return f"{len(self.items)} items for {len(self.types)} types"


def _chosen(menu: ScreeningMenu, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    column = data_column(source, settings, menu)
    generator = menu.seeded(settings["seed"])
    rows = [*(list(weights) for weights, _ in menu.items), [0] * len(menu.quantities)]
    ends = np.cumsum(np.array(rows, dtype=np.int64), axis=1)
    quantities = np.array([*(float(quantity) for quantity in menu.quantities), 0.0])
    prices = np.array([*(float(price) for _, price in menu.items), 0.0])
    for block in source.blocks([column]):
        with located(source, column):
            types = as_floats(block[column], 1, "types")
            wrong = ~((types >= 0.0) & np.isfinite(types))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise RowError("types", row, f"{types[row]:g} is not a finite value >= 0", "correct it")
            items = menu.choose(types)
        draws = below(menu.out_of, len(items), menu.source(generator))
        places = (draws[:, None] >= ends[items]).sum(axis=1)
        settings.count("buyer(s) without an item", int((items < 0).sum()))
        yield {column: block[column], "item": items, "quantity": quantities[places], "payment": prices[items]}
