"""The mechanism ``survey``: several questions of the same user under one epsilon."""

from mechdesign.mechanisms.survey.parts import NumberPart, Part, SetPart, TablePart
from mechdesign.mechanisms.survey.questions import Question, Questions
from mechdesign.mechanisms.survey.results import Result, SurveyResults
from mechdesign.mechanisms.survey.server import SurveyCounts
from mechdesign.mechanisms.survey.survey import Design, Survey, SurveyAudit
from mechdesign.mechanisms.survey.wanted import Wanted

__all__ = [
    "Design",
    "NumberPart",
    "Part",
    "Question",
    "Questions",
    "Result",
    "SetPart",
    "Survey",
    "SurveyAudit",
    "SurveyCounts",
    "SurveyResults",
    "TablePart",
    "Wanted",
]
