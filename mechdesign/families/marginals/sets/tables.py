"""Tables of reported sets: users' columns in, reports out; shares and cross tables from these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

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
    Settings,
)
from mechdesign.collect.several_columns import MARGINAL, asked_attributes, encoded, people
from mechdesign.core.tables import Block, Source
from mechdesign.exact.draw.packed import as_texts
from mechdesign.exact.randomness import bit_source
from mechdesign.families.marginals.sets.estimates import SetTable

if TYPE_CHECKING:
    from mechdesign.families.marginals.sets.response import SetResponse

REPORT = "report"


@dataclass(frozen=True, eq=False, repr=False)
class SetTables(AskedTables):
    """The tables that were asked for, one under the other."""

    found: tuple[SetTable, ...]


def set_operations(mechanism: SetResponse) -> tuple[Operation, ...]:
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


def _randomized(mechanism: SetResponse, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        yield {name: as_texts(mechanism.draw(codes, bits))}


def _estimated(mechanism: SetResponse, sources: Sequence[Source], settings: Settings) -> SetTables:
    wanted = asked_attributes(settings["marginal"], mechanism.attributes)
    for places in wanted:  # before anything is read
        mechanism.score(places)
    estimate = estimated(mechanism, sources, settings)
    return SetTables(tuple(estimate.table(places) for places in wanted))
