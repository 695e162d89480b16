"""The mechanism ``survey``: several questions under one epsilon, and what no mechanism does better."""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("SurveyDesign", "SurveyLimit")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.survey.design import SurveyDesign as SurveyDesign
    from mechdesign.families.survey.limit import SurveyLimit as SurveyLimit
    from mechdesign.families.survey.parts import (
        NumberPart as NumberPart,
        OrderedPart as OrderedPart,
        SetPart as SetPart,
        SurveyPart as SurveyPart,
        TablePart as TablePart,
    )
    from mechdesign.families.survey.questions import Question as Question, Questions as Questions
    from mechdesign.families.survey.remembered_reports import RememberedReports as RememberedReports
    from mechdesign.families.survey.results import (
        Request as Request,
        SurveyResult as SurveyResult,
        SurveyResults as SurveyResults,
    )
    from mechdesign.families.survey.server import SurveyCounts as SurveyCounts
    from mechdesign.families.survey.survey import (
        Design as Design,
        SurveyAudit as SurveyAudit,
        SurveyMechanism as SurveyMechanism,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "design": "SurveyDesign",
            "limit": "SurveyLimit",
            "parts": "NumberPart OrderedPart SetPart SurveyPart TablePart",
            "questions": "Question Questions",
            "remembered_reports": "RememberedReports",
            "results": "Request SurveyResult SurveyResults",
            "server": "SurveyCounts",
            "survey": "Design SurveyMechanism SurveyAudit",
        },
        former={"Wanted": "Request", "Survey": "SurveyMechanism"},
    )
