"""Protocols for sums: private by brute force, right on average, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import TOTAL, bit_source
from mechdesign.families.shuffle import RSumDSG, RSumKR, RSumRM, RSumRR
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.responses import best_precision, worst_variance
from tests.support.protocols import law_of, unary_client, worst_divergence

PROMISE = Promise(1500, 1.0, 1e-5)
MADE = {
    "rsum-kr": cache(lambda: RSumKR.calibrated(PROMISE, 4)),
    "rsum-rr": cache(lambda: RSumRR.calibrated(PROMISE, 4)),
    "rsum-rm": cache(lambda: RSumRM.calibrated(PROMISE)),
    "rsum-dsg": cache(lambda: RSumDSG.calibrated(PROMISE, 10)),
}


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize(("users", "bits"), [(2, 1), (3, 2), (3, 3), (2, 5)])
@pytest.mark.parametrize("flip", [Fraction(1, 8), Fraction(3, 8)])
def test_all_bits_of_a_user_together(users, bits, flip, epsilon):
    protocol = RSumRR(Promise(users, epsilon, 0.5), "exact", bits, flip=int(flip * TOTAL))
    worst = worst_divergence(unary_client(bits, flip), bits + 1, users, epsilon)
    assert worst <= Fraction(protocol.least_delta)
    assert float(worst) >= protocol.least_delta / 8


@pytest.mark.parametrize("users", [2, 3])
@pytest.mark.parametrize(
    ("coarse", "fine"), [(Fraction(1, 4), Fraction(3, 16)), (Fraction(1, 8), Fraction(1, 4))]
)
def test_two_digits_of_a_user_together(users, coarse, fine):
    """Levels of 2 and 2, so digits of two and three values; a message is numbered by level and digit."""

    def client(value):
        first, second = {0: (0, 0), 1: (0, 1), 2: (1, 0), 3: (1, 1), 4: (1, 2)}[value]
        pairs = []
        for one, other in product(range(2), range(3)):
            share = (1 - coarse if one == first else coarse) * (1 - 2 * fine if other == second else fine)
            pairs.append(((one, 2 + other), share))
        return law_of(pairs, 5)

    protocol = RSumRM(
        Promise(users, 0.8, 0.5),
        "exact",
        4,
        levels=[2, 2],
        others=[int(coarse * TOTAL), int(fine * TOTAL)],
        parts=[40, 24],
    )
    worst = worst_divergence(client, 5, users, 0.8)
    assert worst <= Fraction(protocol.least_delta)
    assert float(worst) >= protocol.least_delta / 20


def test_digits_of_a_level_stay_in_its_alphabet_and_every_level_is_counted():
    protocol = MADE["rsum-rm"]()
    messages = protocol.encode(np.linspace(0.0, 1.0, 1500), rng=2)
    short = int(np.argmin(protocol.noise.sizes))
    wrong = messages.copy()
    wrong[7] = short, max(protocol.noise.sizes) - 1
    if min(protocol.noise.sizes) < max(protocol.noise.sizes):
        with pytest.raises(DataError, match=rf"row 8: \d+ is outside the alphabet of level {short}"):
            protocol.analyze(wrong)
    wrong = messages.copy()
    wrong[0, 0] = 1 - wrong[0, 0]
    wrong[0, 1] = 0
    with pytest.raises(DataError, match=r"level \d has 1499 digits, and 1500 users send one each"):
        protocol.analyze(wrong)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("data", ["low", "high", "spread", "halfway"])
def test_estimates_have_at_most_the_error_that_is_stated(kind, data):
    """Within four standard deviations; at the worst data, where the error has to be attained, more runs."""
    protocol, runs = MADE[kind](), 240 if data == "halfway" else 100
    step = 1.0 / protocol.precision
    values = {
        "low": np.zeros(1500),
        "high": np.ones(1500),
        "spread": np.linspace(0.0, 1.0, 1500),
        "halfway": np.full(1500, step / 2.0),
    }[data]
    rng = np.random.default_rng(3)
    found = [protocol.analyze(protocol.encode(values, rng=rng)) for _ in range(runs)]
    errors = np.array([estimate.value for estimate in found]) - values.sum()
    assert abs(errors.mean()) <= 4 * protocol.rmse / np.sqrt(runs)
    assert np.mean(errors**2) <= protocol.rmse**2 * (1 + 4 * np.sqrt(2 / runs))
    if data == "halfway" and kind not in ("rsum-kr", "rsum-rm"):  # the worst data
        assert np.mean(errors**2) >= protocol.rmse**2 * (1 - 4 * np.sqrt(5 / runs))


def test_the_worst_variance_of_a_response_is_attained_and_not_exceeded():
    steps, other = 3, 0.07
    gain = 1 - 4 * other
    numbers = np.arange(steps + 1)

    def variance(x):
        whole = min(steps - 1, int(x * steps))
        part = x * steps - whole
        law = np.full(steps + 1, other)
        law[whole] += gain * (1 - part)
        law[whole + 1] += gain * part
        assert law.sum() == pytest.approx(1.0)
        return (law @ numbers**2 - (law @ numbers) ** 2) / (gain * steps) ** 2

    found = max(variance(x) for x in np.linspace(0, 1, 3001))
    assert found <= worst_variance(steps, other) * (1 + 1e-12)
    assert worst_variance(steps, other) == pytest.approx(found, rel=1e-5)


def test_the_best_precision_has_the_least_error_of_all():
    chosen = best_precision(100_000, 5e-4)
    errors = [worst_variance(steps, 5e-4) for steps in range(1, 200)]
    assert chosen == 1 + int(np.argmin(errors))
    free = RSumKR.calibrated(Promise(20_000, 1.0, 1e-6))
    for precision in (free.precision // 2, 2 * free.precision):
        assert RSumKR.calibrated(Promise(20_000, 1.0, 1e-6), precision).rmse > free.rmse


def test_rounding_is_right_on_average_and_exact_at_the_steps():
    protocol, source = MADE["rsum-kr"](), bit_source(4)
    assert protocol.steps(np.array([0.0, 0.25, 1.0]), source).tolist() == [0, 1, 4]
    rounded = protocol.steps(np.full(40_000, 0.3), source)
    assert set(rounded.tolist()) == {1, 2}
    assert abs(rounded.mean() - 1.2) < 5 * 0.4 / np.sqrt(40_000)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.5, 1.5], "row 2: 1.5 is outside"),
        ([-0.1], "row 1: -0.1 is outside"),
        ([0.1, float("nan")], "row 2"),
    ],
)
def test_numbers_outside_the_range_are_refused(kind, values, text):
    with pytest.raises(DataError, match=text):
        MADE[kind]().encode(np.array(values))


def test_limits():
    with pytest.raises(ParameterError, match="precision: 0 is not from 1"):
        RSumKR(PROMISE, "exact", 0, other=1)
    with pytest.raises(OutOfReachError, match="at most 1024 steps"):
        RSumRR.calibrated(PROMISE, 2000)
    with pytest.raises(OutOfReachError, match="allow 7 messages"):
        RSumDSG.calibrated(PROMISE, 10, max_messages=3)
    with pytest.raises(OutOfReachError, match="does not fit into a table"):
        RSumDSG.calibrated(Promise(10**6, 1e-4, 1e-6), 10**5)
    assert RSumRR.calibrated(PROMISE, max_messages=2).most_messages <= 2
