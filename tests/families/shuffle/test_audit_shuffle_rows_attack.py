"""The attack that refuses hopeless rows is below the divergence, and refuses in no time."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

from mechdesign.families.shuffle import (
    PUCM,
    RangeTree,
    dummies as protocol_rows,
    fair_coins as shuffle_rows,
    noise as protocol_noise,
)
from mechdesign.families.shuffle.fair_coins import rows_attack, rows_divergence
from mechdesign.families.shuffle.promise import OutOfReachError, Promise


@pytest.mark.parametrize("seed", range(25))
def test_the_attack_is_below_the_divergence(seed):
    drawn = random.Random(seed)
    trials, chance = drawn.randrange(20, 2000), Fraction(drawn.randrange(1, 65), 64)
    rows, epsilon = drawn.randrange(1, 7), 10.0 ** drawn.uniform(-6.0, 0.3)
    assert rows_attack(trials, chance, rows, epsilon) <= rows_divergence(trials, chance, rows, epsilon)


def test_the_attack_is_a_test_that_can_be_counted():
    """All trials are coins: the sum of the rows against its exact probabilities."""
    trials, rows, epsilon = 60, 2, 0.05
    coins = trials * rows
    chances = [Fraction(comb(coins, j), 2**coins) for j in range(coins + 1)]
    found = sum(chances[coins // 2 - rows :], Fraction(0)) - Fraction(1.0512710963760241) * sum(
        chances[coins // 2 :], Fraction(0)
    )
    assert 0.8 * float(found) < rows_attack(trials, Fraction(1), rows, epsilon) <= float(found)


def test_a_hopeless_promise_needs_no_divergence(monkeypatch):
    """A thousand million users at epsilon 2^-20 took many seconds to refuse."""

    def never(*given):
        raise AssertionError("looked at")

    monkeypatch.setattr(shuffle_rows, "rows_divergence", never)
    monkeypatch.setattr(protocol_rows, "rows_divergence", never)
    monkeypatch.setattr(protocol_noise, "remedy", lambda promise, possible: "give more")
    with pytest.raises(OutOfReachError, match="dummies are too few"):
        RangeTree.calibrated(Promise(10**9, 2.0**-20, 1e-6), 64)


def test_what_is_possible_is_found_as_before():
    found = RangeTree.calibrated(Promise(10_000, 1.0, 1e-6), 64)
    assert found.parameters() == {"trials": 2, "cell": 50372292707177811}
    assert PUCM.calibrated(Promise(10_000, 1.0, 1e-6), 64).noise.trials == 2
