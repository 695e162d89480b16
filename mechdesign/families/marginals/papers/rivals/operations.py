"""Tables of a rival: users' columns in, ``group`` and ``report`` out; marginals from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from mechdesign.collect.collecting import estimated, marked
from mechdesign.collect.cross_table import AskedTables
from mechdesign.collect.operations import (
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
from mechdesign.collect.several_columns import MARGINAL, asked_attributes, encoded, people
from mechdesign.core.tables import Block, Source
from mechdesign.exact.randomness import bit_source
from mechdesign.families.marginals.papers.rivals.answers import RivalEstimate
from mechdesign.families.marginals.papers.rivals.collected import GROUP, REPORT

if TYPE_CHECKING:
    from mechdesign.families.marginals.papers.rivals.mechanism import MarginalRival

RAW = Option("raw", "flag", "unbiased estimates, whose cells may be negative")


@dataclass(frozen=True, eq=False, repr=False)
class RivalTables(AskedTables):
    """The marginals that were asked for, one under the other."""

    listed: ClassVar[str] = "marginals"

    found: tuple[RivalEstimate, ...]


def rival_operations(mechanism: MarginalRival) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate``."""
    takes = people(mechanism.attributes.shown())
    reports = (
        Column(GROUP, "the number of the group, which is drawn without looking at the data"),
        Column(marked(REPORT, mechanism.survey_digest), "what the group reports"),
    )
    return (
        Operation(
            "randomize",
            "one private report for each row",
            (takes,),
            reports,
            partial(_randomized, mechanism),
            (COLUMN, ANYWAY, SEED),
            in_order=True,
        ),
        Operation(
            "estimate",
            "marginals over attributes, with predicted errors; every single attribute by default",
            reports,
            (),
            partial(_estimated, mechanism),
            (MARGINAL, RAW, POPULATION, UNMARKED),
            several=True,
        ),
    )


def _randomized(mechanism: MarginalRival, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        for groups, reports in mechanism.draw(codes, bits):
            yield {GROUP: groups, name: reports}


def _estimated(mechanism: MarginalRival, sources: Sequence[Source], settings: Settings) -> RivalTables:
    wanted = asked_attributes(settings["marginal"], mechanism.attributes)
    found = estimated(mechanism, sources, settings)
    return RivalTables(tuple(found.marginal(places, raw=bool(settings["raw"])) for places in wanted))
