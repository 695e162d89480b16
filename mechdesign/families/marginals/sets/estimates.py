"""Tables from reported sets: their server, unbiased estimates of any counted table, operations on files.

The server counts how many sets hold each cell of the counted tables, mergeable in any order. Estimates come
with standard errors and intervals. Files: users' columns in, reports out; shares and cross tables from these.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.collecting import (
    ANYWAY,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Settings,
    estimated,
    marked,
)
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.intervals import FrequencyLimits
from mechdesign.collect.scores import few_users, implausible
from mechdesign.core.errors import DataError, counted
from mechdesign.core.extensions import former_arguments
from mechdesign.core.values import json_object
from mechdesign.data.intake import Block, Source
from mechdesign.data.tidy import AskedTables, Columns, CrossTable, CrossTables, with_question
from mechdesign.exact.bits import Packed, as_texts
from mechdesign.exact.randomness import bit_source
from mechdesign.families.marginals.oracles.support import CellCounts, asked_attributes
from mechdesign.families.marginals.sets.scores import CellScore, CountedParts, ProductScore, TableScore
from mechdesign.primitives.attributes import MARGINAL, AttributeMechanism, encoded, people
from mechdesign.show.panels import MOST_PANELS, together

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]
View = tuple[int, ...]


class SetMechanism(AttributeMechanism["SetEstimate"]):
    """What estimates and tables use of a mechanism of reported sets."""

    layout: CountedParts

    @abstractmethod
    def read(self, reports: Any) -> Packed:
        """Return packed sets, from those or from texts; refuse sets of another shape."""

    @abstractmethod
    def score(self, places: View) -> TableScore:
        """Return the score of a table, whose attributes are in any order; refuse one that is not counted."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable(CrossTable):
    """Unbiased estimates of the cells of one table; they need neither be >= 0 nor agree with others.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The names of the values on each axis.
    shape : tuple of int
    cells : FrequencyEstimate
        The same flat, the last attribute fastest, with errors and limits.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]
    cells: FrequencyEstimate

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the intervals may cover less often than stated: why."""
        return self.cells.notes

    def tidy(self, level: float = 0.95) -> Columns:
        return with_question(self.cells.tidy(level), self.title)

    @property
    def value(self) -> Array:
        """The estimates, one axis an attribute."""
        return self.cells.value.reshape(self.shape)

    @property
    def standard_error(self) -> Array:
        """Their standard errors."""
        return self.cells.standard_error.reshape(self.shape)

    @property
    def users(self) -> int:
        """Number of users who reported about it."""
        return self.cells.users

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the ends of confidence intervals; see :meth:`FrequencyEstimate.interval`."""
        low, high = self.cells.interval(level, simultaneous)
        return low.reshape(self.shape), high.reshape(self.shape)

    def _described(self) -> str:
        """Return the title of a picture and of a text."""
        return self.title

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals."""
        from mechdesign.show.panels import table_figures

        title = f"{self._described()}: {counted(self.users, 'report')}"
        return table_figures(title, self.attributes, self.labels, self.value, self.interval())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.attributes)}: {self.cells!r})"

    def __str__(self) -> str:
        return f"{self._described()}\n{self.cells}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        about = {"attributes": list(self.attributes), "shape": list(self.shape)}
        return json_object({**about, **self.cells.as_json()})


class SetTable(CountedTable):
    """Unbiased estimates of the cells of one table that reported sets tell."""


