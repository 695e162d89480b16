"""Distinct elements and uniformity: privacy by enumeration, errors and wrong answers as stated."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_upper
from mechdesign.families.shuffle import DistinctParity, HistDump, UniformityDump
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.secure import hides_parity
from mechdesign.families.shuffle.secure_sums import mixing_distance, parity_distance
from mechdesign.families.shuffle.uniformity_tests import collision_moments, found_distance

Law = np.ndarray


def ones_law(bit_chances: list[Fraction], shares: int) -> Law:
    """The law of the number of 1 among the shares of users whose bits are 1 with these chances."""
    law = np.array([Fraction(1)], dtype=object)
    for chance in bit_chances:
        user = [
            (chance if count % 2 else 1 - chance) * Fraction(comb(shares, count), 2 ** (shares - 1))
            for count in range(shares + 1)
        ]
        law = np.convolve(law, np.array(user, dtype=object))
    return law


@pytest.mark.parametrize("users", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("shares", [3, 4, 5])
def test_mixed_shares_say_no_more_than_their_parity_but_for_the_distance(users, shares):
    """The law of all shares of one category, with nobody holding it and with some, in fractions."""
    rng, half = np.random.default_rng([users, shares]), Fraction(1, 2)
    chance, tight = Fraction(int(rng.integers(1, 32)), 64), 0.0
    total = users * shares
    for holders in range(users + 1):
        law = ones_law([half] * holders + [chance] * (users - holders), shares)
        odd = half if holders else (1 - (1 - 2 * chance) ** users) / 2
        ideal = [
            (odd if count % 2 else 1 - odd) * Fraction(comb(total, count), 2 ** (total - 1))
            for count in range(total + 1)
        ]
        distance = sum(abs(law - np.array(ideal, dtype=object))) / 2
        assert distance <= parity_distance(users, shares)
    fixed = ones_law([Fraction(0)] * users, shares)  # the worst bits: no chance in them at all
    pair = ones_law([Fraction(1)] * 2 + [Fraction(0)] * (users - 2), shares)
    tight = float(sum(abs(fixed - pair)) / 2)
    assert tight <= 2 * parity_distance(users, shares)
    if users >= 4:
        assert tight > 0.05 * float(parity_distance(users, shares))


def test_the_distance_is_below_the_published_theorem():
    for users in (19, 100):
        for shares in (4, 5, 8):
            assert parity_distance(users, shares) < Fraction(mixing_distance(users, shares, 2))
    assert parity_distance(1, 9) == 1
    exact = sum(Fraction(comb(30, k) ** 2, comb(120, 4 * k)) for k in range(1, 30))
    assert exact / 4 <= parity_distance(30, 4) ** 2 <= 1.2 * exact / 4


@pytest.mark.parametrize(("users", "epsilon"), [(3, 1.0), (4, 0.5), (5, 2.0)])
def test_neighbours_are_as_private_as_the_certificate_says(users, epsilon):
    """Two categories, both in full: every pair of numbers of 1, whoever the others are."""
    promise = Promise(users, epsilon, 0.99)
    flip = DistinctParity.calibrated(Promise(users, epsilon, 0.99), 2).noise.flip
    protocol = DistinctParity(promise, "exact", 2, flip=flip, shares=3)
    half, chance, bound = Fraction(1, 2), Fraction(flip, TOTAL), exp_lower(epsilon)
    worst = Fraction(0)
    for others in product((0, 1, 2), repeat=users - 1):  # 2 stands for a third category
        laws = {
            value: [
                ones_law([half if holder == place else chance for holder in (value, *others)], 3)
                for place in (0, 1)
            ]
            for value in (0, 1)
        }
        for one, other in ((0, 1), (1, 0)):
            first = np.multiply.outer(*laws[one])
            second = np.multiply.outer(*laws[other])
            worst = max(worst, sum(part for part in (first - bound * second).ravel() if part > 0))
    assert worst <= Fraction(protocol.least_delta)


def test_parities_alone_are_private_and_only_just():
    promise = Promise(500, 1.0, 1e-6)
    flip = DistinctParity.calibrated(promise, 3).noise.flip
    odd = (1 - (1 - Fraction(2 * flip, TOTAL)) ** 500) / 2
    least = 1 / (1 + exp_upper(1.0))
    assert least <= odd <= least * (1 + Fraction(1, 1 << 40))
    assert not hides_parity(promise, flip * 99 // 100)
    with pytest.raises(CertificateError, match="the parities reveal more than epsilon allows"):
        DistinctParity(promise, "exact", 3, flip=flip * 99 // 100, shares=9)
    with pytest.raises(
        CertificateError, match="the parities reveal more"
    ):  # noise for all is not enough for half
        DistinctParity(Promise(500, 1.0, 1e-6, 0.5), "exact", 3, flip=flip, shares=9)
    few = DistinctParity(promise, "exact", 3, flip=flip, shares=3)
    assert not few.certificates()[0].holds
    assert few.certificates()[0].exact


@pytest.mark.parametrize("honest", [1.0, 0.5])
@pytest.mark.parametrize("held", [1, 6, 20])
def test_distinct_categories_are_counted_with_the_error_that_is_stated(held, honest):
    protocol, runs, rng = (
        DistinctParity.calibrated(Promise(40, 2.0, 1e-2, honest), 20),
        120,
        np.random.default_rng(8),
    )
    values = np.arange(40) % held
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    errors = np.array([estimate.value - held for estimate in found])
    stated = float(protocol.variance_of(np.array([float(held)]))[0])
    assert abs(errors.mean()) <= 4 * math.sqrt(stated / runs)
    assert np.mean(errors**2) == pytest.approx(stated, rel=4 * math.sqrt(2 / runs))
    assert stated <= protocol.rmse**2 * (1 + 1e-12)


def test_too_few_users_for_a_parity_are_infeasible_with_the_least_that_would_do():
    found = md.solve(md.ShuffleDistinct(users=2, categories=5, epsilon=0.002, delta=1e-6))
    assert found.status == "infeasible"
    assert "give at least 3 users, or an epsilon of at least 0.009" in found.message
    assert md.solve(md.ShuffleDistinct(users=3, categories=5, epsilon=0.002, delta=1e-6)).status == "optimal"


@pytest.mark.parametrize("users", [20, 1000])
def test_the_error_is_that_of_the_formula_and_no_more(users):
    """Parities with 1/(e^epsilon + 1) exactly: sqrt(d) (e^epsilon + 1)/(e^epsilon - 1)."""
    grown = math.exp(1.0)
    best = math.sqrt(50) * (grown + 1) / (grown - 1) * math.sqrt(min(1.0, users / 50))
    protocol = DistinctParity.calibrated(Promise(users, 1.0, 1e-6), 50)
    error = (
        protocol.rmse**2
        - (50 - min(50, users)) * protocol.noise.odd * (1 - protocol.noise.odd) / protocol.noise.gain**2
    )
    chance = Fraction(protocol.noise.flip, TOTAL)
    assert (1 - (1 - 2 * chance) ** users) / 2 >= 1 / (exp_lower(1.0) + 1)
    assert math.sqrt(error) <= best * (1 + 2.0**-36)


def test_parities_that_all_users_bits_wash_out_are_refused_and_rare_gains_are_not_rounded():
    few_honest = md.ShuffleDistinct(users=1000, categories=5, epsilon=1.0, delta=1e-6, honest=0.03)
    protocol = md.solve(few_honest).mechanism()
    chance = 1 - Fraction(2 * protocol.noise.flip, TOTAL)
    least = Fraction(5, 4) / (chance**1000 / 2) ** 2  # the variance of five fair bits
    assert protocol.rmse**2 == pytest.approx(float(least), rel=1e-6)
    none = md.solve(md.ShuffleDistinct(users=100_000, categories=5, epsilon=0.3, delta=1e-6, honest=0.0003))
    assert none.status == "infeasible"
    assert "give a larger honest fraction" in none.message
    with pytest.raises(CertificateError, match="flip"):
        DistinctParity(Promise(30, 1.0, 1e-6), "exact", 5, flip=TOTAL // 2, shares=20)


def test_shares_of_each_category_are_counted():
    protocol = DistinctParity.calibrated(Promise(40, 2.0, 1e-2), 4)
    messages = protocol.encode(np.zeros(40, dtype=int), rng=1)
    wrong = messages.copy()
    wrong[np.flatnonzero(wrong[:, 0] < 2)[0], 0] = 5
    with pytest.raises(DataError, match=r"category 0 has \d+ shares, and 40 users send \d+ each"):
        protocol.analyze(wrong)
    with pytest.raises(OutOfReachError, match=r"messages in all, at most 134217728"):
        DistinctParity.calibrated(Promise(10**6, 1.0, 1e-6), 1000)
    with pytest.raises(OutOfReachError, match="messages per user; allow as many"):
        DistinctParity.calibrated(Promise(100, 1.0, 1e-6), 10, max_messages=20)
    with pytest.raises(OutOfReachError, match="mix too little among 2 honest users"):
        DistinctParity.calibrated(Promise(2, 1.0, 1e-30), 10)


# Uniformity


def test_collisions_of_uniform_messages_have_exact_moments():
    for count, categories in ((2, 3), (4, 3), (5, 2)):
        numbers = [
            sum(comb(drawn.count(place), 2) for place in range(categories))
            for drawn in product(range(categories), repeat=count)
        ]
        share = Fraction(1, len(numbers))
        mean = sum(numbers) * share
        variance = sum(number**2 for number in numbers) * share - mean**2
        assert collision_moments(count, categories) == pytest.approx((float(mean), float(variance)))


def test_the_test_hides_users_as_the_histogram_does():
    protocol = UniformityDump.calibrated(Promise(3000, 1.0, 1e-5), 6)
    histogram = HistDump.calibrated(Promise(3000, 1.0, 1e-5), 6)
    assert protocol.parameters() == histogram.parameters()
    assert protocol.least_delta == histogram.least_delta
    assert protocol.fingerprint != histogram.fingerprint


def skewed(distance: float, size: int) -> np.ndarray:
    """Half of the categories are likelier, by ``distance`` in total variation: the hardest to tell."""
    return np.where(np.arange(size) % 2 == 0, 1.0 + 2.0 * distance, 1.0 - 2.0 * distance) / size


def test_wrong_answers_are_as_rare_as_stated():
    """Of 150 runs each at most 5 in 100, and four standard deviations of that."""
    protocol, runs, rng = (
        UniformityDump.calibrated(Promise(4000, 1.0, 1e-4), 20),
        150,
        np.random.default_rng(3),
    )
    limit = 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
    assert protocol.rmse < 0.2

    def rejected(chances: np.ndarray) -> float:
        answers = []
        for _ in range(runs):
            verdict = protocol.analyze(protocol.encode(rng.choice(20, 4000, p=chances), rng=rng))
            answers.append(verdict.rejected)
            assert verdict.rejected == (verdict.significance < 0.05)
        return float(np.mean(answers))

    assert rejected(np.full(20, 0.05)) <= limit
    assert rejected(skewed(protocol.rmse, 20)) >= 1.0 - limit
    assert rejected(skewed(protocol.rmse / 4, 20)) < 0.9  # and no smaller distance is claimed for nothing


def test_more_users_and_more_epsilon_find_smaller_distances():
    base = md.solve(md.ShuffleUniformity(users=5000, categories=50, epsilon=0.5, delta=1e-6)).value
    assert (
        md.solve(md.ShuffleUniformity(users=50_000, categories=50, epsilon=0.5, delta=1e-6)).value
        < 0.5 * base
    )
    assert (
        md.solve(md.ShuffleUniformity(users=5000, categories=50, epsilon=0.5, delta=1e-6, error=0.2)).value
        < base
    )
    assert found_distance(10, 50, 100, 0.05) == math.inf
    lost = md.solve(md.ShuffleUniformity(users=30, categories=50, epsilon=0.5, delta=1e-6))
    assert lost.status == "infeasible"
    assert "no distance from uniform is sure to be found" in lost.message
    users = int(re.search(r"give at least (\d+) users, or a larger error", lost.message)[1])
    assert md.solve(md.ShuffleUniformity(users=users, categories=50, epsilon=0.5, delta=1e-6)).found
    assert not md.solve(
        md.ShuffleUniformity(users=users // 5, categories=50, epsilon=0.5, delta=1e-6)
    ).found  # however slow the machine
    with pytest.raises(ParameterError, match=r"error: 4\.94066e-324 is outside"):
        md.ShuffleUniformity(users=5000, categories=50, epsilon=0.5, delta=1e-6, error=5e-324)
    with pytest.raises(ParameterError, match=r"error: 0\.5 is outside"):
        md.ShuffleUniformity(users=5000, categories=50, epsilon=0.5, delta=1e-6, error=0.5)


@pytest.mark.parametrize("kind", ["distinct", "uniformity"])
def test_from_the_shell(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(
        f'[model]\ntitle = "t"\nproblem = "shuffle-{kind}"\n[parameters]\nusers = 400\ncategories = 4\n'
        'epsilon = 2.0\ndelta = 1e-3\nlabels = ["none", "low", "middle", "high"]\n'
    )
    (tmp_path / "p.csv").write_text("level\n" + "low\nhigh\n" * 200)
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    printed = capsys.readouterr().out
    assert (
        "distinct categories: can be estimated" if kind == "distinct" else "uniformity: can be"
    ) in printed
    assert main(["run", "m.json", "encode", "p.csv", "-o", "e.csv", "--seed", "2"]) == 0
    assert main(["run", "m.json", "shuffle", "e.csv", "-o", "s.csv"]) == 0
    capsys.readouterr()
    assert main(["run", "m.json", "analyze", "s.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    if kind == "distinct":
        assert abs(found["value"] - 2.0) < 6 * found["standard_error"]
    else:
        assert found["rejected"]
    assert main(["run", "m.json", "analyze", "s.csv"]) == 0
    printed = capsys.readouterr().out
    assert ("distinct " if kind == "distinct" else "NOT uniform") in printed
