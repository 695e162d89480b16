"""What goes into a contract menu and comes out: tables of types, items and reports, the average, pictures.

The tables are steps 2 to 4 of REAP. Each buyer's datum gets the noise of the item that it took. The
mechanisms of the items are those of the house, each with its certificate: Duchi's noise is exact, Laplace's
is as published, and private in real numbers only. With ``exact``, and for the piecewise noise in any case, an
exact mechanism on a grid takes its place where its variance is no larger than what the menu counts with. So
what the menu promises of the average stays true.

Fused are the reports of all buyers, each alike: that is the average of which the menu promises how accurate
it is. The second row has weights that are inverse to the variances. Its noise is the least, but it is an
average in which users who sell more privacy count for more: where values and prices go together, another one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism, Mechanism, mechanism_type
from mechdesign.collect.collecting import (
    CLIP,
    COLUMN,
    SEED,
    Column,
    Operation,
    Option,
    Settings,
    count_outside,
    data_column,
    located,
    marked,
    number_column,
    report_column,
    require_columns,
)
from mechdesign.core.errors import DataError, MechDesignError, ParameterError, RowError, named_option
from mechdesign.core.validation import number
from mechdesign.data.intake import Block, Source
from mechdesign.families.contract.noise import NumberNoise
from mechdesign.show.figure import Figure, Intervals, Line, Mark, Panel, Points

Array = NDArray[np.float64]
Items = NDArray[np.int64]

ITEM, EPSILON = "item", "epsilon"

KEEP = Option("keep", "texts", "column to copy next to the results, such as a name (repeatable)")
LOW = Option("low", "number", "the lower end of the values (default: 0)")
EXACT = Option("exact", "flag", "draw with an exact mechanism of no larger variance, where there is one")

ON_GRID = "discrete-piecewise"
"""The exact mechanism that takes the place of another one."""

ROUNDING = 1.0 + 1e-12
"""What evaluating two variances or errors in doubles may lose."""

TAKEN = Column(ITEM, "the number of the item, as choose gives it")
PAYMENT = "payment"

MOST_EXPLAINED = 8
"""Items of a menu that are put into sentences."""


class Scale(Protocol):
    """What the terms of a menu state about the data."""

    @property
    def data_range(self) -> float:
        """The width of the range of the data."""

    @property
    def confidence(self) -> float:
        """The probability with which errors are within alpha."""


class SoldItems(Mechanism):
    """What the tables use of a menu."""

    noise: NumberNoise
    terms: Scale

    @property
    @abstractmethod
    def items(self) -> Array:
        """The distinct items as rows (epsilon, payment), largest epsilon first."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """The largest variance of a report of each item, in the units of the data."""

    @abstractmethod
    def choose(self, theta: Any) -> Items:
        """Return the number of the best item for each theta, -1 for those who stay out."""

    @abstractmethod
    def randomizer(self, item: int, low: float = 0.0) -> CollectingMechanism[Any]:
        """Return the local randomizer of one item as a mechanism of its own, for its buyers' devices."""

    @abstractmethod
    def alpha(self, confidence: float | None = None) -> float:
        """Return the error that the average of the reports keeps with this probability, eq. (4.1)."""


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


def menu_operations(menu: SoldItems) -> tuple[Operation, ...]:
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