@dataclass(frozen=True, eq=False, repr=False)
class SetEstimate(CrossTables):
    """Estimates from the reports: each attribute by itself, and any table that was counted.

    Attributes
    ----------
    mechanism : SetResponse
    counts : (counters,) int array
    users : int
    population : bool
    """

    mechanism: SetMechanism
    counts: Codes
    users: int
    population: bool = False
    _made: dict[View, SetTable] = field(default_factory=dict, init=False)

    @former_arguments(wanted="attributes")
    def table(self, attributes: Sequence[Any]) -> SetTable:
        """Return the table over attributes given by name or number, in this order.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist.
        ParameterError
            For an attribute that appears twice, or a table that is not counted.
        """
        places = self.mechanism.attributes.positions(attributes)
        if places not in self._made:
            self._made[places] = self._estimated(places)
        return self._made[places]

    def _estimated(self, places: View) -> SetTable:
        mechanism = self.mechanism
        score = mechanism.score(places)
        value = self._unbiased(places)
        text, labels = mechanism.attributes.shown(), mechanism.attributes.labels
        names = tuple(", ".join(texts) for texts in product(*(labels[place].shown() for place in places)))
        shape = mechanism.attributes.shape(places)
        limits = cell_limits(score, value, self.users, self.population)
        errors = limits.standard_error()
        notes = few_users(self.users) + implausible(names, value.ravel(), errors, 0.0, 1.0)
        cells = FrequencyEstimate(
            value.ravel(), errors, self.users, names, self.population, None, limits, notes
        )
        axes = tuple(tuple(labels[place].shown()) for place in places)
        return SetTable(tuple(text[place] for place in places), axes, shape, cells)

    def _unbiased(self, places: View) -> Array:
        """Return the unbiased estimates of the shares of a table, one axis an attribute."""
        score, attributes = self.mechanism.score(places), self.mechanism.attributes
        if isinstance(score, CellScore):
            held = _over(self.counts.reshape(attributes.sizes), range(attributes.count), places)
            values: Array = (held / self.users - float(score.joined * score.other)) / float(score.gain)
            return values
        assert isinstance(score, ProductScore)
        value = np.full(attributes.shape(places), float(score.coefficients[()]))
        for part, factor in score.coefficients.items():
            chosen = [places[axis] for axis in part]
            if chosen:
                order = sorted(chosen)
                held = self.counts[self.mechanism.layout.places[tuple(order)]]
                table = _over(held.reshape(attributes.shape(order)), order, chosen)
                axes = tuple(axis for axis in range(len(places)) if axis not in part)
                value += float(factor) / self.users * np.expand_dims(table, axes)
        return value

    def _tables(self) -> list[SetTable]:
        return [self.table([place]) for place in range(self.mechanism.attributes.count)]

    @property
    def value(self) -> list[Array]:
        """The shares of each attribute by itself."""
        return [table.value for table in self._tables()]

    @property
    def standard_error(self) -> list[Array]:
        """Their standard errors."""
        return [table.standard_error for table in self._tables()]

    def interval(self, level: float = 0.95) -> tuple[list[Array], list[Array]]:
        """Return the ends of their confidence intervals."""
        limits = [table.interval(level) for table in self._tables()]
        return [low for low, _ in limits], [high for _, high in limits]

    def figures(self) -> list[Figure]:
        """Return the shares of the first six attributes."""
        alone = [figure for table in self._tables()[:MOST_PANELS] for figure in table.figures()]
        return together(f"Shares of {counted(self.users, 'report')}", alone)

    def __repr__(self) -> str:
        return f"SetEstimate({counted(self.users, 'report')} of {self.mechanism!r})"

    def as_json(self) -> dict[str, Any]:
        return {"users": self.users, **super().as_json()}


def _over(table: Codes, axes: Sequence[int], places: Sequence[int]) -> Codes:
    """Return the table over some of its attributes, in the requested order."""
    dropped = tuple(axis for axis, place in enumerate(axes) if place not in places)
    remaining = [place for place in axes if place in places]
    turned: Codes = table.sum(axis=dropped).transpose([remaining.index(place) for place in places])
    return turned


