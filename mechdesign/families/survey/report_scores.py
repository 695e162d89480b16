"""What each report of a survey stands for, question by question.

A survey draws a design, without looking at the answers. Given the design, a part's report about a table of
questions counts support by the categories of the question: the average over the other questions' categories
is the likelihood of these counts, since reports treat the cells of a category alike. What a report of a
design was planned to tell is its ``information``: the weighted average of the scores with these weights is
the survey's estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.report_scores import ReportScores, require_room
from mechdesign.families.survey.part_plans import PlannedSurvey
from mechdesign.families.survey.server import SurveyCounts

if TYPE_CHECKING:
    from mechdesign.families.survey.parts import SurveyPart

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


def survey_scores(survey: PlannedSurvey, reports: Any) -> tuple[ReportScores, ...]:
    """Return the scores of a survey's questions.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> survey = SurveyMechanism.of([Question("a", labels=("x", "y")), Question("b", labels=("u", "v"))], 9.0)
    >>> one, two = survey_scores(survey, survey.randomize({"a": ["x"] * 50, "b": ["v"] * 50}, rng=1))
    >>> one.question, two.mean().round(2) + 0.0, bool(((one.information > 0) != (two.information > 0)).all())
    ('a', array([0., 1.]), True)
    """
    designs, payloads = SurveyCounts(survey).parsed(np.asarray(reports))
    results = [_blank(survey, question, len(designs)) for question in range(len(survey.questions))]
    for number, parts in enumerate(survey.split.branches):
        rows = np.flatnonzero(designs == number)
        if not len(rows):
            continue
        fields = [payloads[row].split("|") for row in rows]
        for place, part in enumerate(parts):
            read = part.read(np.array([field[place] for field in fields]))
            for question in part.places:
                _fill(results[question], survey, part, read, question, rows)
    return tuple(results)


def survey_pairs(survey: PlannedSurvey, reports: Any, first: int, second: int) -> tuple[Array, Array]:
    """Return scores of the pair of answers to two questions, and which reports say something about it.

    A part about both has the scores of its table. Reports of two parts are drawn apart given the answers, so
    that the product of their scores has the mean of the product.
    """
    designs, payloads = SurveyCounts(survey).parsed(np.asarray(reports))
    blanks = [_blank(survey, place, 0) for place in (first, second)]
    sizes = [blank.values.shape[1] for blank in blanks]
    values, weights = np.zeros((len(designs), *sizes)), np.zeros(len(designs))
    require_room(len(designs), sizes[0] * sizes[1])
    for number, parts in enumerate(survey.split.branches):
        rows = np.flatnonzero(designs == number)
        both = [
            place
            for question in (first, second)
            for place, part in enumerate(parts)
            if question in part.places
        ]
        if not len(rows) or len(both) < 2:
            continue
        fields = [payloads[row].split("|") for row in rows]
        reads = [parts[place].read(np.array([field[place] for field in fields])) for place in both]
        if both[0] == both[1]:
            table = parts[both[0]].pairs(reads[0], first, second)
        else:
            sources = zip(both, reads, (first, second), strict=True)
            one, two = (parts[place].tables(read, question)[0] for place, read, question in sources)
            table = one[:, :, None] * two[:, None, :]
        for axis, blank in enumerate(blanks, 1):
            table = _in_units(table, blank, axis)
        values[rows], weights[rows] = table, 1.0
    return values, weights


def _in_units(table: Array, scores: ReportScores, axis: int) -> Array:
    """Return a table whose axis of a number is its value, where it was rounded to one of its ends."""
    if scores.range is None or table.shape[axis] == 1:
        return table
    ends = np.moveaxis(table, axis, -1) @ np.array(scores.range)
    return np.expand_dims(ends, axis)


def _blank(survey: PlannedSurvey, place: int, users: int) -> ReportScores:
    question = survey.questions[place]
    names = ("mean",) if question.is_mean else tuple(map(str, question.categories))
    ends = (question.domain.low, question.domain.high) if question.is_number else None
    skipped = ends is not None and not question.is_mean
    if skipped:
        names = (*(f"rounded to {name}" for name in names[:2]), *names[2:])
    require_room(users, len(names))
    return ReportScores(
        question.name,
        names,
        np.zeros((users, len(names))),
        np.zeros(users),
        None if question.is_mean else np.ones((users, len(names))),
        None if skipped else ends,
        ends=ends if skipped else None,
    )


def _fill(
    scores: ReportScores, survey: PlannedSurvey, part: SurveyPart, read: Any, question: int, rows: Rows
) -> None:
    """Set the rows of one question that a part of a design tells about."""
    scores.information[rows] = survey.part_information(survey.requests[question], part)
    values, likelihood = part.tables(read, question)
    if scores.range is not None and likelihood is not None:  # rounded at random to one of its ends
        low, high = scores.range
        scores.values[rows, 0] = low + (high - low) * values[:, 1]
        return
    scores.values[rows] = values
    if likelihood is not None:
        assert scores.likelihood is not None
        scores.likelihood[rows] = likelihood
