"""Tables of a survey: users' columns in, one column of reports out, and the results from it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.collect.attributes import people
from mechdesign.collect.codec import as_floats
from mechdesign.collect.collecting import (
    CLIP,
    COLUMN,
    SEED,
    Column,
    Operation,
    Option,
    Settings,
    count_outside,
    estimation,
    located,
    marked,
    require_data,
)
from mechdesign.core.errors import DataError, ParameterError, named_option
from mechdesign.core.tables import ROWS, Block, Source
from mechdesign.core.text import range_text
from mechdesign.data.identifiers import identifiers
from mechdesign.data.missing import let_lack
from mechdesign.exact.randomness import bit_source
from mechdesign.families.survey.parts import Answers
from mechdesign.families.survey.remembered_reports import PURPOSE, RememberedReports

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Survey

REPORT = "survey"

STATE = Option("state", "path", "the file that keeps the reports; made when it is not there")
KEY = Option("key", "text", "the column that identifies users")


def survey_operations(mechanism: Survey) -> tuple[Operation, ...]:
    """Return ``randomize``, ``remember`` and ``estimate``."""
    takes = people(mechanism.questions.names, "an answer")
    key = Column("user", "identifier of the user, see --key", any_name=True)
    gives = Column(
        marked(REPORT, mechanism.survey_digest),
        "a string: the number of the design, ':', its reports between '|'",
    )
    run, keep = partial(_randomized, mechanism), partial(_remembered, mechanism)
    one_each = "one private report for each row, of a design drawn at random"
    again = "the same, drawn once: a user who is asked again sends the kept report"
    options = (STATE, KEY, COLUMN, CLIP, SEED)
    return (
        Operation("randomize", one_each, (takes,), (gives,), run, (COLUMN, CLIP, SEED), in_order=True),
        Operation("remember", again, (takes, key), (gives,), keep, options, in_order=True),
        estimation(mechanism, (gives,), "every question, cross table and mean of the survey"),
    )


def _randomized(mechanism: Survey, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name = marked(REPORT, mechanism.survey_digest)
    for _, answers in _answers(mechanism, sources, settings):
        yield {name: mechanism.draw(answers, bits)}


def _remembered(mechanism: Survey, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Yield the reports that are kept, and keep those that are drawn before anything is yielded."""
    (source,) = sources
    state, key = _kept_where(mechanism, source, settings)
    bits = bit_source(mechanism.seeded(settings["seed"], PURPOSE))
    users: list[str] = []
    seen: set[str] = set()
    blocks: list[Answers] = []
    for block, answers in _answers(mechanism, sources, settings, [key]):
        with located(source, key):
            users += identifiers(np.asarray(block[key]).tolist(), seen)
        blocks.append(answers)
    joined = [np.concatenate(columns) for columns in zip(*blocks, strict=True)]
    kept = RememberedReports.load(mechanism, state) if os.path.exists(state) else RememberedReports(mechanism)
    before = len(kept)
    if kept.path is None:
        kept.save(state)
    reports = kept.drawn(users, joined, bits)
    settings.count("report(s) drawn before, sent again", len(users) - (len(kept) - before))
    for start in range(0, len(reports), ROWS):
        yield {marked(REPORT, mechanism.survey_digest): reports[start : start + ROWS]}


def _kept_where(mechanism: Survey, source: Source, settings: Settings) -> tuple[str, str]:
    """Return the file that keeps reports and the column that identifies users."""
    state, key = settings["state"], settings["key"]
    if not state:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps the reports")
    if not key:
        raise ParameterError(named_option("key"), "is missing", "name the column that identifies users")
    if key in mechanism.questions.names:
        raise ParameterError(
            named_option("key"), f"'{key}' is a question", "name a column that identifies users"
        )
    if str(state).lower().endswith((".csv", ".parquet", ".pq")):
        raise ParameterError(named_option("state"), f"{state} is named like a table", "give it another name")
    require_data(source, [key])
    return str(state), str(key)


def _answers(
    mechanism: Survey, sources: Sequence[Source], settings: Settings, more: Sequence[str] = ()
) -> Iterator[tuple[Block, Answers]]:
    """Yield the blocks of the data with the encoded answers of their rows."""
    (source,) = sources
    columns = list(settings["column"] or mechanism.data_columns)
    questions, names = mechanism.questions, mechanism.questions.names
    if set(columns) != set(names):
        listed = ", ".join(names)
        raise DataError(source.name, f"the columns are {', '.join(columns)}, the questions {listed}")
    require_data(source, names)
    clip = bool(settings["clip"])
    let_lack(source, (question.name for question in questions.all if question.skip))
    for block in source.blocks([*names, *more]):
        answers = []
        for question in questions.all:
            column = block[question.name]
            with located(source, question.name):
                answers.append(question.encode(column, clip))
            if clip and question.is_mean:
                low, high = question.domain.low, question.domain.high
                outside = count_outside(as_floats(column, 1, "values"), low, high)
                settings.count(f"value(s) moved to {range_text(low, high)}", outside)
        yield block, answers
