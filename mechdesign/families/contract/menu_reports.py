"""Noise and fusion of a contract menu, as tables: steps 3 and 4 of REAP, after ``choose``.

Each buyer's datum gets the noise of the item that it took. The mechanisms of the items are those of the
house, each with its certificate: Duchi's noise is exact, Laplace's is as published, and private in real
numbers only. With ``exact``, and for the piecewise noise in any case, an exact mechanism on a grid takes its
place where its variance is no larger than what the menu counts with. So what the menu promises of the average
stays true.

Fused are the reports of all buyers, each alike: that is the average of which the menu promises how accurate
it is. The second row has weights that are inverse to the variances. Its noise is the least, but it is an
average in which users who sell more privacy count for more: where values and prices go together, another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism, mechanism_type
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
from mechdesign.core.tables import Block, Source
from mechdesign.core.validation import number

if TYPE_CHECKING:
    from mechdesign.families.contract.menu import ContractMenu

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


def report_operations(menu: ContractMenu) -> tuple[Operation, ...]:
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


def device(menu: ContractMenu, item: int, low: float, exact: bool) -> CollectingMechanism[Any]:
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


def numbers_of(mechanism: CollectingMechanism[Any], reports: NDArray[Any]) -> Array:
    """Return what each report stands for, without bias: the report itself, or the value of its code."""
    if reports.dtype.kind == "f":
        return np.asarray(reports, dtype=np.float64)
    codes, places = np.unique(reports, return_inverse=True)
    values = [float(mechanism.estimate(np.array([code])).value) for code in codes]
    return np.array(values)[places.ravel()]


def _noisy(menu: ContractMenu, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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
                drawn = _drawn(mechanism, values, rows, rng, clip)
            reports[rows] = numbers_of(mechanism, drawn)
            is_exact = mechanism.certificates()[0].exact
            what = "exactly" if is_exact else "in real numbers (the last bits of doubles can leak)"
            settings.count(f"report(s) private at their item's epsilon {what}", len(rows))
        yield {
            **{name: np.asarray(block[name])[buys] for name in copied},
            ITEM: items[buys],
            EPSILON: menu.items[items[buys], 0],
            report: reports[buys],
        }


def _drawn(
    mechanism: CollectingMechanism[Any], values: Array, rows: NDArray[np.int64], rng: Any, clip: bool
) -> NDArray[Any]:
    """Return the reports of some rows; errors name the row of the block."""
    try:
        result: NDArray[Any] = mechanism.randomize(values[rows], rng=rng, clip=clip)
    except RowError as error:
        raise error.changed(row=int(rows[error.row])) from None
    return result


def item_column(menu: ContractMenu, source: Source, block: Block) -> Items:
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


def _fused(menu: ContractMenu, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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


def fused(menu: ContractMenu, items: Items, reports: Array) -> Block:
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
