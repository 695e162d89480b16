"""The check of coverings: against plain enumeration, and against blocks that only look as if they covered."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import mechdesign.families.marginals.covering_design as covering
from mechdesign.core.errors import ParameterError
from mechdesign.families.marginals.covering_design import audit_covering, unranked

FANO = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]


def uncovered(blocks, points: int, order: int, block: int) -> list[tuple[int, ...]]:
    """Return the uncovered subsets, by looking at each subset and each proper block."""
    proper = [set(row) for row in blocks if len(set(row)) == block and set(row) <= set(range(points))]
    subsets = combinations(range(points), order)
    return [subset for subset in subsets if not any(set(subset) <= row for row in proper)]


@pytest.mark.parametrize("seed", range(30))
def test_it_finds_what_plain_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    points = int(rng.integers(3, 10))
    block = int(rng.integers(1, points + 1))
    order = int(rng.integers(1, block + 1))
    low, high = (0, points) if seed % 3 else (-1, points + 1)
    blocks = rng.integers(low, high, (int(rng.integers(1, 60)), block))
    if seed % 2:
        blocks = np.array([rng.permutation(points)[:block] for _ in blocks])
    found = audit_covering(blocks, points, order, block)
    missing = uncovered(blocks.tolist(), points, order, block)
    assert found.uncovered == len(missing)
    assert set(found.first_uncovered) <= set(missing)
    assert bool(found.first_uncovered) == bool(missing)
    proper = [row for row in blocks.tolist() if len(set(row)) == block and set(row) <= set(range(points))]
    assert found.malformed == len(blocks) - len(proper)
    assert found.holds == (not missing and not found.malformed)


@pytest.mark.parametrize("at_once", [1, 2, 5, 64])
def test_the_size_of_the_parts_does_not_matter(at_once, monkeypatch):
    blocks = list(combinations(range(6), 4))[:-3]
    whole = audit_covering(blocks, 6, 3, 4)
    monkeypatch.setattr(covering, "AT_ONCE", at_once)
    assert audit_covering(blocks, 6, 3, 4) == whole
    assert whole.uncovered == len(uncovered(blocks, 6, 3, 4))


@pytest.mark.parametrize("left_out", range(7))
def test_every_block_of_the_plane_is_needed_and_the_witness_is_what_it_alone_covered(left_out):
    found = audit_covering(FANO[:left_out] + FANO[left_out + 1 :], 7, 2, 3)
    assert not found.holds
    assert sorted(found.first_uncovered) == list(combinations(FANO[left_out], 2))


@pytest.mark.parametrize(
    "wrong",
    [[0, 1, 1], [0, 0, 0], [0, 1, 7], [0, 1, -1], [-7, -6, -5], [0, 1, 2**40], [-(2**63), 1, 2]],
)
def test_a_block_that_is_no_set_of_points_covers_nothing(wrong):
    """Counted from the end, -6 would be the point 1."""
    found = audit_covering([*FANO[1:], wrong], 7, 2, 3)
    assert found.malformed == 1
    assert found.first_malformed == tuple(sorted(wrong))
    assert found.uncovered == 3
    assert not found.holds
    assert "malformed = 1" in str(found.certificate())
    with_all = audit_covering([*FANO, wrong], 7, 2, 3)
    assert (with_all.uncovered, with_all.malformed, with_all.holds) == (0, 1, False)


def test_blocks_of_another_size_are_malformed():
    assert audit_covering([[0, 1, 2, 3]], 4, 2, 3).malformed == 1
    assert audit_covering([[0, 1], [0, 2], [1, 2]], 3, 2, 3).uncovered == 3


def test_no_blocks_cover_nothing():
    found = audit_covering(np.zeros((0, 3), dtype=np.int64), 7, 2, 3)
    assert (found.blocks, found.uncovered, found.holds) == (0, 21, False)


def test_dtype_and_order_of_points_do_not_matter():
    for dtype in (np.uint8, np.int16, ">i4", np.uint64):
        assert audit_covering(np.array(FANO, dtype=dtype)[:, ::-1], 7, 2, 3).holds


@pytest.mark.parametrize(
    "blocks",
    [[[0.0, 1.0, 2.0]], [[True, False, True]], [[0, 1], [0, 1, 2]], [], "012", [["0", "1", "2"]], None],
)
def test_what_is_no_matrix_of_whole_numbers_is_refused(blocks):
    with pytest.raises(ParameterError, match=r"^blocks: "):
        audit_covering(blocks, 7, 2, 3)


def test_a_check_that_would_fill_the_memory_is_refused_with_its_size():
    with pytest.raises(ParameterError, match=r"75287520 subsets|174 GiB") as error:
        audit_covering(np.arange(10)[None], 100, 8, 10)
    assert "174 GiB of memory" in str(error.value)
    assert "\n" not in str(error.value)


def test_ranks_count_all_subsets_once():
    for points, order in ((7, 1), (7, 3), (7, 7), (12, 5)):
        rows = [
            tuple(row) for row in unranked(np.arange(covering.checked_subsets(points, order)), points, order)
        ]
        assert sorted(rows) == list(combinations(range(points), order))


def test_32_points_and_subsets_of_eight_are_checked():
    """Ten million subsets; one block, whose subsets are exactly those that are covered."""
    found = audit_covering([list(range(0, 32, 2))], 32, 8, 16)
    assert found.subsets == 10_518_300
    assert found.uncovered == 10_518_300 - 12_870
