"""The server of a marginal release, a mergeable counter for each view, and the operations on its tables.

A record is the number of the view and the report's bytes, of equal width whatever the view's oracle. The
operations take users' columns and give ``view`` and ``report``; from these, marginals and synthetic rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.collecting import (
    ANYWAY,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Option,
    Settings,
    collect,
    marked,
)
from mechdesign.collect.collector import Aggregator
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.server import SavedCounts, Server, report_rule
from mechdesign.core.errors import DataError, ParameterError, RowError, counted, named_option
from mechdesign.core.validation import integer
from mechdesign.data.frames import FrameTable
from mechdesign.data.intake import Block, Source, Values
from mechdesign.data.tidy import AskedTables
from mechdesign.exact.randomness import BitSource, Rng, bit_source
from mechdesign.families.marginals.estimates import ReleasedMarginals, ViewMechanism
from mechdesign.families.marginals.marginal_table import MarginalEstimate, RawMarginal
from mechdesign.families.marginals.oracles.support import CellCounts, asked_attributes
from mechdesign.families.marginals.penalized import (
    CROSS_VALIDATED,
    FOLDS,
    PENALTY as FIXED,
    draw_folds,
    penalty_for,
    read_penalty,
)
from mechdesign.families.marginals.views import MOST_CELLS
from mechdesign.primitives.attributes import MARGINAL, encoded, people, with_reports
from mechdesign.primitives.oracle import Oracle
from mechdesign.show.panels import in_pictures

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

VIEW, REPORT = "view", "report"


@dataclass(frozen=True)
class Drawn:
    """The reports of some users: their views, and for each distinct oracle its rows and reports.

    Attributes
    ----------
    views : (n,) int array
    parts : list of (int, int array, array)
        The first view with that oracle, which of the users, and what the oracle drew.
    """

    views: NDArray[np.int64]
    parts: list[tuple[int, NDArray[np.int64], NDArray[Any]]]


class Layout(Sealed):
    """Layout of the reports of oracles in records ``(view, report)``: bytes, filled up with zeros.

    Parameters
    ----------
    oracles : sequence
        One a view.
    """

    def __init__(self, oracles: Sequence[Oracle]) -> None:
        self.views = Labels(len(oracles))
        distinct = {id(oracle): _form(oracle) for oracle in oracles}
        self.forms = tuple(distinct[id(oracle)] for oracle in oracles)
        self.width = max(form.itemsize for form in self.forms)
        self.dtype = np.dtype([(VIEW, np.int32), (REPORT, np.uint8, (self.width,))])

    def packed(self, view: int, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bytes of reports of a view, shape (n, width)."""
        size = self.forms[view].itemsize
        table = np.zeros((len(reports), self.width), dtype=np.uint8)
        table[:, :size] = np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), size)
        return table

    def unpacked(self, view: int, table: NDArray[np.uint8], rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the reports of a view from their bytes; refuse bytes beyond the report's."""
        form = self.forms[view]
        beyond = table[:, form.itemsize :].any(axis=1)
        if beyond.any():
            row = int(rows[np.argmax(beyond)])
            raise RowError("reports", row, "is too long for its view", "use the mechanism it was made with")
        flat = np.ascontiguousarray(table[:, : form.itemsize]).view(form.base)
        return flat.reshape(len(table), *form.shape)

    def read(self, reports: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the views and the bytes of records, checked as far as all views have it in common."""
        array = np.asarray(reports)
        if array.dtype.names is None or set(array.dtype.names) != {VIEW, REPORT} or array.ndim != 1:
            raise DataError(
                "reports",
                f"expected records with the fields '{VIEW}' and '{REPORT}', as randomize returns them",
            )
        form = array.dtype[REPORT]
        if form.base != np.uint8 or form.shape != (self.width,):
            raise DataError(
                "reports",
                f"reports of {form.itemsize} bytes, not {self.width}",
                "use the mechanism they were made with",
            )
        return self.views.encode(array[VIEW], "reports: view"), array[REPORT]


def _form(oracle: Oracle) -> np.dtype[Any]:
    """Return the dtype of one report, which several numbers may make up."""
    draws = oracle.draw(np.zeros(1, dtype=np.int64), bit_source(0))
    return np.dtype((draws.dtype, draws.shape[1:]))


class CountedViews(ViewMechanism):
    """What counts and tables use of a mechanism of views."""

    layout: Layout

    @abstractmethod
    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield the reports of pieces of the users, given the numbers of their values, shape (n, d)."""

    @abstractmethod
    def aggregator(self) -> MarginalAggregator: ...


class MarginalAggregator(Server["CountedViews"]):
    """Counts of the reports of every view: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals import MarginalRelease
    >>> release = MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2)], epsilon=2.0)
    >>> here, there = release.aggregator(), release.aggregator()
    >>> here.update(release.randomize([[0, 2, 1]] * 30, rng=1))
    >>> there.update(release.randomize([[1, 0, 1]] * 20, rng=2))
    >>> here.merge(there)
    >>> here.users, sum(here.reports)
    (50, 50)
    """

    def __init__(self, mechanism: CountedViews) -> None:
        super().__init__(mechanism)
        self.counters: list[Aggregator[FrequencyEstimate] | CellCounts[Any]] = [
            oracle.aggregator() for oracle in mechanism.oracles
        ]

    @property
    def reports(self) -> list[int]:
        """Number of counted reports of each view."""
        return [counter.users for counter in self.counters]

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return sum(self.reports)

    def _count(self, reports: Any) -> None:
        views, table = self.mechanism.layout.read(reports)
        order = np.argsort(views, kind="stable")
        bounds = np.searchsorted(views[order], np.arange(len(self.counters) + 1)).tolist()
        rows = [order[start:stop] for start, stop in pairwise(bounds)]
        unpacked = {
            view: self.mechanism.layout.unpacked(view, table[which], which)
            for view, which in enumerate(rows)
            if len(which)
        }
        self.add(unpacked, {view: rows[view] for view in unpacked})

    def count_table(self, source: Source, settings: Settings) -> None:
        columns = partial(with_reports, first=VIEW, settings=settings, mechanism=self.mechanism)
        collect([source], columns, self.count_rows)

    def count_rows(self, views: Values, reports: Values) -> None:
        """Count the rows of a block: the numbers of views, and reports as they stand in tables."""
        numbers = Labels(len(self.counters)).encode(views, "reports: view")
        order = np.argsort(numbers, kind="stable")
        texts = np.asarray(reports)[order]
        bounds = np.searchsorted(numbers[order], np.arange(len(self.counters) + 1))
        rows: Mapping[int, NDArray[np.int64]] = {
            view: order[bounds[view] : bounds[view + 1]]
            for view in range(len(self.counters))
            if bounds[view] < bounds[view + 1]
        }
        self.add({view: texts[bounds[view] : bounds[view + 1]] for view in rows}, rows)

    def add(self, reports: Mapping[int, Any], rows: Mapping[int, NDArray[np.int64]]) -> None:
        """Count the reports of some views, which stand in these rows of the input."""
        fresh = {view: self.mechanism.oracles[view].aggregator() for view in reports}
        for view, counter in fresh.items():
            try:
                counter.update(reports[view])
            except RowError as error:
                where, row = f"{error.where}: view {view}", int(rows[view][error.row])
                raise error.changed(where=where, row=row) from None
        for view, counter in fresh.items():
            self.counters[view].merge(counter)

    def _merge(self, other: Self) -> None:
        for own, added in zip(self.counters, other.counters, strict=True):
            own.merge(added)  # type: ignore[arg-type]

    def estimate(
        self, population: bool = False, penalty: Any = None, parts: Sequence[MarginalAggregator] = ()
    ) -> ReleasedMarginals:
        """Return the release: any marginal, as a sum of the penalized distribution or unbiased.

        Parameters
        ----------
        population : bool
        penalty : float or "cross-validated", optional
            lambda of the penalized distribution, 30 by default: cross-validation needs parts.
        parts : sequence of MarginalAggregator
            For cross-validation: the counts of parts of these users, drawn without a look at their reports;
            together they are the counts of this one.
        """
        self.require_some()
        read = read_penalty(penalty)
        if read is None and len(parts) < 2:
            raise DataError(
                "penalty",
                "cross-validation needs the counts of parts of the users",
                "give their aggregators as parts, or a number",
            )
        if parts and sum(part.users for part in parts) != self.users:
            raise DataError(
                "parts", "do not make up the users that were counted", "give the counts of all parts"
            )
        counted = [(part._counted(), part.reports) for part in parts]
        return ReleasedMarginals.from_counts(
            self.mechanism, self._counted(), self.reports, population, read, counted
        )

    def _counted(self) -> list[NDArray[np.int64]]:
        return [np.asarray(counter.counts) for counter in self.counters]

    def _written(self) -> dict[str, Any]:
        return {
            "views": [counter.as_json() for counter in self.counters],
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        parts = document.get("views")
        if not isinstance(parts, list) or len(parts) != len(self.counters):
            raise DataError(
                "aggregator",
                f"the counts are damaged: not {counted(len(self.counters), 'view')}",
                "count the reports again",
            )
        if not all(isinstance(part, Mapping) for part in parts):
            raise DataError(
                "aggregator", "the counts are damaged: a view has none", "count the reports again"
            )
        self.counters = [
            type(counter).from_json(counter.mechanism, part)
            for counter, part in zip(self.counters, parts, strict=True)
        ]


RAW = Option("raw", "flag", "unbiased estimates with intervals, of marginals that a view contains")
PENALTY = Option(
    "penalty", "text", "weight of the penalty: a number, or cross-validated (default for reports)"
)
SPREAD = Option("spread", "whole number", "resamplings for the spread of the penalized estimates")
CELLS = Option("most_cells", "whole number", f"the largest table that is made (default {MOST_CELLS} cells)")
ROWS = Option("rows", "whole number", "how many synthetic rows (default 1000)")


@dataclass(frozen=True, eq=False, repr=False)
class MarginalTables(AskedTables):
    """The marginals that were asked for, one under the other."""

    listed: ClassVar[str] = "marginals"

    tables: tuple[MarginalEstimate | RawMarginal, ...]

    def figures(self) -> list[Figure]:
        """Return a picture of each table; several attributes by themselves are together in one."""
        alone = [estimate for estimate in self.tables if len(estimate.attributes) == 1]
        if len(alone) < 2:
            return super().figures()
        panels = [figure for estimate in alone for figure in estimate.figures()]
        title = f"Estimated shares of {max(each.users for each in alone)} users"
        rest = [estimate for estimate in self.tables if len(estimate.attributes) > 1]
        return [*in_pictures(title, panels), *(figure for estimate in rest for figure in estimate.figures())]


def release_operations(mechanism: CountedViews) -> tuple[Operation, ...]:
    """Return ``randomize``, ``estimate`` and ``synthesize``."""
    names = mechanism.attributes.shown()
    takes = people(names)
    reports = (
        Column(VIEW, "the number of the view"),
        Column(marked(REPORT, mechanism.survey_digest), "a report of its cell"),
    )
    rows = tuple(Column(name, "a value") for name in names)
    return (
        Operation(
            "randomize",
            "one private report for each row, of a view drawn at random",
            (takes,),
            reports,
            partial(_randomized, mechanism),
            (COLUMN, ANYWAY, SEED),
            in_order=True,
        ),
        Operation(
            "estimate",
            "marginals over any attributes, of one distribution; every single attribute by default",
            reports,
            (),
            partial(_estimated, mechanism),
            (MARGINAL, RAW, PENALTY, SPREAD, CELLS, POPULATION, UNMARKED),
            several=True,
        ),
        Operation(
            "synthesize",
            "synthetic rows from the distribution that marginals are sums of",
            reports,
            rows,
            partial(_synthesized, mechanism),
            (ROWS, PENALTY, SEED, UNMARKED),
            several=True,
        ),
    )


# Clients


def _randomized(mechanism: CountedViews, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        draws = list(mechanism.draw(codes, bits))
        yield {
            VIEW: np.concatenate([piece.views for piece in draws]),
            name: np.concatenate([_texts(mechanism.oracles, piece) for piece in draws]),
        }


def _texts(oracles: Sequence[Oracle], piece: Drawn) -> NDArray[Any]:
    """Return the reports of a piece as they stand in a table: numbers, or texts where one needs them."""
    written = []
    for number, rows, reports in piece.parts:
        written.append((rows, np.asarray(oracles[number].written(reports))))
    if all(values.dtype.kind in "iu" for _, values in written):
        joined = np.zeros(len(piece.views), dtype=np.int64)
    else:
        written = [(rows, values.astype(str)) for rows, values in written]
        widest = max(values.dtype.itemsize // 4 for _, values in written)
        joined = np.zeros(len(piece.views), dtype=f"U{widest}")
    for rows, values in written:
        joined[rows] = values
    return joined


# Server


def collected(
    mechanism: CountedViews, sources: Sequence[Source], settings: Settings, population: bool = False
) -> ReleasedMarginals:
    """Return the estimates from tables of reports; with parts of the users to choose the penalty.

    Counts in a file are no parts: with them the penalty is not chosen, and is the fixed one by default.
    """
    penalty = settings["penalty"]
    has_counts = any(isinstance(source, SavedCounts) for source in sources)
    if penalty is None and (settings["raw"] or has_counts):
        penalty = FIXED
    if read_penalty(CROSS_VALIDATED if penalty is None else penalty) is not None:
        server = mechanism.aggregator()
        for source in sources:
            server.take(source, settings)
        return server.estimate(population, penalty)
    parts = [mechanism.aggregator() for _ in range(FOLDS)]
    server, rng = mechanism.aggregator(), np.random.default_rng(0)

    def update(given_views: Values, given_reports: Values) -> None:
        views, reports = np.asarray(given_views), np.asarray(given_reports)
        server.count_rows(views, reports)
        which = draw_folds(len(views), rng)
        for fold, part in enumerate(parts):
            part.count_rows(views[which == fold], reports[which == fold])

    collect(sources, lambda source: with_reports(source, VIEW, settings, mechanism), update)
    return server.estimate(population, penalty_for(penalty, server.users), parts)


def estimated_from_table(
    mechanism: CountedViews, reports: Any, population: bool, penalty: Any
) -> ReleasedMarginals:
    """Return the release from a data frame with columns of views and of reports."""
    source = FrameTable(reports, report_rule(mechanism))
    return collected(mechanism, [source], Settings({"penalty": penalty}), population)


def _estimated(mechanism: CountedViews, sources: Sequence[Source], settings: Settings) -> MarginalTables:
    attributes = mechanism.attributes
    targets = asked_attributes(settings["marginal"], attributes)
    most = integer(named_option("most_cells"), _default(settings["most_cells"], MOST_CELLS), 1)
    raw, spread = bool(settings["raw"]), _default(settings["spread"], 0)
    for name in ("penalty", "spread"):
        if raw and settings[name] is not None:
            remedy = "omit either it or " + named_option("raw")
            raise ParameterError(named_option(name), "is for penalized estimates", remedy)
    release = collected(mechanism, sources, settings, bool(settings["population"]))
    return MarginalTables(tuple(release.marginal(places, raw, most, spread) for places in targets))


def _default(value: Any, default: int) -> Any:
    return default if value is None else value


def _synthesized(mechanism: CountedViews, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    rows = integer(named_option("rows"), _default(settings["rows"], 1000), 1)
    release = collected(mechanism, sources, settings)
    rng: Rng = settings["seed"]
    table = release.sample(rows, rng)
    yield mechanism.attributes.decode(table)
