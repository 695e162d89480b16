"""AUT and PUT: privacy and moments of the statistic by enumeration, spread and wrong answers by draws."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.shuffle import AUT, PUT
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.uniformity_tests import null_variance

KINDS = {"aut": AUT, "put": PUT}


def bit_law(bit: int, honest: int, tau: Fraction) -> dict[tuple[int, int], Fraction]:
    """Return the law of (zeros, ones) for one category: the user's bit and the coins of all honest users."""
    found: dict[tuple[int, int], Fraction] = {}
    for coins in range(honest + 1):
        share = comb(honest, coins) * tau**coins * (1 - tau) ** (honest - coins)
        for ones in range(coins + 1):
            key = (coins - ones + 1 - bit, ones + bit)
            found[key] = found.get(key, Fraction(0)) + share * Fraction(comb(coins, ones), 2**coins)
    return found


@pytest.mark.parametrize(("users", "epsilon", "tau"), [(2, 0.5, "1/2"), (3, 1.0, "1"), (4, 0.3, "3/4")])
def test_neighbours_of_aut_are_as_private_as_the_certificate_says(users, epsilon, tau):
    """The bits of two categories swap; the others' bits and categories are the same in both worlds."""
    chance, bound = Fraction(tau), exp_lower(epsilon)
    protocol = AUT(Promise(users, epsilon, 0.99), "exact", 3, trials=1, cell=int(chance / 2 * TOTAL))
    held, other = bit_law(1, users, chance), bit_law(0, users, chance)
    worst = Fraction(0)
    for (a, first), (b, second) in product(held.items(), other.items()):
        swapped = other.get(a, Fraction(0)) * held.get(b, Fraction(0))
        worst += max(Fraction(0), first * second - bound * swapped)
    assert worst <= Fraction(protocol.least_delta) <= worst * Fraction(11, 10) + Fraction(1, 10**9)


def test_the_moments_of_a_null_count_by_enumeration():
    """Three users, two categories, coins m: P is unbiased and has the stated variance, in fractions."""
    users, size, coins = 3, 2, (2, 5)
    total = square = Fraction(0)
    for drawn in product(range(size), repeat=users):
        counts = [Fraction(drawn.count(place)) for place in range(size)]
        for ones in product(range(coins[0] + 1), range(coins[1] + 1)):
            share = Fraction(1, size**users)
            for place in range(size):
                share *= Fraction(comb(coins[place], ones[place]), 2 ** coins[place])
            noisy = [counts[j] + ones[j] - Fraction(coins[j], 2) for j in range(size)]
            centred = sum((number - Fraction(users, size)) ** 2 for number in noisy)
            pairs = (centred + Fraction(users**2, size) - users - Fraction(sum(coins), 4)) / 2
            total += share * pairs
            square += share * pairs**2
    assert total == Fraction(comb(users, 2), size)
    noise, squares = sum(coins) / 4.0, sum(m * (m - 1) / 8.0 for m in coins)
    assert float(square - total**2) == pytest.approx(null_variance(users, size, noise, squares), rel=1e-12)


def test_the_noise_of_aut_has_the_moments_of_its_coins():
    """Variances of n and n^2 for m fair coins, by their law; the largest is that of as many coins or more."""
    protocol = AUT.calibrated(Promise(1500, 2.0, 1e-3), 3)
    coins = [0, 7, 40]
    sums = np.array([[1500, m] for m in coins]).ravel()  # all users and m coins: 1500 zeros, m ones
    counts, noise, square = protocol._noisy_counts(sums)
    for place, m in enumerate(coins):
        law = [(Fraction(comb(m, k), 2**m), (k - Fraction(m, 2)) ** 2) for k in range(m + 1)]
        second = sum(share * value for share, value in law)
        fourth = sum(share * value**2 for share, value in law)
        assert counts[place] == m / 2
        assert noise[place] == pytest.approx(float(second), rel=1e-12)
        assert square[place] == pytest.approx(float(fourth - second**2), rel=1e-12)
    largest, of_squares = protocol._largest_noise
    assert of_squares == pytest.approx(4.0 * largest * (4.0 * largest - 1.0) / 8.0, rel=1e-12)
    assert largest > protocol.noise.mean_dummies / 2.0  # a quarter of all coins, of which half are ones


