"""The interior point method on columns: against the linear program, its bound against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.response import interior_point
from mechdesign.families.response.parameters import ROUNDING, inner_lengths, spanner
from mechdesign.primitives import FiniteChannel
from mechdesign.solvers.interior import CoupledCones


def city(side: int, epsilon: float, norm: int, seed: int = 1) -> md.RandomizedResponse:
    """A square grid with an uneven prior; the loss is the distance."""
    places = np.array([(x, y) for x in range(side) for y in range(side)], dtype=float)
    steps = places[:, None] - places
    distance = np.hypot(*steps.transpose(2, 0, 1)) if norm == 2 else np.abs(steps).sum(axis=2)
    prior = np.random.default_rng(seed).exponential(size=side * side) ** 2
    metric = places if norm == 2 else distance
    return md.RandomizedResponse(
        prior=prior / prior.sum(), epsilon=epsilon, utility=-distance, distance=metric
    )


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("side", [3, 5])
def test_both_sides_enclose_the_optimum_of_the_linear_program(side, norm):
    """The value cannot exceed the one's bound, the bound cannot be below the other's channel."""
    problem = city(side, 0.7, norm)
    outcome = interior_point.run(problem, gap=1e-3)
    exact = md.solve(problem, "lp")
    value = problem.objective(outcome.variables)
    deployed = problem.objective({"channel": exact.mechanism().channel})
    assert outcome.bound >= deployed
    assert value <= exact.bound
    assert outcome.bound - value <= 1e-3 * -value
    # what would run is private by the exact audit, over all pairs, and hardly worse
    mechanism = FiniteChannel.from_floats(outcome.variables["channel"], problem.target())
    assert mechanism.audit().holds
    assert problem.objective({"channel": mechanism.channel}) == pytest.approx(value, rel=1e-9)


def test_without_broken_pairs_it_goes_on_where_it_is():
    """On a grid with the L1 distance the neighbours imply all pairs: the bound falls without a new start."""
    seen: list[float] = []
    problem = city(6, 0.7, 1)
    outcome = interior_point.run(problem, gap=1e-3, progress=lambda value, bound: seen.append(bound - value))
    assert outcome.notes["pairs"] == outcome.notes["needed_pairs"]
    assert max(seen[len(seen) // 2 :]) < 0.1 * seen[0]


@pytest.mark.parametrize("gap", [0.05, 0.01])
def test_the_pairs_that_are_left_out_need_no_repair(gap):
    """The shorter lengths imply all pairs: on those of the spanner alone nothing has to be mixed in."""
    problem = city(6, 0.5, 2)
    outcome = interior_point.run(problem, gap=gap)
    assert outcome.notes["pairs"] < outcome.notes["needed_pairs"]
    assert outcome.notes["mixing"] == 0.0
    value = problem.objective(outcome.variables)
    assert outcome.bound - value <= gap * -value


def test_a_spanner_that_loses_too_much_is_made_finer(monkeypatch):
    """With a stretch of half the distance both optima are far apart; the next starts close in on them."""

    def coarse(distance, stretch):
        return spanner(distance, 50.0 * stretch)

    monkeypatch.setattr(interior_point, "spanner", coarse)
    problem = city(5, 0.7, 2)
    outcome = interior_point.run(problem, gap=0.01)
    assert outcome.notes["pairs"] > 2 * len(spanner(problem.distances(), 0.5))
    value = problem.objective(outcome.variables)
    assert outcome.bound - value <= 0.01 * -value


def test_answers_at_the_same_place_have_one_row():
    """Coincident places: a row each, all equal, and the optimum of the places merged."""
    prior = np.array([0.1, 0.2, 0.05, 0.3, 0.15, 0.2])
    places = np.array([[0, 0], [0, 0], [1, 0], [0, 1], [1, 1], [1, 1]], dtype=float)
    loss = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    problem = md.RandomizedResponse(prior=prior, epsilon=1.0, utility=-loss, distance=places)
    outcome = interior_point.run(problem, gap=1e-4)
    channel = outcome.variables["channel"]
    assert (channel[0] == channel[1]).all()
    assert (channel[4] == channel[5]).all()
    exact = md.solve(problem, "lp")
    assert problem.objective(outcome.variables) <= exact.bound
    assert outcome.bound >= problem.objective({"channel": exact.mechanism().channel})


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_for_any_multipliers(seed):
    """In fractions, from the start and after every step: sum_x max_z (w + A'y) for the y that is there."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    edges = np.array([(i, j) for i in range(rows) for j in range(i + 1, rows)])
    cones = CoupledCones(-rng.random((rows, columns)), edges, rng.uniform(0.1, 0.9, len(edges)))
    cones.bound = np.inf
    for _ in range(4):
        exact = [[Fraction(entry) for entry in row] for row in cones.weights.tolist()]
        for number, (i, j) in enumerate(edges.tolist()):
            factor = Fraction(float(cones.factors[number]))
            for low, high, place in ((j, i, number), (i, j, number + len(edges))):
                for z, y in enumerate(map(Fraction, cones.multipliers[place].tolist())):
                    assert y > 0
                    exact[low][z] += y
                    exact[high][z] -= factor * y
        bound = cones.bound_with(cones.factors)
        assert bound == cones._proven_bound()
        assert Fraction(bound) >= sum(max(row) for row in exact)
        assert bound <= float(sum(max(row) for row in exact)) + 1e-12 * rows
        if not cones.step():  # a problem with one column is solved at once
            break


def test_progress_is_told_and_ends_at_the_result():
    problem = city(4, 1.0, 1)
    seen: list[tuple[float, float]] = []
    outcome = interior_point.run(problem, gap=1e-2, progress=lambda value, bound: seen.append((value, bound)))
    assert len(seen) == outcome.notes["steps"]
    assert all(first[1] >= second[1] for first, second in pairwise(seen))
    assert seen[-1][1] == pytest.approx(outcome.bound, abs=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1.0, -0.1, float("nan")])
