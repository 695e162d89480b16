"""Tables of one-hot reports: users' columns in, one column of reports out; joint distributions from it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mechdesign.collect.codec import Codes
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
    estimated,
    located,
    marked,
    report_column,
    require_columns,
)
from mechdesign.core.errors import DataError, ParameterError, named_option, option
from mechdesign.data.intake import Block, Source
from mechdesign.data.tidy import AskedTables
from mechdesign.exact.bits import Packed, as_texts, width
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import BitSource, bit_source
from mechdesign.families.joint.client import PermanentBits, begin_count, count_report, promised, require_fresh
from mechdesign.families.joint.estimate import ESTIMATORS, JointEstimate, JointTable
from mechdesign.families.joint.one_hot import titles
from mechdesign.primitives.attributes import MARGINAL, Attributes, encoded, people

REPORT, PERMANENT = "report", "permanent"
TABLES = (".csv", ".parquet", ".pq")

GIVEN = Option("given", "text", "attributes separated by commas: the marginals are given these")
JOINT = Option("joint", "text", "use these attributes only, separated by commas; all by default")
LINKED = Option("linked", "flag", "the files hold further reports of the same users, in the same order")
STATE = Option("state", "path", "the file that counts reports; 'remember' makes it, 'report' needs the same")
BOOTSTRAP = Option("bootstrap", "whole number", "resamplings for the spread of the estimated shares")
ESTIMATOR = Option("estimator", "text", f"{' (default) or '.join(ESTIMATORS)}")
PENALTY = Option("penalty", "text", "weight of the penalty: a number, or cross-validated (default)")
REFERENCE = Option("reference", "text", "the penalty draws towards uniform or product shares")


@dataclass(frozen=True, eq=False, repr=False)
class JointTables(AskedTables):
    """The tables that were asked for, one under the other."""

    tables: tuple[JointTable, ...]


def kept_mark(digest: str) -> str:
    """Return the digest that marks permanent responses; it differs from that of all reports."""
    return hashlib.sha256(f"permanent {digest}".encode()).hexdigest()


class TabledBits(PermanentBits):
    """What tables use of the mechanism."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """The bits of a report: one per value of every attribute, or one for two values."""

    @property
    @abstractmethod
    def one_bit(self) -> bool:
        """Whether an attribute with two values has one bit."""

    @property
    @abstractmethod
    def _keeps_truth(self) -> bool:
        """Whether permanent responses hold true answers, since reports have all the noise (redraw = 0)."""

    @abstractmethod
    def _draw_permanent(self, codes: Codes, source: BitSource) -> Packed:
        """Return the permanent bits of values (n, d), packed."""

    @abstractmethod
    def estimate_linked(
        self, tables: Sequence[Any], population: bool = False, **options: Any
    ) -> JointEstimate:
        """Return the joint distribution from several reports of every user."""


def joint_operations(mechanism: TabledBits) -> tuple[Operation, ...]:
    """Return ``randomize``, ``remember``, ``report`` and ``estimate``."""
    takes = people(titles(mechanism.attributes))
    digits = 2 * width(mechanism.bits)
    more = ", or one for two values" if mechanism.one_bit else ""
    text = f"'x' and {digits} hexadecimal digits: a bit a value{more}"
    report = Column(marked(REPORT, mechanism.survey_digest), text)
    permanent = Column(
        marked(PERMANENT, kept_mark(mechanism.survey_digest)), f"to be kept by the client, {text}"
    )
    return (
        Operation(
            "randomize",
            "one report for each row, once: the permanent response is forgotten",
            (takes,),
            (report,),
            partial(_randomized, mechanism),
            (COLUMN, ANYWAY, SEED),
            in_order=True,
        ),
        Operation(
            "remember",
            "the permanent response of each row, to be kept and reported from",
            (takes,),
            (permanent,),
            partial(_remembered, mechanism),
            (COLUMN, STATE, ANYWAY, SEED),
            private=True,
            in_order=True,
        ),
        Operation(
            "report",
            "a report for each permanent response; drawn again each time, and counted",
            (permanent,),
            (report,),
            partial(_reported, mechanism),
            (STATE, SEED),
            in_order=True,
        ),
        Operation(
            "estimate",
            "the joint distribution, marginals and conditionals, with errors; one report a user, or linked",
            (report,),
            (),
            partial(_estimated, mechanism),
            (
                *(MARGINAL, GIVEN, JOINT, ESTIMATOR, PENALTY, REFERENCE, BOOTSTRAP),
                *(LINKED, POPULATION, UNMARKED),
            ),
            several=True,
        ),
    )


# Clients


def _randomized(mechanism: TabledBits, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for codes in encoded(mechanism, sources, settings):
        yield {name: as_texts(mechanism.draw_reports(mechanism._draw_permanent(codes, bits), bits))}


def _remembered(mechanism: TabledBits, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Yield permanent responses; the count of their reports begins before they are there."""
    state = _state(mechanism, settings)
    if state:
        require_fresh(state)
    bits = bit_source(mechanism.seeded(settings["seed"], "remember"))
    name, blocks = marked(PERMANENT, kept_mark(mechanism.survey_digest)), []
    for codes in encoded(mechanism, sources, settings):
        packed = mechanism._draw_permanent(codes, bits)
        if mechanism._keeps_truth:
            settings.count("true answer(s), since this mechanism keeps no noise (redraw = 0)", len(packed))
        blocks.append(packed)
        yield {name: as_texts(packed)}
    if state:
        begin_count(mechanism, state, np.concatenate(blocks))


