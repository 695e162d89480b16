"""Bounds of shuffled reports against enumerations in fractions, and the largest local epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from mechdesign.collect.base import Randomizer
from mechdesign.exact.randomness import exp_lower, float_up, log_ratio
from mechdesign.families.shuffle.enumeration import kary_rows
from mechdesign.families.shuffle.promise import delta_bounds, largest_local, proven
from tests.support.enumeration import worst_divergence


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
        for source, found in delta_bounds(users, Randomizer(local, rows=rows), epsilon, 1e-9):
            assert found >= true, source


def extreme_channels(inputs, grown):
    """Yield the channels of which no private one is a mixture: columns of 1 and e^epsilon only."""
    patterns = [item for item in product((Fraction(1), grown), repeat=inputs) if len(set(item)) > 1]
    patterns.append((Fraction(1),) * inputs)
    for columns in combinations(patterns, inputs):
        weights = solved([[column[row] for column in columns] for row in range(inputs)])
        if weights is not None and min(weights) >= 0:
            rows = [
                [weight * column[row] for weight, column in zip(weights, columns, strict=True) if weight]
                for row in range(inputs)
            ]
            yield tuple(map(tuple, rows))


def solved(matrix):
    """Return the solution of matrix w = 1 by elimination, None where there is not exactly one."""
    size = len(matrix)
    rows = [[*row, Fraction(1)] for row in matrix]
    for column in range(size):
        pivot = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for row in range(size):
            if row != column and rows[row][column]:
                factor = rows[row][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [row[-1] for row in rows]


def blanket_of_any(users, grown, e):
    """Return the right-hand side of theorem A as a fraction."""
    each = 1 / (grown + 1)
    total = Fraction(0)
    for ups in range(users + 1):
        for downs in range(users + 1 - ups):
            excess = ups * (grown - e) + downs * (1 - grown * e)
            ways = math.comb(users, ups) * math.comb(users - ups, downs)
            rest = (1 - 2 * each) ** (users - ups - downs)
            total += max(excess, Fraction(0)) * ways * each ** (ups + downs) * rest
    return total / users


@pytest.mark.parametrize("grown", [Fraction(11, 10), Fraction(2), Fraction(10)])
def test_no_extreme_channel_is_worse_than_theorem_a(grown):
    """Every extreme channel of three inputs, two to four users, all data, several central epsilons."""
    closest = Fraction(0)
    channels = list(extreme_channels(3, grown))
    assert len(channels) >= 10
    for rows in channels:
        for users in (2, 3, 4):
            for part in (Fraction(0), Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
                e = 1 + part * (grown - 1)
                bound = blanket_of_any(users, grown, e)
                true = worst_divergence(rows, users, e).delta
                assert true <= bound
                closest = max(closest, true / bound)
    assert closest == 1  # binary response attains it


def test_no_statistic_tells_more_than_theorem_c():
    """The largest ratio of signal to noise in fractions, and that it is attained."""
    rng = np.random.default_rng(9)
    for grown in (Fraction(5, 4), Fraction(2), Fraction(4)):
        limit = (grown - 1) ** 2 * max(1 / grown, 2 / (grown + 2))
        attained = Fraction(0)
        triples = [item for item in extreme_channels(3, grown)]
        for _ in range(300):
            mixed = rng.integers(0, 10, len(triples)).tolist()
            total = sum(mixed)
            if total:
                columns = [
                    [
                        entry * weight / total
                        for weight, rows in zip(mixed, triples, strict=True)
                        for entry in rows[row]
                    ]
                    for row in range(3)
                ]
                triples_found = sum((a - b) ** 2 / c for a, b, c in zip(*columns, strict=True) if c)
                assert triples_found <= limit
        for rows in triples:
            found = sum((a - b) ** 2 / c for a, b, c in zip(*rows, strict=True))
            assert found <= limit
            attained = max(attained, found)
        assert attained == limit


@pytest.mark.parametrize("size", [2, 3, 5])
def test_bounds_of_kary_response_are_above_the_enumeration(size):
    rows = kary_rows(Fraction(4), size)
    local = math.nextafter(math.log(4.0), 2.0)
    for users in (2, 3, 5):
        for epsilon in (0.2, 0.7, 1.2):
            true = worst_divergence(rows, users, exp_lower(epsilon), symmetric=True).delta
            found = dict(delta_bounds(users, Randomizer(local, size), epsilon, 1e-9))
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
