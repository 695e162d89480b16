"""Tables of sampled attributes: columns of numbers in, the columns ``attribute`` and ``report`` out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import collect, count_outside, estimated, located, marked, side_by_side
from mechdesign.collect.domain import as_floats
from mechdesign.collect.operations import (
    CLIP,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Settings,
)
from mechdesign.collect.several_columns import attribute_columns, people, with_reports
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Source, Values, length, regrouped

if TYPE_CHECKING:
    from mechdesign.families.mean.attributes import AttributeSampling

ATTRIBUTE, REPORT = "attribute", "report"

LARGEST = 1 << 53
"""No number of an attribute is larger, and doubles hold all integers up to it."""


def attribute_operations(mechanism: AttributeSampling) -> tuple[Operation, ...]:
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
    mechanism: AttributeSampling, sources: Sequence[Source], settings: Settings
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
    mechanism: AttributeSampling, source: Source, settings: Settings, count: Callable[[Any], None]
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
