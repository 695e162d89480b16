"""What an exact privacy audit found."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import attrs

from mechdesign.core.certificate import Certificate
from mechdesign.core.notebook import TextInNotebooks
from mechdesign.core.values import frozen_value

METRIC = "epsilon per unit of distance between the listed answers; rounding to them is not covered"
"""What an audit of metric privacy is about: where a user stands between two answers, it cannot know."""


@frozen_value()
class PrivacyAudit(TextInNotebooks):
    """Result of an exact audit.

    Attributes
    ----------
    epsilon : float
        The wanted epsilon.
    delta : float
        The wanted delta.
    true_epsilon : float
        The least epsilon with delta = 0, rounded up; infinite when an input excludes a report that
        another one can make. Per unit of distance for metric privacy.
    true_epsilon_digits : Decimal
        The same to many digits, still an upper bound.
    epsilon_witness : mapping
        ``input``, ``other``, ``report`` that attain it.
    least_delta : float
        The least set-wise delta for the wanted epsilon, rounded up.
    least_delta_exact : Fraction
        The same for the rational lower bound of e^epsilon.
    delta_witness : mapping
        ``input``, ``other``, ``reports`` that attain it.
    entry_delta : float
        The least entry-wise delta for the wanted epsilon, rounded up: never above ``least_delta``, and
        equal to it for two reports.
    holds : bool
        Whether the wanted (epsilon, delta) holds, set-wise unless ``notion`` says otherwise.
    metric : bool
        Whether epsilon is per unit of distance.
    notion : str
        ``"ldp"`` (the standard definition, over sets of reports) or ``"entry-wise"``.
    """

    epsilon: float
    delta: float
    true_epsilon: float
    true_epsilon_digits: Decimal
    epsilon_witness: Mapping[str, Any]
    least_delta: float
    least_delta_exact: Fraction
    delta_witness: Mapping[str, Any]
    entry_delta: float
    holds: bool
    metric: bool = False
    notion: str = "ldp"
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        figures: dict[str, Any] = {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}
        if self.delta > 0 or self.least_delta > 0:
            figures |= {"delta": self.delta, "least_delta": self.least_delta, "entry_delta": self.entry_delta}
        figures |= self.figures
        by_delta = self.delta > 0 and self.least_delta > 0
        witness = self.delta_witness if by_delta else self.epsilon_witness
        note = METRIC if self.metric else ""
        if self.notion == "entry-wise":
            note = "entry by entry, as in the paper; set by set it needs least_delta"
        return Certificate("privacy", self.holds, True, figures, witness, note, metric=self.metric)

    def details(self) -> dict[str, Any]:
        """Return everything the audit found, the true epsilon to 40 digits and both readings of delta."""
        digits = self.true_epsilon_digits
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "notion": self.notion,
            "true_epsilon_digits": str(digits if digits.is_infinite() else _shortened(digits)),
            "epsilon_witness": dict(self.epsilon_witness),
            "least_delta_set_wise": self.least_delta,
            "least_delta_entry_wise": self.entry_delta,
            "delta_witness": dict(self.delta_witness),
        }

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"PrivacyAudit({self})"


def _shortened(digits: Decimal) -> Decimal:
    """Return the number rounded up to 40 decimals."""
    context = Context(prec=80 + max(0, digits.adjusted()), rounding=ROUND_CEILING)
    return digits.quantize(Decimal("1e-40"), context=context).normalize(context)
