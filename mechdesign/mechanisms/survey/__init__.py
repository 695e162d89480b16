"""The mechanism ``survey``: several questions of the same user under one epsilon."""

from mechdesign.mechanisms.survey.audited import SurveyAudit
from mechdesign.mechanisms.survey.ordered import OrderedPart
from mechdesign.mechanisms.survey.parts import NumberPart, SetPart, SurveyPart, TablePart
from mechdesign.mechanisms.survey.questions import Question, Questions
from mechdesign.mechanisms.survey.remembered import RememberedReports
from mechdesign.mechanisms.survey.results import SurveyResult, SurveyResults
from mechdesign.mechanisms.survey.server import SurveyCounts
from mechdesign.mechanisms.survey.survey import Design, Survey
from mechdesign.mechanisms.survey.wanted import Wanted

__all__ = [
    "Design",
    "NumberPart",
    "OrderedPart",
    "Question",
    "Questions",
    "RememberedReports",
    "SetPart",
    "Survey",
    "SurveyAudit",
    "SurveyCounts",
    "SurveyPart",
    "SurveyResult",
    "SurveyResults",
    "TablePart",
    "Wanted",
]
