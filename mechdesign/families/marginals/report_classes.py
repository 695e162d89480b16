"""The exact audit of reports in classes: reports of a class have the same probabilities up to relabeling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.core.errors import CertificateError
from mechdesign.core.validation import double_epsilon
from mechdesign.exact.exponential import exp_lower
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
