"""Theorem 2 of the survey, an O(...) read with the constant 1: no theorem, and refuted by an attack."""

from __future__ import annotations

import math

from mechdesign.families.shuffle.theorems import Answer, Theorem, TheoremSetting


def central_epsilon(case: TheoremSetting, local: float) -> Answer:
    """Return min(1, local) e^local sqrt(ln(1/delta) / n), or why it does not apply."""
    logarithm = math.log(1.0 / case.delta)
    if logarithm >= case.users:
        return f"its range is ln(1/delta) < n, not {logarithm:.4g} and {case.users}"
    largest = math.log(case.users / logarithm) / 2.0
    if local > largest:
        return f"its range is local epsilon <= ln(n / ln(1/delta)) / 2 = {largest:.4g}, not {local:g}"
    return min(1.0, local) * math.exp(local) * math.sqrt(logarithm / case.users)


def always(case: TheoremSetting) -> None:
    """Return None: it is about every randomizer."""


THEOREM_2 = Theorem(
    "theorem-2",
    "published",
    "theorem 2 of the survey: asymptotic, O(...) read with the constant 1, which is not a theorem",
    always,
    central_epsilon,
)
