"""Tables of locations: the columns x and y in, those of the reports out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mechdesign.collect.collecting import located, marked, require_commas, require_data, side_by_side
from mechdesign.collect.domain import as_floats
from mechdesign.collect.operations import CLIP, COLUMN, SEED, Column, Operation, Settings
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.tables import Block, Source
from mechdesign.core.text import counted

if TYPE_CHECKING:
    from mechdesign.families.location.base import LocationMechanism

X, Y = "x", "y"


def location_operations(mechanism: LocationMechanism) -> tuple[Operation, ...]:
    """Return ``randomize``: a private location for each location."""
    takes = (
        Column(X, "the first coordinate of a location", any_name=True),
        Column(Y, "the second one", any_name=True),
    )
    mark = mechanism.survey_digest
    gives = (
        Column(marked(X, mark), "the first coordinate of the report", any_name=True),
        Column(marked(Y, mark), "the second one", any_name=True),
    )
    return (
        Operation(
            "randomize",
            "one private location for each location",
            takes,
            gives,
            partial(_randomized, mechanism),
            (COLUMN, CLIP, SEED),
            in_order=True,
        ),
    )


def _randomized(
    mechanism: LocationMechanism, sources: Sequence[Source], settings: Settings
) -> Iterator[Block]:
    (source,) = sources
    columns, rng = _columns(mechanism, source, settings), mechanism.seeded(settings["seed"])
    names = [marked(column, mechanism.survey_digest) for column in columns]
    for points in side_by_side(source, columns, [partial(as_floats, dimensions=1, what="points")] * 2):
        with located(source):
            reports = mechanism.randomize(points, rng=rng, clip=bool(settings["clip"]))
        if mechanism.area is not None:
            low, high = mechanism.area[:2], mechanism.area[2:]
            outside = ((points < low) | (points > high)).any(axis=1)
            settings.count("point(s) moved into the area", int(outside.sum()))
        yield {names[0]: reports[:, 0], names[1]: reports[:, 1]}


def _columns(mechanism: LocationMechanism, source: Source, settings: Settings) -> list[str]:
    """Return the two columns: those named, those it was built for, x and y, or the only two."""
    given = list(settings["column"] or mechanism.data_columns)
    if not given:
        require_commas(source)
        given = [X, Y] if {X, Y} <= set(source.columns) else list(source.columns)
        if len(given) != 2:
            raise DataError(
                source.name,
                f"has {counted(len(given), 'column')} ({', '.join(given[:8])})",
                "name two with --column, x before y",
            )
        if given != [X, Y] and any(mechanism._is_value(name) for name in given):
            raise DataError(
                source.name,
                "its first line is numbers: add a header line, or name these columns with --column",
            )
    if len(given) != 2:
        raise ParameterError(
            "--column", f"{counted(len(given), 'column')} for a location", "name two, x before y"
        )
    require_data(source, given)
    return given
