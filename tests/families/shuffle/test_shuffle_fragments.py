"""Attribute fragments by enumeration, published calibrations against their formulas, any number of digits."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.shuffle import MURS, SOLH, HistRR, RSumRM, RSumRR
from mechdesign.families.shuffle.papers.counts import fakes_rmse
from mechdesign.families.shuffle.promise import OutOfReachError, Promise


def ones_of(bits: list[int], flip: Fraction) -> list[Fraction]:
    """Return the law of how many flipped bits are 1."""
    law = [Fraction(1)]
    for bit in bits:
        one = 1 - flip if bit else flip
        law = [
            (law[k] if k < len(law) else 0) * (1 - one) + (law[k - 1] * one if k else 0)
            for k in range(len(law) + 1)
        ]
    return law


@pytest.mark.parametrize(("users", "epsilon", "flip"), [(2, 0.5, "1/4"), (3, 1.0, "1/5"), (5, 1.0, "1/10")])
def test_neighbours_of_fragments_are_as_private_as_the_certificate_says(users, epsilon, flip):
    """All data of the others; the two categories that change, the third says nothing."""
    q, bound = Fraction(flip), exp_lower(epsilon)
    protocol = HistRR(Promise(users, epsilon, 0.99), "exact", 3, flip=int(q * TOTAL))
    worst = Fraction(0)
    for others in product(range(3), repeat=users - 1):
        laws = [
            [ones_of([int(holder == place) for holder in (value, *others)], q) for place in (0, 1)]
            for value in (0, 1)
        ]
        for one, other in ((0, 1), (1, 0)):
            divergence = Fraction(0)
            for a, b in product(range(users + 1), repeat=2):
                first, second = (laws[value][0][a] * laws[value][1][b] for value in (one, other))
                divergence += max(Fraction(0), first - bound * second)
            worst = max(worst, divergence)
    assert 0 < worst <= Fraction(protocol.least_delta)
    assert protocol.local_epsilon == pytest.approx(2 * math.log((1 - q) / q), rel=1e-12)


def test_bits_that_are_private_by_themselves_need_no_shuffler():
    promise = Promise(50, 1.0, 1e-12)
    flip = math.ceil(TOTAL / (1 + math.exp(0.5))) + (1 << 20)
    assert HistRR(promise, "exact", 4, flip=flip).least_delta == 0.0
    assert HistRR(promise, "exact", 4, flip=flip - (1 << 30)).least_delta > 0.0


def test_fragments_are_unbiased_with_the_stated_error_and_their_intervals_cover():
    """The mean of 120 runs within four standard errors; 0.93 of 600 intervals less four deviations."""
    protocol, runs, rng = HistRR.calibrated(Promise(2000, 1.0, 1e-4), 5), 120, np.random.default_rng(2)
    values = np.repeat(np.arange(5), [1200, 600, 180, 20, 0])
    truth = np.bincount(values, minlength=5)
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    errors = np.array([estimate.value - truth for estimate in found])
    assert (np.abs(errors.mean(axis=0)) <= 4 * protocol.rmse / math.sqrt(runs)).all()
    assert np.sqrt((errors**2).mean()) == pytest.approx(protocol.rmse, rel=4 / math.sqrt(2 * errors.size))
    low, high = np.moveaxis(np.array([estimate.interval(0.95) for estimate in found]), 1, 0)
    covered = ((low <= truth) & (truth <= high)).mean()
    assert covered >= 0.93 - 4 * math.sqrt(0.05 * 0.95 / errors.size)


def test_fragments_refuse_what_their_users_cannot_have_sent():
    protocol = HistRR.calibrated(Promise(500, 1.0, 1e-4), 3)
    sent = protocol.encode(np.zeros(500, dtype=np.int64), rng=1)
    moved = sent.copy()
    moved[moved[:, 0] < 2] = 2
    with pytest.raises(DataError, match="category 0 has 0 bits, and 500 users send one each"):
        protocol.analyze(moved)
    with pytest.raises(OutOfReachError, match="it needs 3 messages per user; allow as many"):
        HistRR.calibrated(Promise(500, 1.0, 1e-4), 3, max_messages=2)
    lost = md.solve(
        md.ShuffleHistogram(users=1_000_000_000, categories=4, epsilon=1.0, delta=1e-6, protocol="hist-rr")
    )
    assert lost.status == "infeasible"
    assert "give fewer users or categories" in lost.message


def test_the_published_constants_keep_their_promise_and_cost_more():
    promise = Promise(100_000, 0.9, 1e-6)
    for printed, exact in (
        (HistRR.published(promise, 20), HistRR.calibrated(promise, 20)),
        (MURS.published(promise, 1000), MURS.calibrated(promise, 1000)),
        (RSumRR.published(promise, 10), RSumRR.calibrated(promise, 10)),
        (RSumRM.published(Promise(1_000_000, 0.9, 1e-6)), RSumRM.calibrated(Promise(1_000_000, 0.9, 1e-6))),
    ):
        assert printed.calibration == "published"
        assert printed.certificates()[0].holds
        assert printed.rmse > 2 * exact.rmse


def test_murs_as_printed_solves_its_equation():
    """(n - 1)/(e^local + d' - 1) + fakes/d' = 14 ln(2/delta)/epsilon^2, against the formula of its error."""
    promise = Promise(100_000, 0.9, 1e-6)
    protocol = MURS.published(promise, 5000)
    other = protocol.noise.other / TOTAL  # 1/(e^local + d' - 1)
    wanted = 14 * math.log(2 / promise.delta) / promise.epsilon**2
    assert (
        promise.users - 1
    ) * other + protocol.noise.fakes / protocol.noise.family.buckets == pytest.approx(wanted, rel=1e-9)
    assert protocol.rmse == pytest.approx(fakes_rmse(100_000, 0.9, 1e-6), rel=0.01)
    assert protocol.rmse < SOLH.published(promise, 5000).rmse
    with pytest.raises(OutOfReachError, match="its theorem is for epsilon up to 1"):
        MURS.published(Promise(100_000, 1.5, 1e-6), 50)


def test_rsum_rr_as_printed_splits_epsilon_by_the_better_composition():
    promise = Promise(1_000_000, 0.9, 1e-6)
    basic = RSumRR.published(promise, 10)
    share = 64 * math.log(4 * 10 / promise.delta) / (promise.users * (promise.epsilon / 10) ** 2)
    assert basic.noise.flip / TOTAL == pytest.approx(share / 2, rel=1e-9)
    many = RSumRR.published(promise)
    assert many.precision == 900  # epsilon sqrt(n)
    assert many.rmse > basic.rmse  # its order hides these constants


def test_digits_as_printed_and_any_number_of_them():
    promise = Promise(1_000_000, 0.9, 1e-6)
    printed = RSumRM.published(promise)
    assert printed.noise.levels == (2, 5, 93)
    chance = max(14 * math.log(6 / promise.delta) / 0.3, 27.0) / 0.3 / (promise.users - 1)
    assert printed.noise.others[0] / TOTAL == pytest.approx(chance, rel=1e-9)
    found = {digits: RSumRM.calibrated(promise, digits=digits) for digits in (2, 3, 4)}
    for digits, protocol in found.items():
        assert len(protocol.noise.levels) == protocol.most_messages == digits
        assert protocol.certificates()[0].holds
        assert sum(protocol.noise.parts) == 64
    assert RSumRM.calibrated(promise).rmse == min(found[2].rmse, found[3].rmse)
    assert RSumRM.calibrated(promise, max_messages=2).rmse == found[2].rmse
    rng, values = np.random.default_rng(3), np.linspace(0, 1, 2000)
    few = RSumRM.calibrated(Promise(2000, 2.0, 1e-3), digits=3)
    errors = [few.analyze(few.encode(values, rng=rng)).value - values.sum() for _ in range(80)]
    assert abs(np.mean(errors)) <= 4 * few.rmse / math.sqrt(80)
    assert np.std(errors) <= few.rmse * (1 + 4 / math.sqrt(160))
