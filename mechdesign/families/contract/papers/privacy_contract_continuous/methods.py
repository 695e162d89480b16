"""Section 4.4 as printed, with both sign errors, for the record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.noise import LAPLACE
from mechdesign.core.method import Method, Outcome
from mechdesign.families.contract.privacy_contract_continuous.curve import nodes
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous

Array = NDArray[np.float64]


def published(problem: PrivacyContractContinuous) -> Outcome:
    """Evaluate eps = cbrt(2h / (c1 theta h - c1 H - c2)), p = theta eps - integral of eps from low to theta.

    c1 is what spends the budget with the printed payments. The thesis takes c2 from eq. (4.35), which its
    payments break for every c2: the highest type is left with minus the integral of eps. So c2 is 0, as the
    printed conditions have it (lambda_1 vanishes at low, where the state is free), where the root exists,
    and else -c1, with which it exists for every density.
    """
    density = problem.types
    people = problem.population(nodes(density, problem.cells)[1:])
    middles = density.quantile(np.cumsum(people.counts) - 0.5 * people.counts)
    printed, constant = middles - (density.virtual_cost(middles) - middles), 0.0
    if (printed <= 0).any():
        printed, constant = printed + 1.0 / density.pdf(middles), -1.0
    shape = 1.0 / np.cbrt(printed)
    ends = np.concatenate([[density.low], people.types])
    widths = np.diff(ends)
    until = np.cumsum(widths * shape) - 0.5 * widths * shape
    pay = middles * shape - until
    total = math.fsum(people.counts * pay)
    if total <= 0:
        return Outcome(
            "failed", message="the printed payments are negative on the whole; no c1 spends the budget"
        )
    scale = problem.budget / total
    shown = {"types": people.types, "epsilon": _tidy(scale * shape), "payment": _tidy(scale * pay)}
    notes: dict[str, Any] = {"c2_in_c1": constant}
    if (pay < 0).any():
        notes["negative_payments"] = int((pay < 0).sum())
    return Outcome("feasible", shown, solver="formula as printed", notes=notes)


def _tidy(numbers: Array) -> Array:
    """Round down to 2**-40 of the largest, so that what is equal on paper is equal here."""
    unit = 2.0 ** (math.frexp(float(np.abs(numbers).max()))[1] - 40)
    return np.floor(numbers / unit) * unit


def why_not(problem: PrivacyContractContinuous) -> str | None:
    """Return why the section does not apply, or None."""
    if problem.noise_model is not LAPLACE:
        return "the section is about Laplace noise"
    if problem.epsilon_min > 0 or problem.epsilon_max is not None or problem.participation_cost > 0:
        return "the section has no limits of epsilon and no participation cost"
    return None


METHODS = (
    Method("published", PrivacyContractContinuous, "published",
           "section 4.4 as printed, with both sign errors", published, why_not),
)  # fmt: skip
