"""Reports that are drawn once and kept: a user who is asked again sends the same report.

Privacy. What leaves the device is a function of one report, however often it is sent, so that all of it
together gives away at most the epsilon of the survey. Answers that have changed since do not matter.

The operations on tables are here as well: users' columns in, one column of reports out, and the results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from mechdesign.core.errors import DataError, ParameterError, counted, named_option
from mechdesign.core.extensions import FormerAttribute, former_arguments
from mechdesign.data.identifiers import identifiers
from mechdesign.data.intake import ROWS, Block, Source, let_lack
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.survey.part_plans import PlannedSurvey
from mechdesign.families.survey.parts import Answers
from mechdesign.families.survey.ticks import TickedSource, ticked
from mechdesign.primitives.attributes import people
from mechdesign.primitives.combine import PermanentReports
from mechdesign.show.tables import range_text

PURPOSE = "remember"
"""What tells this stream of a seed from that of reports that are drawn again."""


class RememberedReports(PermanentReports[str]):
    """The reports of users of a survey, each drawn once.

    Once it was saved or loaded, the file is its home: new reports are there before :meth:`ask` returns them,
    so that neither a crash nor a second process makes a user report twice.

    Parameters
    ----------
    survey : SurveyMechanism
    reports : mapping, optional
        From users to reports.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> questions = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> survey = SurveyMechanism.of(questions, epsilon=2.0)
    >>> memory = survey.remember({"smokes": ["no", "yes"], "sex": ["f", "m"]}, rng=1, users=["ann", "bob"])
    >>> again = memory.ask(["bob", "cid"], {"smokes": ["no", "no"], "sex": ["m", "m"]}, rng=2)
    >>> bool(again[0] == memory.reports(["bob"])[0]), len(memory)
    (True, 3)
    """

    format: ClassVar[str] = "mechdesign-survey-reports"
    contents: ClassVar[str] = "reports of a survey"

    @former_arguments(kept="reports")
    def __init__(self, survey: PlannedSurvey, reports: Mapping[str, str] | None = None) -> None:
        super().__init__(survey, reports)
        self.survey = survey
        survey.aggregator().update(np.array(list(self._entries.values()), dtype=str))

    def __repr__(self) -> str:
        return f"RememberedReports({counted(len(self), 'user')}, of {self.survey!r})"

    @property
    def ledger(self) -> str:
        """Epsilon of each user as text, however often the reports are sent."""
        guarantee = self.survey.guarantee.in_short
        return f"each user gives away {guarantee} in total, however often the report is sent"

    def reports(self, users: Sequence[Any] | None = None) -> NDArray[np.str_]:
        """Return the reports of these users, or of all: the same every time.

        Raises
        ------
        UnknownNameError
            For a user who has none yet.
        """
        if users is None:
            return np.array(list(self._entries.values()), dtype=str)
        return np.array([self.entry(user) for user in identifiers(users)], dtype=str)

    def ask(
        self, users: Sequence[Any], answers: Any, rng: Rng = None, clip: bool = False
    ) -> NDArray[np.str_]:
        """Return a report of each user; drawn for those who have none, for others the one they have.

        Parameters
        ----------
        users : sequence
            Who they are, one a row of the answers. 1, 1.0, "1" and "1 " are one user, and so are two ways to
            write one letter; large floats, which may be rounded, are refused.
        answers, rng, clip
            See :meth:`SurveyMechanism.randomize`.

        Raises
        ------
        DataError
            For an answer that is not possible, a user who appears twice, or as many users as answers are not.
        """
        encoded = self.survey.questions.encode(answers, clip)
        return self.reports_for(identifiers(users), encoded, self.survey.source(rng, PURPOSE))

    drawn = FormerAttribute("reports_for")

    def reports_for(self, users: Sequence[str], answers: Answers, source: BitSource) -> NDArray[np.str_]:
        """Return a report of each user for encoded answers."""
        if len(users) != len(answers[0]):
            what = f"{len(users)} for {counted(len(answers[0]), 'row')} of answers"
            raise DataError("users", what, "give one per row")
        self.in_file(lambda: self._draw(users, answers, source) > 0)
        return self.reports(users)

    def _draw(self, users: Sequence[str], answers: Answers, source: BitSource) -> int:
        """Draw the reports that are not there yet, and return how many."""
        rows = np.array([row for row, user in enumerate(users) if user not in self], dtype=np.int64)
        if len(rows):
            texts = self.survey.draw([column[rows] for column in answers], source)
            self.add({users[row]: str(text) for row, text in zip(rows.tolist(), texts, strict=True)})
        return len(rows)


REPORT = "survey"

STATE = Option("state", "path", "the file that keeps the reports; made when it is not there")
KEY = Option("key", "text", "the column that identifies users")


def survey_operations(mechanism: PlannedSurvey) -> tuple[Operation, ...]:
    """Return ``randomize``, ``remember`` and ``estimate``."""
    takes = people(mechanism.questions.names, "an answer")
    key = Column("user", "identifier of the user, see --key", any_name=True)
    content = "a string: the number of the design, ':', its reports between '|'"
    gives = Column(marked(REPORT, mechanism.survey_digest), content)
    run, keep = partial(_randomized, mechanism), partial(_remembered, mechanism)
    one_each = "one private report for each row, of a design drawn at random"
    again = "the same, drawn once: a user who is asked again sends the kept report"
    options = (STATE, KEY, COLUMN, CLIP, SEED)
    return (
        Operation("randomize", one_each, (takes,), (gives,), run, (COLUMN, CLIP, SEED), in_order=True),
        Operation("remember", again, (takes, key), (gives,), keep, options, in_order=True),
        estimation(mechanism, (gives,), "every question, cross table and mean of the survey"),
    )


def _randomized(mechanism: PlannedSurvey, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    bits = mechanism.source(settings["seed"])
    name = marked(REPORT, mechanism.survey_digest)
    for _, answers in _answers(mechanism, sources, settings):
        yield {name: mechanism.coded_reports(answers, bits)}


def _remembered(mechanism: PlannedSurvey, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    """Yield the reports that are kept, and keep those that are drawn before anything is yielded."""
    (source,) = sources
    state, key = _kept_where(mechanism, source, settings)
    bits = mechanism.source(settings["seed"], PURPOSE)
    users: list[str] = []
    seen: set[str] = set()
    blocks: list[Answers] = []
    for block, answers in _answers(mechanism, sources, settings, [key]):
        with located(source, key):
            users += identifiers(np.asarray(block[key]).tolist(), seen)
        blocks.append(answers)
    joined = [np.concatenate(columns) for columns in zip(*blocks, strict=True)]
    memory = RememberedReports(mechanism)
    if os.path.exists(state):
        memory = RememberedReports.load(mechanism, state)
    else:
        memory.save(state)
    before = len(memory)
    reports = memory.reports_for(users, joined, bits)
    settings.count("report(s) drawn before, sent again", len(users) - (len(memory) - before))
    for start in range(0, len(reports), ROWS):
        yield {marked(REPORT, mechanism.survey_digest): reports[start : start + ROWS]}


def _kept_where(mechanism: PlannedSurvey, source: Source, settings: Settings) -> tuple[str, str]:
    """Return the file that keeps reports and the column that identifies users."""
    state, key = settings["state"], settings["key"]
    if not state:
        raise ParameterError(named_option("state"), "is missing", "name the file that keeps the reports")
    if not key:
        raise ParameterError(named_option("key"), "is missing", "name the column that identifies users")
    if key in mechanism.questions.names:
        remedy = "name a column that identifies users"
        raise ParameterError(named_option("key"), f"'{key}' is a question", remedy)
    if str(state).lower().endswith((".csv", ".parquet", ".pq")):
        raise ParameterError(named_option("state"), f"{state} is named like a table", "give it another name")
    require_data(source, [key])
    return str(state), str(key)


def _answers(
    mechanism: PlannedSurvey, sources: Sequence[Source], settings: Settings, more: Sequence[str] = ()
) -> Iterator[tuple[Block, Answers]]:
    """Yield the blocks of the data with the encoded answers of their rows."""
    source = ticked(sources[0], mechanism.about, mechanism.questions)
    columns = list(settings["column"] or mechanism.data_columns)
    questions, names = mechanism.questions, mechanism.questions.names
    if set(columns) != set(names):
        listed = ", ".join(names)
        raise DataError(source.name, f"the columns are {', '.join(columns)}, the questions {listed}")
    require_data(source, names)
    clip = bool(settings["clip"])
    optional, blank = [question.name for question in questions.all if question.skip], []
    if isinstance(source, TickedSource):
        optional = list(map(source.column, optional))
        blank = [each.name for each in source.ticks if not each.skip]
    let_lack(source, optional, blank)
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
