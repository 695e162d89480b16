"""Searches that are foreseen find what they find when they ask about every number, and ask about few."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.families.shuffle import fair_coins, noise
from mechdesign.families.shuffle.divergence import hockey_stick
from mechdesign.families.shuffle.flips import BitFlips, UnaryFlips, VectorFlips
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence
from mechdesign.families.shuffle.noise import LEAP, Allowed, Noise, least_within
from mechdesign.families.shuffle.promise import Promise, foreseen

LEVEL = 1e-6

CURVES = {
    "exponential": lambda x: math.exp(3.0 * x - 30.0),
    "gaussian": lambda x: math.erfc(6.0 - x),
    "steep": lambda x: math.exp(x**3 - 200.0),
    "jump": lambda x: 1e-9 if x < math.pi else 0.5,
    "stairs": lambda x: math.exp(math.floor(40.0 * x) / 10.0 - 20.0),
    "flat at the end": lambda x: min(1.0, math.exp(40.0 * (x - 4.0))),
    "zero before": lambda x: max(0.0, x - 3.25),
    "all enough": lambda x: 1e-12 * (1.0 + x),
    "none enough": lambda x: 1.0 + x,
}


def halved(enough):
    low, high = 0.0, 8.0
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low, high


def whole(enough):
    fails, holds = 0, 1 << 40
    while holds - fails > 1:
        middle = (fails + holds) // 2
        fails, holds = (fails, middle) if enough(middle) else (middle, holds)
    return holds, fails


@pytest.mark.parametrize("near", [(5.0, 4.9), (0.1, 0.2), (7.9, 7.8), (3.0, 3.0), (1.0, 2.0, 7.0)])
@pytest.mark.parametrize("name", CURVES)
def test_a_rising_curve(name, near):
    curve, looked = CURVES[name], []

    def counted(x):
        looked.append(x)
        return curve(x)

    found = foreseen(halved, counted, LEVEL, near, rising=True)
    assert found == halved(lambda x: curve(x) <= LEVEL)
    assert len(looked) == len(set(looked)), "a number is looked at once"
    assert len(looked) <= 60
    if name in ("exponential", "gaussian", "steep") and near == (5.0, 4.9):
        assert len(looked) <= 13, "bisection asks about 33 numbers"


@pytest.mark.parametrize("near", [(5.0, 4.9), (0.1, 0.2), (7.9, 7.8)])
@pytest.mark.parametrize("name", CURVES)
def test_a_falling_curve(name, near):
    looked = []

    def curve(x):
        looked.append(x)
        return CURVES[name](8.0 - x)

    def search(enough):
        low, high = halved(lambda x: not enough(x))
        return high, low

    found = foreseen(search, curve, LEVEL, near, rising=False)
    if name in ("exponential", "gaussian", "steep") and near == (5.0, 4.9):
        assert len(looked) <= 13, "bisection asks about 33 numbers"
    assert found == search(lambda x: curve(x) <= LEVEL)


@pytest.mark.parametrize("scale", [3.0, 1e5, 1e9])
def test_whole_numbers(scale):
    def curve(number):
        assert isinstance(number, int)
        return math.exp(-number / scale)

    found = foreseen(whole, curve, LEVEL, (1, 4), rising=False)
    assert found == whole(lambda number: curve(number) <= LEVEL)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_found_was_looked_at_even_where_the_curve_is_not_monotone(seed):
    """Rounding can turn a bound's order: the number that is returned has to be enough by itself."""

    def curve(x):
        return math.exp(x - 18.0) * (1.0 + 0.2 * math.sin(1e4 * x * (seed + 1)))

    last, beyond = foreseen(halved, curve, LEVEL, (5.0, 4.9), rising=True)
    assert curve(last) <= LEVEL < curve(beyond)
    assert 0.0 < beyond - last <= 1e-9


@pytest.mark.parametrize("scale", [3.0, 1e6, 3e11, 4e16])
@pytest.mark.parametrize("level", [1e-9, 0.3])
def test_leaps_over_weights_that_hide_nothing_find_the_same_weight(scale: float, level: float) -> None:
    """A search that leaps ends where the one in steps ends, and looks at fewer weights that hide nothing."""
    looked: list[int] = []

    def curve(number: int) -> float:
        looked.append(number)
        return 1.0 / (1.0 + (number / scale) ** 4)

    slow = least_within(curve, level, 1, 1 << 62)
    steps, looked = len(looked), []
    assert least_within(curve, level, 1, 1 << 62, leap=LEAP) == slow
    assert len(looked) < 0.7 * steps or scale < 1e9


def test_a_leap_to_where_nothing_can_be_computed_is_taken_in_steps() -> None:
    """A weight too large to be looked at is no reason to find none."""

    def curve(number: int) -> float:
        if number > 5000:
            raise ParameterError("weight", f"{number} is too large")
        return 1.0 if number < 300 else 0.0

    assert least_within(curve, 0.5, 1, 1 << 62, leap=LEAP) == least_within(curve, 0.5, 1, 1 << 62) == 300


@pytest.mark.parametrize("kind", [BitFlips, VectorFlips, UnaryFlips])
def test_calibrations_with_leaps_find_the_weights_of_those_in_steps(
    kind: type[Noise], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaps cost no noise: the flips are those that the search without them finds."""
    promise, size = Promise(2000, 0.7, 1e-7), 2 if kind is BitFlips else 6
    fast = kind.fitting(promise, size, Allowed())
    monkeypatch.setattr("mechdesign.families.shuffle.noise.LEAP", 1)
    assert kind.fitting(promise, size, Allowed()) == fast


@pytest.mark.parametrize(("users", "local"), [(2, 1.0), (300, 2.5), (300, 5.5), (50_000, 4.0)])
def test_the_ends_of_the_data_are_never_above_all_data(users, local):
    bound = BinaryDivergence(users, local, LEVEL)
    for epsilon in (0.05, 0.4, 1.0):
        assert 0.0 < bound.at_ends(epsilon) <= bound.until(epsilon, math.inf)


def test_noise_whose_quick_number_is_not_the_whole_one_is_searched_again():
    """Of bits that are quickly said to be private with any flip."""

    class Hasty(BitFlips):
        @property
        def quick_delta(self) -> float:
            return 0.0

    promise = Promise(1000, 1.0, LEVEL)
    slow = BitFlips.fitting(promise, 2, Allowed())
    assert noise.least_weight(lambda flip: Hasty(promise, 2, flip), 1, 1 << 60, 2).flip == pytest.approx(
        slow.flip, rel=2.0**-11
    )


@pytest.mark.parametrize(("trials", "flip", "bits"), [(40, 0.25, 3), (3000, 0.01, 7), (10**6, 0.45, 20)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_half_lines_have_all_that_is_positive(trials, flip, bits, epsilon):
    """Wherever they are looked from."""
    held, free = (fair_coins.binomial_mass(bits, Fraction(part)) for part in (1.0 - flip, flip))
    coins = fair_coins.fair_coins(round(2 * trials * flip))
    whole = hockey_stick(coins.convolved(held), coins.convolved(free), epsilon)
    last = coins.low + len(coins.mass) + bits
    for start in (
        -(10**6),
        coins.low,
        (coins.low + last) // 2 - 1,
        (coins.low + last) // 2 + 40,
        last,
        2 * last,
    ):
        assert fair_coins._half_line(coins, held, free, epsilon, start)[0] == whole
