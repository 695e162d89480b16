"""The distance of mixed shares from what their sum says: exact laws of small cases below the proven bound."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from mechdesign.families.shuffle import CntSGM, RSumDSG
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.secure_sums import least_shares, mixing_distance, proven_distance

Counts = tuple[int, ...]


@cache
def user_law(value: int, shares: int, modulus: int) -> dict[Counts, int]:
    """How many of the equally likely vectors of shares of a value have each multiset."""
    found: Counter[Counts] = Counter()
    for free in product(range(modulus), repeat=shares - 1):
        last = (value - sum(free)) % modulus
        counts = Counter((*free, last))
        found[tuple(counts[symbol] for symbol in range(modulus))] += 1
    return dict(found)


def mixed_law(values: tuple[int, ...], shares: int, modulus: int) -> dict[Counts, int]:
    total: dict[Counts, int] = {(0,) * modulus: 1}
    for value in values:
        grown: Counter[Counts] = Counter()
        for first, ways in total.items():
            for second, more in user_law(value, shares, modulus).items():
                grown[tuple(a + b for a, b in zip(first, second, strict=True))] += ways * more
        total = dict(grown)
    return total


def worst_distance(users: int, shares: int, modulus: int) -> Fraction:
    """The largest total variation of the mixed shares of two inputs with the same sum."""
    worst, whole = 0, modulus ** (users * (shares - 1))
    by_sum: dict[int, list[dict[Counts, int]]] = {}
    for values in combinations_with_replacement(range(modulus), users):
        by_sum.setdefault(sum(values) % modulus, []).append(mixed_law(values, shares, modulus))
    for laws in by_sum.values():
        for place, first in enumerate(laws):
            for second in laws[:place]:
                apart = sum(abs(first.get(key, 0) - second.get(key, 0)) for key in {*first, *second})
                worst = max(worst, apart)
    return Fraction(worst, 2 * whole)


def weight(count: int, shares: int) -> Fraction:
    return Fraction(math.factorial(shares * count), math.factorial(count) ** 2)


def squared_bound(users: int, shares: int, modulus: int) -> Fraction:
    """(1/q) sum over k with more than one class of prod A(k_a) / A(h), class by class."""
    sums = [Fraction(1), *([Fraction(0)] * users)]
    for _ in range(modulus):
        sums = [
            sum((sums[rest] * weight(total - rest, shares) for rest in range(total + 1)), Fraction(0))
            for total in range(users + 1)
        ]
    return (sums[users] / weight(users, shares) - modulus) / modulus


@pytest.mark.parametrize(
    ("users", "shares", "modulus"),
    [
        (2, 3, 2),
        (4, 3, 2),
        (6, 4, 2),
        (9, 3, 2),
        (2, 4, 3),
        (4, 3, 3),
        (5, 4, 3),
        (3, 3, 4),
        (4, 3, 4),
        (3, 3, 5),
    ],
)
def test_exact_distances_are_below_the_bound(users, shares, modulus):
    distance = worst_distance(users, shares, modulus)
    assert 0 < distance**2 <= squared_bound(users, shares, modulus)
    assert distance <= Fraction(proven_distance(users, shares, modulus))


def test_no_fewer_than_three_shares_are_bounded():
    """With two, the square of the bound grows with the number of users; the distance is near 1."""
    assert squared_bound(6, 2, 3) > 1
    assert worst_distance(4, 2, 3) > Fraction(1, 2)
    assert proven_distance(10_000, 2, 3) == 1.0


@pytest.mark.parametrize("users", [8, 19, 24, 41])
@pytest.mark.parametrize("shares", [4, 6, 9])
@pytest.mark.parametrize("modulus", [2, 7, 60])
def test_the_closed_form_is_above_the_sum_and_close_to_it(users, shares, modulus):
    exact = squared_bound(users, shares, modulus)
    found = proven_distance(users, shares, modulus)
    assert exact <= Fraction(found) ** 2 or found == 1.0
    if users > 20 and shares > 4:
        assert found <= 2.0 ** (shares / 2) * math.sqrt(exact)


def test_shares_that_are_proven_are_taken():
    for users in (100, 10_000, 10**6):
        for modulus in (users, users**2):
            found = least_shares(users, modulus, 1e-8)
            assert proven_distance(users, found, modulus) <= 1e-8
            cited = next(m for m in range(3, 64) if mixing_distance(users, m, modulus) <= 1e-8)
            assert found <= cited + 1


def test_certificates_say_on_what_they_rest():
    for protocol in (
        CntSGM.calibrated(Promise(2000, 1.0, 1e-6)),
        RSumDSG.calibrated(Promise(1500, 1.0, 1e-5), 10),
    ):
        (privacy,) = protocol.certificates()
        assert privacy.holds
        assert "distance of mixed shares" in privacy.note
        assert "theorem of" not in privacy.note
        content = protocol.content()
        fewer = type(protocol).from_content({**content, "shares": content["shares"] - 1})
        assert not fewer.noise.is_computed
    few = CntSGM.calibrated(Promise(20, 1.0, 1e-3))
    (privacy,) = few.certificates()
    assert few.noise.is_computed == ("theorem of" not in privacy.note)
    rng = np.random.default_rng(1)
    assert abs(few.analyze(few.encode(np.ones(20, dtype=int), rng=rng)).value - 20) < 20 * few.rmse