def _state(mechanism: TabledBits, settings: Settings) -> Any:
    """Return the file that counts reports; without one, any number of reports has to keep the guarantee."""
    state = settings["state"]
    if mechanism.limited and not state:
        raise ParameterError(
            named_option("state"),
            "is missing",
            f"the guarantee is for {promised(mechanism)} and more would break it: name the file that counts "
            "them",
        )
    if state and str(state).lower().endswith(TABLES):
        raise ParameterError(named_option("state"), f"{state} is named like a table", "give it another name")
    return state


def _reported(mechanism: TabledBits, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Yield reports; with a count, only after they were counted."""
    (source,) = sources
    state = _state(mechanism, settings)
    heading = marked(PERMANENT, kept_mark(mechanism.survey_digest))
    columns = [name for name in source.columns if name.casefold().strip() == heading]
    if len(columns) != 1:
        raise DataError(
            source.name, f"has no column {heading}", "name a file that 'remember' of this mechanism wrote"
        )
    require_columns(source, columns)
    blocks = _permanent(mechanism, source, columns[0])
    if state:
        read = list(blocks)
        if read:
            number = count_report(mechanism, state, np.concatenate(read))
            allowed = f"of {promised(mechanism)}" if mechanism.limited else "report(s)"
            settings.count(f"{allowed} made", number)
        blocks = iter(read)
    bits = mechanism._report_source(settings["seed"])
    for permanent in blocks:
        yield {marked(REPORT, mechanism.survey_digest): as_texts(mechanism.draw_reports(permanent, bits))}


def _permanent(mechanism: TabledBits, source: Source, column: str) -> Iterator[Packed]:
    for block in source.blocks([column]):
        with located(source, column):
            permanent = mechanism.read(block[column])
        yield permanent


# Server


def _estimated(mechanism: TabledBits, sources: Sequence[Source], settings: Settings) -> JointTables:
    estimate = _linked(mechanism, sources, settings) if settings["linked"] else None
    if estimate is None:
        estimate = estimated(mechanism, sources, settings)
    chosen = {name: settings[name] for name in ("penalty", "reference")}
    estimate = estimate.by(settings["estimator"] or ESTIMATORS[0], **chosen)
    if settings["joint"]:
        estimate = estimate.over(_names(settings["joint"], mechanism.attributes))
    try:
        return _tables(estimate, mechanism.attributes, settings)
    except ParameterError as error:
        if settings["joint"] or not error.is_about("attributes"):
            raise
        raise error.changed(
            remedy=error.remedy + ", those that " + named_option("joint") + " names"
        ) from None


def _tables(estimate: JointEstimate, attributes: Attributes, settings: Settings) -> JointTables:
    marginals = [_names(text, attributes) for text in settings["marginal"] or []]
    bootstrap = settings["bootstrap"] or 0
    if settings["given"]:
        if not marginals:
            raise ParameterError(
                named_option("given"), "name the attributes it is for with " + option("marginal")
            )
        conditions = _names(settings["given"], attributes)
        return JointTables(tuple(estimate.conditional(places, conditions, bootstrap) for places in marginals))
    return JointTables(
        tuple(estimate.marginal(places, bootstrap) for places in marginals or [list(estimate.view)])
    )


def _linked(mechanism: TabledBits, sources: Sequence[Source], settings: Settings) -> JointEstimate:
    """Return the estimate from files with reports of the same users."""
    tables = []
    for source in sources:
        column = report_column(source, settings, mechanism)
        parts = []
        for block in source.blocks([column]):
            with located(source, column):
                parts.append(mechanism.read(block[column]))
        tables.append(np.concatenate(parts))
    return mechanism.estimate_linked(tables, bool(settings["population"]))


def _names(text: str, attributes: Attributes) -> list[Any]:
    """Return the attributes that a text lists; a name may hold commas when it stands alone."""
    known = attributes.shown()
    names = [text] if text in known else [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in known]
    if attributes.names is None and unknown:
        raise ParameterError(
            "marginal",
            f"no attribute {text_of(unknown[0])}",
            f"they have no names here: give numbers from 0 to {attributes.count - 1}, or build with "
            "'columns' under [data]",
        )
    return list(attributes.positions(names))
