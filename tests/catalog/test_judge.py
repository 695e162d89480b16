"""Verdicts: every relation on both sides of its boundary, and claims that make no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.core.values import changed
from mechdesign.papers.claims import Claim
from mechdesign.papers.claims.claim import COMPARISONS
from mechdesign.papers.claims.found import trend_points
from mechdesign.papers.claims.judge import Series, judge
from tests.support import claims
from tests.support.claims import assert_can_fail

UNDECIDED = {"verdict": "not-decidable", "reason": "lost", "decided_by": "(6)", "outcome": "holds"}


@pytest.mark.parametrize(
    ("stated", "found", "options", "holds"),
    [
        (1.0, 1.0 + 1e-9, {"tolerance": 1e-8}, True),
        (1.0, 1.0 + 1e-7, {"tolerance": 1e-8}, False),
        (200.0, 201.0, {"relative_tolerance": 0.01}, True),
        (200.0, 203.0, {"relative_tolerance": 0.01}, False),
        (-200.0, -201.0, {"relative_tolerance": 0.01}, True),
        (0.0, 1e-300, {"relative_tolerance": 0.5}, False),
        (1.0, 0.9, {"relation": "<="}, True),
        (1.0, 1.1, {"relation": "<="}, False),
        (1.0, 1.1, {"relation": "<=", "tolerance": 0.2}, True),
        (1.0, 0.9, {"relation": ">="}, False),
        (1.0, 0.9, {"relation": ">=", "tolerance": 0.2}, True),
        (1.0, 5.0, {"relation": ">="}, True),
        (1.0, 1.0, {"relation": ">="}, True),
        ([1.0, 2.0], [0.5, 2.5], {"relation": "<="}, False),
        ([1.0, 2.0], [0.5, 1.5], {"relation": "<="}, True),
        ("inf", math.inf, {}, True),
        ("-inf", math.inf, {}, False),
        ("inf", 1e300, {"relative_tolerance": 0.5}, False),
        ("inf", 1e300, {"relation": ">="}, False),
        (1.0, math.inf, {"tolerance": 1e9}, False),
        (1.0, math.inf, {"relation": ">="}, True),
        (["inf", 1], np.array([math.inf, 1.0]), {}, True),
        ([[1.0, 2.0]], np.array([[1.0, 2.0]]), {}, True),
        ([[1.0, 2.0]], np.array([[1.0, 2.1]]), {"tolerance": 0.01}, False),
        (True, np.bool_(True), {}, True),
        (True, False, {}, False),
        ([True, False], np.array([True, True]), {}, False),
        ("laplace", "laplace", {}, True),
        ("laplace", "duchi", {}, False),
        (5, 5, {}, True),
        (5, 6.0, {}, False),
    ],
)
def test_what_is_found_against_what_is_stated(stated, found, options, holds):
    claim = Claim("quantity", stated, **options)
    assert judge(claim, found) == ("holds" if holds else "refuted")
    if options.get("relation", "=") == "=" or np.isfinite(np.asarray(found)).all():
        assert_can_fail(claim, found)


RISING, PEAK, VALLEY, FLAT = (1.0, 2.0, 3.0, 4.0), (1.0, 3.0, 4.0, 2.0), (4.0, 2.0, 1.0, 3.0), (2.0,) * 4
STEP, TOP = (1.0, 2.0, 2.0, 3.0), (1.0, 3.0, 3.0, 2.0)
ZIGZAG, DRIFT = (1.0, 3.0, 2.0, 4.0), (1.0, 0.95, 0.9, 0.85)


@pytest.mark.parametrize(
    ("relation", "holding", "failing"),
    [
        ("increasing", [RISING], [STEP, PEAK, FLAT, ZIGZAG, RISING[::-1]]),
        ("decreasing", [RISING[::-1]], [STEP[::-1], PEAK, FLAT, RISING]),
        ("non-decreasing", [RISING, STEP, FLAT], [PEAK, ZIGZAG, DRIFT, RISING[::-1]]),
        ("non-increasing", [RISING[::-1], STEP[::-1], FLAT, DRIFT], [PEAK, ZIGZAG, RISING]),
        ("unimodal", [PEAK, PEAK[::-1], TOP], [RISING, RISING[::-1], VALLEY, FLAT, ZIGZAG, STEP]),
        ("u-shaped", [VALLEY, VALLEY[::-1]], [RISING, PEAK, FLAT, ZIGZAG]),
    ],
)
def test_trends(relation, holding, failing):
    claim = Claim("value", relation=relation)
    for numbers in [*holding, *failing]:
        series = Series("epsilon", (1, 2, 3, 4), numbers)
        assert judge(claim, series) == ("holds" if numbers in holding else "refuted"), numbers
        if len(set(numbers)) == 4:
            assert_can_fail(claim, series)


def test_the_tolerance_of_a_trend_makes_numbers_equal():
    def verdict(relation, numbers, **options):
        points = tuple(range(len(numbers)))
        return judge(Claim("value", relation=relation, **options), Series("epsilon", points, numbers))

    near = (1.0, 1.05, 1.1)
    assert verdict("increasing", near, tolerance=0.04) == "holds"
    assert verdict("increasing", near, tolerance=0.06) == "refuted", "a strict trend asks for more"
    assert verdict("non-decreasing", near[::-1], tolerance=0.2) == "holds"
    assert verdict("non-decreasing", near[::-1], tolerance=0.06) == "refuted", "small steps do not add up"
    assert verdict("increasing", (100.0, 101.0, 103.0), relative_tolerance=0.005) == "holds"
    assert verdict("increasing", (100.0, 101.0, 103.0), relative_tolerance=0.02) == "refuted"
    assert verdict("unimodal", (1.0, 1.05, 1.0), tolerance=0.1) == "refuted"
    assert verdict("unimodal", (1.0, 2.0, 1.95, 2.0, 1.0), tolerance=0.1) == "holds"
    assert verdict("increasing", (1.0, 2.0, math.inf)) == "holds"
    assert verdict("increasing", (1.0, math.nan, 3.0)) == "unsettled"


def test_where_the_largest_and_the_smallest_are():
    series = Series("epsilon", (0.5, 1, 2), (3.0, 4.0, 1.0))
    for relation, right in (("largest-at", 1.0), ("smallest-at", 2)):
        verdicts = {point: judge(Claim("value", point, relation=relation), series) for point in series.points}
        assert {point for point, verdict in verdicts.items() if verdict == "holds"} == {right}
    tie = Series("epsilon", (0.5, 1, 2), (4.0, 4.0, 1.0))
    assert judge(Claim("value", 1, relation="largest-at"), tie) == "refuted", "a tie is largest nowhere"
    assert judge(Claim("value", 1, relation="largest-at", tolerance=1.5), series) == "refuted"


@pytest.mark.parametrize("found", [None, math.nan, np.array([1.0, math.nan])])
def test_nothing_to_compare_settles_nothing(found):
    assert judge(Claim("bound", [1.0, 2.0] if np.ndim(found) else 1.0), found) == "unsettled"


@pytest.mark.parametrize(
    ("stated", "found", "text"),
    [
        ("0.83", 0.83, "states a text, but quantity is a number; state a number"),
        (True, 1.0, "states a truth value, but quantity is a number"),
        (1, True, "states a number, but quantity is a truth value"),
        (1.0, "optimal", "states a number, but quantity is a text"),
        ([1.0], 1.0, "states a list of 1, but quantity is a single one"),
        (1.0, np.ones(2), "states a single one, but quantity is a list of 2"),
        ([1.0, 2.0], np.ones(3), "states a list of 2, but quantity is a list of 3"),
        ([1.0, 2.0], np.ones((1, 2)), "states a list of 2, but quantity is 1 x 2 entries"),
        (1.0, object(), "is a object here, which no value can state"),
    ],
)
def test_a_value_that_does_not_fit_is_a_mistake_not_a_refutation(stated, found, text):
    with pytest.raises(ParameterError, match=text):
        judge(Claim("quantity", stated), found)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "value: is missing; give one"),
        ({"value": [[1], [1, 2]]}, "value: the rows are of different lengths"),
        ({"value": [1, "a"]}, "value: .* is not a number, a string, a Boolean, or a list of one kind"),
        ({"value": []}, "value: .* is not a number, a string"),
        ({"value": {"a": 1}}, "value: .* is not a number, a string"),
        ({"value": math.nan}, "value: has NaN"),
        ({"value": [1.0, math.nan]}, "value: has NaN"),
        ({"value": 10**400}, "value: has NaN or a whole number beyond double precision"),
        ({"value": 1, "tolerance": 10**400}, "tolerance: 1000.* is not a finite number >= 0"),
        ({"value": "inf", "relation": "<="}, "value: every number is <= inf"),
        ({"value": -math.inf, "relation": ">="}, "value: every number is >= -inf"),
        ({"value": "a", "relation": "<="}, "relation: '<=' compares numbers, and the value is a text"),
        ({"value": True, "tolerance": 0.1}, "tolerance: is for numbers, and the value is a truth value"),
        ({"value": 1, "relation": "<"}, "relation: '<' is not a choice; did you mean '<='"),
        ({"value": 1, "relation": "increasin"}, "relation: .* did you mean 'increasing'"),
        ({"value": 1, "relation": 3}, "relation: 3 is not a string"),
        ({"value": 1, "tolerance": 0.1, "relative_tolerance": 0.1}, "tolerance: is given together with"),
        ({"value": 1, "tolerance": math.inf}, "tolerance: inf is not a finite number >= 0"),
        ({"value": 1, "tolerance": True}, "tolerance: True is not a finite number"),
        ({"value": 1, "relative_tolerance": 1.0}, "relative_tolerance: 1.0 is not a number >= 0 and below 1"),
        ({"value": 1, "over": "epsilon"}, "over: is for trends"),
        ({"value": 1, "relation": "increasing"}, "value: 'increasing' is about the whole sweep"),
        ({"relation": "largest-at"}, "value: is missing; 'largest-at' needs"),
        (
            {"relation": "increasing", "over": "epsilon", "at": {"epsilon": 1}},
            "at: fixes 'epsilon', which the trend runs over",
        ),
        ({"value": 1, "at": 3}, "at: is not a table"),
        ({"value": 1, "verdict": "refuted"}, "reason: a refuted claim needs one"),
        ({"value": 1, "verdict": "refuted", "reason": "  "}, "reason: a refuted claim needs one"),
        ({"value": 1, "reason": 3}, "reason: 3 is not a string"),
        ({"value": 1, "readings": "as printed"}, "readings: is not a list of sentences"),
        ({"value": 1, "readings": ["as printed", " "]}, "readings: is not a list of sentences"),
        ({"value": 1, "outcome": "holds"}, "outcome: is for claims of verdict 'not-decidable'"),
        (
            {"value": 1, "verdict": "refuted", "reason": "no", "decided_by": "(6)"},
            "decided_by: is for claims",
        ),
        ({"value": 1, **UNDECIDED, "reason": ""}, "reason: a claim that is not decidable needs one"),
        ({"value": 1, **UNDECIDED, "decided_by": " "}, "decided_by: a claim that is not decidable needs one"),
        ({"value": 1, **UNDECIDED, "outcome": ""}, "outcome: '' is not a choice"),
        ({"value": 1, **UNDECIDED, "outcome": "unsettled"}, "outcome: 'unsettled' is not a choice"),
        ({"value": 1, **UNDECIDED, "instead": "2"}, "instead: is for refuted claims"),
        ({"quantity": "status", "value": "optimall"}, "value: no status 'optimall'; did you mean 'optimal'"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(options, text):
    with pytest.raises(ParameterError, match=text) as caught:
        Claim(**{"quantity": "value", **options})
    assert "\n" not in str(caught.value)


def test_points_of_a_trend():
    rising = Claim("value", relation="increasing")
    sweep = {"epsilon": (2, 0.5, 1.0), "utility": ("truth", "loss")}
    assert trend_points(rising, {"epsilon": (2, 0.5, 1.0)}) == ("epsilon", [0.5, 1.0, 2])
    assert trend_points(Claim("value", relation="increasing", over="utility"), sweep) == (
        "utility",
        ["truth", "loss"],
    )
    for claim, table, text in (
        (rising, {}, "'increasing' is about a sweep; add .sweep."),
        (rising, sweep, "over: is missing; the sweep has several parameters .epsilon, utility."),
        (Claim("value", relation="increasing", over="epsilom"), sweep, "no 'epsilom' .* 'epsilon'"),
        (
            Claim("value", relation="increasing", at={"epsilon": 1}),
            {"epsilon": (1, 2)},
            "at: fixes 'epsilon'",
        ),
        (rising, {"epsilon": (1,)}, "has 1 value.s. in .sweep.; this needs 2"),
        (Claim("value", relation="unimodal"), {"epsilon": (1, 2)}, "this needs 3"),
        (Claim("value", 3, relation="largest-at"), {"epsilon": (1, 2)}, "3 is not among the values"),
    ):
        with pytest.raises(ParameterError, match=text):
            trend_points(claim, table)


@pytest.mark.parametrize("relation", [*COMPARISONS, "increasing", "non-decreasing"])
def test_a_judge_that_is_not_one_is_caught(relation, monkeypatch):
    """What proves that claims can fail has to be able to fail itself."""
    trend = relation not in COMPARISONS
    claim = Claim("value", None if trend else 1.0, relation=relation, tolerance=0.0 if trend else 0.1)
    found = Series("epsilon", (1, 2, 3), (1.0, 2.0, 3.0)) if trend else 1.0
    assert_can_fail(claim, found)
    wrong = [lambda claim, found: "holds", lambda claim, found: "refuted"]
    if not trend:  # twice the tolerance, and none
        wrong += [
            lambda claim, found: judge(changed(claim, tolerance=0.2), found),
            lambda claim, found: judge(changed(claim, tolerance=0.0), found),
        ]
    for other in wrong:
        monkeypatch.setattr(claims, "judge", other)
        with pytest.raises(AssertionError):
            assert_can_fail(claim, found)
