"""The client of a survey in integers: what is asked, and how its designs are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.collecting import marked
from mechdesign.collect.labels import Labels
from mechdesign.collect.recipes import Answer, AskedChoice, AskedNumber, Recipe, Steps, row_hex
from mechdesign.collect.reporting import CollectingMechanism
from mechdesign.exact.randomness import BitSource
from mechdesign.families.survey.results import SurveyResults

if TYPE_CHECKING:
    from mechdesign.families.survey.questions import Question, Questions


class SurveyClient(CollectingMechanism[SurveyResults]):
    """Texts of a survey for the author of its client; a number in bins is asked as a choice of its bins."""

    questions: Questions

    def recipe(self) -> Recipe:
        """Return how a client draws a design and the reports of its parts."""
        survey: Any = self
        designs: Sequence[Any] = survey.designs
        steps = {
            "step": "survey",
            "ends": row_hex(list(accumulate(design.weight for design in designs))),
            "means": [question.is_mean for question in self.questions.all],
            "sizes": [question.size for question in self.questions.all],
            "designs": [[_part(part) for part in design.parts] for design in designs],
        }
        inputs = tuple(_asked(question) for question in self.questions.all)
        return Recipe(inputs, (marked("report", self.survey_digest),), steps, False)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report as a text, from the bits of a source."""
        read: Any = self
        pairs = zip(self.questions.all, answer, strict=True)
        return str(read.draw([_encoded(question, given) for question, given in pairs], source)[0])


def _asked(question: Question) -> AskedChoice | AskedNumber:
    if question.is_mean:
        return AskedNumber(question.name, question.domain.low, question.domain.high)
    return AskedChoice(question.name, question.size, tuple(question.categories))


def _encoded(question: Question, given: Any) -> Any:
    if question.is_mean:
        return question.encode(np.array([given]))
    return Labels(question.size, question.categories).encode([given], f"question '{question.name}'")


def _part(part: Any) -> Steps:
    return {"questions": list(part.places), "kind": part.kind, "draw": part.mechanism._client_steps()}