def test_an_impossible_gap_is_refused(gap):
    with pytest.raises(md.MechDesignError, match="gap: "):
        interior_point.run(city(3, 1.0, 1), gap=gap)


def test_where_it_does_not_apply_it_says_why():
    assert "metric privacy" in interior_point.why_not(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    assert "simplex" in interior_point.why_not(city(3, 1.0, 1))
    assert "1e-06 / epsilon" in interior_point.why_not(city(5, 1e-7, 2))
    assert interior_point.why_not(city(6, 1.0, 2)) is None


def test_solve_takes_it_for_many_places():
    solution = md.solve(city(6, 1.0, 2), gap=0.01)
    assert solution.method == "interior-point"
    assert solution.gap <= 0.01 * -solution.value
    assert not solution.broken


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_in_larger_cones_holds(seed):
    """Before and after the state is carried over, against the best of many channels of the larger cones."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    tight = rng.uniform(0.5, 0.9, len(edges))
    wide = tight * rng.uniform(0.7, 1.0, len(edges))
    weights = -rng.random((4, 3))
    cones = CoupledCones(weights, edges, tight)
    while cones.bound - cones.value > 1e-3 and cones.step():
        pass
    narrow = cones.bound
    early = cones.bound_with(wide)
    cones.relax(wide)
    assert cones.bound == early
    while cones.bound - cones.value > 1e-6 and cones.step():
        pass
    columns = cones.columns
    for (i, j), factor in zip(edges.tolist(), wide.tolist(), strict=True):
        assert (columns[j] > factor * columns[i]).all()
        assert (columns[i] > factor * columns[j]).all()
    # the same from the start
    other = CoupledCones(weights, edges, wide)
    while other.bound - other.value > 1e-6 and other.step():
        pass
    assert max(cones.value, other.value) <= min(cones.bound, other.bound, early)
    assert narrow <= other.bound + 1e-3  # the smaller cone's optimum is no better


@pytest.mark.parametrize("seed", range(20))
def test_columns_and_multipliers_go_over_to_other_edges(seed):
    """From a way over all places to all pairs: nothing is lost, and the bound is one of the new cones."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.uniform(0.0, 3.0, 5))
    pairs = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)])
    distances = places[pairs[:, 1]] - places[pairs[:, 0]]
    way = distances * rng.uniform(0.8, 1.0, len(pairs))
    short = pairs[:, 1] == pairs[:, 0] + 1
    weights = -rng.random((5, 4))
    cones = CoupledCones(weights, pairs[short], np.exp(-distances[short] * 0.7))
    while cones.bound - cones.value > 1e-2 and cones.step():
        pass
    other = cones.moved_to(pairs, np.exp(-way))
    assert other.slack.min() > 0.0
    assert (other.columns == cones.columns).all()
    both = np.concatenate([short, short])
    assert (other.multipliers[both] == cones.multipliers).all()
    rest = (other.slack * other.multipliers)[~both]
    assert rest == pytest.approx((cones.slack * cones.multipliers).sum() / other.slack.size, rel=1e-9)
    cold = CoupledCones(weights, pairs, np.exp(-way))
    for each in (other, cold):
        while each.bound - each.value > 1e-6 and each.step():
            pass
    assert max(other.value, cold.value) <= min(other.bound, cold.bound)
    assert other.bound - other.value < 1e-5


