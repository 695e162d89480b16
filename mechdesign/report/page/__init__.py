"""One self-contained page of HTML: models with proofs and verdicts, or what a mechanism does to an answer."""

from mechdesign.report.page.mechanism import mechanism_page
from mechdesign.report.page.models import ModelResult, model_result, model_results, models_page

__all__ = ["ModelResult", "mechanism_page", "model_result", "model_results", "models_page"]
