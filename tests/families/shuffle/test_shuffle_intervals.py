"""Intervals of shuffle protocols where normal ones fail: few flips, few coins, counts that are cut off at 0.

What the analyzer counts is drawn by numpy from the protocol's own weights, so that hundreds of surveys take
no time; the clients themselves run in the coverage table, of which a small part is tested below. Every
statistical test asks for as many hits as a binomial count with chance 0.93 has, with error 1e-6.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

import mechdesign as md
from benchmarks.coverage_cases import Counting
from benchmarks.coverage_registry import MEASURED, NO_ESTIMATE, NO_INTERVALS
from mechdesign.collect import load_mechanism
from mechdesign.collect.base import mechanism_types
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import (
    PUCM,
    SOLH,
    CntRR,
    CntSGM,
    DistinctParity,
    HistDump,
    HistFlip,
    HistKR,
    HistMM,
    RangeTree,
)
from mechdesign.families.shuffle.promise import Promise

PROMISED, ERROR = 0.93, 1e-6


def enough(hits: int, trials: int) -> bool:
    return hits >= stats.binom.ppf(ERROR, trials, PROMISED)


def covered(estimates, truth) -> bool:
    counting = Counting("here", truth)
    for estimate in estimates:
        counting.add(estimate.interval())
    return all(enough(item.hits, item.trials) for item in counting.found())


@cache
def made(kind, users, epsilon, *rest):
    return kind.calibrated(Promise(users, epsilon, 1e-6), *rest)


@pytest.mark.parametrize("count", [0, 1, 30, 60, 500])
def test_small_counts_by_presence(count):
    """A count that is taken for 0 has an interval that knows what 0 stands for."""
    protocol, rng = made(HistMM, 2000, 1.0, 5), np.random.default_rng(1)
    counts = np.array([count, 2000 - count, 0, 0, 0])
    silent = protocol.noise.silent / TOTAL
    found = []
    for _ in range(80):
        sums = counts + rng.binomial(2000, 1.0 - silent, 5)
        found.append(protocol._estimate_of(sums, int(sums.sum())))
    assert covered(found, counts)
    for estimate in found:
        low, high = estimate.interval()
        assert (low <= estimate.value).all()
        assert (estimate.value <= high).all()
        # what is taken for 0 may be off by the most that any count is
        assert (estimate.standard_error[estimate.value == 0.0] == protocol.rmse).all()


@pytest.mark.parametrize("held", [1, 2, 5, 20])
def test_few_distinct_categories(held):
    protocol, rng = made(DistinctParity, 200, 1.0, 20), np.random.default_rng(2)
    found, full = [], np.full(20, 200 * protocol.noise.shares)
    for _ in range(120):
        odd = rng.random(20) < np.where(np.arange(20) < held, 0.5, protocol.noise.odd)
        found.append(protocol._estimate_of(np.concatenate([odd.astype(np.int64), full]), 0))
    assert covered(found, held)
    assert all(estimate.interval()[0] >= min(0.0, estimate.value) for estimate in found)


@pytest.mark.parametrize(("users", "epsilon"), [(10_000, 11.0), (100, 6.0), (30, 1.0)])
@pytest.mark.parametrize("ones", [0, 7, 30])
def test_few_flipped_bits(users, epsilon, ones):
    """Equal outcomes have equal intervals, so that 4000 repetitions take no time."""
    protocol, rng = made(CntRR, users, epsilon), np.random.default_rng(3)
    flip = protocol.noise.flip / TOTAL
    drawn = rng.binomial(ones, 1.0 - flip, 4000) + rng.binomial(users - ones, flip, 4000)
    hits = 0
    for outcome, times in zip(*np.unique(drawn, return_counts=True), strict=True):
        low, high = protocol._estimate_of(np.array([outcome]), users).interval()
        hits += int(times) * bool(low - 1e-9 <= ones <= high + 1e-9)
    assert enough(hits, 4000)


@pytest.mark.parametrize(("kind", "size"), [(HistKR, 100), (SOLH, 100), (HistFlip, 8)])
@pytest.mark.parametrize(("users", "epsilon"), [(50, 1.0), (50, 8.0), (400, 11.0)])
def test_few_reports_of_other_categories(kind, size, users, epsilon):
    """Repetitions of one category take the place of categories: 4000 of them are one estimate."""
    protocol, rng = made(kind, users, epsilon, size), np.random.default_rng(4)
    if kind is HistFlip:
        messages, other = users * (1 + protocol.noise.fakes), protocol.noise.flip / TOTAL
        own = 1.0 - other
    else:
        messages, own, other = users, protocol.noise.own / TOTAL, protocol.noise.other / TOTAL
    if kind is SOLH:
        own, other = protocol.noise.fits
    for count in (0, 1, 5, users - 6):
        sums = rng.binomial(count, own, 4000) + rng.binomial(messages - count, other, 4000)
        low, high = protocol._estimate_of(sums, messages).interval()
        assert enough(int(((low - 1e-9 <= count) & (count <= high + 1e-9)).sum()), 4000), count


@pytest.mark.parametrize("epsilon", [0.002, 2.0])
def test_noise_of_many_values_has_heavier_tails_than_a_normal_one(epsilon):
    """Discrete Laplace noise from an exponential law of numpy; with a small epsilon its list is coarse."""
    protocol, rng = made(CntSGM, 1000, epsilon), np.random.default_rng(5)
    rate = -np.log(protocol.noise.ratio / TOTAL)
    noise = np.floor(rng.exponential(1.0 / rate, (2, 4000))).astype(np.int64)
    truth, modulus = 400, protocol.noise.modulus
    drawn = (truth + noise[0] - noise[1]) % modulus
    first = protocol._estimate_of(drawn[:1], 0)
    down, up = first.limits.distances(0.025)
    values = np.array([protocol.noise.centred(int(sums)) for sums in drawn])
    inside = int(((values - down <= truth) & (truth <= values + up)).sum())
    assert inside >= stats.binom.ppf(ERROR, 4000, 0.95)
    assert inside <= stats.binom.ppf(1.0 - ERROR, 4000, 0.99)


def test_ranges_know_that_nodes_of_a_level_share_their_dummies():
    """Two halves of everything but the ends: the true error, not that of independent nodes."""
    protocol, rng = made(RangeTree, 300, 2.0, 8), np.random.default_rng(6)
    estimates = [protocol.analyze(protocol.encode(np.full(300, 3), rng=rng)) for _ in range(75)]
    values, stated = np.array([estimate.count(1, 6) for estimate in estimates]).T
    assert np.mean((values - 300.0) ** 2) == pytest.approx(stated[0] ** 2, rel=4 * (2 / 75) ** 0.5)
    assert covered(estimates, np.where(np.arange(8) >= 3, 300.0, 0.0))
    inside = 0
    for estimate, value in zip(estimates, values, strict=True):
        down, up = estimate.limits(1, 6).distances(0.025)
        inside += bool(value - down <= 300.0 <= value + up)
    assert enough(inside, 75)


# Public functions


def colliding(protocol: PUCM) -> tuple[int, np.ndarray]:
    """Return a category and others that share a bucket with it in some row, one for each row."""
    numbers = np.arange(1, protocol.labels.size)
    cells = [
        protocol.noise.own_cell(np.arange(protocol.labels.size), row) for row in range(protocol.noise.rows)
    ]
    return 0, np.array([numbers[cell[1:] == cell[0]][0] for cell in cells])


def test_data_that_collide_under_one_draw_do_not_under_the_next():
    """The error is over the draw of the functions: so they are drawn when the mechanism is built."""
    promise = Promise(100, 2.0, 1e-3)
    known = PUCM.from_content({**PUCM.calibrated(promise, 3000).content(), "seed": 1})
    empty, others = colliding(known)
    values = np.resize(others, 100)
    misled = known.analyze(known.encode(values, rng=1))
    assert misled.value[empty] > 3.0  # nobody holds it
    counting = Counting("categories", np.bincount(values, minlength=3000)[[0, 1, *np.unique(others)]])
    for run in range(40):
        fresh = PUCM.from_content({**known.content(), "seed": 1000 + run})
        low, high = fresh.analyze(fresh.encode(values, rng=run)).interval()
        places = [0, 1, *np.unique(others)]
        counting.add((low[places], high[places]))
    assert all(enough(item.hits, item.trials) for item in counting.found())


def test_a_sketch_draws_its_functions_when_it_is_built(tmp_path):
    problem = md.ShuffleHistogram(users=100, categories=3000, epsilon=2.0, delta=1e-3, protocol="pucm")
    first, second = (md.solve(problem).mechanism() for _ in range(2))
    assert first.noise.seed != second.noise.seed
    assert first.noise.functions != second.noise.functions
    assert first.fingerprint != second.fingerprint
    first.save(tmp_path / "m.json")
    assert load_mechanism(tmp_path / "m.json").noise.functions == first.noise.functions
    given = md.ShuffleHistogram(users=100, categories=3000, epsilon=2.0, delta=1e-3, protocol="pucm", seed=7)
    assert [md.solve(given).mechanism().noise.seed for _ in range(2)] == [7, 7]
    with pytest.raises(md.core.errors.MechDesignError, match="seed"):
        md.ShuffleHistogram(users=100, categories=3000, epsilon=2.0, delta=1e-3, protocol="pucm", seed=-1)


def test_no_other_public_parameter_is_drawn_by_anybody_else():
    """Whatever a protocol calls a seed is drawn again for every mechanism."""
    for kind in mechanism_types().values():
        names = kind.__init__.__kwdefaults__ or {}
        assert "seed" not in names or "seed" in getattr(kind, "public_seeds", ()), kind


# Messages that are missing


def test_missing_messages_are_noticed_where_their_number_is_known():
    protocol = made(HistDump, 2000, 1.0, 10)
    messages = protocol.encode(np.arange(2000) % 10, rng=1)
    assert protocol.analyze(messages).notes == ()
    (note,) = protocol.analyze(messages[200:]).notes
    assert "2000 users send about" in note


# Every mechanism


def test_every_mechanism_with_an_estimate_is_in_the_coverage_table():
    assert sorted([*MEASURED, *NO_ESTIMATE, *NO_INTERVALS]) == sorted(mechanism_types())
    for name in NO_ESTIMATE:
        kind = mechanism_types()[name]
        assert not hasattr(kind, "estimate")
        assert not hasattr(kind, "analyze")


SLOW = {
    "aut",
    "joint-response",
    "marginal-release",
    "hist-mm",
    "prhr",
    "pucm",
    "put",
    "uniformity-dump",
    "survey",
}
"""Measured by the benchmark alone; a survey needs more users than these tests have."""


@pytest.mark.parametrize("name", sorted(set(MEASURED) - SLOW))
def test_intervals_of_every_mechanism_cover(name):
    """Clients and analyzers themselves, 30 users, a few surveys of each of the table's data."""
    found = MEASURED[name](6.0, 30, 6, np.random.default_rng(7))
    assert found
    assert [item for item in found if not enough(item.hits, item.trials)] == []
