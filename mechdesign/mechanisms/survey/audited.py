"""What a survey gives away: the sum over the parts of each design, compared with epsilon as fractions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mechdesign.audit.exponential import float_up
from mechdesign.audit.finding import PrivacyFinding

if TYPE_CHECKING:
    from mechdesign.mechanisms.survey.survey import Survey


@dataclass(frozen=True, repr=False)
class SurveyAudit(PrivacyFinding):
    """Result of the audit of a survey: the largest epsilon of a user over all reports.

    The true epsilon is that of the design that gives away most; the witness names it, and for each of its
    parts two answers and a report that attain it.
    """


def audit_of(survey: Survey) -> SurveyAudit:
    """Return the exact audit of the composition: the design that gives away most."""
    audits = [[part.audit() for part in design.parts] for design in survey.designs]
    promised = [sum((Fraction(audit.epsilon) for audit in row), Fraction(0)) for row in audits]
    true = [sum((Fraction(audit.true_epsilon) for audit in row), Fraction(0)) for row in audits]
    worst = max(range(survey.count), key=lambda number: true[number])
    holds = all(audit.holds for row in audits for audit in row) and max(promised) <= Fraction(survey.epsilon)
    names = survey.questions.names
    witness = {
        "design": worst,
        "parts": [
            {"questions": [names[place] for place in part.places], **_witness(audit)}
            for part, audit in zip(survey.designs[worst].parts, audits[worst], strict=True)
        ],
    }
    return SurveyAudit(survey.epsilon, float_up(true[worst]), holds, witness)


def _witness(audit: Any) -> dict[str, Any]:
    found: Mapping[str, Any] = audit.certificate().witness
    return dict(found)
