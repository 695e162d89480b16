"""Extreme parameters: an optimum has a bound that holds, no number is NaN, errors are the package's own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import mechdesign as md
from mechdesign.core.certificate import OPTIMALITY
from mechdesign.core.errors import MechDesignError
from mechdesign.core.fields import problem_from
from mechdesign.families import problem_class, problem_classes

NUMBERS = (1e-9, 200.0, 2000.0)
LITTLE = (1e-170, 1e-16)
NEAR_ONE = 1.0 - 2.0**-53

SLOW = {
    ("location-noise", "area"),
    ("location-noise", "epsilon"),
    ("deployed-histogram", "users"),
    ("deployed-histogram", "epsilon"),
}
"""Fields of which an extreme value makes the exact audit of the least place or count take seconds."""


def extremes(name: str) -> Iterator[dict[str, Any]]:
    """Yield the example of a class of problems with one field at an extreme."""
    example = dict(problem_class(name).example)
    for field, value in example.items():
        if (name, field) in SLOW:
            continue
        if isinstance(value, float):
            yield from ({**example, field: number} for number in (*NUMBERS, NEAR_ONE, 0.0))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield from ({**example, field: number} for number in (0, 1))
        elif isinstance(value, (list, tuple)):
            yield from ({**example, field: part} for part in ([], list(value[:1])))
            if all(isinstance(entry, float) for entry in value) and abs(sum(value) - 1.0) < 1e-9:
                rest = len(value) - 1
                yield from ({**example, field: [1.0 - part, *[part / rest] * rest]} for part in LITTLE)


def faults(solution: md.Solution[Any]) -> list[str]:
    """Return what is wrong with a solution: not a number, or optimal without proof."""
    if not solution.found:
        return [] if solution.status != "failed" else [solution.message]
    numbers = {"value": solution.value, "bound": solution.bound or 0.0}
    found = [name for name, number in numbers.items() if math.isnan(number)]
    judged = {item.property: item.holds for item in solution.certificates}
    if solution.status == "optimal" and not judged.get(OPTIMALITY, False):
        found.append("optimal without a bound that holds")
    for item in solution.certificates:
        figures = [entry for entry in item.figures.values() if isinstance(entry, float)]
        found += [f"{item.property} is not a number" for entry in figures if math.isnan(entry)]
    return found


@pytest.mark.parametrize("name", problem_classes())
def test_an_extreme_parameter_is_solved_soundly_or_refused(name):
    faulty = []
    for parameters in extremes(name):
        try:
            solution = md.solve(problem_from(problem_class(name), parameters))
            faulty += [(parameters, fault) for fault in faults(solution)]
        except MechDesignError as error:
            faulty += [(parameters, "an error of several lines")] if "\n" in str(error) else []
    assert faulty == []


@pytest.mark.parametrize(("epsilon", "reports"), [(50.0, 1), (200.0, 1), (599.0, 1), (50.0, 5)])
def test_joint_reports_that_are_lost_in_rounding_say_so(epsilon, reports):
    problem = md.JointCollection(attributes=[4, 3], epsilon=epsilon, reports_per_user=reports)
    solution = md.solve(problem)
    judged = next(item for item in solution.certificates if item.property == OPTIMALITY)
    assert (solution.status, judged.holds) == ("optimal", True)
    assert ("rounding" in judged.figures) == (judged.figures["relative_excess"] > 1e-6)
    with pytest.raises(MechDesignError, match="too large for doubles; at most 25 each"):
        md.solve(md.JointCollection(attributes=[4, 3], epsilon=51.0, reports_per_user=2))
