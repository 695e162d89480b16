"""What every exact audit of a guarantee finds: the guarantee, the true epsilon, and a witness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.notebook import TextInNotebooks


@dataclass(frozen=True, repr=False)
class PrivacyFinding(TextInNotebooks):
    """Result of an exact audit of privacy.

    Attributes
    ----------
    epsilon : float
        The promise.
    true_epsilon : float
        The least epsilon, rounded up; infinite when an input excludes a report that another one can make.
    holds : bool
        Whether the promise is kept.
    witness : mapping
        What attains the true epsilon.

    Examples
    --------
    >>> PrivacyFinding(1.0, 0.5, True, {})
    PrivacyFinding(privacy: holds (exact); epsilon = 1, true_epsilon = 0.5)
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
        return f"{type(self).__name__}({self})"
