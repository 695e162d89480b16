"""Multipliers of column generation: linear queries and numbers, against solving again and the bound."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.values import changed
from mechdesign.families.mean.column_generation import ChannelDesign, refined, symmetric_grid
from mechdesign.families.mean.optimal_channel import lagrangian_of
from mechdesign.families.workload.master import PatternWorth
from mechdesign.families.workload.query_outcomes import QueryPrices
from mechdesign.families.workload.workload_bound import WorkloadBound
from mechdesign.solvers.sensitivity import Side, Worth, sensitivity

SHARES = [0.3, 0.2, 0.2, 0.1, 0.1, 0.1]
QUERIES: list[tuple[str, dict[str, Any]]] = [
    (
        "all-columns",
        {"workload": {"name": "prefix", "size": 6}, "population": [0.3, 0.2, 0.2, 0.1, 0.1, 0.1]},
    ),
    ("statement", {"workload": {"name": "prefix", "size": 5}, "weights": [1.0, 2.0, 3.0, 4.0]}),
    ("populations", {"workload": {"name": "prefix", "size": 4}, "population": "worst"}),
    ("columns", {"workload": {"name": "prefix", "size": 12}}),
    ("symmetric", {"workload": {"name": "cyclic-ranges", "size": 16}}),
    ("symmetric", {"workload": {"name": "parities", "bits": 4, "order": 2}}),
    ("closed-form", {"workload": {"name": "histogram", "size": 6}}),
]

NUMBERS: list[dict[str, Any]] = [
    {"inputs": 11},
    {"inputs": 11, "outputs": 41},
    {"inputs": 9, "criterion": "average"},
    {"inputs": 10, "outputs": 31, "criterion": "average"},
]


@pytest.mark.parametrize(("method", "given"), QUERIES)
def test_queries_are_worth_what_solving_again_gives(method: str, given: dict[str, Any]) -> None:
    solution = md.solve(md.LinearQueries(epsilon=0.8, **given), method=method)
    assert solution.prices is not None
    assert solution.prices.lagrangian(solution.problem) == pytest.approx(solution.value, rel=1e-5)
    worth = solution.sensitivity["epsilon"]
    assert worth.agrees is True
    assert worth.left is not None
    assert worth.slope == pytest.approx(worth.left.slope, rel=2e-3)
    if method == "statement":  # its rows are others: the chances of a report, not patterns
        return
    paid = sum(item.price for item in solution.sensitivity.binding)
    assert -math.exp(0.8) * paid == pytest.approx(worth.slope, rel=1e-5)


def test_one_query_of_many_types() -> None:
    def asked(epsilon: float) -> md.LinearQueries:
        return md.LinearQueries(workload=[np.linspace(0.0, 1.0, 21).tolist()], epsilon=epsilon)

    def solved(epsilon: float) -> md.Solution[Any]:
        return md.solve(asked(epsilon), method="estimates")

    middle, step = solved(1.0), 0.01
    assert middle.prices is not None
    low, high = (middle.prices.lagrangian(asked(1.0 + sign * 1e-4)) for sign in (-1.0, 1.0))
    assert low is not None
    assert high is not None
    near = (solved(1.0 + step).value - solved(1.0 - step).value) / (2.0 * step)
    assert (high - low) / 2e-4 == pytest.approx(near, rel=5e-4)


def test_prices_of_patterns_are_those_of_the_bound() -> None:
    problem = md.LinearQueries(workload={"name": "prefix", "size": 6}, epsilon=1.0, population=SHARES)
    solution = md.solve(problem, method="all-columns")
    stored, prices = solution.realisation, solution.prices
    assert isinstance(stored, WorkloadBound)
    assert isinstance(prices, QueryPrices)
    worth = prices.worth
    assert worth.form == pytest.approx(stored.directions.T @ stored.directions, rel=1e-6, abs=1e-8)
    assert worth.multiplier == pytest.approx(stored.multiplier, rel=1e-6)
    assert float(worth.multiplier.sum()) == pytest.approx(
        solution.value + float(worth.population @ np.diag(worth.centered)), rel=1e-9
    )


def test_wrong_weights_are_not_worth_what_solving_again_gives() -> None:
    problem = md.LinearQueries(workload={"name": "prefix", "size": 6}, epsilon=1.0)
    solution = md.solve(problem)
    prices: Any = solution.prices
    good: PatternWorth = prices.worth
    weights = good.amounts * np.linspace(0.5, 1.5, len(good.amounts))
    bad = replace(prices, worth=replace(good, amounts=weights))
    assert changed(solution, prices=bad).sensitivity["epsilon"].agrees is False


def test_heuristics_have_no_prices() -> None:
    problem = md.LinearQueries(workload={"name": "prefix", "size": 8}, epsilon=1.0)
    for method in ("tree", "haar", "subset"):
        assert md.solve(problem, method=method).prices is None


@pytest.mark.parametrize("given", NUMBERS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_numbers_are_worth_what_solving_again_gives(epsilon: float, given: dict[str, Any]) -> None:
    solution = md.solve(md.MeanChannel(epsilon=epsilon, **given), method="columns")
    assert solution.prices is not None
    assert solution.prices.lagrangian(solution.problem) == pytest.approx(solution.value, rel=1e-5)
    worth = solution.sensitivity["epsilon"]
    assert worth.agrees is True
    if "outputs" in given:  # the second way has multipliers of its own
        other = sensitivity(md.solve(solution.problem, method="lp"), seconds=0.0)["epsilon"]
        assert other.slope is not None
        assert worth.slope == pytest.approx(other.slope, rel=1e-3)
    else:
        paid = sum(item.price for item in solution.sensitivity.binding)
        assert -math.exp(epsilon) * paid == pytest.approx(worth.slope, rel=1e-5)


def test_slope_of_a_number_is_that_of_close_differences() -> None:
    def solved(epsilon: float) -> Any:
        return refined(lambda size: ChannelDesign(epsilon, symmetric_grid(size), "worst"), 21, 1e-9)

    found, step = solved(4.0), 0.002
    slope = (lagrangian_of(found, 4.0 + 1e-5) - lagrangian_of(found, 4.0 - 1e-5)) / 2e-5
    left = (found.value - solved(4.0 - step).value) / step
    right = (solved(4.0 + step).value - found.value) / step
    assert left <= slope <= right
    assert right - left < 2e-3 * abs(slope)


def test_a_slope_that_is_not_between_the_sides_is_no_kink() -> None:
    sides = Side(-3.0, 0.01), Side(-2.0, 0.01)
    assert not Worth("epsilon", 1.0, -2.5, Side(-3.0, 0.4), sides[1], 1.0, "min", "error").is_kink
    assert Worth("epsilon", 1.0, None, *sides, 1.0, "min", "error").is_kink
    assert Worth("epsilon", 1.0, -2.5, *sides, 1.0, "min", "error").is_kink
    smooth = Worth("epsilon", 1.0, -1.99, *sides, 1.0, "min", "error")
    assert not smooth.is_kink
    assert smooth.range == (-1.99, -1.99)
