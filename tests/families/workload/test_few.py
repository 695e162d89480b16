"""One or two queries: what is proven on the line or plane of estimates, against all patterns."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.workload.few_queries import few_queries
from mechdesign.families.workload.master import DualPrices, Reflections, cell_patterns
from mechdesign.families.workload.patterns import patterns_from
from mechdesign.families.workload.workload_bound import (
    Enclosure,
    WorkloadBound,
    largest_excess,
)


def numbers(rng: np.random.Generator, rows: int, size: int, whole: bool):
    directions = rng.standard_normal((rows, size))
    multiplier = 0.3 * rng.standard_normal(size) + rng.uniform(0.0, 2.0)
    if whole:  # many ties
        return np.round(directions), np.round(multiplier), np.full(size, 1.0 / size)
    return directions, multiplier, rng.dirichlet(np.ones(size))


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("whole", [False, True])
def test_the_excess_is_that_of_all_patterns(rows, whole):
    rng = np.random.default_rng(rows)
    for _ in range(12):
        size, power = int(rng.integers(2, 11)), float(np.exp(rng.uniform(0.1, 4.0)))
        directions, multiplier, shares = numbers(rng, rows, size, whole)
        columns = np.where(patterns_from(0, 1 << size, size), power, 1.0)
        every = ((columns @ directions.T) ** 2).sum(axis=1) / (columns @ shares) - columns @ multiplier
        scale = float(np.abs(every).max())
        found = largest_excess(directions, multiplier, Enclosure.of(shares), power, 1e-9 * scale)
        assert found >= every.max() - 1e-14 * scale
        assert found <= max(0.0, float(every.max())) + 2e-9 * scale
        prices = DualPrices(directions, multiplier, directions, shares, power)
        proper = every[1:-1]
        best = cell_patterns(prices)
        if proper.max() > max(every[0], every[-1]) + 1e-9 * scale:
            seen = np.where(best, power, 1.0)
            own = ((seen @ directions.T) ** 2).sum(axis=1) / (seen @ shares) - seen @ multiplier
            assert own.max() == pytest.approx(proper.max(), abs=1e-9 * scale)


def test_one_mean_of_24_values_is_optimal_and_proven_again():
    problem = md.LinearQueries(workload={"name": "means", "sizes": [24]}, epsilon=1.0)
    solution = md.solve(problem)
    assert solution.method == "estimates"
    assert solution.value == pytest.approx(0.97595429, rel=1e-6)
    assert solution.value <= solution.bound * (1.0 + 2e-6)
    again = WorkloadBound.from_json(solution.realisation.as_json())
    assert again.method == "all estimates"
    assert problem.proven(again) == solution.bound
    more = WorkloadBound(again.population, 1.01 * again.directions, again.multiplier)
    assert problem.proven(more) < solution.bound  # |Bv|^2 <= (mu.v)(pi.v) is repaired at a price
    mechanism = solution.mechanism()
    assert mechanism.audit().holds
    values = np.arange(4000) % 24
    estimate = mechanism.estimate(mechanism.randomize(values, rng=1))
    assert abs(float(estimate.value[0]) - 0.5) < 4.0 * float(estimate.standard_error[0])


@pytest.mark.parametrize(("size", "epsilon", "most"), [(5, 2.0, 2e-4), (6, 3.0, 1e-2)])
def test_two_means_are_optimal_by_estimates(size, epsilon, most):
    problem = md.LinearQueries(workload={"name": "means", "sizes": [size, size]}, epsilon=epsilon)
    solution = md.solve(problem, "estimates", gap=most / 2.0)
    assert solution.bound <= solution.value <= solution.bound * (1.0 + most)
    assert problem.proven(WorkloadBound.from_json(solution.realisation.as_json())) == solution.bound
    assert solution.mechanism().audit().holds


def test_more_than_two_queries_have_no_bound_from_estimates():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 24}, epsilon=1.0)
    with pytest.raises(md.MechDesignError, match="estimates of one or two queries"):
        md.solve(problem, "estimates")


@pytest.mark.parametrize(("sizes", "epsilon"), [((4, 4), 1.0), ((4, 3), 3.0)])
def test_symmetries_do_not_change_the_optimum(sizes, epsilon):
    """The linear program on orbits, against the conic program with all patterns priced."""
    problem = md.LinearQueries(
        workload={"name": "means", "sizes": list(sizes), "low": -1, "high": 1}, epsilon=epsilon
    )
    rows = problem.directions(np.eye(problem.queries.size))
    assert len(Reflections.of(rows, problem.shares).maps) == (8 if sizes[0] == sizes[1] else 4)
    found, exact = few_queries(problem, gap=1e-4), md.solve(problem)
    value = problem.objective(found.variables)
    assert found.bound <= exact.value * (1 + 1e-9)
    assert exact.bound <= value * (1 + 1e-9)
    assert value - found.bound <= 3e-4 * value


def test_two_means_of_ten_values_each():
    problem = md.LinearQueries(
        workload={"name": "means", "sizes": [10, 10], "low": -1, "high": 1}, epsilon=1.0
    )
    solution = md.solve(problem)
    assert solution.status == "optimal"
    assert solution.value - solution.bound <= 5e-3 * solution.value
    assert all(item.holds for item in solution.certificates)
