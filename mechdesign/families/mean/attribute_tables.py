"""Tables of sampled attributes: values in, the columns ``attribute`` and ``report`` out, and the server.

``ColumnRanges`` checks a table of values, one column per attribute, names row and column of what it refuses,
and maps values to [0, 1]. ``attribute_operations`` are ``randomize`` and ``estimate`` of a mechanism.
``AttributeAggregator`` is the server: exact sums by attribute, mergeable in any order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.codec import Array, Codec, Codes, Domain, Labels, as_floats
from mechdesign.collect.collecting import (
    CLIP,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Settings,
    collect,
    count_outside,
    estimated,
    located,
    marked,
    side_by_side,
)
from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.estimate import AttributeMeans
from mechdesign.collect.intervals import FEWEST, Limits
from mechdesign.collect.kernel import AskedNumber
from mechdesign.collect.scores import implausible
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError, ParameterError, RowError, counted
from mechdesign.core.validation import finite_array
from mechdesign.data.intake import Block, Source, Values, length
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BitSource
from mechdesign.families.mean.means import MAY_MISS, BinomialLimits, MeanMechanism
from mechdesign.families.mean.tally import Moments
from mechdesign.primitives.attributes import attribute_columns, people, with_reports
from mechdesign.primitives.mean_limits import ScoreLimits
from mechdesign.show.tables import outside_text

ATTRIBUTE, REPORT = "attribute", "report"

LARGEST = 1 << 53
"""No number of an attribute is larger, and doubles hold all integers up to it."""


@dataclass(frozen=True, eq=False)
class ColumnLimits(Limits):
    """The limits of many columns, each in its own units; where nothing is known, those of the whole range.

    Parameters
    ----------
    limits : ScoreLimits or BinomialLimits
    factor : (m,) array
        The units of the columns in those of ``limits``.
    unknown : (m,) bool array
    half : (m,) array
        Half the widths of the ranges.
    """

    limits: ScoreLimits | BinomialLimits
    factor: Array
    unknown: NDArray[np.bool_]
    half: Array

    def distances(self, tail: float) -> tuple[Array, Array]:
        """Return the distances of the limits from the estimates."""
        down, up = (self._known(distance) for distance in self.limits.distances(tail))
        return down, up

    def standard_error(self) -> Array:
        """Return the standard errors; half the range, the largest error possible, where nothing is known."""
        return self._known(self.limits.standard_error())

    def reach(self, difference: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the intervals reach so far."""
        distance = np.divide(difference, self.factor, out=np.zeros_like(self.half), where=~self.unknown)
        known = self.limits.reach(distance, tail)
        reached: NDArray[np.bool_] = np.where(self.unknown, np.abs(difference) <= self.half, known)
        return reached

    def _known(self, distance: Array) -> Array:
        known: Array = np.where(self.unknown, self.half, distance * self.factor)
        return known


class NumberColumns(Codec):
    """A number of a range in each of several columns; the codes of a user are the numbers themselves.

    Parameters
    ----------
    ranges : ColumnRanges
    labels : Labels
        The names of the columns.
    """

    word = "columns"
    report_word = "report"
    clips = True
    single = False

    def __init__(self, ranges: ColumnRanges, labels: Labels) -> None:
        self.ranges, self.labels = ranges, labels

    def codes(self, answers: Any, clip: bool = False) -> Array:
        return self.ranges.check(answers, clip)

    @property
    def content(self) -> str:
        return people(self.labels.shown(), "a number").content

    def questions(self, name: str | None = None) -> tuple[AskedNumber, ...]:
        ends = zip(self.labels.shown(), self.ranges.low.tolist(), self.ranges.high.tolist(), strict=True)
        return tuple(AskedNumber(*end) for end in ends)

    def examples(self, count: int) -> Array:
        ends = np.stack([self.ranges.low, self.ranges.high])
        examples: Array = ends[np.arange(count) % 2]
        return examples


class SampledAttributes(AnswerMechanism[AttributeMeans]):
    """What tables and sums use of the mechanism."""

    inner: MeanMechanism
    labels: Labels
    ranges: ColumnRanges
    per_user: int
    estimator: str

    @property
    @abstractmethod
    def size(self) -> int:
        """The number m of attributes."""

    @abstractmethod
    def worst_errors(self, counts: NDArray[Any], users: int) -> Array:
        """Return the largest standard errors of columns with ``counts`` reports, in inner ranges."""

    @abstractmethod
    def column_values(
        self, columns: Sequence[Moments], users: int, population: bool
    ) -> tuple[Array, ScoreLimits | BinomialLimits]:
        """Return the estimates of all columns and their limits, in units of the inner range."""


