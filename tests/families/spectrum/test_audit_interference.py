"""Distances against sums of radii: exact where doubles cannot tell."""

import math

import numpy as np
import pytest

from mechdesign.families.spectrum.geometry import audit_interference


def test_circles_may_touch_and_not_overlap_by_the_last_bit():
    assert audit_interference([0.0, 3.0], [0.0, 4.0], [[2.5], [2.5]]).holds
    assert not audit_interference([0.0, 3.0], [0.0, 4.0], [[2.5], [math.nextafter(2.5, 3.0)]]).holds


def test_an_irrational_distance_is_not_rounded():
    """The double next to sqrt(2) is above it: a sum of radii equal to it overlaps."""
    root = math.sqrt(2.0)
    assert root * root > 2.0
    assert not audit_interference([0.0, 1.0], [0.0, 1.0], [[root], [0.0]]).holds
    assert audit_interference([0.0, 1.0], [0.0, 1.0], [[math.nextafter(root, 0.0)], [0.0]]).holds


def test_sums_that_doubles_round_away_count():
    """3 + 2 + 2**-60 is 5 in doubles."""
    assert not audit_interference([0.0, 3.0], [0.0, 4.0], [[3.0, 2.0**-60], [2.0]]).holds


def test_the_owner_counts_and_the_witness_names_who():
    found = audit_interference([0.0, 30.0], [5.0, 0.0], [[1.0], [1.0]], (0.0, 0.0), [3.0, 1.0000001])
    assert (found.pairs, found.violated) == (3, 1)
    assert found.witness["user"] == 0
    assert "FAILS (exact)" in str(found.certificate())


@pytest.mark.parametrize("seed", range(20))
def test_all_pairs_are_looked_at(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 10, size=(2, 8))
    sizes = rng.uniform(0.1, 2.5, size=8)
    far = np.hypot(x[:, None] - x, y[:, None] - y)
    wrong = np.triu(far < sizes[:, None] + sizes, 1).sum()
    found = audit_interference(x, y, sizes[:, None].tolist())
    assert (found.pairs, found.violated) == (28, wrong)
