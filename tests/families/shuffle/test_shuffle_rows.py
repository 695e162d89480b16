"""Count-min and range counting: rows of counters against fractions, errors, ranges, what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

import mechdesign as md
from mechdesign.audit.mass import binomial_mass
from mechdesign.cli import main
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.shuffle import PUCM, HistDump, RangeTree
from mechdesign.families.shuffle.fair_coins import rows_divergence
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.range_tree import RangeEstimate, dyadic, most_parts
from mechdesign.families.shuffle.sketch import minimum_moments, upper_square
from mechdesign.primitives.hashing import collision
from tests.support.protocols import law_of, worst_divergence

PROMISE = Promise(2000, 1.0, 1e-5)


def exact_rows(trials: int, chance: Fraction, rows: int, epsilon: float) -> Fraction:
    """The divergence of independent rows, from the law of the number of coins and of those for the first."""
    single: dict[tuple[Fraction, Fraction], int] = {}
    for coins in range(trials + 1):
        share = comb(trials, coins) * chance**coins * (1 - chance) ** (trials - coins) / 2**coins
        for number in range(coins + 2):
            with_one = share * (comb(coins, number - 1) if number else 0)
            key = (with_one, share * comb(coins, number))
            single[key] = single.get(key, 0) + 1
    pairs = {(Fraction(1), Fraction(1)): 1}
    for _ in range(rows):
        grown: dict[tuple[Fraction, Fraction], int] = {}
        for (p, q), count in pairs.items():
            for (a, b), other in single.items():
                grown[p * a, q * b] = grown.get((p * a, q * b), 0) + count * other
        pairs = grown
    bound = exp_lower(epsilon)
    return sum(((p - bound * q) * count for (p, q), count in pairs.items() if p > bound * q), Fraction(0))


@pytest.mark.parametrize("trials", [2, 4, 7])
@pytest.mark.parametrize("chance", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize(("rows", "epsilon"), [(1, 0.4), (2, 0.4), (2, 1.5), (3, 0.8)])
def test_rows_together_are_as_private_as_certified(trials, chance, rows, epsilon):
    exact = exact_rows(trials, chance, rows, epsilon)
    found = rows_divergence(trials, chance, rows, epsilon)
    assert exact <= Fraction(found)
    assert found <= 1.1 * float(exact) + 1e-9


def test_more_rows_cost_and_more_coins_help():
    few = [rows_divergence(4000, Fraction(1, 10), rows, 0.8) for rows in (1, 2, 4, 8)]
    assert few == sorted(few)
    assert few[0] < 1e-3 * few[3]
    assert rows_divergence(4000, Fraction(1, 5), 8, 0.8) < 0.01 * few[3]
    parts = rows_divergence(4000, Fraction(1, 10), 1, 0.8 / 4) * 4  # epsilon and delta split among rows
    assert few[2] < parts


def cell_client(protocol: RangeTree | PUCM):
    """The law of a client's messages, from the protocol's own cells and weights."""

    def law(value: int):
        rows = []
        for row, (size, start) in enumerate(
            zip(protocol.noise.sizes, protocol.noise.starts.tolist(), strict=True)
        ):
            own = start + int(protocol.noise.own_cell(np.array([value]), row)[0])
            cells = [start + cell for cell in range(size)]
            none = 1 - size * protocol.noise.chance
            single = [((), none), *(((cell,), protocol.noise.chance) for cell in cells)]
            choices = []
            for trial in product(single, repeat=protocol.noise.trials):
                share = Fraction(1)
                for _, part in trial:
                    share *= part
                choices.append(((own, *(cell for sent, _ in trial for cell in sent)), share))
            rows.append(choices)
        pairs = []
        for chosen in product(*rows):
            share = Fraction(1)
            for _, part in chosen:
                share *= part
            pairs.append((tuple(cell for sent, _ in chosen for cell in sent), share))
        return law_of(pairs, sum(protocol.noise.sizes))

    return law


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("users", [2, 3])
def test_what_is_certified_is_at_least_the_divergence_of_the_messages(users, epsilon):
    promise = Promise(users, epsilon, 0.5)
    protocols = [
        RangeTree(promise, "exact", 4, trials=1, cell=TOTAL // 8),
        PUCM(promise, "exact", 2, hashes=2, buckets=2, seed=1, trials=1, cell=TOTAL // 4),
        PUCM(promise, "exact", 3, hashes=2, buckets=2, seed=4, trials=1, cell=TOTAL // 2),
    ]
    for protocol in protocols:
        worst = worst_divergence(cell_client(protocol), protocol.labels.size, users, epsilon)
        assert 0 < worst <= Fraction(protocol.least_delta), protocol
        assert protocol.least_delta <= 2.5 * float(worst)


def test_half_of_the_users_need_more_noise():
    protocol = RangeTree.calibrated(PROMISE, 8)
    for_half = RangeTree.calibrated(Promise(2000, 1.0, 1e-5, 0.5), 8)
    assert for_half.rmse > 1.3 * protocol.rmse
    assert not RangeTree.from_content({**protocol.content(), "honest": 0.5}).certificates()[0].holds


def test_count_min_has_the_error_that_is_stated_where_no_buckets_collide():
    protocol, runs, rng = PUCM.calibrated(PROMISE, 7), 120, np.random.default_rng(2)
    assert collision(protocol.noise.family.prime, protocol.noise.family.buckets) == 0
    counts = np.array([1500, 300, 199, 1, 0, 0, 0])
    values = np.repeat(np.arange(7), counts)
    errors = (
        np.array([protocol.analyze(protocol.encode(values, rng=rng)).value for _ in range(runs)]) - counts
    )
    assert np.abs(errors.mean(axis=0)).max() <= 4 * protocol.rmse / math.sqrt(runs)
    assert np.mean(errors**2) == pytest.approx(protocol.rmse**2, rel=4 * math.sqrt(3 / (7 * runs)))


@pytest.mark.parametrize("data", ["spread", "alike"])
def test_colliding_users_stay_below_the_error_that_is_stated(data):
    """Few buckets for many categories: over the draw of the hash functions."""
    promise, errors, runs = Promise(100, 2.0, 1e-3), [], 50
    base = PUCM.calibrated(promise, 3000)
    assert base.noise.sizes[0] == 200
    values = np.arange(100) + 5 if data == "spread" else np.full(100, 77)
    for seed in range(runs):
        protocol = PUCM.from_content({**base.content(), "seed": seed})
        estimate = protocol.analyze(protocol.encode(values, rng=seed))
        errors.append(estimate.value[[0, 1, 2, 2500]])
    squares = np.mean(np.square(errors), axis=1)
    assert squares.mean() <= base.rmse**2 + 4 * squares.std() / math.sqrt(runs)


def test_moments_of_the_least_of_several():
    law, rng = binomial_mass(400, Fraction(1, 4)), np.random.default_rng(5)
    drawn = rng.binomial(400, 0.25, (40_000, 5)).min(axis=1)
    mean, variance = minimum_moments(law, 5)
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / 40_000)
    assert drawn.var() == pytest.approx(variance, rel=5 * math.sqrt(3 / 40_000))
    many = rng.binomial(400, 0.25, (40_000, 5)) + rng.binomial(50, 0.01, (40_000, 5))
    excess = np.mean(np.maximum(many.min(axis=1) - mean, 0.0) ** 2)
    assert excess < upper_square(law, 5, mean, 0.5)


def test_published_constants_are_private_and_waste_noise():
    promise = Promise(500_000, 0.9, 1e-6)
    published, exact = PUCM.published(promise, 64), PUCM.calibrated(promise, 64)
    assert published.least_delta < 1e-12
    assert published.rmse > 10 * exact.rmse
    assert HistDump.calibrated(promise, 64).rmse < exact.rmse  # one row is enough where nothing collides
    with pytest.raises(OutOfReachError, match=r"at least (\d+) users") as caught:
        PUCM.published(Promise(1000, 0.9, 1e-6), 64)
    least = int(str(caught.value).split("at least ")[1].split(" ")[0])
    assert PUCM.published(Promise(least, 0.9, 1e-6), 64).holds
    with pytest.raises(OutOfReachError):
        PUCM.published(Promise(least - 1, 0.9, 1e-6), 64)


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_every_range_is_made_of_few_nodes(levels):
    size, worst = 1 << levels, 0
    for low in range(size):
        for high in range(low + 1, size + 1):
            parts = list(dyadic(low, high, levels))
            covered = [
                leaf
                for level, place in parts
                for leaf in range(place << (levels - level), (place + 1) << (levels - level))
            ]
            assert sorted(covered) == list(range(low, high))
            if high - low < size:
                worst = max(worst, len(parts))
    assert worst == most_parts(levels)


def test_ranges_have_the_error_that_is_stated():
    protocol, runs, rng = RangeTree.calibrated(PROMISE, 6), 140, np.random.default_rng(6)
    counts = np.array([1000, 500, 250, 200, 50, 0])
    values = np.repeat(np.arange(6), counts)
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    worst = 0.0
    for low, high in [(0, 0), (1, 4), (2, 5), (0, 3), (5, 5)]:
        results = [estimate.count(low, high) for estimate in found]
        errors = np.array([value for value, _ in results]) - counts[low : high + 1].sum()
        stated = results[0][1]
        worst = max(worst, stated)
        assert abs(errors.mean()) <= 4 * stated / math.sqrt(runs)
        assert np.mean(errors**2) == pytest.approx(stated**2, rel=4 * math.sqrt(3 / runs))
    assert worst <= protocol.rmse
    assert found[0].count(0, 5) == (2000.0, 0.0)
    assert isinstance(found[0], RangeEstimate)
    low, high = found[0].interval(0.9)
    assert (low <= high).all()
    widest = found[0].interval(0.9, simultaneous=True)
    assert (widest[0][:-1] < low[:-1]).all()
    assert (high[:-1] < widest[1][:-1]).all()


@pytest.mark.parametrize("size", [2, 5, 8, 33])
def test_cumulative_counts_are_those_of_the_ranges_from_the_first_category(size):
    protocol = RangeTree.calibrated(PROMISE, size)
    found = protocol.analyze(protocol.encode(np.arange(2000) % size, rng=3))
    each = [found.count(0, last) for last in range(size)]
    assert found.value == pytest.approx([value for value, _ in each], rel=1e-12, abs=1e-9)
    assert found.standard_error == pytest.approx([error for _, error in each], rel=1e-12)
    for last, (low, high) in enumerate(zip(*found.interval(0.8), strict=True)):
        down, up = map(float, found.limits(0, last).distances(0.1))
        assert (each[last][0] - low, high - each[last][0]) == pytest.approx((down, up), abs=1e-9)


def test_the_speed_is_that_of_a_sort():
    """1024 categories, 100 000 users: some 37 messages each, counted in seconds (a budget of a minute)."""
    protocol = PUCM.calibrated(Promise(20_000, 1.0, 1e-6), 1024)
    messages = protocol.encode(np.arange(20_000) % 1024, rng=1)
    assert len(messages) < 200 * 20_000
    estimate = protocol.analyze(messages)
    assert np.abs(estimate.value - 20_000 / 1024).max() < 7 * protocol.rmse


def test_messages_of_some_users_are_not_enough():
    protocol = RangeTree.calibrated(PROMISE, 6)
    messages = protocol.encode(np.zeros(2000, dtype=int), rng=1)
    first_level = messages[messages[:, 0] < 2]
    with pytest.raises(DataError, match="row 0 has"):
        protocol.analyze(np.concatenate([messages[messages[:, 0] >= 2]] * 2)[:6500])
    with pytest.raises(DataError, match="give those of all users"):
        protocol.analyze(first_level[:1000])


def test_ranges_from_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(
        '[model]\ntitle = "t"\nproblem = "shuffle-range"\n[parameters]\nusers = 400\ncategories = 4\n'
        'epsilon = 2.0\ndelta = 1e-4\nlabels = ["none", "low", "middle", "high"]\n'
    )
    (tmp_path / "p.csv").write_text("level\n" + "low\nhigh\n" * 200)
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    assert "counts of ranges: can be estimated" in capsys.readouterr().out
    assert main(["run", "m.json", "encode", "p.csv", "-o", "e.csv", "--seed", "2"]) == 0
    assert main(["run", "m.json", "shuffle", "e.csv", "-o", "s.csv"]) == 0
    capsys.readouterr()
    assert main(["run", "m.json", "analyze", "s.csv"]) == 0
    assert "up to" in capsys.readouterr().out
    assert main(["run", "m.json", "count", "s.csv", "--first", "low", "--last", "middle", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert abs(found["value"] - 200) < 6 * found["standard_error"]
    assert main(["run", "m.json", "count", "s.csv", "--first", "lower"]) == 2
    assert "first: 'lower' is not a category" in capsys.readouterr().err
    assert main(["run", "m.json", "count", "s.csv", "--first", "high", "--last", "low"]) == 2


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"users": 30, "max_messages": 3}, "it needs 4 messages"),
        ({"users": 2, "epsilon": 0.01}, "are too few"),
    ],
)
def test_what_cannot_be_done_says_why(changed, text):
    problem = md.ShuffleRange(**{"users": 100, "categories": 4, "epsilon": 1.0, "delta": 1e-6, **changed})
    solution = md.solve(problem)
    assert solution.status == "infeasible"
    assert text in solution.message
    with pytest.raises(MechDesignError, match="categories: 70000 is not from 2 to 65536"):
        md.ShuffleRange(users=100, categories=70_000, epsilon=1.0, delta=1e-6)
