"""Audit by attack: it convicts implementations that are wrong, and no right one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import bit_source
from mechdesign.families.shuffle import CntBN, HistDump
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.secure import visible_noise_delta
from mechdesign.families.shuffle.secure_sums import polya_table, split
from mechdesign.foreign.black_box import attack

RUNS = 20_000


def coin_views(protocol: CntBN, users: int, value: int, rng: np.random.Generator) -> np.ndarray:
    """Ones and all messages of ``users`` users who follow the protocol; all but one hold 0."""
    coins = rng.binomial(users * protocol.noise.trials, float(protocol.noise.chance), size=RUNS)
    ones = value + rng.binomial(coins, 0.5)
    return np.stack([ones, coins], axis=1)


def test_noise_for_all_users_is_convicted_when_few_are_honest():
    promise = Promise(400, 0.5, 0.01)
    protocol, rng = CntBN.calibrated(promise), np.random.default_rng(1)
    right = attack(*(coin_views(protocol, 400, value, rng) for value in (1, 0)), 0.5)
    assert not right.convicts(promise.delta)
    wrong = attack(*(coin_views(protocol, 100, value, rng) for value in (1, 0)), 0.5)
    assert wrong.convicts(promise.delta)
    for_honest = CntBN.calibrated(Promise(400, 0.5, 0.01, honest=0.25))
    repaired = attack(*(coin_views(for_honest, 100, value, rng) for value in (1, 0)), 0.5)
    assert not repaired.convicts(promise.delta)


def test_visible_noise_is_convicted():
    users, runs = 50, 4000
    table, _ = polya_table(users, Fraction(1) / Fraction(np.e), 60)
    source, views = bit_source(3), []
    for value in (0, 1):
        noise = table.draw(users * runs, source) - table.draw(users * runs, source)
        messages = noise.reshape(runs, users)
        messages[:, 0] += value
        views.append(np.stack([(messages == symbol).sum(axis=1) for symbol in (-1, 0, 1, 2)], axis=1))
    found = attack(*views, 1.0)
    assert found.convicts(0.4)
    assert visible_noise_delta(users, 1.0) >= 0.5


@pytest.mark.parametrize(("shares", "convicted"), [(2, True), (8, False)])
def test_two_shares_are_convicted(shares, convicted):
    """Nineteen users over Z_2, two inputs with the same sum: the mixed shares say how many are 1."""
    source, views = bit_source(5), []
    for ones in (0, 18):
        values = np.tile((np.arange(19) < ones).astype(np.int64), RUNS)
        made = split(values, shares, 2, source)
        views.append(made.reshape(RUNS, -1).sum(axis=1))
    assert attack(*views, 0.0).convicts(0.5) == convicted


def test_a_right_protocol_run_for_real_is_not_convicted():
    promise = Promise(30, 1.0, 0.05)
    protocol = HistDump.calibrated(promise, 3)
    rng, views = np.random.default_rng(8), []
    for value in (0, 1):
        values = np.zeros(30, dtype=int)
        values[0] = value
        runs = [protocol._tally(protocol.encode(values, rng=rng)) for _ in range(800)]
        views.append(np.array(runs))
    found = attack(*views, 1.0)
    assert not found.convicts(promise.delta)
    assert "confidence 0.999" in str(found)


def test_the_stated_confidence_is_kept():
    """Inputs that cannot be told apart: a positive bound is an error, and rarer than stated."""
    rng, errors = np.random.default_rng(2), 0
    for _ in range(200):
        views = (rng.binomial(20, 0.5, size=200) for _ in range(2))
        errors += attack(*views, 0.0, confidence=0.9).delta > 0.0
    assert errors <= 0.1 * 200


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="3 samples are too few"):
        attack([1, 2, 3], [1, 2, 3], 1.0)
    with pytest.raises(DataError, match="columns"):
        attack(np.zeros((20, 2), dtype=int), np.zeros((20, 3), dtype=int), 1.0)
    with pytest.raises(ParameterError, match="integers"):
        attack(np.zeros(20), np.zeros(20), 1.0)
    with pytest.raises(ParameterError, match="confidence"):
        attack(np.zeros(20, dtype=int), np.zeros(20, dtype=int), 1.0, confidence=1.0)


def test_an_epsilon_beyond_all_doubles_is_never_convicted():
    found = attack(np.zeros(100, dtype=int), np.ones(100, dtype=int), epsilon=1000.0)
    assert (found.delta, found.epsilon) == (0.0, 1000.0)
