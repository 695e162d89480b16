"""What is known of a survey before anybody is asked, in numbers and as pictures."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.survey.survey import GAP, shares_of
from mechdesign.show.figure import Bars, Line, Polygon, design_figures

PROBLEM = md.SurveyDesign(
    questions=[
        {"name": "a", "labels": ["x", "y"], "error": 0.01},
        {"name": "b", "labels": ["x", "y", "z", "v", "w"]},
        {"name": "c", "labels": ["x", "y"]},
        {"name": "d", "range": [0, 10]},
    ],
    epsilon=5.0,
    users=3000,
)
SOLUTION = md.solve(PROBLEM)


def test_the_outlook_has_the_errors_of_the_mechanism_and_its_users():
    survey, outlook = SOLUTION.mechanism(), SOLUTION.outlook()
    assert {item.name: item.standard_error for item in outlook.results} == pytest.approx(survey.errors(3000))
    needed = outlook.results[0].users
    assert outlook.users_needed == needed
    assert survey.errors(needed)["a"] <= 0.01 * (1 + 1e-9)
    assert survey.errors(needed - 1)["a"] > 0.01
    assert SOLUTION.outlook(12_000).results[3].standard_error == pytest.approx(survey.errors(12_000)["d"])
    assert f"{SOLUTION.bound:.6g}" in str(outlook)


def test_other_problems_have_none():
    assert md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).outlook() is None


@pytest.mark.parametrize("method", ["design", "split", "one-question"])
def test_the_bands_are_as_high_as_the_shares_of_the_users(method):
    solution = md.solve(PROBLEM, method)
    survey, (asked, errors) = solution.mechanism(), design_figures(PROBLEM, solution)
    (panel,) = asked.panels
    boxes = [mark for mark in panel.marks if isinstance(mark, Polygon)]
    for place in range(4):
        shown = sum(np.ptp(box.y) for box in boxes if box.x.min() < place < box.x.max())
        share = sum(survey.share(n) for n in range(survey.count) if place in survey.designs[n].places)
        assert shown == pytest.approx(100.0 * (1.0 - GAP) * share)
    runs = sum(isinstance(mark, Line) for mark in panel.marks)
    reports = sum(len(parts) for parts, _ in shares_of(survey))
    assert len(boxes) - runs == reports  # lines connect the boxes of one report
    heights = {panel.y_label: panel.marks[0].y for panel in errors.panels if isinstance(panel.marks[0], Bars)}
    shares = sorted((100.0 * survey.errors()[name] for name in "abc"), reverse=True)
    assert heights["standard error (percentage points)"] == pytest.approx(shares)
    assert heights["standard error (units of the number)"] == pytest.approx([survey.errors()["d"]])
