"""What every audit of privacy finds: what is proven of the guarantee, and a witness.

What an exact privacy audit found.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

import attrs

from mechdesign.core.certificate import Certificate
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.text import TextInNotebooks
from mechdesign.core.validation import float_up
from mechdesign.core.values import frozen_value


@frozen_value(repr=False)
class PrivacyFinding(TextInNotebooks):
    """Result of an audit of privacy. Every audit of privacy hands back one of these.

    Attributes
    ----------
    proof : Proof
        The guarantee, and what is proven of it: it decides whether the guarantee holds.
    witness : mapping
        What attains the true epsilon.

    Examples
    --------
    >>> PrivacyFinding(Proof(Guarantee(1.0), true_epsilon=0.5, pairs=2), {})
    PrivacyFinding(privacy: holds (exact); epsilon = 1, true_epsilon = 0.5)
    """

    proof: Proof
    witness: Mapping[str, Any]

    @property
    def guarantee(self) -> Guarantee:
        """The promise."""
        return self.proof.promise

    @property
    def epsilon(self) -> float:
        """The promised epsilon."""
        return float(self.proof.promise.epsilon)

    @property
    def delta(self) -> float:
        """The promised delta."""
        return float(self.proof.promise.delta)

    @property
    def true_epsilon(self) -> float:
        """The least epsilon with delta 0, rounded up; infinite when an input excludes a report of another."""
        return self.proof.true_up()

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.proof.holds

    @property
    def exact(self) -> bool:
        """Whether the verdict is without tolerance."""
        return self.proof.exact

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        return Certificate.of_privacy(self.proof, self._figures(), self._shown(), self._note())

    def details(self) -> dict[str, Any]:
        """Return what the certificate leaves out: notion, what is covered, how many pairs were compared."""
        promise = self.guarantee
        return {"notion": promise.notion, "covers": promise.covers, "pairs": self.proof.pairs}

    def _figures(self) -> dict[str, Any]:
        """Return the figures of the certificate."""
        return {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}

    def _shown(self) -> Mapping[str, Any]:
        """Return the witness of the certificate."""
        return self.witness

    def _note(self) -> str:
        """Return the note of the certificate."""
        return ""

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


METRIC = "epsilon per unit of distance between the listed answers; rounding to them is not covered"
"""What an audit of metric privacy is about: where a user stands between two answers, it cannot know."""

UNIT = "unit of distance between the listed answers"


@frozen_value(repr=False)
class PrivacyAudit(PrivacyFinding):
    """Result of an exact audit of a channel.

    Attributes
    ----------
    proof : Proof
        The guarantee, with the least epsilon and the least delta in its notion, exactly.
    witness : mapping
        ``input``, ``other``, ``report`` that attain the true epsilon.
    true_epsilon_digits : Decimal
        The true epsilon to many digits, still an upper bound.
    least_delta_exact : Fraction
        The least set-wise delta for the rational lower bound of e^epsilon.
    delta_witness : mapping
        ``input``, ``other``, ``reports`` that attain it.
    entry_delta : float
        The least entry-wise delta for the promised epsilon, rounded up: never above ``least_delta``, and
        equal to it for two reports.
    figures : mapping
        Further figures of the certificate.
    """

    true_epsilon_digits: Decimal
    least_delta_exact: Fraction
    delta_witness: Mapping[str, Any]
    entry_delta: float
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def least_delta(self) -> float:
        """The least set-wise delta for the promised epsilon, rounded up."""
        return float_up(self.least_delta_exact)

    @property
    def epsilon_witness(self) -> Mapping[str, Any]:
        """What attains the true epsilon."""
        return self.witness

    @property
    def metric(self) -> bool:
        """Whether epsilon is per unit of distance."""
        return bool(self.guarantee.distance)

    @property
    def notion(self) -> str:
        """``"ldp"`` (the standard definition, over sets of reports) or ``"entry-wise"``."""
        return self.guarantee.notion

    def _figures(self) -> dict[str, Any]:
        figures = super()._figures()
        if self.delta > 0 or self.least_delta > 0:
            figures |= {"delta": self.delta, "least_delta": self.least_delta, "entry_delta": self.entry_delta}
        return {**figures, **self.figures}

    def _shown(self) -> Mapping[str, Any]:
        by_delta = self.delta > 0 and self.least_delta > 0
        return self.delta_witness if by_delta else self.witness

    def _note(self) -> str:
        if self.notion == "entry-wise":
            return "entry by entry, as in the paper; set by set it needs least_delta"
        return METRIC if self.metric else ""

    def details(self) -> dict[str, Any]:
        """Return everything the audit found, the true epsilon to 40 digits and both readings of delta."""
        digits = self.true_epsilon_digits
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "notion": self.notion,
            "pairs": self.proof.pairs,
            "true_epsilon_digits": str(digits if digits.is_infinite() else _shortened(digits)),
            "epsilon_witness": dict(self.epsilon_witness),
            "least_delta_set_wise": self.least_delta,
            "least_delta_entry_wise": self.entry_delta,
            "delta_witness": dict(self.delta_witness),
        }


def _shortened(digits: Decimal) -> Decimal:
    """Return the number rounded up to 40 decimals."""
    context = Context(prec=80 + max(0, digits.adjusted()), rounding=ROUND_CEILING)
    return digits.quantize(Decimal("1e-40"), context=context).normalize(context)