def attribute_operations(mechanism: SampledAttributes) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate`` of a mechanism of sampled attributes."""
    names = mechanism.labels.shown()
    takes = people(names, "a number")
    gives = (
        Column(ATTRIBUTE, "the number of the attribute"),
        Column(marked(REPORT, mechanism.survey_digest), "a report"),
    )
    return (
        Operation(
            "randomize",
            f"{mechanism.per_user} private report(s) for each row",
            (takes,),
            gives,
            partial(_randomized, mechanism),
            (COLUMN, CLIP, SEED),
            in_order=mechanism.per_user == 1,
        ),
        Operation(
            "estimate",
            "the means of all attributes, with standard errors and intervals",
            gives,
            (),
            partial(estimated, mechanism),
            (POPULATION, UNMARKED),
            several=True,
        ),
    )


def _randomized(
    mechanism: SampledAttributes, sources: Sequence[Source], settings: Settings
) -> Iterator[Block]:
    (source,) = sources
    labels, rng = mechanism.labels, mechanism.seeded(settings["seed"])
    columns = attribute_columns(mechanism, labels.names, labels.size, source, settings)
    ranges, name = mechanism.ranges, marked(REPORT, mechanism.survey_digest)
    for values in side_by_side(
        source, columns, [partial(as_floats, dimensions=1, what="values")] * len(columns)
    ):
        with located(source):
            ranges.check(values, bool(settings["clip"]))
            settings.count("value(s) moved to their range", count_outside(values, ranges.low, ranges.high))
            reports = mechanism.randomize(values, rng=rng, clip=True)
        yield {ATTRIBUTE: reports[ATTRIBUTE], name: reports[REPORT]}


def count_records(
    mechanism: SampledAttributes, source: Source, settings: Settings, count: Callable[[Any], None]
) -> None:
    """Hand the records of a table to a server, whole users at a time."""
    first, column = with_reports(source, ATTRIBUTE, settings, mechanism)
    if mechanism.per_user == 1:
        collect([source], lambda _: [first, column], lambda *pair: count(_records(*pair)))
        return
    done = 0
    for block in regrouped(_complete(source, [first, column]), mechanism.per_user):
        try:
            count(_records(block[first], block[column]))
        except RowError as error:
            raise error.moved(source.name, done + error.row) from None
        except DataError as error:
            raise error.within(source.name) from None
        done += length(block)


def _complete(source: Source, columns: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks, and refuse a dropped row: the reports of a user, one after the other, fall apart."""
    done = 0
    for block in source.blocks(columns):
        rows = length(block)
        if (source.row(0), source.row(rows - 1)) != (done + 1, done + rows):
            raise DataError(
                source.name,
                "rows without a value were dropped, so some users, who have several rows, are incomplete",
                "omit whole users",
            )
        done += rows
        yield block


def _records(attributes: Values, reports: Values) -> NDArray[Any]:
    with_row = as_floats(attributes, 1, "reports: attribute")
    broken = (with_row != np.floor(with_row)) | (np.abs(with_row) > LARGEST)
    if broken.any():
        raise RowError("reports: attribute", int(np.argmax(broken)), "is not a whole number")
    records = np.empty(len(with_row), dtype=[(ATTRIBUTE, np.int64), (REPORT, np.float64)])
    records[ATTRIBUTE], records[REPORT] = with_row, as_floats(reports, 1, "reports")
    return records