def weights_of_patterns(score: TableScore, shares: Array) -> Array:
    """Return for each pattern and cell the share of users who agree with the cell in just that pattern.

    Shape (patterns, cells); the shares are those of the table, one axis an attribute. They may be unbiased
    estimates: those of smaller tables are sums of theirs, with less noise, and taken as what they can be.

    Examples
    --------
    >>> from mechdesign.families.marginals.sets.shapes import SetLaw
    >>> from mechdesign.families.marginals.sets.scores import ProductScore
    >>> score = ProductScore(SetLaw(((2, 1), (2, 1)), 2), 1 << 61, [0, 1])
    >>> weights_of_patterns(score, np.array([[0.5, 0.25], [0.25, 0.0]]))[:, 0]
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    if len(score.patterns[0]) != shares.ndim:  # of a table whose cells are all that counts
        own = np.clip(shares.ravel(), 0.0, 1.0)
        return np.stack([own, 1.0 - own])
    text = {}
    for pattern in score.patterns:
        dropped = tuple(axis for axis, same in enumerate(pattern) if not same)
        text[pattern] = np.clip(shares.sum(axis=dropped, keepdims=True), 0.0, 1.0)
    weights = []
    for pattern in score.patterns:  # agreement in just these attributes, from agreement in at least these
        weight = np.zeros(shares.shape)
        for other, share in text.items():
            if all(also or not same for also, same in zip(other, pattern, strict=True)):
                weight = weight + (-1.0) ** (sum(other) - sum(pattern)) * share
        weights.append(np.maximum(weight, 0.0).ravel())
    return np.stack(weights)


def cell_limits(score: TableScore, table: Array, users: int, population: bool) -> FrequencyLimits:
    """Return the limits of the score test for each cell, other users being as the estimated table says."""
    moments = score.table.T  # moment, pattern
    weights, value = weights_of_patterns(score, table)[1:], table.ravel()
    total = weights.sum(axis=0)
    even = np.full_like(weights, 1.0 / len(weights))
    weights = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), even)
    cells = len(value)
    own = np.repeat(moments[:, :1], cells, axis=1)
    worst = 1 + int(moments[0, 1:].argmax())
    return FrequencyLimits(
        value,
        users,
        own,
        moments[:, 1:] @ weights,
        np.repeat(moments[:, worst : worst + 1], cells, axis=1),
        np.full(cells, score.step),
        population,
    )


REPORT = "report"


@dataclass(frozen=True, eq=False, repr=False)
class SetTables(AskedTables):
    """The tables that were asked for, one under the other."""

    tables: tuple[SetTable, ...]


def set_operations(mechanism: SetMechanism) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate``."""
    report = Column(marked(REPORT, mechanism.survey_digest), mechanism._report_text)
    return (
        Operation(
            "randomize",
            "one private report for each row, about all its columns together",
            (people(mechanism.attributes.shown()),),
            (report,),
            partial(_randomized, mechanism),
            (COLUMN, ANYWAY, SEED),
            in_order=True,
        ),
        Operation(
            "estimate",
            "the frequencies of each attribute, or cross tables, with standard errors and intervals",
            (report,),
            (),
            partial(_estimated, mechanism),
            (MARGINAL, POPULATION, UNMARKED),
            several=True,
        ),
    )


def _randomized(mechanism: SetMechanism, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        yield {name: as_texts(mechanism.draw(codes, bits))}


def _estimated(mechanism: SetMechanism, sources: Sequence[Source], settings: Settings) -> SetTables:
    targets = asked_attributes(settings["marginal"], mechanism.attributes)
    for places in targets:  # before anything is read
        mechanism.score(places)
    estimate = estimated(mechanism, sources, settings)
    return SetTables(tuple(estimate.table(places) for places in targets))


class SetCounts(CellCounts["SetMechanism"]):
    """Counters of reported sets: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals.sets import ProductSet, SetResponse
    >>> mechanism = SetResponse.of([2, 3], 2.0, ProductSet([1, 1]))
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2]] * 30, rng=1))
    >>> there.update(mechanism.randomize([[1, 0]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts[:2].sum())
    (50, 50)
    """

    def __init__(self, mechanism: SetMechanism) -> None:
        super().__init__(mechanism, mechanism.layout.counters)

    def _added(self, reports: Any) -> tuple[Codes, int]:
        read = self.mechanism.read(reports)
        return self.mechanism.layout.count(read), len(read)

    def estimate(self, population: bool = False) -> SetEstimate:
        """Return the estimates from all counted reports."""
        self.require_some()
        return SetEstimate(self.mechanism, self.counts, self.users, population)

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        layout = self.mechanism.layout
        damaged = max(counts) > users or any(
            sum(counts[layout.places[part]]) != users * layout.held(part) for part in layout.parts
        )
        if damaged:
            raise DataError(
                "aggregator", "the counts are damaged: no reports can sum to them", "count the reports again"
            )
