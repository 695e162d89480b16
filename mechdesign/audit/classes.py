"""Audits where a few cases stand for all: classes of reports, several reports of one person, densities.

*Several reports.* k reports, each private whatever was reported before, are private together with k times the
epsilon and the delta of one (:meth:`mechdesign.core.guarantee.Guarantee.times`): basic composition, exact
wherever one report's audit is.

*Densities.* For a family of densities f(y | x), epsilon-LDP is log f(y | x) - log f(y | x') <= epsilon for
all x, x' and almost all y. The caller names inputs and outputs at which the supremum is attained, such as the
two ends of the range for Laplace, or one point in each piece of a piecewise constant density; the largest
ratio over them is then the supremum. This certifies the mathematical mechanism and not the program
that draws the reports: floating-point output reveals the input through the doubles that can occur at all
(Mironov, CCS 2012), so a density audit is never exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon, finite_array, largest_reading, written_number
from mechdesign.core.values import frozen_value
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import float_up, log_ratio, true_bound


@frozen_value(repr=False)
class ClassAudit(PrivacyFinding):
    """Result of the audit of report classes.

    It holds where every weight is at most a rational lower bound of e^epsilon times the other input's. The
    witness are the reports that attain the true epsilon.

    Attributes
    ----------
    true_epsilon_digits : Decimal
        The true epsilon to many digits, still an upper bound.
    """

    true_epsilon_digits: Decimal


def class_audit(
    epsilon: float, worst: Fraction | None, holds: bool, witness: Mapping[str, Any], pairs: int
) -> ClassAudit:
    """Return the audit of a largest ratio of two weights; None for an infinite one."""
    digits = Decimal("inf") if worst is None else log_ratio(worst.numerator, worst.denominator)
    proof = Proof(Guarantee(epsilon), true_bound(digits, epsilon, holds), pairs=pairs)
    return ClassAudit(proof, witness, digits)


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
    weaker = written and len(written) == len(own) and all(each.epsilon <= less for each in written)
    counts = [part.pairs for part in own if part.pairs is not None]
    return Proof(
        promise,
        true,
        least,
        None if len(counts) < len(own) else sum(counts) if all(counts) else 0,
        all(part.exact for part in own),
        max((part.rounding for part in own), default=Fraction(0)),
        max(each.delta for each in written) if weaker else None,
    )


Array = NDArray[np.float64]

OPERATIONS = 32
"""Roundings, at most, behind a log density; each is off by half a unit in the last place."""

COARSE = 2.0**-30
"""A report whose ratio is known no better than this cannot be judged in double precision, and fails."""

LEAK = (
    "for real numbers; reports in floating point leak through their last bits (Mironov 2012), "
    "for an exact guarantee use duchi, discrete-piecewise or grid-mean"
)


@frozen_value(repr=False)
class DensityAudit(PrivacyFinding):
    """Result of the audit of a density; never exact.

    Attributes
    ----------
    proof : Proof
        The guarantee, and the largest log density ratio. It holds where at every report the ratio is at most
        epsilon, up to the rounding of its own evaluation.
    witness : mapping
        ``input``, ``other``, ``report`` that attain it, or that decide.
    rounding : float
        How far rounding may have moved the ratio at the report that decides.
    """

    rounding: float
    note: str = LEAK

    def _note(self) -> str:
        return self.note


def audit_density(
    log_density: Callable[[Array, Array], Array], inputs: Array, outputs: Array, epsilon: float
) -> DensityAudit:
    """Return the largest log density ratio over the given inputs and outputs.

    Parameters
    ----------
    log_density : callable
        ``log_density(x, y)`` with x of shape (n, 1) and y of shape (1, k) gives an (n, k) array; minus
        infinity where a report is impossible. Atoms may be mixed in, with their log probability.
    inputs, outputs : array
        Where the supremum is attained.
    epsilon : float
        What is wanted.

    Returns
    -------
    DensityAudit
        It fails where a log density is NaN or plus infinity, where a report is possible for some inputs
        only, and where log densities are so large that their rounding hides the ratio.

    Raises
    ------
    ParameterError
        When epsilon, an input or an output is not a finite number, or the table has another shape.

    Examples
    --------
    >>> def shifted(x, y):
    ...     return -np.abs(y - x) - np.log(2.0)
    >>> audit = audit_density(shifted, np.array([0.0, 1.0]), np.array([-1.0, 0.5, 2.0]), epsilon=1.0)
    >>> audit.holds, round(audit.true_epsilon, 12)
    (True, 1.0)
    """
    limit = double_epsilon(epsilon)
    values, reports = finite_array("inputs", inputs, 1), finite_array("outputs", outputs, 1)
    table = np.array(log_density(values[:, None], reports[None, :]), dtype=np.float64)
    if table.shape != (len(values), len(reports)):
        raise ParameterError("log_density", f"gave shape {table.shape}, not {(len(values), len(reports))}")
    ratios, roundings = _ratios(table)
    place = int(np.argmax(ratios - roundings))
    column = np.where(np.isnan(table[:, place]), np.inf, table[:, place])
    witness = {
        "input": float(values[int(np.argmax(column))]),
        "other": float(values[int(np.argmin(column))]),
        "report": float(reports[place]),
    }
    largest, allowed = float(ratios.max()), float(ratios[place] - roundings[place])
    pairs = len(values) * (len(values) - 1)
    if math.isinf(largest):
        proof = Proof(Guarantee(limit), None, pairs=pairs, exact=False)
    else:
        slack = Fraction(largest) - Fraction(allowed)
        proof = Proof(Guarantee(limit), largest, pairs=pairs, exact=False, rounding=slack)
    return DensityAudit(proof, witness, float(roundings[place]))


def _ratios(table: Array) -> tuple[Array, Array]:
    """Return the largest log ratio of each report and how far rounding may have moved it.

    The rounding of a report is that of its own log densities. A log density of minus infinity for every
    input is a report that is never made, with ratio 0; whatever else is not finite has an infinite ratio.
    """
    highest, lowest = table.max(axis=0), table.min(axis=0)
    never = highest == -np.inf
    sound = np.isfinite(highest) & np.isfinite(lowest)
    highest, lowest = (np.where(sound, edge, 0.0) for edge in (highest, lowest))
    size = np.maximum(1.0, np.maximum(np.abs(highest), np.abs(lowest)))
    roundings = OPERATIONS * float(np.finfo(np.float64).eps) * size
    sound &= roundings <= COARSE
    ratios = np.where(sound, highest - lowest, np.where(never, 0.0, np.inf))
    return ratios, np.where(sound, roundings, 0.0)
