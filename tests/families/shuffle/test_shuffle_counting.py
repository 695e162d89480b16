"""Counting protocols: private by brute force, unbiased, exact intervals, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.exact.randomness import TOTAL, bit_source
from mechdesign.families.shuffle import Cnt2M, CntBN, CntRR, CntSGM
from mechdesign.families.shuffle.amplification import honest_users
from mechdesign.families.shuffle.noise import Table
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.secure import visible_noise_delta
from mechdesign.families.shuffle.secure_sums import WHOLE, mixing_distance, polya_table, split
from tests.support.protocols import (
    dummy_client,
    made,
    one_presence_client,
    response_client,
    worst_divergence,
)

PROMISE = Promise(2000, 1.0, 1e-6)
MADE = {kind: partial(made, kind) for kind in ("cnt-rr", "cnt-2m", "cnt-bn", "cnt-sgm")}


@pytest.mark.parametrize("users", [2, 4, 6])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("share", [Fraction(1, 16), Fraction(5, 16), Fraction(1, 2)])
def test_what_is_certified_is_at_least_the_divergence_of_the_messages(users, epsilon, share):
    promise, weight = Promise(users, epsilon, 0.5), int(share * TOTAL)
    protocols = [
        (Cnt2M(promise, "exact", weight), one_presence_client(share)),
        (CntBN(promise, "exact", 1, weight), dummy_client(2, 1, share)),
        (CntBN(promise, "exact", 2, weight), dummy_client(2, 2, share)),
    ]
    if share < Fraction(1, 2):
        protocols.append((CntRR(promise, "exact", weight), response_client(2, share)))
    for protocol, client in protocols:
        worst = worst_divergence(client, 2, users, epsilon)
        assert worst <= Fraction(protocol.least_delta), protocol
        assert float(worst) >= protocol.least_delta / 4, protocol


@pytest.mark.parametrize("honest", [3, 4])
def test_only_honest_users_hide_anybody(honest):
    """Of ten users: what the others send may be known, and is left out of the count."""
    share = Fraction(1, 4)
    promise = Promise(10, 0.5, 0.5, honest / 10)
    assert promise.honest_users == honest  # 0.3 is a double below three tenths
    real = worst_divergence(response_client(2, share), 2, promise.honest_users, 0.5)
    protocol = CntRR(promise, "exact", int(share * TOTAL))
    assert real <= Fraction(protocol.least_delta)
    assert real > Fraction(CntRR(Promise(10, 0.5, 0.5), "exact", int(share * TOTAL)).least_delta)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("ones", [0, 40, 1000, 2000])
def test_estimates_have_the_error_that_is_stated(kind, ones):
    protocol = MADE[kind](PROMISE)
    values, runs = np.repeat([1, 0], [ones, 2000 - ones]), 240 if ones == 1000 else 100
    rng = np.random.default_rng(5)
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    errors = np.array([estimate.value - ones for estimate in found])
    mean_square = float(np.mean(errors**2))
    assert mean_square <= protocol.rmse**2 * (1 + 4 * np.sqrt(2 / runs))
    if kind != "cnt-2m":  # unbiased, and the same error for all data
        assert abs(errors.mean()) <= 4 * protocol.rmse / np.sqrt(runs)
        assert mean_square >= protocol.rmse**2 * (1 - 4 * np.sqrt(5 / runs))
    elif ones in (0, 2000):
        assert (mean_square == 0.0) == (ones == 0)
    inside = [low <= ones <= high for low, high in (estimate.interval(0.9) for estimate in found)]
    assert np.mean(inside) >= 0.9 - 4 * np.sqrt(0.09 / runs)


def test_the_largest_error_of_presence_is_attained_at_a_small_count():
    protocol = Cnt2M.calibrated(PROMISE)
    hidden = 2000 * float(protocol.noise.chance)
    errors = []
    for ones in range(int(hidden), int(hidden) + 1):
        values = np.repeat([1, 0], [ones, 2000 - ones])
        rng = np.random.default_rng(1)
        errors = [protocol.analyze(protocol.encode(values, rng=rng)).value - ones for _ in range(500)]
    assert np.sqrt(np.mean(np.square(errors))) > np.sqrt(2000 * float(protocol.noise.chance))
    assert protocol.rmse > 3 * np.sqrt(2000 * float(protocol.noise.chance))


def test_values_that_are_no_bits_of_the_users_are_refused():
    protocol = MADE["cnt-rr"](PROMISE)
    with pytest.raises(ParameterError, match="expected integers"):
        protocol.analyze(protocol.encode(np.zeros(2000, dtype=int), rng=1).astype(float))
    with pytest.raises(DataError, match="2001 for a protocol of 2000 users"):
        protocol.encode(np.zeros(2001, dtype=int))
    with pytest.raises(DataError, match="row 3: unknown category 2"):
        protocol.encode([0, 1, 2])


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"users": 1}, "users: 1 is not from 2 to"),
        ({"epsilon": 0.0}, "epsilon: 0 is outside"),
        ({"delta": 0.0}, "delta: is 0"),
        ({"delta": 1.0}, "delta: 1 is outside"),
        ({"delta": -0.1}, "delta: -0.1 is outside"),
        ({"honest": 0.0}, "honest: 0 is outside"),
        ({"honest": 1.5}, "honest: 1.5 is outside"),
    ],
)
def test_promises_that_nobody_can_keep(changed, text):
    with pytest.raises(ParameterError, match=text):
        Promise(**{"users": 1000, "epsilon": 1.0, "delta": 1e-6, "honest": 1.0, **changed})


def test_out_of_reach_says_what_would_do():
    with pytest.raises(
        OutOfReachError, match="give at least 5279 users, or an epsilon of at least"
    ) as caught:
        Cnt2M.calibrated(Promise(1000, 0.1, 1e-6))
    epsilon = float(str(caught.value).rsplit(" ", 1)[1])
    assert Cnt2M.calibrated(Promise(5279, 0.1, 1e-6)).holds
    assert Cnt2M.calibrated(Promise(1000, epsilon, 1e-6)).holds
    for promise in (Promise(5278, 0.1, 1e-6), Promise(1000, epsilon - 0.001, 1e-6)):
        assert not Cnt2M(promise, "exact", TOTAL // 2).holds
    with pytest.raises(OutOfReachError, match="split-mix needs 19 honest users; give at least 38 users"):
        CntSGM.calibrated(Promise(30, 1.0, 1e-6, 0.5))


def test_noise_for_all_users_is_not_enough_for_the_honest_ones():
    """A protocol made for more honest users than there are fails its certificate, and its file is refused."""
    for make in MADE.values():
        for_all = make(PROMISE)
        content = {**for_all.content(), "honest": 0.5}
        if for_all.type == "cnt-sgm":  # twice as much noise in all needs a larger ring
            with pytest.raises(CertificateError, match="the ring is too small"):
                type(for_all).from_content(content)
            continue
        with pytest.raises(CertificateError, match="not private as stated"):
            type(for_all).from_content(content).require()


def test_visible_noise_is_refused_with_its_attack():
    content = CntSGM.calibrated(PROMISE).content()
    with pytest.raises(CertificateError, match=r"not private: .* delta is at least 0\.6"):
        CntSGM.from_content({**content, "shares": 1})
    assert not CntSGM.from_content({**content, "shares": 2}).certificates()[0].holds
    assert visible_noise_delta(2000, 1.0) > 0.5


def test_the_attack_on_visible_noise_is_real():
    """Its event, run: no message is 1, far more often when the user holds 0."""
    users, runs, delta = 50, 2000, visible_noise_delta(50, 1.0)
    table, _ = polya_table(users, Fraction(1) / Fraction(np.e), 60)
    source = bit_source(3)
    noise = table.draw(users * runs, source) - table.draw(users * runs, source)
    noise = noise.reshape(runs, users)
    without = (noise != 1).all(axis=1).mean()
    noise[:, 0] += 1
    given_one = (noise != 1).all(axis=1).mean()
    assert abs((without - np.e * given_one) - delta) < 5 * 2 / np.sqrt(runs)


@pytest.mark.parametrize(("shares", "users"), [(3, 19), (4, 19), (5, 19), (3, 50), (4, 50)])
def test_split_mix_is_within_its_theorem_by_exact_count(shares, users):
    """Over Z_2 the mixed shares say how many are 1; the worst of all inputs with the same sum."""

    def one(bit: int) -> list[Fraction]:
        return [Fraction(comb(shares, j), 2 ** (shares - 1)) * (j % 2 == bit) for j in range(shares + 1)]

    laws = []
    for ones in (0, 2, users // 4 * 2, users // 2 * 2 - 2, users // 2 * 2):
        law = np.array([Fraction(1)], dtype=object)
        for user in range(users):
            law = np.convolve(law, np.array(one(int(user < ones)), dtype=object))
        laws.append(law)
    distance = max(sum(abs(first - second)) / 2 for first, second in combinations(laws, 2))
    assert 0.0001 < distance <= Fraction(mixing_distance(users, shares, 2))


def test_two_shares_do_not_mix():
    assert mixing_distance(19, 2, 2) == 1.0
    assert mixing_distance(18, 30, 2) == 1.0


def test_shares_are_uniform_and_sum_to_the_value():
    shares = split(np.full(30_000, 2), 3, 5, bit_source(2))
    assert (shares.sum(axis=1) % 5 == 2).all()
    for column in shares.T:
        counts = np.bincount(column, minlength=5)
        assert ((counts - 6000) ** 2 / 6000).sum() < 25.0  # chi squared with 4 degrees: 5e-5


@pytest.mark.parametrize("users", [1, 2, 5])
def test_the_noise_of_all_honest_users_is_geometric_but_for_what_is_accounted(users):
    ratio = Fraction(1, 3)
    table, variation = polya_table(users, ratio, 24)
    law = np.array([Fraction(1)], dtype=object)
    for _ in range(users):
        law = np.convolve(law, np.array([Fraction(weight, WHOLE) for weight in table.weights], dtype=object))
    geometric = [(1 - ratio) * ratio**k for k in range(len(law))]
    distance = (sum(abs(a - b) for a, b in zip(law, geometric, strict=True)) + ratio ** len(law)) / 2
    assert distance <= users * variation
    assert variation < Fraction(1, 10**10)


def test_a_table_draws_by_its_last_digits():
    """A weight far below 2**-62: only the second word can tell."""

    class Fixed:
        def __init__(self, words):
            self.words_left = list(words)

        def integers(self, count):
            taken, self.words_left = self.words_left[:count], self.words_left[count:]
            return np.array(taken, dtype=np.int64)

    table = Table([5, TOTAL - 5, WHOLE - TOTAL])
    assert table.draw(1, Fixed([0, 4])).tolist() == [0]
    assert table.draw(1, Fixed([0, 5])).tolist() == [1]
    assert table.draw(1, Fixed([1, 0])).tolist() == [2]
    assert table.draw(1, Fixed([TOTAL - 1])).tolist() == [2]
    with pytest.raises(CertificateError, match=r"2\*\*124"):
        Table([1, 2])


def test_a_forged_ratio_or_ring_is_refused():
    content = CntSGM.calibrated(PROMISE).content()
    with pytest.raises(CertificateError, match="falls faster than epsilon allows"):
        CntSGM.from_content({**content, "ratio": content["ratio"] - 1})
    with pytest.raises(CertificateError, match="the ring is too small"):
        CntSGM.from_content({**content, "modulus": 2001})
    with pytest.raises(CertificateError, match="flip: a weight is not from"):
        CntRR(PROMISE, "exact", TOTAL // 2)


def test_published_constants_are_private_but_waste_noise():
    promise = Promise(1_000_000, 0.9, 1e-6)
    for exact, published, factor in (
        (CntRR.calibrated(promise), CntRR.published(promise), 3),
        (Cnt2M.calibrated(promise), Cnt2M.published(promise), 20),
        (CntBN.calibrated(promise), CntBN.published(promise), 4),
    ):
        assert published.certificates()[0].holds
        assert published.least_delta < 1e-30
        assert published.rmse > factor * exact.rmse
        assert exact.least_delta <= 1e-6
    assert md.solve(
        md.ShuffleCounting(users=10**6, epsilon=0.9, delta=1e-6), "cnt-rr-published"
    ).value == pytest.approx(24.5, abs=0.05)


@pytest.mark.parametrize("kind", MADE)
def test_a_single_honest_user_is_hidden_by_nobody(kind):
    """A fraction of the users is rounded up to a number: the same number as for amplification."""
    assert Promise(1000, 1.0, 1e-6, 1e-6).honest_users == 1
    for users, honest in [(10, 0.3), (10, 0.31), (1000, 0.7), (7, 0.5), (3, 1.0)]:
        assert Promise(users, 1.0, 1e-6, honest).honest_users == honest_users(users, honest)
    try:
        protocol = MADE[kind](Promise(1000, 1.0, 1e-6, 1e-6))
    except OutOfReachError:
        return
    assert protocol.require().least_delta <= 1e-6  # its own noise is enough


@pytest.mark.parametrize("kind", MADE)
def test_a_shuffler_lets_nothing_through_unless_all_users_noise_is_there(kind):
    protocol = MADE[kind](PROMISE)
    messages = protocol.encode(np.arange(2000) % 2, rng=7)
    low, high = protocol._message_range
    if low > 0:
        with pytest.raises(DataError, match=f"{low - 1}, and 2000 users send"):
            protocol.shuffle(messages[: low - 1])
    with pytest.raises(DataError, match="and 2000 users send"):
        protocol.shuffle(np.resize(messages, (high + 1, 1)))


@pytest.mark.parametrize(
    ("field", "value"), [("ratio", 1 << 60), ("modulus", 2001), ("shares", 2), ("honest", 0.5)]
)
def test_a_changed_file_is_refused_with_one_remedy(field, value, tmp_path):
    path = tmp_path / "p.json"
    CntSGM.calibrated(PROMISE).save(path)
    document = json.loads(path.read_text())
    document["content"][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="refused") as error:
        load_mechanism(path)
    assert str(error.value).count("rebuild it") == 1