def _chosen(menu: SoldItems, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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


def report_operations(menu: SoldItems) -> tuple[Operation, ...]:
    """Return ``noise``, on the buyers' side, and ``fuse``, on the collector's."""
    value = Column("value", "the datum of each user; name it with --column", any_name=True)
    reports = Column(marked("value", menu.survey_digest), "the report of each buyer", any_name=True)
    return (
        Operation(
            "noise",
            "one report for each buyer, with the noise of the item that it took",
            (TAKEN, value),
            (TAKEN, Column(EPSILON, "what the report is private at"), reports),
            partial(_noisy, menu),
            (COLUMN, LOW, CLIP, EXACT, KEEP, SEED),
        ),
        Operation(
            "fuse",
            "the average of the buyers from their reports, and how accurate it is",
            (TAKEN, reports),
            (
                Column("weights", "equal, or precision: inverse to the variances"),
                Column("average", "of the buyers' values"),
                Column("standard_error", "of the noise alone, at its worst value"),
                Column("alpha", "the truth is within alpha with the confidence of the menu"),
                Column("promised", "the alpha that the menu promises; none for other weights"),
                Column("kept", "whether alpha is no larger"),
                Column("buyers", "how many reports there are"),
            ),
            lambda sources, settings: _fused(menu, sources, settings),
            (COLUMN,),
            several=True,
        ),
    )


def device(menu: SoldItems, item: int, low: float, exact: bool) -> CollectingMechanism[Any]:
    """Return the mechanism that draws the reports of an item.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContract(types=[1, 2], counts=[10, 10], budget=20, data_range=4)
    >>> menu = md.solve(problem).mechanism()
    >>> [device(menu, 0, 0.0, exact).type for exact in (False, True)]
    ['laplace', 'discrete-piecewise']
    """
    published = menu.randomizer(item, low)
    if published.certificates()[0].exact or not (exact or menu.noise.name == "piecewise"):
        return published
    build: Any = mechanism_type(ON_GRID)
    level = float(menu.items[item, 0])
    try:
        other = build(level, low, low + menu.terms.data_range)
    except MechDesignError:
        return published  # the grid is not for such an epsilon
    substitute: CollectingMechanism[Any] = other
    return substitute if other.worst_variance() <= menu.variances[item] * ROUNDING else published


def report_values(mechanism: CollectingMechanism[Any], reports: NDArray[Any]) -> Array:
    """Return what each report stands for, without bias: the report itself, or the value of its code."""
    if reports.dtype.kind == "f":
        return np.asarray(reports, dtype=np.float64)
    codes, places = np.unique(reports, return_inverse=True)
    values = [float(mechanism.estimate(np.array([code])).value) for code in codes]
    return np.array(values)[places.ravel()]


def _noisy(menu: SoldItems, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    if not settings["column"]:
        raise ParameterError(named_option("column"), "is missing", "name the column of the users' values")
    column, copied = data_column(source, settings, menu), list(settings["keep"] or [])
    own = [EPSILON] if EPSILON in source.columns else []
    require_columns(source, [ITEM, column, *copied])
    report = marked(column, menu.survey_digest)
    for name in copied:
        if name in (ITEM, EPSILON, report, column):
            raise DataError(source.name, f"column '{name}' has the name of a result or of values", "omit it")
    low = 0.0 if settings["low"] is None else number(named_option("low").shell, settings["low"])
    rng, clip = menu.seeded(settings["seed"], "noise"), bool(settings["clip"])
    devices: dict[int, CollectingMechanism[Any]] = {}
    for block in source.blocks(list(dict.fromkeys([ITEM, *own, column, *copied]))):
        items = item_column(menu, source, block)
        buys = items >= 0
        settings.count("user(s) staying out, without a report", int((~buys).sum()))
        values = number_column(source, block, column)
        if clip:
            settings.count("value(s) clipped", count_outside(values[buys], low, low + menu.terms.data_range))
        reports = np.zeros(len(values))
        for item in np.unique(items[buys]).tolist():
            if item not in devices:
                devices[item] = device(menu, item, low, bool(settings["exact"]))
            mechanism, rows = devices[item], np.flatnonzero(items == item)
            with located(source, column):
                draws = _draws(mechanism, values, rows, rng, clip)
            reports[rows] = report_values(mechanism, draws)
            is_exact = mechanism.certificates()[0].exact
            what = "exactly" if is_exact else "in real numbers (the last bits of doubles can leak)"
            settings.count(f"report(s) private at their item's epsilon {what}", len(rows))
        yield {
            **{name: np.asarray(block[name])[buys] for name in copied},
            ITEM: items[buys],
            EPSILON: menu.items[items[buys], 0],
            report: reports[buys],
        }


def _draws(
    mechanism: CollectingMechanism[Any], values: Array, rows: NDArray[np.int64], rng: Any, clip: bool
) -> NDArray[Any]:
    """Return the reports of some rows; errors name the row of the block."""
    try:
        result: NDArray[Any] = mechanism.randomize(values[rows], rng=rng, clip=clip)
    except RowError as error:
        raise error.changed(row=int(rows[error.row])) from None
    return result


def item_column(menu: SoldItems, source: Source, block: Block) -> Items:
    """Return the items of a block's rows; where their epsilons stand next to them, those have to agree."""
    most = len(menu.items) - 1
    items = number_column(
        source,
        block,
        ITEM,
        lambda numbers: (numbers == np.rint(numbers)) & (numbers >= -1) & (numbers <= most),
        f"{{}} is not an item of this menu, -1 to {most}",
        "give the table that choose wrote",
    ).astype(np.int64)
    if EPSILON in block:
        levels = np.append(menu.items[:, 0], 0.0)[items]
        number_column(
            source,
            block,
            EPSILON,
            lambda numbers: numbers == levels,
            "{} is not the epsilon of the item in this menu",
            "use the menu whose items were chosen",
        )
    return items


def _fused(menu: SoldItems, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    parts: list[tuple[Items, Array]] = []
    for source in sources:
        column = report_column(source, settings, menu)
        own = [EPSILON] if EPSILON in source.columns else []
        require_columns(source, [ITEM, column])
        for block in source.blocks([ITEM, *own, column]):
            items = item_column(menu, source, block)
            if (items < 0).any():
                row = source.row(int(np.argmin(items)))
                raise DataError(f"{source.name}: row {row}", "stays out, and has no report", "omit the row")
            parts.append((items, number_column(source, block, column)))
    items = np.concatenate([part for part, _ in parts]) if parts else np.zeros(0, dtype=np.int64)
    if not len(items):
        raise DataError(sources[0].name, "there is no report", "give at least one row")
    yield fused(menu, items, np.concatenate([reports for _, reports in parts]))


def fused(menu: SoldItems, items: Items, reports: Array) -> Block:
    """Return the averages of the buyers' reports, with equal weights and with those of the least noise."""
    variances, count = menu.variances[items], len(items)
    averages, errors = [math.fsum(reports) / count], [math.sqrt(math.fsum(variances)) / count]
    precision = math.fsum(1.0 / variances)
    averages.append(math.fsum(reports / variances) / precision)
    errors.append(1.0 / math.sqrt(precision))
    alphas = [error / math.sqrt(1.0 - menu.terms.confidence) for error in errors]
    promised = menu.alpha()
    return {
        "weights": np.array(["equal", "precision"]),
        "average": np.array(averages),
        "standard_error": np.array(errors),
        "alpha": np.array(alphas),
        "promised": np.array([promised, np.nan]),
        "kept": np.array(["yes" if alphas[0] <= promised * ROUNDING else "no", ""]),
        "buyers": np.array([count, count], dtype=np.int64),
    }


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
