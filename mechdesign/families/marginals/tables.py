"""Tables of a release: users' columns in, ``view`` and ``report`` out; marginals and synthetic rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.attributes import MARGINAL, asked_attributes, encoded, people, with_reports
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
    operation_of,
)
from mechdesign.collect.cross_table import AskedTables
from mechdesign.collect.oracle import Oracle
from mechdesign.collect.reader import in_python, report_rule
from mechdesign.core.errors import ParameterError
from mechdesign.core.tables import Block, Source, Values
from mechdesign.core.validation import integer
from mechdesign.data.frames import FrameTable
from mechdesign.exact.randomness import Rng, bit_source
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.marginal_table import MarginalEstimate, RawMarginal
from mechdesign.families.marginals.penalized import FOLDS, draw_folds, read_penalty
from mechdesign.families.marginals.server import REPORT, VIEW, Drawn
from mechdesign.families.marginals.views import MOST_CELLS
from mechdesign.show.figure import Figure
from mechdesign.show.panels import in_pictures

if TYPE_CHECKING:
    from mechdesign.families.marginals.release import MarginalRelease

RAW = Option("raw", "flag", "unbiased estimates with intervals, of marginals that a view contains")
PENALTY = Option("penalty", "text", "weight of the penalty: a number, or cross-validated (default 30)")
SPREAD = Option("spread", "whole number", "resamplings for the spread of the penalized estimates")
CELLS = Option("most_cells", "whole number", f"the largest table that is made (default {MOST_CELLS} cells)")
ROWS = Option("rows", "whole number", "how many synthetic rows (default 1000)")


@dataclass(frozen=True, eq=False, repr=False)
class MarginalTables(AskedTables):
    """The marginals that were asked for, one under the other."""

    listed: ClassVar[str] = "marginals"

    found: tuple[MarginalEstimate | RawMarginal, ...]

    def figures(self) -> list[Figure]:
        """Return a picture of each table; several attributes by themselves are together in one."""
        alone = [estimate for estimate in self.found if len(estimate.attributes) == 1]
        if len(alone) < 2:
            return super().figures()
        panels = [figure for estimate in alone for figure in estimate.figures()]
        title = f"Estimated shares of {max(each.users for each in alone)} users"
        rest = [estimate for estimate in self.found if len(estimate.attributes) > 1]
        return [*in_pictures(title, panels), *(figure for estimate in rest for figure in estimate.figures())]


def release_operations(mechanism: MarginalRelease) -> tuple[Operation, ...]:
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


def _randomized(mechanism: MarginalRelease, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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
    mechanism: MarginalRelease, sources: Sequence[Source], settings: Settings, population: bool = False
) -> ReleasedMarginals:
    """Return the estimates from tables of reports; with parts of the users to choose the penalty."""
    penalty = settings["penalty"]
    if read_penalty(penalty) is not None:
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
    return server.estimate(population, penalty, parts)


def estimated_from_table(
    mechanism: MarginalRelease, reports: Any, population: bool, penalty: Any
) -> ReleasedMarginals:
    """Return the release from a data frame with columns of views and of reports."""
    with in_python(operation_of(release_operations(mechanism), "estimate", mechanism.type)):
        source = FrameTable(reports, report_rule(mechanism))
        return collected(mechanism, [source], Settings({"penalty": penalty}), population)


def _estimated(mechanism: MarginalRelease, sources: Sequence[Source], settings: Settings) -> MarginalTables:
    attributes = mechanism.attributes
    wanted = asked_attributes(settings["marginal"], attributes)
    most = integer("--most-cells", _default(settings["most_cells"], MOST_CELLS), 1)
    raw, spread = bool(settings["raw"]), _default(settings["spread"], 0)
    for option in ("penalty", "spread"):
        if raw and settings[option] is not None:
            raise ParameterError(f"--{option}", "is for penalized estimates", "omit either it or --raw")
    release = collected(mechanism, sources, settings, bool(settings["population"]))
    return MarginalTables(tuple(release.marginal(places, raw, most, spread) for places in wanted))


def _default(value: Any, default: int) -> Any:
    return default if value is None else value


def _synthesized(
    mechanism: MarginalRelease, sources: Sequence[Source], settings: Settings
) -> Iterator[Block]:
    rows = integer("--rows", _default(settings["rows"], 1000), 1)
    release = collected(mechanism, sources, settings)
    rng: Rng = settings["seed"]
    table = release.sample(rows, rng)
    yield mechanism.attributes.decode(table)
