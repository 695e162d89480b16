"""What a survey gives away: the sum over the parts of each design, compared with its promise as fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mechdesign.audit.classes import composed, weakest
from mechdesign.core.certificate import PrivacyFinding
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import largest_reading
from mechdesign.core.values import PrivacyVerdict, frozen_value
from mechdesign.exact.exponential import float_up

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Survey

COVERS = "all reports of a survey"


@frozen_value(repr=False)
class SurveyAudit(PrivacyFinding):
    """Result of the audit of a survey: the guarantee of all reports of a user together.

    The true epsilon is that of the design that gives away most; the witness names it, and for each of its
    parts two answers and a report that attain it. With a delta, a design counts its parts' promised epsilons
    and least deltas where its true epsilon is above the promise.

    Attributes
    ----------
    most : float
        The sum of the parts' true epsilons in that design, each rounded up.
    """

    most: float

    @property
    def true_epsilon(self) -> float:
        """The largest sum of the parts' true epsilons, each rounded up."""
        return self.most

    def _figures(self) -> dict[str, Any]:
        figures = super()._figures()
        if self.delta == 0.0:
            return figures
        least = self.proof.least_delta
        return {**figures, "delta": self.delta, "least_delta": 1.0 if least is None else float_up(least)}


def promise_of(survey: Survey) -> Guarantee:
    """Return what a survey promises for all reports of a user together.

    Parts of 0.1 and 0.2 are within 0.3: the decimal is meant where the double is below it.
    """
    return Guarantee(largest_reading(survey.epsilon), largest_reading(survey.delta), covers=COVERS)


def audit_of(survey: Survey) -> SurveyAudit:
    """Return the exact audit of the composition: the design that gives away most."""
    audits = [[part.audit() for part in design.parts] for design in survey.designs]
    promise = promise_of(survey)
    proof = weakest(promise, [composed(promise, [audit.proof for audit in row]) for row in audits])
    true = [_sum(row) for row in audits]
    worst = max(range(survey.count), key=lambda number: true[number])
    names = survey.questions.names
    witness = {
        "design": worst,
        "parts": [
            {"questions": [names[place] for place in part.places], **_witness(audit)}
            for part, audit in zip(survey.designs[worst].parts, audits[worst], strict=True)
        ],
    }
    largest = true[worst]
    return SurveyAudit(proof, witness, float_up(largest) if isinstance(largest, Fraction) else largest)


def _sum(audits: Sequence[PrivacyVerdict]) -> Fraction | float:
    """Return the sum of true epsilons, each rounded up; infinite where one is."""
    found = [audit.true_epsilon for audit in audits]
    return math.inf if math.inf in found else sum(map(Fraction, found), Fraction(0))


def _witness(audit: Any) -> dict[str, Any]:
    found: Mapping[str, Any] = audit.certificate().witness
    return dict(found)
