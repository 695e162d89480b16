"""``covering-design``: known optima, methods against each other, refusals, and large cases."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import MethodError
from mechdesign.core.values import changed
from mechdesign.families.marginals.covering_search import Subsets, chosen, improved, without_redundant

KNOWN = [
    ((8, 3, 4), 14),
    ((16, 3, 4), 140),
    ((7, 2, 3), 7),
    ((9, 2, 3), 12),
    ((13, 2, 4), 13),
    ((16, 2, 4), 20),
    ((11, 2, 5), 7),
    ((21, 2, 5), 21),
]


@pytest.mark.parametrize(("parameters", "value"), KNOWN)
def test_known_optima_are_met_and_proven(parameters, value):
    solution = md.solve(md.CoveringDesign(points=parameters[0], order=parameters[1], block=parameters[2]))
    assert (solution.value, solution.bound, solution.status) == (value, value, "optimal")
    assert solution.claims_optimality
    assert [certificate.property for certificate in solution.certificates] == ["covering", "optimality"]
    assert all(certificate.holds and certificate.exact for certificate in solution.certificates)
    covered = {part for row in solution.variables["blocks"] for part in combinations(row, parameters[1])}
    assert len(covered) == math.comb(*parameters[:2])


@pytest.mark.parametrize(("parameters", "value"), KNOWN)
def test_search_alone_meets_them_too(parameters, value):
    solution = md.solve(
        md.CoveringDesign(points=parameters[0], order=parameters[1], block=parameters[2]), "greedy"
    )
    assert solution.value == value
    assert not solution.claims_optimality
    assert solution.certificates[0].holds


@pytest.mark.parametrize("parameters", [(7, 2, 3), (7, 2, 4), (8, 3, 4), (9, 2, 3), (11, 2, 5), (8, 4, 6)])
def test_integer_program_exhaustive_search_and_the_default_agree(parameters):
    comparison = md.compare(
        md.CoveringDesign(points=parameters[0], order=parameters[1], block=parameters[2]),
        ["portfolio", "milp", "exhaustive"],
    )
    assert comparison.agree
    assert len({run.value for run in comparison.runs}) == 1
    assert all(run.status == "optimal" for run in comparison.runs)


@pytest.mark.parametrize("block", [5, 8])
def test_32_points_and_triples(block):
    """Covered exactly, no worse than the constructions, and the gap is shown where it is not closed."""
    solution = md.solve(md.CoveringDesign(points=32, order=3, block=block), effort=2_000_000)
    assert solution.value <= {5: 650, 8: 108}[block]
    assert solution.status == "feasible"
    assert not solution.claims_optimality
    assert 0 < solution.gap <= 0.35 * solution.bound
    assert [certificate.property for certificate in solution.certificates] == ["covering"]
    assert "gap" in str(solution)
    assert "optimality: not claimed" in str(solution)


@pytest.mark.parametrize(("block", "value"), [(3, 1667), (20, 30), (50, 6), (99, 3), (100, 1)])
def test_100_points_and_pairs(block, value):
    solution = md.solve(md.CoveringDesign(points=100, order=2, block=block))
    assert (solution.value, solution.status) == (value, "optimal")
    assert solution.certificates[0].holds


def test_the_same_problem_has_the_same_blocks():
    first, second = (
        md.solve(md.CoveringDesign(points=14, order=3, block=6), effort=200_000) for _ in range(2)
    )
    assert np.array_equal(first.variables["blocks"], second.variables["blocks"])


def test_more_effort_is_not_worse():
    problem = md.CoveringDesign(points=16, order=2, block=5)
    little, much = (md.solve(problem, "greedy", effort=effort) for effort in (0, 500_000))
    assert much.value < little.value
    assert little.certificates[0].holds


def test_local_search_keeps_covering_whatever_it_starts_from():
    """All blocks at once are cleaned up and improved; orders 1 to 5, with and without the table of ranks."""
    for points, order, block in ((9, 2, 4), (8, 3, 5), (8, 4, 6), (20, 5, 18)):
        subsets = Subsets(points, order)
        rng = np.random.default_rng(5)
        every = np.array(list(combinations(range(points), block)))
        start = without_redundant(rng.permutation(every), subsets)
        assert (subsets.times_covered(start) > 0).all()
        own = (subsets.times_covered(start)[subsets.of_blocks(start)] == 1).any(axis=1)
        assert own.all(), "each block covers something alone"
        found, spent = improved(start, subsets, 1, 100_000, rng)
        assert len(found) <= len(start)
        assert spent >= 100_000
        assert (subsets.times_covered(found) > 0).all()
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"points": 0}, "points: 0 is not from 1 to 200"),
        ({"points": 201}, "points: 201 is not from 1 to 200"),
        ({"points": 7.0}, "points: expected a whole number"),
        ({"block": 8}, "block: 8 is not from 1 to 7"),
        ({"order": 4}, "order: 4 is not from 1 to 3"),
        ({"order": 0}, "order: 0 is not from 1 to 3"),
        ({"points": 100, "order": 8, "block": 12}, "174 GiB of memory"),
        ({"points": 200, "order": 4, "block": 4}, "blocks of 4 are needed at least"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(parameters, text):
    with pytest.raises(md.MechDesignError) as error:
        md.CoveringDesign(**{"points": 7, "order": 2, "block": 3, **parameters})
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_methods_say_why_they_do_not_apply():
    skipped = {
        method.name: method.why_not(md.CoveringDesign(points=32, order=8, block=10))
        for method in md.methods_of(md.CoveringDesign)
    }
    assert skipped["geometric"] is None
    assert "blocks to choose from are too many" in skipped["milp"]
    assert "are too many to go through all cases" in skipped["exhaustive"]
    assert "subsets are more than 300000" in skipped["greedy"]
    assert "nothing to search" in md.compare(md.CoveringDesign(points=9, order=1, block=2)).skipped["greedy"]


def test_a_covering_that_does_not_cover_is_seen_by_the_problem():
    problem = md.CoveringDesign(points=7, order=2, block=3)
    blocks = md.solve(problem).variables["blocks"]
    assert problem.residuals({"blocks": blocks}) == {"uncovered": 0, "malformed": 0}
    assert problem.residuals({"blocks": blocks[1:]}) == {"uncovered": 3, "malformed": 0}
    assert problem.objective({"blocks": blocks[1:]}) == 6
    forged = md.Method(
        "forged",
        md.CoveringDesign,
        "analytic",
        "one block too few",
        lambda problem: md.Outcome("optimal", {"blocks": blocks[1:]}, 6.0, "a claim"),
    )
    solution = md.solve(problem, forged)
    assert [certificate.property for certificate in solution.broken] == ["covering"]


def test_a_claim_beyond_the_bound_is_no_optimum():
    blocks = list(combinations(range(7), 3))
    claimed = md.Method(
        "claimed",
        md.CoveringDesign,
        "analytic",
        "all blocks",
        lambda problem: md.Outcome("optimal", {"blocks": blocks}, 7.0, "a claim"),
    )
    solution = md.solve(md.CoveringDesign(points=7, order=2, block=3), claimed)
    assert (solution.status, solution.broken) == ("feasible", ())
    assert "at most 28 (4e+02 %) from the optimum" in str(solution)
    with pytest.raises(MethodError, match="without a proven bound"):
        changed(solution, status="optimal", bound=None)


def test_quantities():
    found = md.solve(md.CoveringDesign(points=7, order=2, block=4)).quantities
    assert found == {"schoenheim": 4, "density": 5 * 6 / 21, "relative_gap": 0.0}


def test_the_shell_solves_and_refuses_to_build(tmp_path, capsys):
    assert main(["solve", "marginals/covering_calm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["value"], found["bound"], len(found["variables"]["blocks"])) == (14, 14, 14)
    assert main(["solve", "marginals/covering_calm"]) == 0
    text = capsys.readouterr().out
    assert "covering: holds (exact); blocks = 14, subsets = 56, uncovered = 0" in text
    assert "\n      0    1    2    3\n" in text, "points are whole numbers"
    assert main(["build", "marginals/covering_calm", "-o", str(tmp_path / "m.json")]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert "this problem has no mechanism to run; its blocks are sets of attributes" in error
    assert "build a marginal-views model" in error


def test_a_gap_of_nothing_is_shown_without_a_sign():
    comparison = md.compare(md.CoveringDesign(points=7, order=2, block=3), ["portfolio", "greedy"])
    (greedy,) = [row for row in comparison.rows() if row[0] == "greedy"]
    assert greedy[6] == "0.0e+00"


@pytest.mark.parametrize("parameters", [(8, 3, 4), (9, 2, 4), (10, 3, 6), (7, 4, 5)])
def test_lazy_choice_is_the_plain_greedy_choice(parameters):
    """The block with the most uncovered subsets, the first in lexicographic order, each time anew."""
    points, order, block = parameters
    left = set(combinations(range(points), order))
    wanted = []
    while left:
        gains = {row: len(left & set(combinations(row, order))) for row in combinations(range(points), block)}
        wanted.append(max(gains, key=lambda row: gains[row]))  # max takes the first of several
        left -= set(combinations(wanted[-1], order))
    found = chosen(
        md.CoveringDesign(points=parameters[0], order=parameters[1], block=parameters[2]),
        Subsets(points, order),
    )
    assert [tuple(row) for row in found.tolist()] == wanted
