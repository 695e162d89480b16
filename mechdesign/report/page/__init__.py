"""One self-contained page of HTML: what a mechanism does, results from reports, or several waves of them."""

from mechdesign.report.page.mechanism import mechanism_page
from mechdesign.report.page.results import Estimation, results_page
from mechdesign.report.page.waves import waves_page

__all__ = ["Estimation", "mechanism_page", "results_page", "waves_page"]
