"""Tables of a rival: people's columns in, ``group`` and ``report`` out; marginals from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.randomness import bit_source
from mechdesign.core.tables import Block, Source
from mechdesign.mechanisms.collecting import located, marked, report_column, require_columns
from mechdesign.mechanisms.marginals.attributes import Attributes
from mechdesign.mechanisms.operations import (
    ANYWAY,
    COLUMN,
    POPULATION,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Option,
    Settings,
)
from mechdesign.mechanisms.several_columns import Without, attribute_columns
from mechdesign.papers.marginals.rivals.answers import RivalEstimate
from mechdesign.papers.marginals.rivals.collected import GROUP, REPORT

if TYPE_CHECKING:
    from mechdesign.papers.marginals.rivals.mechanism import MarginalRival

MARGINAL = Option("marginal", "texts", "a marginal: attributes separated by commas; once for each")
RAW = Option("raw", "flag", "unbiased estimates, whose cells may be negative")


@dataclass(frozen=True, eq=False, repr=False)
class RivalTables:
    """The marginals that were asked for, one under the other."""

    found: tuple[RivalEstimate, ...]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.found))

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {"marginals": [estimate.as_json() for estimate in self.found]}

    def figures(self) -> list[Any]:
        """Return the pictures of all."""
        return [figure for estimate in self.found for figure in estimate.figures()]


def rival_operations(mechanism: MarginalRival) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate``."""
    names = mechanism.attributes.shown()
    listed = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    takes = Column("columns", f"a value each: {listed}", any_name=True)
    reports = (
        Column(GROUP, "the number of the group, which is drawn without looking at the data"),
        Column(marked(REPORT, mechanism.fingerprint), "what the group reports"),
    )
    return (
        Operation(
            "randomize",
            "one private report for each row",
            (takes,),
            reports,
            lambda sources, settings: _randomized(mechanism, sources, settings),
            (COLUMN, ANYWAY, SEED),
        ),
        Operation(
            "estimate",
            "marginals over attributes, with predicted errors; every single attribute by default",
            reports,
            (),
            lambda sources, settings: _estimated(mechanism, sources, settings),
            (MARGINAL, RAW, POPULATION, UNMARKED),
            several=True,
        ),
    )


def _randomized(mechanism: MarginalRival, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    if not settings["anyway"]:
        mechanism.require_estimable()
    (source,) = sources
    attributes = mechanism.attributes
    columns = attribute_columns(mechanism, attributes.names, attributes.count, source, settings)
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.fingerprint)
    for block in source.blocks(columns):
        parts = []
        for column, labels in zip(columns, attributes.labels, strict=True):
            with located(source, column):
                parts.append(labels.encode(block[column], "values"))
        for groups, reports in mechanism.draw(np.stack(parts, axis=1), bits):
            yield {GROUP: groups, name: reports}


def _estimated(mechanism: MarginalRival, sources: Sequence[Source], settings: Settings) -> RivalTables:
    attributes = mechanism.attributes
    wanted = [attributes_of(text, attributes) for text in settings["marginal"] or []]
    if not wanted:
        wanted = [(place,) for place in range(attributes.count)]
    server = mechanism.aggregator()
    for source in sources:
        require_columns(source, [GROUP])
        column = report_column(Without(source, GROUP), settings, mechanism)
        for block in source.blocks([GROUP, column]):
            with located(source):
                server.add(block[GROUP], block[column])
    found = server.estimate(bool(settings["population"]))
    return RivalTables(tuple(found.marginal(places, raw=bool(settings["raw"])) for places in wanted))


def attributes_of(text: str, attributes: Attributes) -> tuple[int, ...]:
    """Return the attributes that a text lists; a name may hold commas when it stands alone."""
    names = [text] if text in attributes.shown() else [part.strip() for part in text.split(",")]
    return attributes.positions(names)
