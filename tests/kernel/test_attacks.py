"""Mechanisms under attack: numbers in every guise, weights that change, promises that are none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.base import load_mechanism
from mechdesign.collect.codec import Labels
from mechdesign.core.errors import CertificateError, MechDesignError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.contract.menu import ContractMenu, Terms
from mechdesign.families.contract.noise import DUCHI, LAPLACE
from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Harmony,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.attribute_tables import ColumnRanges
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget
from mechdesign.primitives.kary import KaryWeights
from tests.support.attacks import NO_NUMBERS, LyingArray, LyingInt, guises_of_distances, guises_of_integers

ROWS = [[3 * 2**60, 2**60], [2**60, 3 * 2**60]]
LEVEL = math.log(3.0) + 1e-12


def test_every_guise_of_a_channel_is_the_same_mechanism():
    expected = FiniteChannel(np.array(ROWS), PrivacyTarget(LEVEL))
    for name, guise in guises_of_integers(ROWS).items():
        channel = FiniteChannel(guise, PrivacyTarget(np.longdouble(LEVEL)))
        assert channel.fingerprint == expected.fingerprint, name
        with pytest.raises(CertificateError, match="not private as stated"):
            FiniteChannel(guise, PrivacyTarget(1.0))
        with pytest.raises(ValueError, match="WRITEABLE"):
            channel.weights.setflags(write=True)


def test_what_is_changed_after_the_audit_is_not_what_runs():
    weights, step = np.array(ROWS), np.array([[0.0, 2.0], [2.0, 0.0]])
    target = PrivacyTarget(LEVEL, 0.0, step)
    channel = FiniteChannel(weights, target)
    weights[...] = [[TOTAL, 0], [0, TOTAL]]
    step[...] = 1e9
    object.__setattr__(target, "epsilon", 0.0)
    assert channel.weights.tolist() == ROWS
    assert channel.target.distance.tolist() == [[0.0, 2.0], [2.0, 0.0]]
    assert channel.content()["epsilon"] == LEVEL


def test_a_target_that_judges_itself_is_not_asked():
    class Friendly(PrivacyTarget):
        def audit(self, weights):
            return PrivacyTarget(50.0).audit(weights)

        def holds(self, weights):
            return True

    with pytest.raises(CertificateError, match="not private as stated"):
        FiniteChannel(np.array(ROWS), Friendly(1.0))
    repaired = FiniteChannel.from_floats(np.array([[0.9, 0.1], [0.1, 0.9]]), Friendly(1.0))
    assert repaired.audit().true_epsilon <= 1.0
    assert repaired.mixing > 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, np.float32, np.longdouble])
def test_a_repair_for_distances_of_any_dtype_is_private_for_their_values(dtype):
    steps = np.array([[0, 120, 125], [120, 0, 110], [125, 110, 0]])
    damaged = np.array([[0.7, 0.3], [0.5, 0.5], [0.0, 1.0]])
    expected = FiniteChannel.from_floats(damaged, PrivacyTarget(0.01, 0.0, steps.astype(float)))
    found = FiniteChannel.from_floats(damaged, PrivacyTarget(0.01, 0.0, steps.astype(dtype)))
    assert found.weights.tolist() == expected.weights.tolist()
    assert found.target.distance.dtype == np.float64


def test_disjoint_rows_are_refused_whatever_the_distances_are_made_of():
    weights = np.array([[TOTAL, 0], [TOTAL // 2, TOTAL // 2], [0, TOTAL]])
    steps = [[Fraction(step) for step in row] for row in ([0, 200, 250], [200, 0, 200], [250, 200, 0])]
    for guise in guises_of_distances(steps).values():
        with pytest.raises(CertificateError, match="not private as stated"):
            FiniteChannel(weights, PrivacyTarget(0.001, 0.0, guise))


def test_forged_kary_weights_are_refused():
    class Shifting(KaryWeights):
        """The weights of a constant response when they are checked, others later."""

        reads = 0

        def __getattribute__(self, name):
            if name != "high":
                return object.__getattribute__(self, name)
            Shifting.reads += 1
            return object.__getattribute__(self, name) + (0 if Shifting.reads <= 1 else 2**60)

    with pytest.raises(CertificateError, match="rows sum to"):
        KaryResponse(KaryWeights(19, 19, np.int64(0), np.int64(2**61), np.int64(2**60)), np.arange(19), 0.7)
    honest = KaryWeights(2, 2, 0, 3 * 2**60, 2**60)
    found = KaryResponse(KaryWeights(2, 2, 0, LyingInt(3 * 2**60), np.uint64(2**60)), np.uint8([1, 0]), LEVEL)
    assert found.fingerprint == KaryResponse(honest, np.array([1, 0]), LEVEL).fingerprint
    try:
        shifting = KaryResponse(Shifting(2, 2, 0, 3 * 2**60, 2**60), np.arange(2), LEVEL)
    except CertificateError:
        pass
    else:
        assert shifting.weights == honest
    for kept in ([0, 0], [0, 2], [-1, 0], [0.0, 1.0], [True, False], np.array([0, 1]).view(LyingArray)[:1]):
        with pytest.raises(MechDesignError):
            KaryResponse(honest, kept, LEVEL)


STATED = ("text", "numpy text", *(f"{kind}between doubles" for kind in ("", "decimal ", "long double ")))
"""What states a number and is not a double: a mechanism that is designed for it promises no more; one with
given integers is judged at doubles alone."""

PROMISES = (9, 10, 11, 12, 13, 14)
"""The calls below that design a mechanism for an epsilon."""


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_no_mechanism_takes_what_is_no_number(name):
    value = NO_NUMBERS[name]
    calls = [
        lambda: KaryResponse(KaryWeights(2, 2, 0, 3 * 2**60, 2**60), np.arange(2), value),
        lambda: KaryResponse(KaryWeights(2, 2, 0, 3 * 2**60, 2**60), np.arange(2), 2.0, value),
        lambda: FiniteChannel(np.array(ROWS), PrivacyTarget(2.0), mixing=value),
        lambda: CensoringInterval(2**60, 2**61, value),
        lambda: CensoringInterval(2**60, 2**61, 2.0, value),
        lambda: Duchi(1.0, -1.0, value),
        lambda: AttributeSampling(Duchi(1.0), 2, 1, value),
        lambda: Terms([1.0, value], [1, 1], [0, 0]),
        lambda: Terms([1.0, 2.0], [1, value], [0, 0]),
        *(lambda kind=kind: kind(value) for kind in (Duchi, Laplace, Piecewise, Hybrid, SquareWave)),
        lambda: DiscretePiecewise(value),
        lambda: LAPLACE.randomize([0.5], value, rng=1),
    ]
    if value is None:
        calls.pop(6)  # the default
    if name == "list":
        calls.pop()  # one epsilon for each value
    for number, call in enumerate(calls):
        if name in STATED and number in PROMISES:
            call()
            continue
        with pytest.raises(MechDesignError) as caught:
            call()
        assert "\n" not in str(caught.value), number


def test_terms_of_a_menu_are_copied_and_checked():
    counts = np.array([2.0, 1.0])
    terms = Terms(np.array([1, 2], dtype=np.int8), counts, np.zeros(2), 9.0)
    menu = ContractMenu(np.float32([2, 1]), np.float16([3, 2]), terms)
    counts[:] = 100.0
    assert menu.total_payment == 8.0
    assert [certificate.holds for certificate in menu.certificates()] == [True] * 4


# Promises that are none


def test_a_mean_takes_no_promise_per_unit_of_distance():
    apart = np.array([[0.0, 6.9 / 0.1], [6.9 / 0.1, 0.0]])
    channel = FiniteChannel.from_floats(
        np.array([[0.999, 0.001], [0.001, 0.999]]), PrivacyTarget(0.1, 0.0, apart)
    )
    with pytest.raises(ParameterError, match="per unit of a distance"):
        GridMean.scaled(channel, [0.0, 1.0])
    entry = FiniteChannel.from_floats(
        np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]), PrivacyTarget(0.1, 0.4, notion="entry-wise")
    )
    with pytest.raises(ParameterError, match="entry by entry"):
        GridMean.scaled(entry, [0.0, 0.5, 1.0])


@pytest.mark.parametrize("start", [0.3, 5.0, 8.0, 12.0, 20.0, 35.0, 68.0, 72.0, 83.0, 150.0, 690.0])
def test_the_hybrid_keeps_its_promise_for_every_epsilon(start, tmp_path):
    for step in range(24):
        mechanism = Hybrid(start + step / 17, *((-1.0, 1.0), (0.0, 1e-3), (35.0, 42.5))[step % 3])
        assert mechanism.certificates()[0].holds
    mechanism.save(tmp_path / "hybrid.json")
    assert load_mechanism(tmp_path / "hybrid.json").fingerprint == mechanism.fingerprint
    smooth, low, high = mechanism._coin
    assert smooth + low + high == TOTAL
    assert low == high == 0 or low < high
    # at an end of the range one of Duchi's values is drawn by low and the other one by high integers
    units = np.array([0.0, 0.3, 1.0])
    weights = mechanism._high_weight(units).tolist()
    assert weights[0] == low
    assert low <= weights[1] <= weights[2] <= high
    assert high - weights[2] <= (high - low) >> 52  # the product with a float


def test_a_range_without_room_for_noise_is_refused():
    for kind in (Piecewise, Hybrid):
        with pytest.raises(ParameterError, match="rescale the values"):
            kind(700.0, 0.0, 1e-200)


# Seeds


def test_a_seed_gives_two_mechanisms_independent_noise():
    values = np.zeros(4000)
    mechanisms = [Laplace(1.0), Laplace(1.1), Duchi(1.0), Piecewise(1.0), Hybrid(1.0), SquareWave(1.0)]
    mechanisms += [Laplace(1.0, -2.0, 2.0), DiscretePiecewise(1.0), Hybrid(0.5)]
    noise = [mechanism.randomize(values, rng=5).astype(float) for mechanism in mechanisms]
    noise += [LAPLACE.randomize(values, 1.0, rng=5), LAPLACE.randomize(values, 1.1, rng=5)]
    noise += [DUCHI.randomize(values, 1.0, rng=5)]
    correlations = np.corrcoef(np.sign(noise - np.mean(noise, axis=1, keepdims=True)))
    np.fill_diagonal(correlations, 0.0)
    # 66 pairs; |r| sqrt(n) > 5 happens to a pair in one of 1.7 million seeds
    assert np.abs(correlations).max() < 5.0 / math.sqrt(4000)


@pytest.fixture(scope="module")
def survey():
    return md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)).mechanism()


def test_a_seed_repeats_also_after_loading(tmp_path, survey):
    for number, mechanism in enumerate([survey, Laplace(1.0), Harmony(1.0, 2)]):
        data = [[0.5, 0.5]] * 50 if number == 2 else [0.0, 1.0] * 50
        options = {"anyway": True} if number == 0 else {}
        first = mechanism.randomize(data, rng=3, **options)
        mechanism.save(tmp_path / "saved.json")
        again = load_mechanism(tmp_path / "saved.json")
        assert again.randomize(data, rng=np.int8(3), **options).tolist() == first.tolist()
        assert mechanism.randomize(data, rng=4, **options).tolist() != first.tolist()
    for seed in (-1, 1.0, True, "1"):
        with pytest.raises(ParameterError, match="is not a seed"):
            survey.randomize([0], rng=seed, anyway=True)


def test_bounds_of_columns_of_any_dtype():
    ranges = ColumnRanges(2, np.uint8([0, 200]), np.float16([1, 250]), Labels(2))
    assert ranges.width.tolist() == [1.0, 50.0]
