"""Lower bounds of coverings: never above what is found, and above what exhaustive search excludes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.marginals.covering_design import (
    audit_covering,
    excess_bound,
    lower_bound,
    rank_bound,
    schoenheim,
)
from mechdesign.families.marginals.covering_design_methods import Search, settle

TINY = [
    (points, order, block)
    for points in range(2, 7)
    for block in range(1, points + 1)
    for order in range(1, block + 1)
    if math.comb(points, block) <= 15
]


def least(points: int, order: int, block: int) -> int:
    """Return the least number of blocks by trying all families of blocks, knowing nothing of symmetry."""
    subsets = {subset: 1 << place for place, subset in enumerate(combinations(range(points), order))}
    masks = [
        sum(subsets[part] for part in combinations(row, order)) for row in combinations(range(points), block)
    ]
    reached, count = {0}, 0
    while (1 << len(subsets)) - 1 not in reached:
        reached = {one | mask for one in reached for mask in masks}
        count += 1
    return count


@pytest.mark.parametrize(("points", "order", "block"), TINY)
def test_tiny_cases_are_what_trying_everything_finds(points, order, block):
    true = least(points, order, block)
    comparison = md.compare(md.CoveringDesign(points=points, order=order, block=block))
    assert comparison.agree, comparison.disagreements
    by_method = {run.method: run for run in comparison.runs}
    assert by_method["portfolio"].value == true
    assert by_method["portfolio"].status == "optimal"
    assert by_method["exhaustive"].value == true
    assert by_method["milp"].value == true
    assert all(run.bound <= true <= run.value for run in comparison.runs)


@pytest.mark.parametrize(
    ("points", "order", "block", "value"),
    [(8, 3, 4, 14), (16, 3, 4, 140), (7, 2, 3, 7), (9, 2, 3, 12), (7, 2, 4, 4), (32, 3, 8, 92), (9, 9, 9, 1)],
)
def test_schoenheim(points, order, block, value):
    assert schoenheim(points, order, block) == value


def test_the_bounds_for_pairs_beyond_schoenheim():
    assert rank_bound(7, 4) == lower_bound(7, 2, 4)[0] == 5
    assert rank_bound(16, 6) == lower_bound(16, 2, 6)[0] == 10
    assert excess_bound(13, 5) == 9 > schoenheim(13, 2, 5)
    assert excess_bound(9, 3) == 1, "12 blocks cover nine points exactly: no excess"
    assert rank_bound(10, 5) == 1, "the surplus is too large for the argument"
    assert rank_bound(13, 4) == schoenheim(13, 2, 4) == 13, "a plane meets both"
    assert lower_bound(32, 3, 8) == (96, "rank of the incidence matrix, then Schoenheim's step")


@pytest.mark.parametrize(("points", "block"), [(7, 4), (16, 6), (13, 5), (15, 6), (19, 7), (25, 9)])
def test_the_bounds_for_pairs_are_the_proofs_inequalities(points, block):
    """Recomputed from incidences: no number of blocks below the bound satisfies b >= d - e, or e is 1."""
    bound = lower_bound(points, 2, block)[0]
    degree = -(-(points - 1) // (block - 1))
    surplus = degree * (block - 1) - (points - 1)
    for count in range(schoenheim(points, 2, block), bound):
        excess = count * block - points * degree
        assert excess >= 0
        assert (surplus < degree - 1 and count < points - excess) or (surplus == 0 and excess == 1)


def test_no_bound_is_above_what_a_construction_attains():
    for order in (2, 3, 4):
        for points in range(order, 13):
            for block in range(order, points + 1):
                solution = md.solve(md.CoveringDesign(points=points, order=order, block=block), "geometric")
                assert solution.bound <= solution.value, (points, order, block)
                assert solution.certificates[0].holds, (points, order, block)


@pytest.mark.parametrize(
    ("points", "order", "block", "value"),
    [(11, 2, 6, 6), (10, 2, 4, 9), (7, 3, 4, 12), (9, 3, 6, 7)],
)
def test_exhaustive_search_proves_what_no_formula_here_does(points, order, block, value):
    """Schoenheim's bound and the bounds for pairs are one short of these optima."""
    problem = md.CoveringDesign(points=points, order=order, block=block)
    assert lower_bound(points, order, block)[0] == value - 1
    solution = md.solve(problem, "exhaustive")
    assert (solution.value, solution.bound, solution.status) == (value, value, "optimal")
    assert solution.bound_source == "exhaustive search, all cases"
    blocks, settled = settle(problem, solution.variables["blocks"])
    assert (len(blocks), settled) == (value, True)
    assert md.solve(problem).status == "optimal"


def test_a_search_that_ran_out_of_nodes_excludes_nothing():
    problem = md.CoveringDesign(points=11, order=2, block=6)
    every = np.array(list(combinations(range(11), 6)))
    blocks, settled = settle(problem, every, nodes=10)
    assert settled is False
    assert audit_covering(blocks, 11, 2, 6).holds
    search = Search(11, 2, 6, nodes=10)
    assert search.find(5) is None
    assert search.nodes < 0
    solution = md.solve(problem, "exhaustive", nodes=10)
    assert (solution.status, solution.bound) == ("feasible", 5)
    assert "10 nodes were not enough" in solution.solver


def test_the_integer_program_claims_no_more_than_is_proven():
    """The solver says that six blocks are optimal; that is a note, not a bound."""
    solution = md.solve(md.CoveringDesign(points=11, order=2, block=6), "milp")
    assert solution.value == 6
    assert (solution.bound, solution.status) == (5, "feasible")
    assert solution.notes["solver_says"] in ("optimal", "feasible")
