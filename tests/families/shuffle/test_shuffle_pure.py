"""Counts and sums with delta 0: the largest ratio against fractions, the errors stated, what is refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import CntPURE, RSumPURE
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.pure import crowds, noisy_weights, pure_epsilon
from tests.support.protocols import added, law_of, whole_laws, worst_divergence


def convolved(first: list[int], second: list[int]) -> list[int]:
    found = [0] * (len(first) + len(second) - 1)
    for place, one in enumerate(first):
        for other, two in enumerate(second):
            found[place + other] += one * two
    return found


def largest_ratio(zero: list[int], others: int) -> Fraction:
    """Over all data of the others and all sums, in whole numbers."""
    one, best = zero[::-1], Fraction(0)
    for ones in range(others + 1):
        rest = [1]
        for user in range(others):
            rest = convolved(rest, one if user < ones else zero)
        pair = convolved(rest, one), convolved(rest, zero)
        best = max(best, *(max(Fraction(a, b), Fraction(b, a)) for a, b in zip(*pair, strict=True)))
    return best


def test_the_largest_ratio_is_that_of_whole_numbers():
    rng, tight = np.random.default_rng(3), 0
    for _ in range(40):
        length, others = int(rng.choice([1, 3, 5, 7])), int(rng.integers(0, 7))
        weights = [1 + int(weight) for weight in rng.integers(0, 1 << int(rng.integers(2, 30)), length + 1)]
        exact = math.log(largest_ratio(weights, others))
        found = pure_epsilon(weights, weights[::-1], others)
        assert exact <= found + 1e-15
        tight += found <= exact + 1e-9
    assert tight == 40


def test_rare_sums_are_looked_at_as_well():
    """Of 60 users: the sum 0 has the chance 1e-300, and is the worst one for noise with short ends."""
    weights = noisy_weights(3, TOTAL // 1000, TOTAL // 100)
    exact = math.log(largest_ratio(list(weights), 20))
    assert exact == pytest.approx(pure_epsilon(weights, weights[::-1], 20), abs=1e-9)
    assert exact > 3.0


def test_blocks_of_data_are_a_bound():
    """With many others not all numbers of ones are looked at, but fewer users, which tell more."""
    weights = list(noisy_weights(5, TOTAL // 5, TOTAL // 3))
    exact = math.log(largest_ratio(weights, 30))
    assert len(crowds(30)) == 8
    assert exact <= pure_epsilon(weights, weights[::-1], 30) < 1.3 * exact
    for others in (5, 30, 200):
        for ones in range(others + 1):
            assert any(zeros <= others - ones and low <= ones for zeros, low in crowds(others))


@pytest.mark.parametrize("users", [2, 3])
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_no_event_of_the_messages_has_a_delta(users, epsilon):
    """Every multiset of messages, with the fractions of the very weights of the clients."""
    protocol = CntPURE.calibrated(Promise(users, epsilon, 1e-6))
    weights = [Fraction(weight, TOTAL) for weight in protocol.noise.weights]

    def client(value: int):
        sent = [
            (1,) * ones + (0,) * (protocol.noise.length - ones) for ones in range(protocol.noise.length + 1)
        ]
        return law_of(zip(sent, weights if value == 0 else weights[::-1], strict=True), 2)

    assert protocol.least_delta == 0.0
    assert worst_divergence(client, 2, users, epsilon) == 0
    assert worst_divergence(client, 2, users, 0.9 * protocol.noise.pure_epsilon) > 0
    (single,), _ = whole_laws([client(0)], users * protocol.noise.length)
    crowd = reduce(added, [single] * users)
    assert len(crowd) == users * protocol.noise.length + 1


def test_too_little_noise_and_too_few_honest_users_are_told():
    protocol = CntPURE.calibrated(Promise(60, 1.0, 1e-6))
    content = protocol.content()
    for changed in ({"noise": protocol.noise.noise // 2}, {"honest": 0.5}, {"length": 3}):
        weak = CntPURE.from_content({**content, **changed})
        assert [item.holds for item in weak.certificates()] == [False, False]
        with pytest.raises(CertificateError, match="not private as stated"):
            weak.require()
    robust = CntPURE.calibrated(Promise(60, 1.0, 1e-6, 0.5))
    assert robust.noise.crowd == 30
    assert robust.rmse > protocol.rmse
    with pytest.raises(ParameterError, match="length: 4 is even"):
        CntPURE.from_content({**content, "length": 4})


def test_more_users_than_are_looked_at_hide_everybody_as_well():
    large = CntPURE.calibrated(Promise(20_000, 2.0, 1e-6))
    assert large.noise.crowd < 20_000
    assert large.noise.pure_epsilon <= 2.0
    assert large.rmse < 0.4 * math.sqrt(20_000 * math.exp(2.0)) / math.expm1(2.0)  # of a bit by itself


@pytest.mark.parametrize("ones", [0, 17, 60])
def test_counts_have_the_error_that_is_stated(ones):
    protocol, runs, rng = CntPURE.calibrated(Promise(60, 1.0, 1e-6)), 300, np.random.default_rng(4)
    values = np.repeat([1, 0], [ones, 60 - ones])
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    errors = np.array([estimate.value - ones for estimate in found])
    assert abs(errors.mean()) <= 4 * protocol.rmse / np.sqrt(runs)
    assert np.mean(errors**2) == pytest.approx(protocol.rmse**2, rel=4 * np.sqrt(6 / runs))


def test_sums_have_the_error_that_is_stated():
    protocol, runs, rng = RSumPURE.calibrated(Promise(40, 3.0, 1e-6), 3), 240, np.random.default_rng(4)
    values = np.full(40, 0.5)  # halfway between two steps
    errors = np.array([protocol.analyze(protocol.encode(values, rng=rng)).value for _ in range(runs)]) - 20.0
    assert abs(errors.mean()) <= 4 * protocol.rmse / np.sqrt(runs)
    assert np.mean(errors**2) == pytest.approx(protocol.rmse**2, rel=4 * np.sqrt(5 / runs))


def test_digits_share_epsilon():
    protocol = RSumPURE.calibrated(Promise(40, 3.0, 1e-6), 7)
    assert sum(digit.promise.epsilon for digit in protocol.noise.digits) <= 3.0
    assert sum(protocol.noise.parts) <= 64
    assert [item.holds for item in protocol.certificates()] == [True, True]
    content = protocol.content()
    with pytest.raises(CertificateError, match="parts: are more than 64"):
        RSumPURE.from_content({**content, "parts": [30, 30, 30]})
    weak = [noise // 2 for noise in content["noises"]]
    assert not RSumPURE.from_content({**content, "noises": weak}).certificates()[0].holds
    messages = protocol.encode(np.linspace(0.0, 1.0, 40), rng=2)
    swapped = messages.copy()
    swapped[np.flatnonzero(swapped[:, 0] == 0)[0], 0] = 2
    with pytest.raises(DataError, match="digit 0 has"):
        protocol.analyze(swapped)


def test_what_cannot_be_pure_says_why():
    with pytest.raises(OutOfReachError, match="hide none with delta 0"):
        CntPURE.calibrated(Promise(2, 2.0**-20, 1e-6))
    with pytest.raises(OutOfReachError, match="it needs 3 messages"):
        CntPURE.calibrated(Promise(50, 1.0, 1e-6), max_messages=2)
    with pytest.raises(OutOfReachError, match=r"precision: 10 is not 2\*\*J - 1"):
        RSumPURE.calibrated(Promise(50, 1.0, 1e-6), 10)
    with pytest.raises(OutOfReachError, match="allow as many"):
        RSumPURE.calibrated(Promise(20, 3.0, 1e-6), 3, max_messages=5)


def test_pure_problems_take_pure_protocols_only():
    solution = md.solve(md.ShuffleCounting(users=60, epsilon=1.0, delta=1e-6, pure=True))
    assert solution.variables["protocol"] == "cnt-pure"
    assert {item.property: item.holds for item in solution.certificates}["pure"]
    refused = md.solve(md.ShuffleCounting(users=60, epsilon=1.0, delta=1e-6, pure=True, protocol="cnt-bn"))
    assert refused.status == "infeasible"
    assert "delta is not 0" in refused.message
    assert md.solve(md.ShuffleCounting(users=60, epsilon=1.0, delta=1e-6)).value < solution.value
    with pytest.raises(ParameterError, match="pure: expected true or false, got 1"):
        md.ShuffleCounting(users=60, epsilon=1.0, delta=1e-6, pure=1)


def test_too_small_an_epsilon_says_which_would_do():
    with pytest.raises(OutOfReachError) as refused:
        CntPURE.calibrated(Promise(2, 2.0**-20, 1e-6))
    said = re.search(r"give at least (\d+) users, or an epsilon of at least (\S+)$", str(refused.value))
    assert said is not None
    assert CntPURE.calibrated(Promise(int(said[1]), 2.0**-20, 1e-6)).holds
    assert CntPURE.calibrated(Promise(2, float(said[2]), 1e-6)).holds
