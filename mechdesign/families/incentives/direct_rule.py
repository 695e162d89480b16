"""The mechanisms ``direct-mechanism`` (types in, an outcome and payments out) and ``screening-menu``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from math import gcd, lcm
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
    Option,
    Settings,
    data_column,
    located,
    require_columns,
)
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, RowError, listed, suggestion
from mechdesign.core.validation import integer
from mechdesign.data.intake import Block, Coded, Source, Values
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import frozen, text_of
from mechdesign.exact.randomness import TOTAL, Rng
from mechdesign.families.incentives.deviations import (
    Demands,
    ExactAudit,
    ExactRule,
    certificates_of,
    common_integers,
    exact_product,
    fraction_array,
)
from mechdesign.families.incentives.environment import (
    Environment,
    Whole,
    amounts_of,
    decimal_name,
    environment_of_tables,
    nested_list,
    read_only,
    shown_name,
    written,
)
from mechdesign.families.incentives.implementation import rounded_rule
from mechdesign.show.figure import Bars, Figure, Line, Panel
from mechdesign.solvers.exact_linear import whole_array

Codes = NDArray[np.int64]

OUTCOME, PAYS = "outcome", "pays"
EXACT = Option("exact", "flag", "write payments as quotients, such as 1/3, in place of decimals")

MOST_DRAWN = 16
"""Profiles whose lotteries are drawn in a figure."""


class DirectRule(Mechanism):
    """A direct mechanism: the agents name their types, and it draws an outcome and charges payments.

    Lotteries are integers out of ``out_of``, at most 2**62, and payments are fractions: what is drawn and
    charged is what the audit compares, deviation by deviation.

    Parameters
    ----------
    environment : Environment
    demands : Demands
    out_of : list of int
        For each profile, what its weights are out of: the common denominator of its lottery.
    weights : array of int, shape (profiles, outcomes)
    payments : array of Fraction, shape (profiles, agents)
        By profile, the type of the last agent changing fastest.

    Raises
    ------
    CertificateError
        When a requirement fails on the very numbers, naming the worst deviation.

    Examples
    --------
    >>> import mechdesign as md
    >>> sale = {"name": "single-item", "types": [1, 2, 3], "agents": 2}
    >>> rule = md.solve(md.DirectMechanism(environment=sale)).mechanism()
    >>> rule.decide(["3", "1"], rng=1)
    ('bidder1', (Fraction(2, 1), Fraction(0, 1)))
    >>> print(rule.audit())
    lotteries: holds (exact); checked = 9, least_slack = 0
    incentive_compatibility: holds (exact); deviations = 36, worst_gain = 0; witness agent = bidder1, ...
    participation: holds (exact); checked = 18, least_gain = 0; witness agent = bidder1, type = 1, ...
    """

    type: ClassVar[str] = "direct-mechanism"
    exact_alternative = "it decides for all agents at once: there is nothing to build"
    fields: ClassVar[tuple[str, ...]] = ("environment", "demands", "out_of", "weights", "payments")

    def __init__(self, environment: Any, demands: Any, out_of: Any, weights: Any, payments: Any) -> None:
        self.environment = _environment(environment)
        self.demands = demands if isinstance(demands, Demands) else Demands(**demands)
        if not isinstance(out_of, (list, tuple)) or len(out_of) != self.environment.profiles:
            raise CertificateError("out_of", f"is not a list of {self.environment.profiles} numbers")
        self.out_of = tuple(integer("out_of", number, 1, TOTAL) for number in out_of)
        self.weights = self._weight_table(weights)
        self.payments = self._payment_table(payments)
        for certificate in self._judged:
            if not certificate.holds:
                raise CertificateError("direct mechanism", certificate)

    @classmethod
    def of(cls, environment: Environment, demands: Demands, rule: ExactRule) -> DirectRule:
        """Return the mechanism of a rule; where a lottery has too large a denominator, all are rounded.

        They are then out of 2**62, and payments are computed again, so that incentives hold exactly for them.

        Raises
        ------
        CertificateError
            Where they would have to be rounded and other requirements do not leave room for it.
        """
        rows, out_of = reduced_lotteries(rule)
        if max(out_of) > TOTAL:
            other = rounded_rule(environment, demands, rule, TOTAL)
            if other is None:
                what = f"a lottery has a common denominator of {max(out_of).bit_length()} bits"
                raise CertificateError("direct mechanism", what, "omit the budget, or round the data")
            rule = other
            rows, out_of = reduced_lotteries(rule)
        payments = rule.payment_fractions().reshape(environment.profiles, -1)
        return cls(environment, demands, out_of, rows, payments.tolist())

    def _weight_table(self, weights: Any) -> Codes:
        shape = (self.environment.profiles, len(self.environment.outcomes))
        rows = [
            [integer(f"weights[{place}]", entry, 0, TOTAL) for entry in row]
            for place, row in enumerate(weights)
        ]
        if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
            raise CertificateError("weights", f"are not {shape[0]} rows of {shape[1]}")
        return frozen(np.array(rows, dtype=np.int64))

    def _payment_table(self, payments: Any) -> Whole:
        agents = len(self.environment.agents)
        rows = [amounts_of(f"payments[{place}]", row, agents) for place, row in enumerate(payments)]
        if len(rows) != self.environment.profiles:
            raise CertificateError("payments", f"are not {self.environment.profiles} rows")
        return read_only(np.array(rows, dtype=object).reshape(self.environment.profiles, agents))

    def _part(self, name: str) -> Any:
        if name == "environment":
            return self.environment.tables()
        return nested_list(self.payments) if name == "payments" else getattr(self, name)

    # The rule

    @cached_property
    def rule(self) -> ExactRule:
        """The numbers that it runs on."""
        counts = self.environment.counts
        payments, per = common_integers(self.payments)
        paid = read_only(payments.reshape(*counts, -1))
        common = lcm(*self.out_of)
        factors = whole_array([common // number for number in self.out_of])
        lotteries = exact_product(self.weights, factors[:, None])
        return ExactRule(read_only(lotteries.reshape(*counts, -1)), common, paid, per)

    @cached_property
    def _judged(self) -> tuple[Certificate, ...]:
        return certificates_of(ExactAudit(self.environment, self.rule), self.demands)

    def certificates(self) -> tuple[Certificate, ...]:
        return self._judged

    def lotteries(self) -> Whole:
        """Return the probabilities of the outcomes by profile, as fractions."""
        return fraction_array(self.rule.lotteries, self.rule.out_of).reshape(self.weights.shape)

    def profile(self, types: Sequence[Any]) -> int:
        """Return the number of a profile of types, by their names."""
        if isinstance(types, (str, Mapping)) or not hasattr(types, "__len__"):
            what = f"expected a list of {len(self.environment.agents)} types, got {text_of(types)}"
            raise DataError("types", what, "name the type of each agent")
        if len(types) != len(self.environment.agents):
            raise DataError("types", f"expected {len(self.environment.agents)} types, got {len(types)}")
        number = 0
        for agent, kind in enumerate(types):
            number = number * self.environment.counts[agent] + self._code(agent, kind)
        return number

    def _code(self, agent: int, kind: Any) -> int:
        names, name = self.environment.types[agent], shown_name(kind)
        if name not in names:
            what = f"{self.environment.agents[agent]} has no type {text_of(kind)}"
            raise DataError("types", what, suggestion(name, names))
        return names.index(name)

    def decide(self, types: Sequence[Any], rng: Rng = None) -> tuple[str, tuple[Fraction, ...]]:
        """Return the outcome for one profile, drawn from its lottery, and what each agent pays.

        Parameters
        ----------
        types : sequence
            The type of each agent, by name or as a number.
        rng : None, int or numpy Generator
            None draws from the operating system.
        """
        profile = np.array([self.profile(types)])
        outcome = int(self._drawn(profile, rng)[0])
        return self.environment.outcomes[outcome], tuple(self.payments[profile[0]].tolist())

    def _drawn(self, profiles: Codes, rng: Rng) -> Codes:
        """Return an outcome for each profile."""
        source, totals = self.source(rng), np.array(self.out_of, dtype=np.int64)[profiles]
        draws = np.zeros(len(profiles), dtype=np.int64)
        for total in np.unique(totals).tolist():
            places = np.flatnonzero(totals == total)
            draws[places] = below(total, len(places), source)
        ends = np.cumsum(self.weights, axis=1)
        return np.asarray((draws[:, None] >= ends[profiles]).sum(axis=1), dtype=np.int64)

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        environment = self.environment
        takes = tuple(
            Column(agent, f"a type: {listed(names)}")
            for agent, names in zip(environment.agents, environment.types, strict=True)
        )
        gives = (
            Column(OUTCOME, f"one of: {listed(environment.outcomes)}"),
            *(
                Column(f"{PAYS}_{agent}", f"what {agent} pays, negative if it receives")
                for agent in environment.agents
            ),
        )
        return (
            Operation(
                "run",
                "an outcome and payments for each round of reported types",
                takes,
                gives,
                partial(_rounds, self),
                (SEED, EXACT),
                in_order=True,
            ),
        )

    def codes(self, source: Source, block: Block) -> Codes:
        """Return the number of the profile of each row of a table of types."""
        result: Codes | None = None
        for agent, name in enumerate(self.environment.agents):
            with located(source, name):
                column = _codes(block[name], self.environment.types[agent])
            count = self.environment.counts[agent]
            result = column if result is None else result * count + column
        assert result is not None
        return result

    def explained(self) -> tuple[str, ...]:
        environment = self.environment
        several = len(environment.agents) > 1
        items = {} if several else self.menu()
        return (
            *super().explained(),
            f"{listed(environment.agents)} {'each name' if several else 'names'} a type. "
            f"The outcome is one of {listed(environment.outcomes)}.",
            f"Whatever the type, the truth is best ({self.demands.incentives} incentives).",
            *(f"{item}: chosen by {listed(names)}." for item, names in items.items()),
        )

    def menu(self) -> dict[str, tuple[str, ...]]:
        """Return what a single agent can choose from, each item and its price, with the types that choose it.

        Examples
        --------
        >>> import mechdesign as md
        >>> sale = md.DirectMechanism(environment={"name": "single-item", "types": [1, 2, 3]})
        >>> md.solve(sale).mechanism().menu()
        {'unsold for 0': ('1',), 'bidder1 for 2': ('2', '3')}
        """
        if len(self.environment.agents) > 1:
            raise DataError("menu", "is for one agent", "use decide")
        items: dict[str, tuple[str, ...]] = {}
        rows = zip(self.environment.types[0], self.lotteries().tolist(), self.payments[:, 0], strict=True)
        for name, row, price in rows:
            text = item_text(self.environment, row, price)
            items[text] = (*items.get(text, ()), name)
        return items

    def figures(self) -> list[Figure]:
        """Return the lotteries of the first profiles."""
        return [outcomes_figure(self.environment, self.weights / np.array(self.out_of)[:, None])]

    def _figures(self) -> str:
        environment, demands = self.environment, self.demands
        shape = " x ".join(map(str, environment.counts))
        agents = f"{len(environment.agents)} agent{'s' if len(environment.agents) > 1 else ''}"
        text = (
            f"{agents}, {shape} types, {len(environment.outcomes)} outcomes, {demands.incentives} incentives"
        )
        return text if demands.participation == "none" else f"{text}, {demands.participation} participation"


def item_text(environment: Environment, chances: Sequence[Fraction], price: Fraction) -> str:
    """Return a lottery over outcomes and its price in a few words.

    Examples
    --------
    >>> from mechdesign.families.incentives.environments import environment_of
    >>> goods = environment_of("environment", {"name": "two-goods", "types": [[1, 1], [2, 3]]})
    >>> item_text(goods, [Fraction(0), Fraction(1, 3), Fraction(0), Fraction(2, 3)], Fraction(5, 2))
    '1/3 first + 2/3 both for 2.5'
    """
    parts = [
        name if chance == 1 else f"{decimal_name(chance)} {name}"
        for name, chance in zip(environment.outcomes, chances, strict=True)
        if chance
    ]
    return f"{' + '.join(parts)} for {decimal_name(price)}"


def outcomes_figure(environment: Environment, lotteries: NDArray[np.float64]) -> Figure:
    """Return the probabilities of the outcomes for the first profiles of types, a row each."""
    count = min(MOST_DRAWN, environment.profiles)
    places = [np.unravel_index(number, environment.counts) for number in range(count)]
    names = [", ".join(environment.profile_names(tuple(map(int, place)))) for place in places]
    marks = [
        Bars(x=np.arange(count), y=lotteries[:count, outcome], label=name)
        for outcome, name in enumerate(environment.outcomes[:8])
    ]
    return Figure("Outcomes by reported types", [Panel("types", "probability", marks, x_names=names)])


def reduced_lotteries(rule: ExactRule) -> tuple[list[list[int]], list[int]]:
    """Return the weights of each lottery, out of its own least common denominator, and these.

    Examples
    --------
    >>> reduced_lotteries(ExactRule(np.array([[2, 4], [6, 0]]), 6, np.array([[0], [0]]), 1))
    ([[1, 2], [1, 0]], [3, 1])
    """
    rows, out_of = [], []
    for row in rule.lotteries.reshape(-1, rule.lotteries.shape[-1]).tolist():
        common = gcd(rule.out_of, *row)
        rows.append([int(number) // common for number in row])
        out_of.append(rule.out_of // common)
    return rows, out_of


def _environment(value: Any) -> Environment:
    if isinstance(value, Environment):
        return value
    return environment_of_tables(**dict(value))


def _codes(column: Values, names: tuple[str, ...]) -> Codes:
    """Return the numbers of the types in a column, or say which row has none."""
    if isinstance(column, Coded):
        rows, kinds = column.codes, column.values.tolist()
    else:
        texts = [shown_name(value) for value in np.asarray(column).tolist()]
        kinds = list(dict.fromkeys(texts))
        places = {kind: place for place, kind in enumerate(kinds)}
        rows = np.array([places[text] for text in texts], dtype=np.int64)
    known = {name: place for place, name in enumerate(names)}
    codes = np.array([known.get(shown_name(kind), -1) for kind in kinds], dtype=np.int64)
    result = codes[rows] if len(kinds) else np.zeros(0, dtype=np.int64)
    if (result < 0).any():
        row = int(np.argmax(result < 0))
        name = shown_name(kinds[int(rows[row])])
        raise RowError("types", row, f"{text_of(name)} is not a type", suggestion(name, names))
    return np.asarray(result, dtype=np.int64)


def _rounds(mechanism: DirectRule, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    agents = list(mechanism.environment.agents)
    require_columns(source, agents)
    generator = mechanism.seeded(settings["seed"])
    names = np.array(mechanism.environment.outcomes, dtype=object)
    exact = bool(settings["exact"])
    amounts = np.array(
        [[str(paid) if exact else float(paid) for paid in row] for row in mechanism.payments.tolist()],
        dtype=object if exact else np.float64,
    )
    for block in source.blocks(agents):
        profiles = mechanism.codes(source, block)
        outcomes = mechanism._drawn(profiles, generator)
        settings.count("round(s)", len(profiles))
        columns: Mapping[str, Any] = {
            f"{PAYS}_{agent}": amounts[profiles, place] for place, agent in enumerate(agents)
        }
        yield {OUTCOME: names[outcomes], **columns}


# Menus

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
    exact_alternative = "it sells quantities, and no device randomizes: there is nothing to build"
    fields: ClassVar[tuple[str, ...]] = ("types", "prior", "quantities", "out_of", "weights", "payments")

    def __init__(
        self, types: Any, prior: Any, quantities: Any, out_of: Any, weights: Any, payments: Any
    ) -> None:
        self.types = amounts_of("types", list(types))
        self.prior = amounts_of("prior", list(prior), len(self.types))
        self.quantities = amounts_of("quantities", list(quantities))
        self.out_of = integer("out_of", out_of, 1, TOTAL)
        rows = [[integer("weights", entry, 0, self.out_of) for entry in row] for row in weights]
        self.weights: Codes = frozen(np.array(rows, dtype=np.int64))
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
            other = rounded_rule(environment, Demands(), rule, TOTAL)
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
