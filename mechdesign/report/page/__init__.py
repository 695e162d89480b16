"""One self-contained page of HTML: models with verdicts, what a mechanism does, or results from reports."""

from mechdesign.report.page.mechanism import mechanism_page
from mechdesign.report.page.models import ModelResult, model_result, model_results, models_page
from mechdesign.report.page.results import Estimation, results_page

__all__ = [
    "Estimation",
    "ModelResult",
    "mechanism_page",
    "model_result",
    "model_results",
    "models_page",
    "results_page",
]