@pytest.mark.parametrize("seed", [1, 8, 13, 18, 19])
def test_a_close_gap_is_reached_at_large_epsilons(seed):
    """Without the ridge some column's matrix is not positive definite before the gap is 1e-3."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0.0, 3.0, (30, 2))
    prior = rng.exponential(size=30) ** 2
    utility = -np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    problem = md.RandomizedResponse(
        prior=prior / prior.sum(), epsilon=4 + seed / 3, utility=utility, distance=places
    )
    outcome = interior_point.run(problem, gap=2e-4)
    value = problem.objective(outcome.variables)
    assert 0.0 <= outcome.bound - value <= -2e-4 * value


def test_the_columns_of_the_first_steps_lie_inside_of_the_next_cones(monkeypatch):
    """However close they come to the boundary of their own cones."""
    least, moved = [], CoupledCones.moved_to

    def recorded(cones, edges, factors):
        other = moved(cones, edges, factors)
        least.append(float(other.slack.min()))
        return other

    monkeypatch.setattr(CoupledCones, "moved_to", recorded)
    monkeypatch.setattr(interior_point, "FIRST_GAP", 1e-4)
    for epsilon in (0.3, 0.7, 2.0):
        interior_point.run(city(8, epsilon, 2), gap=5e-3)
    assert len(least) >= 3
    assert min(least) > 0.0


def test_the_first_steps_over_few_pairs_pay(monkeypatch):
    problem = city(8, 0.7, 2)
    watched: list[float] = []
    warm = interior_point.run(problem, gap=1e-3, progress=lambda value, bound: watched.append(bound - value))
    monkeypatch.setattr(interior_point, "FEWER", 10**9)
    cold = interior_point.run(problem, gap=1e-3)
    assert warm.notes["pairs"] == cold.notes["pairs"]
    assert len(watched) == warm.notes["steps"] < cold.notes["steps"]
    for outcome in (warm, cold):
        value = problem.objective(outcome.variables)
        assert 0.0 <= outcome.bound - value <= -1e-3 * value


def shortest(distance, edges, lengths):
    """Floyd and Warshall's ways over the edges."""
    ways = np.full(distance.shape, np.inf)
    np.fill_diagonal(ways, 0.0)
    for (i, j), length in zip(edges.tolist(), lengths.tolist(), strict=True):
        ways[i, j] = ways[j, i] = length
    for middle in range(len(ways)):
        ways = np.minimum(ways, ways[:, [middle]] + ways[[middle]])
    return ways


@pytest.mark.parametrize("stretch", [0.005, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_over_inner_lengths_no_way_is_longer_than_the_distance(stretch, seed):
    """On a grid and among random places; no edge is shortened by more than the stretch."""
    places = np.random.default_rng(seed).uniform(0.0, 5.0, (30, 2))
    grid = city(6, 1.0, 2).distances()
    distance = grid if seed is None else np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    edges = spanner(distance, stretch)
    own = distance[edges[:, 0], edges[:, 1]]
    lengths = inner_lengths(distance, edges)
    unit = len(distance) * 2.0**-52 + ROUNDING
    assert (shortest(distance, edges, lengths) <= distance * (1.0 + unit)).all()
    assert (lengths <= own).all()
    assert (lengths * (1.0 + stretch) >= own * (1.0 - unit)).all()
    # they are needed: over the distances themselves some ways are longer
    longer = (shortest(distance, edges, own) > distance * (1.0 + unit)).any()
    assert longer == (lengths < own).any()


@pytest.mark.parametrize("stretch", [0.02, 0.1, 0.5])
def test_a_spanner_keeps_its_promise(stretch):
    distance = city(5, 1.0, 2).distances()
    edges = spanner(distance, stretch)
    ways = shortest(distance, edges, distance[edges[:, 0], edges[:, 1]])
    assert (ways <= (1.0 + stretch) * distance + 1e-12).all()
    assert len(edges) < len(distance) * (len(distance) - 1) / 2