class AttributeAggregator(Server["SampledAttributes"]):
    """Exact sums of reports by attribute: add, merge, estimate.

    Examples
    --------
    >>> from mechdesign.families.mean import Harmony
    >>> mechanism = Harmony(epsilon=1.0, attributes=2)
    >>> sums = mechanism.aggregator()
    >>> sums.update(mechanism.randomize([[0.0, 1.0]], rng=1))
    >>> sums.users
    1
    >>> sums.estimate().reports
    array([1, 0])
    """

    kept: ClassVar[str] = "sums"
    merged: ClassVar[str] = "sums of one mechanism"
    unit: ClassVar[str] = "users"
    nothing: ClassVar[str] = "give at least one user's reports"

    def __init__(self, mechanism: SampledAttributes) -> None:
        super().__init__(mechanism)
        self.tally = mechanism.inner.tally(mechanism.size)

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return int(self.tally.counts().sum()) // self.mechanism.per_user

    def _count(self, reports: Any) -> None:
        array = np.asarray(reports)
        if array.dtype.names is None or not {"attribute", "report"} <= set(array.dtype.names):
            raise DataError(
                "reports",
                "expected records with the fields 'attribute' and 'report', as randomize returns them",
            )
        if array.ndim != 1 or len(array) % self.mechanism.per_user:
            raise DataError(
                "reports",
                f"{array.size} records are not {self.mechanism.per_user} for each user",
                "add whole users",
            )
        groups = Labels(self.mechanism.size).encode(array["attribute"], "reports: attribute")
        self.tally.add(self.tally.check(np.ascontiguousarray(array["report"])), groups)

    def count_table(self, source: Source, settings: Settings) -> None:
        count_records(self.mechanism, source, settings, self._count)

    def receive(self, source: Source, settings: Settings) -> None:
        """Count the records of one user, who reports different attributes."""
        super().receive(source, settings)
        if (self.tally.counts() > 1).any():
            raise DataError(source.name, "names an attribute twice", "send one report of each attribute")

    def _merge(self, other: Self) -> None:
        self.tally.merge(other.tally)

    def estimate(self, population: bool = False) -> AttributeMeans:
        """Return the means of all attributes with standard errors and, where they are weak, notes.

        Raises
        ------
        DataError
            When there are no reports.
        """
        mechanism, counts, users = self.mechanism, self.tally.counts(), self.users
        self.require_some()
        columns = [self.tally.moments(group) for group in range(mechanism.size)]
        values, inner = mechanism.column_values(columns, users, population)
        unknown = (counts == 0) & (mechanism.estimator == "self-normalized")
        factor = mechanism.ranges.width / mechanism.inner.domain.width
        limits = ColumnLimits(inner, factor, unknown, mechanism.ranges.width / 2.0)
        values = mechanism.ranges.low + (values - mechanism.inner.domain.low) * factor
        names = tuple(mechanism.labels.shown())
        errors = limits.standard_error()
        notes = self._notes(counts, unknown, isinstance(inner, BinomialLimits))
        worst = factor * mechanism.worst_errors(counts, users)
        notes += implausible(names, values, worst, mechanism.ranges.low, mechanism.ranges.high, counts)
        ends = (mechanism.ranges.low, mechanism.ranges.high)
        return AttributeMeans(values, errors, users, counts, names, population, limits, notes, possible=ends)

    def _notes(self, counts: Codes, unknown: NDArray[np.bool_], exact: bool) -> tuple[str, ...]:
        """Return which intervals tell nothing, and which may cover less often than stated."""
        mechanism = self.mechanism
        expected = counts
        if mechanism.estimator == "scaled":
            expected = np.full(mechanism.size, self.users * mechanism.per_user / mechanism.size)
        few = ~unknown & (expected < FEWEST) & (not exact)
        texts = (
            (unknown, "no user reported {}: the interval is the whole range, the value its middle"),
            (few, f"fewer than {FEWEST} reports of {{}}: {MAY_MISS}"),
        )
        return tuple(text.format(self._named(which)) for which, text in texts if which.any())

    def _named(self, which: NDArray[np.bool_]) -> str:
        """Return the names of attributes, a few of them if there are many."""
        names, places = self.mechanism.labels.shown(), np.flatnonzero(which).tolist()
        more = f" and {len(places) - 4} more" if len(places) > 4 else ""
        return ", ".join(f"'{names[place]}'" for place in places[:4]) + more

    def _written(self) -> dict[str, Any]:
        return {"sums": self.tally.as_json()}

    def _read(self, document: Mapping[str, Any]) -> None:
        self.tally.restore(document.get("sums"))
        if int(self.tally.counts().sum()) % self.mechanism.per_user:
            raise DataError(
                "aggregator",
                f"the sums are damaged: not {self.mechanism.per_user} reports for each user",
                "add the reports again",
            )


ROWS = 1 << 13
"""Rows checked at a time."""


