"""No default loses to another method: a small grid of every class of problems, and the table that is kept."""

from __future__ import annotations

import csv
from functools import cache

import pytest

import mechdesign as md
from benchmarks.defaults import ALLOWED, RESULT, Line, answer, judgement
from benchmarks.defaults_grid import GRID, problems
from mechdesign.families import problem_classes
from tests.support.auctions import least_weight, small_slots

WITHOUT_RIVALS = {"deployed-histogram", "location-noise", "survey-design"}
"""Problems whose other methods are of another class, or less exact than the default."""


@cache
def small_grid() -> dict[str, list[tuple[str, md.Problem]]]:
    cases: dict[str, list[tuple[str, md.Problem]]] = {name: [] for name in GRID}
    for label, problem in problems(quick=True):
        cases[problem.name].append((label, problem))
    return cases


def test_the_grid_has_every_class_of_problems():
    assert set(GRID) == set(problem_classes())
    assert all(len(cases) >= 2 for cases in small_grid().values())


@pytest.mark.parametrize("name", GRID)
def test_no_default_loses_to_another_method(name):
    """Where a proven bound leaves no room for another method, none is run: no value is beyond a bound."""
    lines = [judgement(label, problem, answer, trusting=True) for label, problem in small_grid()[name]]
    assert [line for line in lines if line is not None and not line.holds] == []


def test_a_default_that_loses_is_noticed(monkeypatch):
    """As the default was before: an interior point that stops far from the optimum of a linear program."""
    from mechdesign.families.response import interior_point

    places = [[float(abs(i - j)) for j in range(40)] for i in range(40)]
    utility = [[-entry for entry in row] for row in places]
    problem = md.RandomizedResponse(prior=[1 / 40] * 40, epsilon=0.3, distance=places, utility=utility)
    assert judgement("fine", problem, answer).holds
    monkeypatch.setattr(interior_point, "CLOSE_GAP", 5e-3)
    monkeypatch.setattr(interior_point, "QUICK_ROWS", 0)
    line = judgement("before", problem, answer)
    assert (line.default, line.other) == ("interior-point", "lp")
    assert ALLOWED < line.loss < 0.005


def test_a_rival_whose_promises_fail_or_are_less_exact_does_not_count():
    place = md.LocationNoise(epsilon=1.4, area=[0, 0, 20, 20])
    assert md.solve(place, "planar-laplace").value < md.solve(place).value * (1 - ALLOWED)
    assert judgement("inexact", place, answer) is None
    failing = md.solve(md.LocationNoise(epsilon=1.0, area=[0, 0, 9, 9]), "truncated")
    assert failing.broken


def test_the_table_of_the_large_grid_has_every_class_with_a_choice_and_no_loss():
    with RESULT.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == list(Line.__dataclass_fields__)
    assert [row for row in rows if not float(row["loss"]) <= float(row["allowed"])] == []
    assert len(rows) > 800
    kinds = {row["problem"].split(":")[0] for row in rows}
    assert set(GRID) - kinds <= WITHOUT_RIVALS


# Problems in which the default was a heuristic


def test_a_slot_is_decided_by_the_best_winners_where_they_are_known():
    worse = 0
    for slot in small_slots(5, 40):
        problem = md.AuctionSlot(
            bids=[[price / 2**30, 0.0] for price in slot.prices],
            epsilon=1.0,
            tasks=[list(tasks) for tasks in slot.tasks],
            requirements=slot.requirements.tolist(),
        )
        if problem.slot.obstacle():
            continue
        solution = md.solve(problem)
        assert (solution.method, solution.status) == ("exact", "optimal")
        assert solution.value == float(least_weight(problem.slot) / problem.slot.scale)
        worse += md.solve(problem, "greedy").value > solution.value
    assert worse > 0, "the greedy rule is not as good on all of them"


def test_too_large_a_slot_is_for_the_greedy_rule_and_says_so():
    many = 12_000
    problem = md.AuctionSlot(
        bids=[[1.0 + user % 7, 0.5] for user in range(many)],
        epsilon=1.0,
        tasks=[[user % 2, 2 + user % 3] for user in range(many)],
        requirements=[3] * 5,
        participation=0.1,
    )
    solution = md.solve(problem)
    assert solution.method == "greedy"
    assert str(solution.outlook()).startswith("each slot by rule 'greedy': truthful, for slots of any size")
