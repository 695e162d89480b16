"""The audit of several reports of one person: basic composition, exact wherever one report's audit is.

k reports, each epsilon'-private whatever was reported before, are k epsilon'-private together. The promise is
kept when k epsilon' <= epsilon, compared as the rational numbers that the doubles are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechdesign.audit.exponential import float_up
from mechdesign.core.certificate import Certificate
from mechdesign.core.notebook import TextInNotebooks


@dataclass(frozen=True)
class ComposedAudit(TextInNotebooks):
    """Result of the audit of all reports of a user together.

    Attributes
    ----------
    epsilon, delta : float
        The promise for all reports together.
    true_epsilon : float
        As many times that of one report as there are reports, rounded up.
    epsilon_each : float
        The promise of one report.
    reports_each : int
        How many reports a person makes.
    holds, exact : bool
        Whether one report is private as promised and the promises add up; whether that is without tolerance.
    witness : mapping
        What attains the worst case of one report.
    note : str
    """

    epsilon: float
    delta: float
    true_epsilon: float
    epsilon_each: float
    reports_each: int
    holds: bool
    exact: bool
    witness: Mapping[str, Any]
    note: str = ""

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        figures: dict[str, Any] = {
            "epsilon": self.epsilon,
            "true_epsilon": self.true_epsilon,
            "epsilon_each": self.epsilon_each,
            "reports_each": self.reports_each,
        }
        if self.delta > 0:
            figures["delta"] = self.delta
        return Certificate("privacy", self.holds, self.exact, figures, self.witness, self.note)

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"ComposedAudit({self})"


def compose(
    one: Certificate, epsilon_each: float, reports: int, epsilon: float, delta: float
) -> ComposedAudit:
    """Return the audit of several reports from the certificate ``privacy`` of one.

    Parameters
    ----------
    one : Certificate
        Of one report, with the figure ``true_epsilon``.
    epsilon_each : float
        What one report promises.
    reports : int
        How many there are.
    epsilon, delta : float
        What they promise together; delta is at least ``reports`` times that of one.

    Examples
    --------
    >>> one = Certificate("privacy", True, True, {"epsilon": 0.5, "true_epsilon": 0.5})
    >>> compose(one, 0.5, 2, 1.0, 0.0).holds, compose(one, 0.5, 3, 1.0, 0.0).holds
    (True, False)
    """
    single = one.figures["true_epsilon"]
    return ComposedAudit(
        epsilon=epsilon,
        delta=delta,
        true_epsilon=single if math.isinf(single) else float_up(Fraction(single) * reports),
        epsilon_each=epsilon_each,
        reports_each=reports,
        holds=one.holds and Fraction(epsilon_each) * reports <= Fraction(epsilon),
        exact=one.exact,
        witness=one.witness,
        note=one.note,
    )
