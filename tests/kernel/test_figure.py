"""Figures as plain data: what they refuse, and how styles and places are given out."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import ParameterError
from mechdesign.show.figure import (
    Band,
    Bars,
    Circles,
    Figure,
    Heat,
    Intervals,
    Line,
    Panel,
    Points,
    Reference,
    Surface,
    bar_slots,
    design_figures,
    styles,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Line([1, 2], [1.0]), "lengths differ: {'x': 2, 'y': 1}"),
        (lambda: Line([1, 2], [1.0, NAN]), "y: entry 2 is not a finite number"),
        (lambda: Line([1, NAN], [1.0, 2.0], gaps=True), "x: entry 2 is not a finite number"),
        (lambda: Line([1, 2], [1.0, INF], gaps=True), "y: entry 2 is not a finite number"),
        (lambda: Line([], []), "x: is empty"),
        (lambda: Line(["a"], [1]), "x: are not numbers"),
        (lambda: Line([[1]], [[1]]), "x: has 2 dimensions; give 1"),
        (lambda: Points([1, 2], [1, 2], names=["a"]), "names: 1 for 2 points"),
        (lambda: Band([1, 2], [0, 1], [1]), "lengths differ"),
        (lambda: Heat([[1.0, NAN]]), "values: is empty or has a number that is not finite"),
        (lambda: Surface([1, 2], [1, 2, 3], np.ones((2, 3))), "z: is 2 x 3; a row for each of the 3 y"),
        (lambda: Surface([2, 1], [1, 2], np.ones((2, 2))), "x: needs two or more rising numbers"),
        (lambda: Circles([0], [0], [-1.0]), "radius: is negative"),
        (lambda: Circles([0], [0], [1.0], names=["a", "b"]), "names: 2 for 1 circle"),
        (lambda: Reference(NAN), "value: entry 1 is not a finite number"),
        (lambda: Reference(1.0, axis="z"), "axis: 'z' is not a choice"),
        (lambda: Line([1], [1], series=-1), "series: -1 is negative"),
        (lambda: Panel("x", "y", []), "a panel shows nothing"),
        (lambda: Panel(" ", "y", [Line([1], [1])]), "x_label: is empty"),
        (lambda: Panel("x", "y", [Line([1], [1])], x_scale="cubic"), "x_scale: 'cubic' is not a choice"),
        (lambda: Panel("x", "y", [Line([1], [1])], x_limits=(1, 1)), "x_limits: (1, 1) are not rising"),
        (lambda: Panel("x", "y", [Line([0], [1])], x_scale="log"), "x_scale: 'log' with numbers"),
        (lambda: Panel("x", "y", [Intervals([1], [1], [0], [2])], y_scale="log"), "y_scale: 'log' with"),
        (lambda: Panel("x", "y", [Circles([0], [0], [1])]), "circles need equal_aspect=True"),
        (lambda: Panel("x", "y", [Heat([[1.0]])], x_scale="log"), "'log' does not fit cells"),
        (lambda: Figure("", [Panel("x", "y", [Line([1], [1])])]), "title: is empty"),
        (lambda: Figure("a", []), "a: has no panel"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(make, text):
    with pytest.raises(ParameterError) as caught:
        make()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_marks_keep_copies_that_nobody_can_change():
    given = np.array([1.0, 2.0])
    line = Line(given, given)
    given[0] = 7.0
    assert line.x[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        line.x[0] = 3.0
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        line.label = "other"


def test_gaps_are_said():
    assert np.isnan(Line([1, 2], [1.0, NAN], gaps=True).y[1])


def test_marks_take_one_style_after_the_other_unless_they_share_one():
    marks = [
        Line([1], [1]),
        Points([1], [1], series=0),
        Line([1], [2]),
        Line([1], [3], series=5),
        Line([1], [4]),
    ]
    assert styles(Panel("x", "y", marks)) == [0, 0, 1, 5, 6]


def test_bars_and_intervals_of_a_panel_share_the_places():
    marks = [Bars([0], [1]), Line([0], [1]), Intervals([0], [1], [0], [2])]
    assert bar_slots(Panel("x", "y", marks)) == {0: (0, 2), 2: (1, 2)}


def test_a_design_without_a_solution_has_no_picture():
    problem = md.PrivacyContract(types=[1.0, 2.0], counts=[1, 1], budget=1.0, epsilon_min=100.0)
    solution = md.solve(problem)
    assert not solution.found
    assert design_figures(problem, solution) == []


@pytest.mark.parametrize(("epsilon", "delta", "corners"), [(0.1, 0.0, 4), (0.1, 0.2, 8)])
def test_the_polygons_of_figures_1_and_5(epsilon, delta, corners):
    """Four and eight corners in order; the level line goes through the optimum, with all corners below it."""
    problem = md.RandomizedResponse(prior=[0.3, 0.7], epsilon=epsilon, delta=delta)
    solution = md.solve(problem)
    polygon, _, level, best = design_figures(problem, solution)[0].panels[0].marks
    assert len(polygon.x) == corners
    steps = np.diff(np.column_stack([[*polygon.x, polygon.x[0]], [*polygon.y, polygon.y[0]]]), axis=0)
    following = np.roll(steps, -1, axis=0)
    turns = steps[:, 0] * following[:, 1] - steps[:, 1] * following[:, 0]
    assert (turns > 0).all(), "corners in order around the region"
    utility = 0.3 * polygon.x + 0.7 * polygon.y
    on_line = 0.3 * level.x + 0.7 * level.y
    rounding = 8 * np.finfo(float).eps
    assert (utility <= solution.value + rounding).all()
    assert np.abs(on_line - solution.value).max() <= rounding
    assert abs(0.3 * best.x[0] + 0.7 * best.y[0] - solution.value) <= rounding
    assert min(level.x.min(), level.y.min()) >= -rounding
    assert max(level.x.max(), level.y.max()) <= 1 + rounding
