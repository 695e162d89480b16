"""Bounds of shuffled reports against enumerations in fractions, and the largest local epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.audit.exponential import exp_lower, float_up, log_ratio
from mechdesign.audit.shuffle_exact import kary_rows, worst_divergence
from mechdesign.audit.shuffled import Randomizer, bounds, largest_local, proven


def random_rows(rng, inputs, reports):
    """Return a random channel of fractions and its local epsilon, rounded up."""
    rows = []
    for _ in range(inputs):
        weights = rng.integers(1, 9, reports).tolist()
        rows.append(tuple(Fraction(weight, sum(weights)) for weight in weights))
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    return tuple(rows), float_up(log_ratio(ratio.numerator, ratio.denominator))


def test_every_bound_is_above_the_enumeration():
    rng = np.random.default_rng(20221)
    for _ in range(60):
        users, inputs, reports = (int(rng.integers(*pair)) for pair in ((2, 5), (2, 4), (2, 4)))
        rows, local = random_rows(rng, inputs, reports)
        epsilon = local * float(rng.uniform(0.05, 0.95))
        true = worst_divergence(rows, users, exp_lower(epsilon)).delta
        for source, found in bounds(users, Randomizer(local, rows=rows), epsilon, 1e-9):
            assert found >= true, source


@pytest.mark.parametrize("size", [2, 3, 5])
def test_bounds_of_kary_response_are_above_the_enumeration(size):
    rows = kary_rows(Fraction(4), size)
    local = math.nextafter(math.log(4.0), 2.0)
    for users in (2, 3, 5):
        for epsilon in (0.2, 0.7, 1.2):
            true = worst_divergence(rows, users, exp_lower(epsilon), symmetric=True).delta
            found = dict(bounds(users, Randomizer(local, size), epsilon, 1e-9))
            assert min(found.values()) >= true
            assert len(found) == 2


def test_the_largest_local_epsilon_passes_and_little_more_does_not():
    for users, epsilon, delta in [(2, 0.5, 0.1), (300, 0.3, 1e-4), (10**6, 1.0, 1e-8), (10**12, 0.1, 1e-6)]:
        local = largest_local(users, epsilon, delta)
        assert proven(users, Randomizer(local), epsilon, delta)[0] <= delta
        assert proven(users, Randomizer(local * (1 + 1e-4)), epsilon, delta)[0] > delta


def test_it_grows_with_users_and_never_falls_below_the_central_one():
    found = [largest_local(users, 0.5, 1e-6) for users in (2, 10, 100, 1000, 10_000)]
    assert found == sorted(found)
    assert found[0] >= 0.5 * (1 - 1e-12)
    assert found[-1] > 3.0
