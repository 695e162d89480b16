"""Quantities of ``survey-design``: the expected standard errors, and what it would cost to ask otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.solution import Solution
from mechdesign.families.survey import design as building
from mechdesign.families.survey.design import SurveyDesign
from mechdesign.families.survey.design_bundles import Independent
from mechdesign.families.survey.design_mixtures import RULES, bounds_for_any, even_turns, generate_mixture
from mechdesign.families.survey.design_setting import SurveySetting

Array = NDArray[np.float64]


def quantities(problem: SurveyDesign, solution: Solution[Any]) -> dict[str, Any]:
    """Return the quantities for claims, figures and readers besides designs and shares.

    ``errors`` are the expected standard errors of all wanted results with the planned users, in their order:
    of a table the root mean square over its cells, of a mean in its units. For goal ``mean`` without cross
    tables ``split``, ``even``, ``sampled`` and ``rule`` are the values of the methods of these names, and
    ``bound_for_any`` is what no mechanism of this epsilon goes below, where every question has categories.
    """
    setting = problem.setting(float(solution.variables["epsilon"]))
    information = building.target_information(setting, solution.variables)
    units = np.array([target.unit for target in problem.targets])
    with np.errstate(divide="ignore"):
        errors = np.sqrt(units / (problem.users * information))
    values: dict[str, Any] = {"errors": errors.tolist(), "designs": len(solution.variables["designs"])}
    if problem.goal == "mean" and len(problem.targets) == len(problem.questionnaire):
        values |= _otherwise(setting, information)
    return values


def _otherwise(setting: SurveySetting, information: Array) -> dict[str, float]:
    pricing = Independent(setting)
    values = {"split": generate_mixture(setting, pricing.start(), pricing).value}
    for name, count, _ in RULES:
        columns, shares = even_turns(setting, count(setting))
        own = np.array(shares) @ np.array([setting.information(column) for column in columns])
        values[name] = float((setting.each_weight / own).sum())
    bound = max(bounds_for_any(setting, information).values(), default=None)
    return values if bound is None or not math.isfinite(bound) else {**values, "bound_for_any": bound}
