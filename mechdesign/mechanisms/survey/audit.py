"""The exact audit of a survey: everything that a user reports, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.notebook import TextInNotebooks


@dataclass(frozen=True)
class SurveyAudit(TextInNotebooks):
    """What a user gives away at most, over all that the survey reports.

    Attributes
    ----------
    epsilon, true_epsilon : float
        The promise, and the least epsilon of the design that gives away most, rounded up.
    holds : bool
    witness : mapping
        That design, and for each part two answers and a report that attain it.
    """

    epsilon: float
    true_epsilon: float
    holds: bool
    witness: Mapping[str, Any]

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        figures = {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}
        return Certificate("privacy", self.holds, True, figures, self.witness)

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"SurveyAudit({self})"