class ColumnRanges(Sealed):
    """The ranges of the columns.

    Parameters
    ----------
    size : int
        Number of columns.
    low, high : float or (size,) array
    labels : Labels
        The names of the columns, for messages.

    Examples
    --------
    >>> ranges = ColumnRanges(2, 0.0, [1.0, 10.0], Labels(2, ["share", "count"]))
    >>> ranges.check([[0.5, 11.0]])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: values: row 1, column 'count': 11 is outside [0, 10]; correct it, or ...
    """

    def __init__(self, size: int, low: Any, high: Any, labels: Labels) -> None:
        self.low, self.high = (
            self._column(name, bound, size) for name, bound in (("low", low), ("high", high))
        )
        self.labels = labels
        for first, last in zip(self.low.tolist(), self.high.tolist(), strict=True):
            Domain(first, last)
        self.width = frozen(self.high - self.low)

    @staticmethod
    def _column(name: str, bound: Any, size: int) -> Array:
        if np.ndim(bound) == 0:
            return frozen(np.full(size, finite_array(name, bound, 0)))
        column = finite_array(name, bound, 1)
        if len(column) != size:
            raise ParameterError(
                name,
                f"{counted(len(column), 'bound')} for {size} attributes",
                "give one for each, or one for all",
            )
        return frozen(column)

    def check(self, values: Any, clip: bool = False) -> Array:
        """Return the table as floats.

        Raises
        ------
        DataError
            For another number of columns, NaN, and without ``clip`` a value outside the
            range of its column, naming the first row (counted from 1), the column and the remedy.
        """
        table = as_floats(values, 2, "values")
        if table.shape[1] != self.labels.size:
            raise DataError(
                "values",
                f"{counted(table.shape[1], 'column')} for {self.labels.size} attributes",
                "give one column each",
            )
        for start in range(0, len(table), ROWS):
            part = table[start : start + ROWS]
            if not ((part.min(axis=0) >= self.low).all() and (part.max(axis=0) <= self.high).all()):
                self._refuse(part, start, clip)
        return table

    def _refuse(self, part: Array, start: int, clip: bool) -> None:
        missing = np.isnan(part)
        if missing.any():
            row, column = (int(index) for index in np.argwhere(missing)[0])
            name = self.labels.shown()[column]
            raise RowError("values", start + row, "NaN", "omit users without a value", column=name)
        if clip:
            return
        outside = (part < self.low) | (part > self.high)
        row, column = (int(index) for index in np.argwhere(outside)[0])
        raise RowError(
            "values",
            start + row,
            outside_text(part[row, column], self.low[column], self.high[column]),
            "correct it, or move values to the nearest end",
            "clip",
            self.labels.shown()[column],
        )

    def to_unit(self, values: Array, columns: NDArray[np.int64]) -> Array:
        """Return (x - low)/(high - low) for values of the given columns, moved to [0, 1]."""
        unit: Array = (values - self.low[columns]) / self.width[columns]
        return np.clip(unit, 0.0, 1.0, out=unit)


def draw_attributes(users: int, attributes: int, per_user: int, source: BitSource) -> Codes:
    """Return ``per_user`` different attributes for each user, each subset equally likely (Floyd's algorithm).

    A uniform 62-bit integer modulo j + 1 is uniform up to (j + 1)/2**62.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> sorted(draw_attributes(1, 3, 3, bit_source(1))[0].tolist())
    [0, 1, 2]
    """
    chosen = np.empty((users, per_user), dtype=np.int64)
    for place, last in enumerate(range(attributes - per_user, attributes)):
        candidate = source.integers(users) % (last + 1)
        taken = (chosen[:, :place] == candidate[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, candidate)
    return chosen


def regrouped(blocks: Iterable[Block], multiple: int) -> Iterator[Block]:
    """Yield the same rows in blocks of a multiple of this many; a remainder at the end comes last.

    Examples
    --------
    >>> parts = [{"x": np.arange(5)}, {"x": np.arange(5, 7)}]
    >>> [block["x"].tolist() for block in regrouped(parts, 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    if multiple == 1:
        yield from blocks
        return
    rest: dict[str, NDArray[Any]] = {}
    for block in blocks:
        joined = {
            name: np.concatenate([rest[name], values]) if rest else np.asarray(values)
            for name, values in block.items()
        }
        full = length(joined) // multiple * multiple
        if full:
            yield {name: values[:full] for name, values in joined.items()}
        rest = {name: values[full:] for name, values in joined.items()}
    if length(rest):
        yield rest
