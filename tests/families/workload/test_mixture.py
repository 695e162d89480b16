"""Linear queries of 129 to 1,024 types: the mixture, and a default no worse than any quick method."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.workload.linear_queries_methods import best_chances
from mechdesign.families.workload.pattern_sets import partitions_of
from mechdesign.families.workload.simple_reports import (
    affine_sets,
    best_subset,
    best_subset_size,
    cell_sets,
    spread_of,
)
from mechdesign.families.workload.weights import feasible_patterns
from mechdesign.solvers.solve import find_method


def prefix(size: int, epsilon: float, **more) -> md.LinearQueries:
    return md.LinearQueries(workload={"name": "prefix", "size": size}, epsilon=epsilon, **more)


@cache
def mixture(size: int) -> md.Solution:
    """Return the mixture for prefixes, searched for once."""
    return md.solve(prefix(size, 6.0), "mixture")


def own(size: int, epsilon: float) -> md.LinearQueries:
    rows = (np.random.default_rng(4).random((20, size)) < 0.3).astype(float)
    shares = np.random.default_rng(5).random(size) + 0.1
    return md.LinearQueries(workload=rows, epsilon=epsilon, population=shares / shares.sum())


@pytest.mark.parametrize(
    ("problem", "most"),
    [
        (prefix(129, 6.0), 8.64),  # field alone: 64.0, subset selection: 15.99
        (own(140, 6.0), math.inf),
    ],
    ids=["prefix 129", "own 140"],
)
def test_the_default_is_at_most_what_every_other_method_finds(problem, most):
    named = problem.queries.size == 129
    default, solution = md.solve(problem), mixture(129) if named else md.solve(problem, "mixture")
    assert (default.method, solution.status) == ("reweighting", "feasible")
    assert 0.0 <= solution.bound <= solution.value <= most
    assert 0.0 <= default.bound <= default.value <= 1.001 * solution.value
    for method in ("field", "subset"):
        if find_method(problem, method).why_not(problem) is None:
            assert solution.value <= 1.001 * md.solve(problem, method).value
    assert "from the optimum" in str(solution)
    assert "from the optimum" in solution.caution, "what build says"


def test_what_runs_has_the_error_that_is_stated_and_a_bound_of_nothing_is_said():
    solution = mixture(129)
    mechanism = solution.mechanism()
    assert mechanism.audit().holds
    assert mechanism.average_error == pytest.approx(solution.value, rel=1e-6)
    assert (solution.bound, "is at least 0" in solution.bound_source) == (0.0, True)
    assert solution.quantities["left"] == math.inf
    assert "-" not in str(solution).split("bound ")[1][:2]
    assert all(item.holds for item in solution.certificates)


def test_a_tree_of_256_types_applies_where_its_lowest_level_has_too_many_sets():
    """Its lowest level would have 8.8e9 sets of 5 types; hyperplanes are as good to a few percent."""
    from mechdesign.families.workload.papers.linear_queries import tree_error

    problem = prefix(256, 4.0)
    found = md.solve(problem, "tree").value
    assert tree_error(problem) <= found <= 1.06 * tree_error(problem)


@pytest.mark.parametrize(("cells", "epsilon"), [(70, 2.0), (256, 4.0), (300, 5.0), (129, 1.0), (512, 0.5)])
def test_few_sets_tell_cells_apart_nearly_as_well_as_all(cells, epsilon):
    power = math.exp(epsilon)
    sets, amounts = cell_sets(cells, power)
    channel = np.where(sets, power, 1.0) * amounts[:, None]
    assert channel.sum(axis=0) == pytest.approx(1.0)
    moment = (channel / channel.mean(axis=1, keepdims=True)).T @ channel
    inverse = float((1.0 / np.linalg.eigvalsh(moment)[:-1]).mean())
    assert (
        1.0 - 1e-9
        <= inverse * spread_of(cells, best_subset_size(cells, power), power) * cells / (cells - 1)
        < 1.15
    )
    assert len(sets) <= 20_000


def test_hyperplanes_hold_every_pair_of_points_equally_often():
    for cells, prime in ((25, 5), (27, 3), (121, 11)):
        sets = affine_sets(cells, prime).astype(float)
        together = sets.T @ sets
        assert np.ptp(np.diag(together)) == 0.0
        assert np.ptp(together[~np.eye(cells, dtype=bool)]) == 0.0


def test_the_best_chances_are_those_of_a_second_way():
    rng = np.random.default_rng(2)
    parts = [np.diag(rng.random(4) + 0.05) for _ in range(3)]
    found = best_chances(parts, np.eye(4))

    def error(chances):
        return float((1.0 / sum(w * np.diag(part) for w, part in zip(chances, parts, strict=True))).sum())

    grid = [(a, b, 1.0 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)]
    assert error(found) <= min(map(error, grid)) * (1.0 + 1e-9)


def test_blocks_of_tables_and_grids():
    names = [
        name
        for name, _ in partitions_of(
            md.LinearQueries(workload={"name": "grid-prefix", "sizes": [4, 3]}, epsilon=1.0)
        )
    ]
    assert names == [
        "1x2 blocks",
        "2x1 blocks",
        "1x3 blocks",
        "2x2 blocks",
        "4x1 blocks",
        "2x3 blocks",
        "4x2 blocks",
        "4x3 blocks",
    ]
    tables = md.LinearQueries(workload={"name": "marginals", "sizes": [3, 2, 2], "order": 2}, epsilon=1.0)
    assert [name for name, _ in partitions_of(tables)] == [
        "1x2x2 blocks",
        "3x1x2 blocks",
        "3x2x1 blocks",
        "3x2x2 blocks",
    ]


def test_patterns_that_cannot_sum_to_one_are_completed():
    """Two types are in the only pattern: no weight of it makes all four probabilities sum to 1."""
    power = math.exp(2.0)
    sets, amounts = feasible_patterns(np.array([[True, True, False, False]]), np.array([0.3]), power)
    sums = np.where(sets, power, 1.0).T @ amounts
    assert (amounts > 0.0).all()
    assert sums == pytest.approx(np.ones(4), abs=1e-11)
    assert [True, True, False, False] in sets.tolist()


def test_a_field_that_tells_some_types_apart_badly_leaves_a_mixture():
    problem = own(129, 6.0)
    solution = md.solve(problem, "mixture")
    assert all(certificate.holds for certificate in solution.certificates)
    assert solution.value <= 1.01 * best_subset(problem)[1]
