"""The kinds of parts of a survey: from a file, and the best one for a question alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mechdesign.collect.base import mechanism_types
from mechdesign.collect.oracle import Oracle
from mechdesign.core.errors import CertificateError
from mechdesign.core.validation import integer
from mechdesign.families.marginals.oracles.best import best_oracle
from mechdesign.families.marginals.sets import SetResponse
from mechdesign.families.mean.discrete import DiscretePiecewise
from mechdesign.families.mean.grid import GridMean
from mechdesign.families.mean.optimal_channel import best_channel as best_mean
from mechdesign.families.survey.ordered import OrderedPart
from mechdesign.families.survey.parts import NumberPart, SetPart, SurveyPart, TablePart
from mechdesign.families.survey.planned import part_information
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.wanted import Wanted
from mechdesign.families.workload.prefix import best_prefix_channel as best_prefix
from mechdesign.families.workload.release import WorkloadRelease


def part_of(questions: Questions, document: Any) -> SurveyPart:
    """Return the part that :meth:`SurveyPart.as_json` describes, audited again."""
    if not isinstance(document, Mapping):
        raise CertificateError("designs", "a part is damaged", "rebuild it")
    places = [integer("designs: question", place, 0, len(questions) - 1) for place in document["questions"]]
    known, kind = mechanism_types(), document["type"]
    if kind not in known:
        raise CertificateError("designs", f"no mechanism type '{kind}'", "rebuild it")
    mechanism = known[kind].from_content(document["content"])
    if isinstance(mechanism, GridMean) and len(places) == 1:
        return NumberPart(questions, places[0], mechanism)
    if isinstance(mechanism, WorkloadRelease) and len(places) == 1:
        return OrderedPart(questions, places[0], mechanism)
    if isinstance(mechanism, SetResponse):
        return SetPart(questions, places, mechanism)
    if isinstance(mechanism, Oracle):
        return TablePart(questions, places, mechanism)
    raise CertificateError("designs", f"a '{kind}' is not a part of a survey", "rebuild it")


def best_part(questions: Questions, place: int, epsilon: float) -> SurveyPart:
    """Return the part that reports one question and tells most of it.

    A number takes the channel with the least worst variance where that is known, else the best piecewise
    mechanism; a question that is wanted for its cumulative shares the best channel for these where that tells
    more than the best frequency oracle; others that oracle.
    """
    question = questions[place]
    if question.is_mean:
        domain = question.domain
        channel = best_mean(epsilon, domain.low, domain.high)
        return NumberPart(questions, place, channel or DiscretePiecewise(epsilon, domain.low, domain.high))
    table = TablePart(questions, [place], best_oracle(question.size, epsilon))
    patterns = best_prefix(question.size, epsilon) if question.cumulative else None
    if patterns is None:
        return table
    ordered, wanted = OrderedPart(questions, place, patterns), Wanted("question", (place,))
    return max((table, ordered), key=lambda part: part_information(questions, wanted, part))
