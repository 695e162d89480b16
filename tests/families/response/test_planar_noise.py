"""Planar noise on a few places, priors from counts and grids of places."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.fields import problem_from
from mechdesign.families.response.noise import observed
from mechdesign.families.response.parameters import counts, grid


def grid_problem(side: int, epsilon: float = 0.7) -> md.RandomizedResponse:
    prior = counts(np.random.default_rng(3).integers(0, 20, side * side), extra=0.5)
    return md.RandomizedResponse(
        prior=prior, epsilon=epsilon, utility="distance-loss", distance=grid(side, side)
    )


def test_the_optimum_is_better_than_the_best_remap_and_that_than_the_nearest_place():
    problem = grid_problem(4)
    best = md.solve(problem, "lp")
    remapped = md.solve(problem, "planar-remapped")
    nearest = md.solve(problem, "planar-laplace")
    assert best.value > remapped.value > nearest.value
    for solution in (remapped, nearest):
        assert solution.status == "feasible"
        assert solution.mechanism().audit().true_epsilon <= 0.7
        # on a lattice with all places the noise is private but for the repair of tails and rounding
        assert solution.notes["mixing"] < 1e-6


def test_the_remap_is_the_best_for_every_observed_point():
    """Whatever else is done to the observed points: a random remap is no better."""
    problem, rng = grid_problem(3), np.random.default_rng(0)
    points = observed(problem.distance, problem.epsilon)
    steps = problem.distance[:, None] - points
    noise = np.exp(-problem.epsilon * np.hypot(steps[..., 0], steps[..., 1]))
    noise /= noise.sum(axis=1, keepdims=True)
    best = md.solve(problem, "planar-remapped").value
    chosen = (problem.weights().T @ noise).argmax(axis=0)
    for _ in range(20):
        other = np.where(rng.random(len(points)) < 0.05, rng.integers(0, 9, len(points)), chosen)
        assert (problem.weights().T @ noise)[other, np.arange(len(points))].sum() <= best + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_observed_points_have_all_places_of_a_grid_and_reach_far(epsilon):
    places = grid(3, 4, 1.5)
    points = observed(places, epsilon)
    apart = np.abs(places[:, None] - points).max(axis=2)
    assert apart.min(axis=1).max() < 1e-9 * np.abs(points).max()
    assert (points.min(axis=0) <= places.min(axis=0) - 25 / epsilon).all()
    assert (points.max(axis=0) >= places.max(axis=0) + 25 / epsilon).all()


def test_places_off_any_lattice_are_repaired():
    places = np.random.default_rng(1).uniform(0, 3, (12, 2))
    problem = md.RandomizedResponse(
        prior=np.full(12, 1 / 12), epsilon=1.0, utility="distance-loss", distance=places
    )
    solution = md.solve(problem, "planar-remapped")
    assert solution.mechanism().audit().holds
    assert solution.value <= md.solve(problem, "lp").bound


def test_distance_loss_is_minus_the_distance_and_needs_one():
    problem = grid_problem(3)
    assert (problem.utility_matrix() == -problem.distances()).all()
    with pytest.raises(md.MechDesignError, match="needs a distance"):
        md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0, utility="distance-loss")


def test_model_files_can_name_grids_and_counts():
    problem = problem_from(
        md.RandomizedResponse,
        {
            "prior": {"name": "counts", "counts": [3, 0, 1, 0, 0, 2], "extra": 1},
            "epsilon": 1.0,
            "utility": "distance-loss",
            "distance": {"name": "grid", "rows": 2, "columns": 3, "step": 0.5},
        },
    )
    assert problem.prior.tolist() == pytest.approx(
        [4 / 12, 1 / 12, 2 / 12, 1 / 12, 1 / 12, 3 / 12], abs=1e-15
    )
    assert problem.distance.tolist() == [[0, 0], [0.5, 0], [1, 0], [0, 0.5], [0.5, 0.5], [1, 0.5]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: counts([1, -1]), "entry 1 is negative"),
        (lambda: counts([0, 0]), "are all 0"),
        (lambda: counts([1, float("nan")]), "prior.counts"),
        (lambda: counts([1], extra=-1), "prior.extra"),
        (lambda: grid(0, 3), "distance.rows"),
        (lambda: grid(100, 100), "more than 4096"),
        (lambda: grid(2, 2, 0.0), "distance.step"),
        (
            lambda: md.RandomizedResponse(
                prior=[0.5, 0.5, 0], epsilon=1.0, distance=[[0, 0], [1, float("nan")], [2, 2]]
            ),
            "distance",
        ),
        (
            lambda: md.RandomizedResponse(prior=[0.5, 0.5, 0], epsilon=1.0, distance=[[0, 0], [1], [2, 2]]),
            "distance",
        ),
    ],
)
def test_impossible_grids_and_counts_are_refused(make, text):
    with pytest.raises(md.MechDesignError, match=text):
        make()
