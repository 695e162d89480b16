"""One self-contained page of HTML: what a mechanism does, or results from reports."""

from mechdesign.report.page.mechanism import mechanism_page
from mechdesign.report.page.results import Estimation, results_page

__all__ = ["Estimation", "mechanism_page", "results_page"]
