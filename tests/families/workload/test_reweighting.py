"""Linear queries of 65 types and more: multiplicative weights, and the bound with pairs on a grid."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.workload import reweighting
from mechdesign.families.workload.master import Basis, DualPrices, Master
from mechdesign.families.workload.paired_dual import (
    Halves,
    PairedDual,
    interpolation,
    is_about_an_order,
    overlaps,
    paired_bound,
)
from mechdesign.families.workload.pattern_sets import arcs, block_patterns
from mechdesign.families.workload.patterns import columns_of
from mechdesign.families.workload.query_columns import QuickSearch, earlier_images
from mechdesign.families.workload.query_outcomes import spectral_bound
from mechdesign.families.workload.reweighting import WeightProgram
from mechdesign.solvers.solve import find_method


def problem_of(name: str, size: int, epsilon: float, **more) -> md.LinearQueries:
    return md.LinearQueries(workload={"name": name, "size": size}, epsilon=epsilon, **more)


def random_columns(problem: md.LinearQueries, count: int) -> np.ndarray:
    """Patterns, each or its mirror image, with pi.z = 1."""
    size, rng = problem.queries.size, np.random.default_rng(3)
    sets = np.vstack([rng.random((count, size)) < 0.3, arcs(size), block_patterns(problem)])
    sets = earlier_images(sets[sets.any(axis=1) & ~sets.all(axis=1)])
    columns = columns_of(np.unique(sets, axis=0), np.exp(problem.epsilon))
    return columns / columns.mean(axis=1, keepdims=True)


@pytest.mark.parametrize(("name", "size", "epsilon"), [("prefix", 96, 5.0), ("ranges", 97, 2.0)])
def test_the_default_is_within_one_percent_of_a_proven_bound(name, size, epsilon):
    solution = md.solve(problem_of(name, size, epsilon))
    assert (solution.method, solution.status) == ("reweighting", "optimal")
    assert 0.0 < solution.bound <= solution.value <= 1.01 * solution.bound
    mechanism = solution.mechanism()
    assert mechanism.audit().holds, "in integers"
    assert mechanism.average_error == pytest.approx(solution.value, rel=1e-6)
    assert all(item.holds for item in solution.certificates), "the bound is proven again from its numbers"


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("alone", [256, 60])
def test_own_queries_in_an_order_are_solved_as_named_ones(constant, alone, monkeypatch):
    """Also with the query that is always 1, and where the search begins with half as many types."""
    monkeypatch.setattr(reweighting, "LARGEST_ALONE", alone)
    named = md.solve(problem_of("prefix", 70, 6.0))
    own = md.solve(md.LinearQueries(workload=np.tri(69 + constant, 70), epsilon=6.0))
    assert own.method == named.method == "reweighting"
    assert own.bound == pytest.approx(named.bound, rel=1e-3)
    assert own.value == pytest.approx(named.value, rel=1e-3)
    assert own.value <= 1.01 * own.bound


def test_queries_in_no_order_have_the_same_default_from_65_types_on():
    """Column generation takes 40 times as long, or more, for a part in a thousand."""
    rows = (np.random.default_rng(66).random((33, 66)) < 0.3).astype(float)
    solution = md.solve(md.LinearQueries(workload=rows, epsilon=1.81))
    assert solution.method == "reweighting"
    assert 0.0 < solution.bound <= solution.value <= 1.13 * solution.bound


@pytest.mark.parametrize("size", [66, 130])
def test_an_order_is_seen_in_own_queries(size):
    place, rng = np.arange(size), np.random.default_rng(1)
    apart = np.abs(place[:, None] - place)
    ends = np.triu(np.ones((size, size), dtype=bool))
    ranges = np.array([(place >= i) & (place <= j) for i, j in np.argwhere(ends)], dtype=float)
    powers = (place / size) ** np.arange(1, 6)[:, None]
    for rows in (np.tri(size), ranges, powers, (apart < 12.0).astype(float)):
        assert is_about_an_order(md.LinearQueries(workload=rows, epsilon=1.0))
    grid = md.LinearQueries(workload={"name": "grid-prefix", "sizes": [8, size // 8]}, epsilon=1.0)
    mixed = np.tri(size)[:, rng.permutation(size)]
    for rows in (np.eye(size), rng.random((40, size)) < 0.3, mixed, grid.queries.rows):
        assert not is_about_an_order(md.LinearQueries(workload=rows.astype(float), epsilon=1.0))
    assert not is_about_an_order(grid)


@pytest.mark.parametrize(("size", "epsilon"), [(12, 1.0), (13, 4.0)])
def test_multiplicative_steps_end_at_the_optimum_of_the_interior_point_method(size, epsilon):
    problem = problem_of("prefix", size, epsilon)
    columns, gram = random_columns(problem, 40), problem.design_gram
    basis = Basis.of(gram, problem.shares)
    best = Master(columns, gram, problem.shares, basis).best_weights().value
    design = WeightProgram(columns, gram, Halves(size, True), problem.shares)
    state = design.improved(np.full(len(columns), 1.0 / len(columns)), 300)
    assert best * (1.0 - 1e-7) <= state.value <= best * (1.0 + 1e-4)
    whole = (state.weights @ columns + (state.weights @ columns)[::-1]) / 2.0
    assert whole == pytest.approx(np.ones(size), abs=1e-6), "with mirror images the weights are feasible"


def test_a_step_with_the_power_one_half_never_raises_the_error():
    problem = problem_of("prefix", 14, 3.0)
    columns = random_columns(problem, 60)
    design = WeightProgram(columns, problem.design_gram, Halves(14, True), problem.shares)
    state, values = design.improved(np.full(len(columns), 1.0 / len(columns)), 0), []
    for _ in range(30):
        state = design._step(state, state.multiplier, 0.5)
        values.append(state.value)
    assert (np.diff(values) < 0.0).all()


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("mirrored", [True, False])
def test_single_precision_ends_at_the_same_weights_as_double(epsilon, mirrored):
    problem = problem_of("prefix", 60, epsilon)
    columns = random_columns(problem, 400)
    if not mirrored:
        columns = np.vstack([columns, columns[:, ::-1]])
    states = [
        WeightProgram(columns, problem.design_gram, Halves(60, mirrored), problem.shares, precision).improved(
            np.full(len(columns), 1.0 / len(columns)), 40
        )
        for precision in "df"
    ]
    assert states[1].value == pytest.approx(states[0].value, rel=2e-3)
    even = columns + columns[:, ::-1] if mirrored else 2.0 * columns
    assert states[1].weights @ even / 2.0 == pytest.approx(np.ones(60), abs=1e-4)
    moment = (even / 2.0).T @ (states[1].weights[:, None] * even / 2.0)
    odd = (columns - even / 2.0).T @ (states[1].weights[:, None] * (columns - even / 2.0))
    exact = float(np.sum(problem.design_gram * np.linalg.inv(moment + odd)))
    assert states[1].value == pytest.approx(exact, rel=1e-4), "its value is that of its weights"


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_quick_search_ends_where_no_exchange_of_a_type_gains(epsilon):
    problem = problem_of("prefix", 40, epsilon)
    rng, power = np.random.default_rng(2), np.exp(epsilon)
    directions = rng.normal(size=(6, 40))
    directions -= directions.mean(axis=1, keepdims=True)
    mu = rng.uniform(0.5, 1.5, size=40)
    prices = DualPrices(directions, mu, directions, problem.shares, power)
    starts = rng.random((300, 40)) < 0.3
    quick = QuickSearch(prices)
    climbed = quick.climbed(starts)
    assert quick.ratios(climbed) == pytest.approx(prices.ratios(climbed), rel=1e-4)

    def heights(sets: np.ndarray) -> np.ndarray:
        columns = columns_of(sets, power)
        return ((columns @ directions.T) ** 2).sum(axis=1) - (columns @ mu) * (columns @ problem.shares)

    reached = heights(climbed)
    size = np.abs(reached) + columns_of(climbed, power) @ mu * (columns_of(climbed, power) @ problem.shares)
    for place in range(40):
        exchanged = climbed.copy()
        exchanged[:, place] ^= True
        assert (heights(exchanged) <= reached + 1e-5 * size).all()
    slow = heights(prices.climbed(starts))
    assert reached.max() == pytest.approx(slow.max(), rel=1e-4), "as high as in double precision"


def test_the_grid_of_pairs_loses_little_and_large_epsilon_has_a_bound():
    for name, epsilon in (("prefix", 3.0), ("ranges", 4.0)):
        problem = problem_of(name, 65, epsilon)
        every_pair = problem.proven(spectral_bound(problem)[0])
        assert paired_bound(problem).proven >= every_pair * (1.0 - 1e-3)
    coarse = PairedDual(problem.centered, problem.shares, 4.0, interpolation(65, 24))
    found = coarse.bound(coarse.improved(coarse.start(), 200))
    assert 0.95 * every_pair <= found <= every_pair * (1.0 + 1e-4)
    large = problem_of("prefix", 66, 8.0)
    assert large.proven(spectral_bound(large)[0]) < 0.0 < 0.45 < paired_bound(large).proven


@pytest.mark.parametrize("size", [7, 8])
@pytest.mark.parametrize("mirrored", [True, False])
def test_the_slope_of_the_dual_is_that_of_its_differences(size, mirrored):
    shares = np.full(size, 1.0 / size) if mirrored else np.arange(1.0, size + 1) / (size * (size + 1) / 2)
    problem = problem_of("prefix", size, 2.0, population="uniform" if mirrored else shares)
    for levels in (size, 3):
        dual = PairedDual(problem.centered, shares, 2.0, interpolation(size, levels))
        assert dual.halves.mirrored == mirrored
        here = dual._packed(dual.improved(dual.start(), 3))
        rng = np.random.default_rng(1)
        here[2 * size :] += 0.02 + 0.02 * rng.random(len(here) - 2 * size)  # where no alpha is at its limit
        direction = rng.normal(size=len(here))
        ahead, behind = (dual._lowered(here + step * direction)[0] for step in (1e-6, -1e-6))
        assert dual._lowered(here)[1] @ direction == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)


@pytest.mark.parametrize("size", [6, 7])
def test_halves_take_a_matrix_apart_and_together(size):
    matrix = np.random.default_rng(0).normal(size=(size, size))
    matrix = matrix + matrix.T
    matrix = matrix + matrix[::-1, ::-1]
    halves = Halves(size, True)
    assert halves.whole(halves.blocks(matrix)) == pytest.approx(matrix)
    together = np.concatenate([np.linalg.eigvalsh(block) for block in halves.blocks(matrix)])
    assert np.sort(together) == pytest.approx(np.linalg.eigvalsh(matrix))
    vector = np.abs(np.arange(size) - (size - 1) / 2.0)
    assert halves.back(halves.even(vector)) == pytest.approx(vector)
    assert overlaps(size, 3).sum(axis=1) == pytest.approx(np.ones(size))


def test_shares_and_queries_without_an_order_are_served_and_others_are_told_what_to_use():
    rng = np.random.default_rng(4)
    rows, shares = (rng.random((40, 66)) < 0.3).astype(float), rng.random(66) + 0.2
    problem = md.LinearQueries(workload=rows, epsilon=3.0, population=shares / shares.sum())
    solution = md.solve(problem, "reweighting", gap=0.2)
    assert solution.mechanism().audit().holds, "the patterns of the field alone are far from feasible"
    assert 0.0 <= solution.bound <= solution.value
    for other, word in (
        (problem_of("prefix", 64, 1.0), "columns"),
        (problem_of("cyclic-ranges", 70, 1.0), "symmetric"),
        (problem_of("prefix", 1025, 1.0), "1024"),
        (problem_of("prefix", 70, 1.0, population="worst"), "average"),
    ):
        assert word in find_method(other, "reweighting").why_not(other)
