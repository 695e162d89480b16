"""After collection: scores of reports, regression, weights, groups and tests."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.analysis.asking import regress as regress
    from mechdesign.analysis.regression import Regression as Regression
    from mechdesign.analysis.report_scores import ReportScores as ReportScores, scores_of as scores_of
    from mechdesign.analysis.shrinkage import shrunk as shrunk, top as top
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "asking": "regress",
            "regression": "Regression",
            "report_scores": "ReportScores scores_of",
            "shrinkage": "shrunk top",
        },
    )
