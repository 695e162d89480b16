"""Coverings kept by their groups: every line is a covering of the stated size, and better than without it."""

from __future__ import annotations

import math
import shutil
import sys
from itertools import combinations

import pytest

import mechdesign as md
from benchmarks.covering_orbits import searched, set_cover
from benchmarks.covering_search import annealings, main, orbits_of, why_not
from benchmarks.covering_sizes import compared
from benchmarks.limits import COMPILERS
from mechdesign.families.marginals.covering_constructions import tables
from mechdesign.families.marginals.covering_design import audit_covering, lower_bound
from mechdesign.families.marginals.known_coverings import generators, images, known_coverings

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C compiler")


@pytest.mark.parametrize(
    ("name", "points", "size"),
    [
        ("1", 5, 1),
        ("1x7", 7, 7),
        ("1x7*2", 8, 21),
        ("2x5>", 10, 10),
        ("2x5*4>", 12, 10),
        ("AG9*3", 9, 72),
        ("AG8*2", 9, 56),
        ("PSL5", 6, 60),
        ("PSL7", 8, 168),
        ("PGL7", 8, 336),
        ("PSL8", 9, 504),
        ("PSL9", 10, 360),
        ("1x7*2+3x1>", 11, 21),
        ("2x4+1x2", 11, 4),
        ("AG4*2+3x1>", 7, 12),
        ("=120", 3, 3),
        ("=120/102", 4, 6),
    ],
)
def test_groups_have_the_order_they_should(name, points, size):
    """The group acts on its elements' images of all points in order, each an ordered row."""
    moves = generators(name, points)
    assert all(sorted(move) == list(range(points)) for move in moves)
    found, waiting = set(), [tuple(range(points))]
    while waiting:
        row = waiting.pop()
        if row not in found:
            found.add(row)
            waiting += [tuple(move[point] for point in row) for move in moves]
    assert len(found) == size


def test_images_of_a_block_are_its_orbit():
    assert images([(0, 1, 3)], []) == [(0, 1, 3)]
    assert len(images([(0, 1, 3)], generators("1x7", 7))) == 7
    assert len(images([(0, 1, 3)], generators("PSL7", 8))) == math.comb(8, 3)
    with pytest.raises(AssertionError, match="no group is called nobody"):
        generators("nobody", 3)


def test_every_line_is_a_covering_of_the_stated_size():
    for (points, order, block), covering in known_coverings().items():
        blocks = covering.blocks()
        assert len(blocks) == covering.count, (points, order, block)
        assert audit_covering(blocks, points, order, block).holds, (points, order, block)
        assert covering.count >= lower_bound(points, order, block)[0]
        assert tables(32, 4, 8)[order].size[points, block] <= covering.count


@pytest.mark.parametrize(("points", "order", "block", "count"), [(23, 4, 7, 253), (23, 4, 5, 1771)])
def test_steiner_systems_are_found_and_proven(points, order, block, count):
    """Witt's systems and others, which Schoenheim's bound proves to be optimal."""
    solution = md.solve(md.CoveringDesign(points=points, order=order, block=block))
    assert (solution.value, solution.bound, solution.status) == (count, count, "optimal")
    assert all(certificate.holds and certificate.exact for certificate in solution.certificates)


def test_the_public_tables_are_met_where_the_page_says_so():
    lines = list(compared())
    assert len(lines) == 391
    assert sum(made <= stated for *_, made, stated in lines) >= 304
    for points, order, block, made, stated in lines:
        assert made >= lower_bound(points, order, block)[0]
        assert made <= 1.13 * stated, (points, order, block)


def test_orbits_of_subsets_are_those_of_the_images():
    """The table has every order of a subset; a block of two points stands for a subset here."""
    moves = generators("1x6+1x3", 10)
    table, weights = orbits_of(10, 2, moves)
    for first, second in [(0, 1), (0, 3), (2, 7), (6, 8), (9, 4)]:
        orbit = images([(first, second)], moves)
        numbers = {int(table[32 * one + two]) for pair in orbit for one, two in (pair, pair[::-1])}
        assert len(numbers) == 1
        assert weights[numbers.pop()] * 6 == len(orbit)  # the group has six elements