def test_the_noise_of_put_has_the_moments_of_its_law():
    protocol = PUT.calibrated(Promise(400, 1.0, 1e-4, 0.5), 4)
    a, shape = float(protocol.noise.each.alpha), protocol.noise.each.shape
    k = np.arange(4000, dtype=np.float64)
    single = (1 - a) ** shape * np.concatenate([[1.0], np.cumprod((shape + k[:-1]) / (k[:-1] + 1) * a)])
    law = np.convolve(single, single[::-1])
    steps = np.arange(-3999, 4000, dtype=np.float64)
    second, fourth = float((law * steps**2).sum()), float((law * steps**4).sum())
    assert protocol._largest_noise == pytest.approx((second, fourth - second**2), rel=1e-9)
    assert shape == 2.0


def skewed(distance: float, size: int) -> np.ndarray:
    return np.where(np.arange(size) % 2 == 0, 1.0 + 2.0 * distance, 1.0 - 2.0 * distance) / size


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_answers_are_as_rare_as_stated_and_the_spread_is_the_stated_one(kind):
    """Of 60 runs each at most 5 in 100, and four standard deviations of that; one in 30 000 fails."""
    runs, size, users, rng = 60, 6, 1500, np.random.default_rng(5)
    protocol = KINDS[kind].calibrated(Promise(users, 2.0, 1e-3), size)
    limit = 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
    assert protocol.rmse < 0.3

    def answers(chances: np.ndarray) -> list:
        return [
            protocol.analyze(protocol.encode(rng.choice(size, users, p=chances), rng=rng))
            for _ in range(runs)
        ]

    uniform = answers(np.full(size, 1 / size))
    pairs = np.array([verdict.collisions for verdict in uniform])
    spread = float(np.mean([(v.threshold - v.expected) / math.sqrt(19.0) for v in uniform]))
    assert abs(pairs.mean() - uniform[0].expected) <= 4 * spread / math.sqrt(runs)
    assert pairs.std() == pytest.approx(spread, rel=4 / math.sqrt(2 * runs))
    assert np.mean([verdict.rejected for verdict in uniform]) <= limit
    assert np.mean([verdict.rejected for verdict in answers(skewed(protocol.rmse, size))]) >= 1.0 - limit


def test_a_category_without_all_its_shares_or_bits_is_refused():
    put, aut = (KINDS[kind].calibrated(Promise(1500, 2.0, 1e-3), 5) for kind in ("put", "aut"))
    moved = put.encode(np.zeros(1500, dtype=np.int64), rng=1)
    moved[0, 0] = 1
    with pytest.raises(DataError, match=r"category 0 has .* shares"):
        put.analyze(moved)
    sent = aut.encode(np.zeros(1500, dtype=np.int64), rng=1)
    sent[sent < 2] = 2
    with pytest.raises(DataError, match="row 0 has 0"):
        aut.analyze(sent)


def test_halves_of_honest_users_need_more_noise_and_too_few_users_are_told():
    full, half = (AUT.calibrated(Promise(4000, 1.0, 1e-5, honest), 5) for honest in (1.0, 0.5))
    assert half.mean_messages > 1.5 * full.mean_messages - 5
    assert not AUT.from_content({**full.content(), "honest": 0.5}).certificates()[0].holds
    assert (
        not PUT.from_content({**PUT.calibrated(Promise(4000, 1.0, 1e-5), 5).content(), "delta": 1e-12})
        .certificates()[0]
        .holds
    )
    lost = md.solve(md.ShuffleUniformity(users=40, categories=20, epsilon=0.5, delta=1e-6, protocol="put"))
    assert lost.status == "infeasible"
    assert "give at least" in lost.message
    with pytest.raises(OutOfReachError, match="it needs 40 messages per user"):
        AUT.calibrated(Promise(4000, 1.0, 1e-5), 20, max_messages=39)


def test_all_protocols_of_the_task_stand_side_by_side():
    found = {
        name: md.solve(
            md.ShuffleUniformity(users=5000, categories=10, epsilon=1.0, delta=1e-5, protocol=name)
        ).value
        for name in ("uniformity-dump", "aut", "put")
    }
    assert max(found.values()) < 1.3 * min(found.values())
    best = md.solve(md.ShuffleUniformity(users=5000, categories=10, epsilon=1.0, delta=1e-5))
    assert best.variables["protocol"] == "uniformity-dump"  # the others send messages for every category
