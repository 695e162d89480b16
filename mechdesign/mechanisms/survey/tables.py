"""Tables of a survey: people's columns in, one column of reports out, and the results from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mechdesign.core.errors import DataError
from mechdesign.core.randomness import bit_source
from mechdesign.core.tables import Block, Source
from mechdesign.mechanisms.collecting import (
    count_outside,
    estimation,
    located,
    marked,
    require_data,
)
from mechdesign.mechanisms.mean.values import as_floats
from mechdesign.mechanisms.operations import CLIP, COLUMN, SEED, Column, Operation, Settings
from mechdesign.mechanisms.several_columns import people

if TYPE_CHECKING:
    from mechdesign.mechanisms.survey.survey import Survey

REPORT = "survey"


def survey_operations(mechanism: Survey) -> tuple[Operation, ...]:
    """Return ``randomize`` and ``estimate``."""
    takes = people(mechanism.questions.names, "an answer")
    gives = Column(
        marked(REPORT, mechanism.fingerprint),
        "a text: the number of the design, ':', its reports between '|'",
    )
    run = partial(_randomized, mechanism)
    one_each = "one private report for each row, of a design drawn at random"
    return (
        Operation("randomize", one_each, (takes,), (gives,), run, (COLUMN, CLIP, SEED), in_order=True),
        estimation(mechanism, (gives,), "every question, cross table and mean that was asked for"),
    )


def _randomized(mechanism: Survey, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    columns = list(settings["column"] or mechanism.data_columns)
    questions, names = mechanism.questions, mechanism.questions.names
    if set(columns) != set(names):
        listed = ", ".join(names)
        raise DataError(source.name, f"the columns are {', '.join(columns)}, the questions {listed}")
    require_data(source, names)
    bits = bit_source(mechanism.seeded(settings["seed"]))
    name, clip = marked(REPORT, mechanism.fingerprint), bool(settings["clip"])
    for block in source.blocks(list(names)):
        answers = []
        for question in questions.all:
            column = block[question.name]
            with located(source, question.name):
                answers.append(question.encode(column, clip))
            if clip and question.is_mean:
                low, high = question.domain.low, question.domain.high
                outside = count_outside(as_floats(column, 1, "values"), low, high)
                settings.count(f"values moved to [{low:g}, {high:g}]", outside)
        yield {name: mechanism.draw(answers, bits)}
