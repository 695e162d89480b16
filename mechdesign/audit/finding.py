"""What every audit of privacy finds: what is proven of the guarantee, and a witness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.notebook import TextInNotebooks
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
