"""Results whose answers are called as respondents read them: in the language of a page.

Results call answers by the names of the mechanism, which are the same everywhere: in reports, in files and on
the command line. A page for people has its own words for classes of numbers and for no answer, and those of
the survey's translation. They come from one place, :func:`mechdesign.export.form.answer_names`, for the page
of respondents and for results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.core.values import changed
from mechdesign.data.tidy import Quantiles
from mechdesign.export.form import PageTexts, answer_names
from mechdesign.families.survey.derived_results import group_names
from mechdesign.families.survey.questions import Question
from mechdesign.families.survey.results import GroupShares, SurveyResult, SurveyResults
from mechdesign.families.survey.survey import SurveyMechanism

Names = Mapping[str, str]


def in_words(result: Any, mechanism: Mechanism, texts: PageTexts) -> Any:
    """Return a result whose answers are called as on the page of respondents; others stay as they are.

    Parameters
    ----------
    result : estimate
    mechanism : Mechanism
    texts : PageTexts
        Of a page in the language of the reader.

    Examples
    --------
    >>> from mechdesign.export import ExportSettings
    >>> from mechdesign.export.form import page_texts
    >>> from mechdesign.families.survey import SurveyMechanism
    >>> age = Question("age", "number", low=18, high=90, bins=(18, 30, 90))
    >>> survey = SurveyMechanism.of([age, Question("b", labels=("x", "y"))], 2.0)
    >>> reports = survey.randomize({"age": [20, 40] * 100, "b": ["x", "y"] * 100}, rng=1)
    >>> german = in_words(survey.estimate(reports), survey, page_texts(survey, ExportSettings(language="de")))
    >>> german["age"].categories
    ('18 bis 29', '30 bis 90')
    """
    names = answer_names(mechanism, texts)
    if isinstance(mechanism, SurveyMechanism) and isinstance(result, SurveyResults):
        questions = mechanism.questions.all
        parts = tuple(_part(part, questions, names) for part in result.results)
        return replace(result, results=parts)
    if isinstance(result, FrequencyEstimate) and len(names) == 1:
        return _shares(result, next(iter(names.values())))
    return result


def _part(part: SurveyResult, questions: Sequence[Question], names: Mapping[str, Names]) -> SurveyResult:
    """Return a result of a survey in words."""
    subjects = [questions[place] for place in part.request.places]
    if part.request.number is not None:
        estimate: Any = part.estimate
        group = names.get(questions[part.request.group].name, {})
        return replace(part, estimate=replace(estimate, names=_called(estimate.names, group)))
    if len(subjects) > 1:
        return _table(part, subjects, names) if part.axes else part
    own = names.get(subjects[0].name, {})
    return replace(
        part,
        estimate=_shares(part.estimate, own),
        cumulative=_shares(part.cumulative, own),
        answered=_shares(part.answered, own),
        quantiles=_quantiles(part.quantiles, own),
    )


def _table(part: SurveyResult, subjects: Sequence[Question], names: Mapping[str, Names]) -> SurveyResult:
    """Return a cross table in words: its axes, its cells, and its percentages of rows and columns."""
    axes = tuple((name, _called(labels, names.get(name, {}))) for name, labels in part.axes)
    cells = tuple(", ".join(labels) for labels in product(*(labels for _, labels in axes)))
    groups = []
    for shares in part.groups:
        across = [name for name, _ in axes].index(shares.of)
        rows, columns = group_names(axes, subjects, across)
        groups.append(GroupShares(shares.of, tuple(rows), tuple(columns), shares.estimate))
    estimate: Any = part.estimate
    return replace(part, axes=axes, estimate=replace(estimate, categories=cells), groups=tuple(groups))


def _called(labels: Sequence[str], own: Names) -> tuple[str, ...]:
    return tuple(own.get(label, label) for label in labels)


def _shares(estimate: Any, own: Names) -> Any:
    """Return shares in words; a mean, or nothing, as it is."""
    if not isinstance(estimate, FrequencyEstimate):
        return estimate
    return replace(estimate, categories=_called(estimate.categories, own))


def _quantiles(quantiles: Quantiles | None, own: Names) -> Quantiles | None:
    if quantiles is None:
        return None
    category, low, high = (
        _called(values, own) for values in (quantiles.category, quantiles.low, quantiles.high)
    )
    return changed(quantiles, category=category, low=low, high=high)