@needs_compiler
@pytest.mark.parametrize(
    ("case", "group", "count"), [((11, 2, 5), "1", 7), ((8, 3, 4), "1x7", 14), ((11, 4, 5), "1x11", 66)]
)
def test_the_search_finds_coverings_of_the_least_size(case, group, count):
    search = annealings(*case, group, count, seed=1)
    bases = next(blocks for blocks, left in (next(search) for _ in range(20)) if left < 1e-9)
    whole = images(bases, generators(group, case[0]))
    assert len(whole) == count
    assert audit_covering(whole, *case).holds


@pytest.mark.parametrize("order", [2, 3])
def test_the_set_cover_of_orbits_has_every_orbit_that_is_small_enough(order):
    """Orbits are those of the images; of orbits that cover the same, one of the smallest is kept."""
    moves = generators("1x6*5+1x2", 8)
    problem = set_cover(8, order, 4, moves, 8)
    subset = {
        one: min(images([one], moves)) for one in combinations(range(8), order)
    }  # an orbit is named by its first subset
    smallest: dict[frozenset[tuple[int, ...]], int] = {}
    for block in combinations(range(8), 4):
        covered, size = (
            frozenset(map(subset.__getitem__, combinations(block, order))),
            len(images([block], moves)),
        )
        if size <= 8:
            smallest[covered] = min(size, smallest.get(covered, size))
    found = {
        frozenset(map(subset.__getitem__, combinations(block, order))): cost
        for block, cost in zip(problem.blocks, problem.costs, strict=True)
    }
    assert found == smallest
    assert any(cost < 8 for cost in problem.costs)
    for covered, block in zip(problem.covered, problem.blocks, strict=True):
        assert len(covered) == len(set(map(subset.__getitem__, combinations(block, order))))


@needs_compiler
@pytest.mark.parametrize(
    ("case", "group", "count"),
    [((8, 3, 4), "PSL7", 14), ((10, 3, 4), "1x10", 30), ((11, 4, 5), "1x11*3", 66)],
)
def test_the_search_among_orbits_finds_coverings_of_the_least_size(case, group, count):
    problem = set_cover(*case, generators(group, case[0]), count)
    bases = searched(problem, count, seconds=20.0, seed=1)
    whole = images(bases, generators(group, case[0]))
    assert len(whole) == count
    assert audit_covering(whole, *case).holds
    again = set_cover(*case, generators(group, case[0]), count, whole)
    assert sum(again.costs[column] for column in again.known) == count
    assert searched(again, count, seconds=0.0, seed=1) is not None  # what is known is found at once
    assert searched(problem, count - 1, seconds=0.2, seed=1) is None  # the count is the least of all


@needs_compiler
def test_a_kept_covering_is_found_again_with_its_group(monkeypatch, capsys):
    given = [
        "covering_search",
        "18",
        "4",
        "7",
        "--orbits",
        "--blocks",
        "128",
        "--group",
        "found",
        "--improve",
    ]
    monkeypatch.setattr(sys, "argv", given)
    assert main() == 0
    kept = known_coverings()[18, 4, 7]
    assert capsys.readouterr().out.startswith(f"18 4 7 {kept.count} {kept.group} ")


@pytest.mark.parametrize(
    ("case", "group", "blocks", "reason"),
    [
        ((40, 3, 8), "1", 90, "points <= 32"),
        ((26, 3, 8), "nobody", 70, "unknown group 'nobody'"),
        ((26, 3, 8), "5x7", 70, "moves 35 points, more than 26"),
        ((26, 3, 8), "1x9*3", 70, "not a group of permutations"),
        ((26, 3, 8), "3x7", 6, "6 is below the order of the group, 7"),
        ((32, 4, 20), "1", 70, "too large for order 4"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(case, group, blocks, reason):
    assert reason in why_not(*case, group, blocks)
    assert why_not(26, 3, 8, "3x7", 70) is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("8 3 4 --blocks 14 --improve", "--improve: needs --orbits"),
        ("30 2 8 --blocks 14 --group found", "known_coverings.txt has no covering for 30 2 8"),
        ("26 3 8 --blocks 70 --group =12 --orbits", "an image is missing"),
    ],
)
def test_options_that_do_not_fit_are_refused(given, reason, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["covering_search", *given.split()])
    assert main() == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1


def test_too_many_orbits_are_refused():
    with pytest.raises(SystemExit, match="more than 300000; a larger group has fewer"):
        set_cover(23, 3, 8, [], 100)
