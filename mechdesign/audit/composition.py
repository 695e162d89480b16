"""The audit of several reports of one person: basic composition, exact wherever one report's audit is.

k reports, each private whatever was reported before, are private together with k times the epsilon and the
delta of one (:meth:`mechdesign.core.guarantee.Guarantee.times`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from mechdesign.audit.finding import PrivacyFinding
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.values import frozen_value
from mechdesign.exact.exact import largest_reading, written_number
from mechdesign.exact.exponential import float_up
from mechdesign.exact.numbers import plain_int


@frozen_value(repr=False)
class ComposedAudit(PrivacyFinding):
    """Result of the audit of all reports of a user together.

    Attributes
    ----------
    proof : Proof
        The guarantee of all reports together.
    witness : mapping
        What attains the worst case of one report.
    epsilon_each : float
        The promise of one report.
    reports_each : int
        How many reports a person makes.
    true_each : float
        The true epsilon of one report, rounded up.
    note : str
    """

    epsilon_each: float
    reports_each: int
    true_each: float
    note: str = ""

    @property
    def true_epsilon(self) -> float:
        """As many times that of one report as there are reports, rounded up."""
        single = self.true_each
        return single if math.isinf(single) else float_up(Fraction(single) * self.reports_each)

    def _figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = super()._figures()
        figures |= {"epsilon_each": self.epsilon_each, "reports_each": self.reports_each}
        return {**figures, "delta": self.delta} if self.delta > 0 else figures

    def _note(self) -> str:
        return self.note


def compose(one: Certificate, reports: int, epsilon: float, delta: float) -> ComposedAudit:
    """Return the audit of several reports from the certificate ``privacy`` of one.

    Parameters
    ----------
    one : Certificate
        Of one report, with its proof.
    reports : int
        How many there are.
    epsilon, delta : float
        What they promise together.

    Raises
    ------
    CertificateError
        For a certificate without a proof.

    Examples
    --------
    >>> proof = Proof(Guarantee(0.5), true_epsilon=0.5, pairs=2)
    >>> one = Certificate.of_privacy(proof, {"epsilon": 0.5, "true_epsilon": 0.5})
    >>> compose(one, 2, 1.0, 0.0).holds, compose(one, 3, 1.0, 0.0).holds
    (True, False)
    """
    if one.proof is None:
        raise CertificateError("privacy", "no audit has proven it", "audit the mechanism of one report")
    kind = one.proof.promise
    numbers = largest_reading(epsilon), largest_reading(delta)
    promise = Guarantee(*numbers, kind.notion, kind.distance, f"{reports} reports together")
    single = one.proof.true_up()
    proof = composed(promise, [one.proof] * plain_int("reports", reports))
    return ComposedAudit(proof, one.witness, float(one.proof.promise.epsilon), reports, single, one.note)


def composed(promise: Guarantee, parts: list[Proof]) -> Proof:
    """Return what the proofs of several reports of one user prove of a promise for all of them together.

    Their true epsilons add to one with delta 0. Where that is above the promise, each part counts with its
    promised epsilon and least delta instead, wherever its own true epsilon is above its promise.

    Examples
    --------
    >>> half = Proof(Guarantee("0.5", delta="0.01"), true_epsilon=3, least_delta="0.01", pairs=2)
    >>> composed(Guarantee(1, delta="0.02"), [half, half]).holds, composed(Guarantee(1), [half, half]).holds
    (True, False)
    """
    if not parts:
        return Proof(promise, 0, pairs=0)
    kinds = {(part.promise.notion, part.promise.distance) for part in parts}
    if kinds != {(promise.notion, promise.distance)}:
        raise CertificateError("privacy", "parts and promise are of different kinds", "compose one kind")
    exact = all(part.exact for part in parts)
    rounding = sum((part.rounding for part in parts), Fraction(0))
    true = None
    if all(part.true_epsilon is not None for part in parts):
        true = sum((part.true_epsilon or Fraction(0) for part in parts), Fraction(0))
    known = [part.pairs for part in parts if part.pairs is not None]
    pairs = None if len(known) < len(parts) else sum(known)
    if true is not None and true - rounding <= promise.epsilon and all(part.holds for part in parts):
        return Proof(promise, true, pairs=pairs, exact=exact, rounding=rounding)
    least = written = None
    if all(part.holds for part in parts):
        total = Guarantee.total([part.proven for part in parts])
        as_decimals = Guarantee.total([part.as_written for part in parts])
        if total.epsilon > promise.epsilon:
            total = as_decimals
        least = total.delta if total.epsilon <= promise.epsilon else None
        if as_decimals.epsilon <= written_number(promise.epsilon):
            written = as_decimals.delta
    elif true is not None and true - rounding <= promise.epsilon:
        true = None  # a part that breaks its own promise proves nothing
    return Proof(promise, true, least, pairs, exact, rounding, written)


def weakest(promise: Guarantee, parts: list[Proof]) -> Proof:
    """Return what is proven where one of several mechanisms is drawn and named, whatever the answers are.

    It has the largest true epsilon of them, and the largest least delta for the promise.

    Examples
    --------
    >>> promise = Guarantee(1)
    >>> weakest(promise, [Proof(promise, "0.5", pairs=2), Proof(promise, "0.75", pairs=2)]).true_epsilon
    Fraction(3, 4)
    """
    own = [composed(promise, [part]) for part in parts]
    known = [part.true_epsilon for part in own if part.true_epsilon is not None]
    true = max(known) if known and len(known) == len(own) else None
    deltas = [Fraction(0) if part.is_pure else part.least_delta for part in own]
    pure = all(part.is_pure for part in own)
    least = None if pure or None in deltas else max(delta for delta in deltas if delta is not None)
    less = written_number(promise.epsilon)
    written = [part.as_written for part in own if part.holds]
    kept = written and len(written) == len(own) and all(each.epsilon <= less for each in written)
    counts = [part.pairs for part in own if part.pairs is not None]
    return Proof(
        promise,
        true,
        least,
        None if len(counts) < len(own) else sum(counts) if all(counts) else 0,
        all(part.exact for part in own),
        max((part.rounding for part in own), default=Fraction(0)),
        max(each.delta for each in written) if kept else None,
    )
