"""The exact audit of a mechanism that treats all inputs equally: one pair of inputs stands for every pair.

Where each permutation of the inputs, followed by one of the reports, leaves the mechanism as it is and any
two inputs can be moved to any other two, the reports of one pair decide. They fall into few classes in which
all reports have the same two weights; so only the classes are compared, as integers of any size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from mechdesign.audit.finding import PrivacyFinding
from mechdesign.core.errors import CertificateError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon
from mechdesign.core.values import frozen_value
from mechdesign.exact.exponential import exp_lower, log_ratio, true_bound
from mechdesign.exact.numbers import plain_int


def pairs_of_classes(inputs: int) -> int:
    """Return how many ordered pairs the classes of one pair compare: both orders; none for a single input."""
    return 2 if inputs > 1 else 0


@dataclass(frozen=True)
class ReportClass:
    """Reports that are alike for a pair of inputs.

    Attributes
    ----------
    name : str
        What these reports have in common.
    count : int
        How many there are, in a unit that all classes share.
    weight, other : int
        The weight of one such report for the first and for the second input, in a unit that all share.
    """

    name: str
    count: int
    weight: int
    other: int


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


def audit_classes(classes: Sequence[ReportClass], epsilon: float, pairs: int = 2) -> ClassAudit:
    """Audit the classes of reports of a pair of inputs that stands for all pairs, exactly.

    Parameters
    ----------
    classes : sequence of ReportClass
        Together all reports.
    epsilon : float
        The promise; taken as the exact number that it is.
    pairs : int
        How many ordered pairs are compared: the pair and its reverse, or none where there is one input only.

    Raises
    ------
    CertificateError
        When a number is negative or no whole number, or the two inputs' weights differ in their sum.

    Examples
    --------
    >>> audit = audit_classes([ReportClass("yes", 1, 3, 1), ReportClass("no", 1, 1, 3)], 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    promised = double_epsilon(epsilon)
    read = [_checked(item) for item in classes]
    sums = [sum(item.count * side for item, side in zip(read, sides, strict=True)) for sides in _sides(read)]
    if not read or sums[0] != sums[1] or sums[0] == 0:
        raise CertificateError(
            "channel", f"the weights of the two inputs sum to {sums}, which should be equal"
        )
    bound, holds = exp_lower(promised), True
    worst, name = Fraction(1), ""
    for item in read:
        high, low = max(item.weight, item.other), min(item.weight, item.other)
        if item.count == 0 or high == 0:
            continue
        holds = holds and high <= bound * low
        if low == 0:
            return class_audit(promised, None, False, _witness(item.name), pairs)
        if Fraction(high, low) > worst:
            worst, name = Fraction(high, low), item.name
    return class_audit(promised, worst, holds, _witness(name), pairs)


def _sides(classes: Sequence[ReportClass]) -> tuple[list[int], list[int]]:
    return [item.weight for item in classes], [item.other for item in classes]


def _witness(name: str) -> dict[str, Any]:
    return {"input": 0, "other": 1, "report": name} if name else {}


def _checked(item: ReportClass) -> ReportClass:
    """Return the class with plain integers."""
    count, weight, other = (
        plain_int(f"channel: {field}", getattr(item, field)) for field in ("count", "weight", "other")
    )
    if min(count, weight, other) < 0:
        raise CertificateError("channel", f"reports {item.name!r} have a negative weight or number")
    return ReportClass(item.name, count, weight, other)
