"""What the constructions are made of: fields, geometries, triple systems; and the table of what they give."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.marginals.covering_constructions import (
    RULES,
    Builder,
    members,
    one_factorisation,
    tables,
)
from mechdesign.families.marginals.covering_design import audit_covering
from mechdesign.families.marginals.known_coverings import designs, field, gaussian, prime_power


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27])
def test_fields_are_fields(size):
    numbers = field(size)
    every = np.arange(size)
    for table, start in ((numbers.plus, 0), (numbers.times, 1)):
        assert (table == table.T).all()
        assert (table[table[every[:, None], every]] == table[every[:, None, None], table]).all(), (
            "associative"
        )
        assert (np.sort(table[start:, start:], axis=1) == every[start:]).all(), "can be undone"
    for one in every:
        assert (
            numbers.times[one, numbers.plus] == numbers.plus[numbers.times[one]][:, numbers.times[one]]
        ).all()
    assert (numbers.plus[every, numbers.minus] == 0).all()
    assert (numbers.times[every, numbers.inverse][1:] == 1).all()


def test_prime_powers():
    assert [size for size in range(1, 33) if prime_power(size)] == [
        *(2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32)
    ]


def test_subspaces_are_counted():
    assert [gaussian(3, 1, 2), gaussian(4, 2, 2), gaussian(3, 2, 3), gaussian(5, 2, 3)] == [7, 35, 13, 1210]


@pytest.mark.parametrize(("order", "points"), [(2, 20), (3, 16), (4, 8)])
def test_every_design_is_a_covering_of_the_stated_size(order, points):
    known = designs(order, points)
    assert len({design.name for design in known}) == len(known) > 0
    for design in known:
        rows = members(design)
        assert rows.shape == (design.count, design.points), design.name
        blocks = np.nonzero(rows)[1].reshape(design.count, -1)
        assert blocks.shape[1] == design.block, design.name
        assert audit_covering(blocks, design.points, order, design.block).holds, design.name


def test_lines_circles_and_triples_cover_each_subset_once():
    perfect = [d for d in designs(2, 20) if not d.name.startswith(("2-", "3-"))]
    perfect += [design for design in designs(3, 16) if "circles" in design.name or "AG(4, 2)" in design.name]
    assert len(perfect) > 20
    for design in perfect:
        within = math.comb(design.block, design.order)
        assert design.count * within == math.comb(design.points, design.order), design.name


def test_colours_meet_every_point_once():
    for points in (2, 4, 6, 10):
        colours = one_factorisation(points)
        assert all(sum(colour) == (1 << points) - 1 for colour in colours)
        pairs = [pair for colour in colours for pair in colour]
        assert len(set(pairs)) == len(pairs) == math.comb(points, 2)


@pytest.mark.parametrize(("points", "order", "block"), [(15, 2, 6), (14, 3, 6), (20, 3, 5), (12, 4, 7)])
def test_every_entry_of_the_table_is_kept(points, order, block):
    """Each number in it can be built, covers, and has no more blocks than promised."""
    builder = Builder(points, order, block)
    rules = set()
    for part, table in enumerate(builder.tables[1:], 1):
        for size in range(part, points + 1):
            for each in range(part, min(size, block) + 1):
                blocks = builder.blocks(size, part, each)
                assert len(blocks) <= table.size[size, each]
                assert all(one.bit_count() <= each and one < 1 << size for one in blocks)
                covered = {
                    subset
                    for one in blocks
                    for subset in combinations([p for p in range(size) if one >> p & 1], part)
                }
                assert len(covered) == math.comb(size, part), (size, part, each)
                rules.add(RULES[table.rule[size, each]])
    assert {"all", "one", "parts", "product"} <= rules


def test_every_rule_is_needed_somewhere():
    used = set()
    for points, order, block in ((20, 3, 4), (24, 2, 8), (32, 3, 16), (20, 3, 8)):
        used |= {
            RULES[rule]
            for table in tables(points, order, block)[1:]
            for rule in np.unique(table.rule[order:])
        }
    assert used - {"none"} == set(RULES) - {"none"}


def test_larger_blocks_never_need_more_of_them():
    for points, order, block in ((20, 3, 4), (24, 2, 8), (32, 3, 16), (30, 4, 10)):
        for table in tables(points, order, block)[1:]:
            sizes = table.size[order : points + 1, table.order :]
            assert (sizes[:, 1:] <= sizes[:, :-1]).all()
            assert np.isfinite(sizes).all()


@pytest.mark.parametrize(
    ("parameters", "value", "name"),
    [
        ((20, 3, 4), 285, "doubling of 10 points"),
        ((26, 3, 6), 130, "circles of PG(1, 25) over GF(5)"),
        ((15, 3, 7), 15, "2-flats of PG(3, 2)"),
        ((13, 2, 3), 26, "triples on 13 points"),
        ((32, 3, 16), 14, "8 groups of points"),
        ((10, 1, 4), 3, "blocks side by side"),
        ((9, 9, 9), 1, "all subsets"),
        ((39, 3, 4), 2470, "one point fewer than: doubling of 20 points"),
    ],
)
def test_constructions_by_name(parameters, value, name):
    solution = md.solve(
        md.CoveringDesign(points=parameters[0], order=parameters[1], block=parameters[2]), "geometric"
    )
    assert solution.value <= value
    assert name in solution.solver
    assert solution.certificates[0].holds
    if parameters != (39, 3, 4):
        assert (solution.value, solution.bound, solution.status) == (value, value, "optimal")
