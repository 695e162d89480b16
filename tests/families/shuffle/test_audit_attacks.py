"""Audits under attack: whatever the numbers are dressed as, the verdict is that of a judge in fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.audit import audit_channel
from mechdesign.audit.channel import channel_holds, entry_wise_delta, set_wise_delta, true_epsilon
from mechdesign.audit.metric import MetricChannel, needed_pairs
from mechdesign.core.errors import MechDesignError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.contract.incentives import audit_menu, monotonicity
from mechdesign.primitives import PrivacyTarget
from mechdesign.primitives.kary import KaryWeights, representative
from tests.support.attacks import (
    NO_NUMBERS,
    LyingArray,
    LyingFloat,
    LyingInt,
    guises_of_distances,
    guises_of_integers,
    guises_of_number,
)
from tests.support.channels import integer_channels
from tests.support.exact import exponential_bounds, is_private

STEPS = [Fraction(0), Fraction(1, 4), Fraction(1), Fraction(100), Fraction(200), Fraction(250), Fraction(127)]
STEPS += [Fraction(0.1), Fraction(float(np.float32(0.1))), Fraction(2**62), Fraction(2**62 + 2**40)]
EPSILONS = [Fraction(0), Fraction(1, 1024), Fraction(0.1), Fraction(1), Fraction(9, 4), Fraction(40)]


@st.composite
def distances(draw: st.DrawFn, size: int) -> list[list[Fraction]]:
    """Draw a symmetric matrix of numbers whose sums leave small dtypes."""
    rows = [[Fraction(0)] * size for _ in range(size)]
    for first in range(size):
        for second in range(first):
            rows[first][second] = rows[second][first] = draw(st.sampled_from(STEPS))
    return rows


TURNS = st.integers(0, 3)
"""Which quarter of the guises an example is dressed in: each has some fifteen of the sixty examples."""


@settings(max_examples=60)
@given(st.data(), integer_channels(), st.sampled_from(EPSILONS), TURNS)
def test_the_metric_verdict_is_the_judges_in_every_guise(data, weights, epsilon, turn):
    rows, steps = weights.tolist(), data.draw(distances(len(weights)))
    verdict = is_private(rows, epsilon, steps)
    levels = guises_of_number(epsilon)
    if verdict is None:
        return
    for name, guise in list(guises_of_distances(steps).items())[turn::4]:
        level = data.draw(st.sampled_from(sorted(levels)))
        audit = audit_channel(weights, levels[level], distance=guise)
        assert audit.holds == verdict, (name, level)
        assert PrivacyTarget(levels[level], 0.0, guise).holds(weights) == verdict, (name, level)
        assert (audit.true_epsilon <= epsilon) == verdict


@settings(max_examples=60)
@given(st.data(), integer_channels(), st.sampled_from(EPSILONS), TURNS)
def test_the_plain_verdict_is_the_judges_in_every_guise(data, weights, epsilon, turn):
    rows = weights.tolist()
    verdict = is_private(rows, epsilon)
    levels = guises_of_number(epsilon)
    if verdict is None:
        return
    for name, guise in list(guises_of_integers(rows).items())[turn::4]:
        level = levels[data.draw(st.sampled_from(sorted(levels)))]
        assert audit_channel(guise, level).holds == verdict, name
        assert channel_holds(guise, level) == verdict, name
        for delta in (entry_wise_delta(guise, exp_lower(level)), set_wise_delta(guise, exp_lower(level))[0]):
            assert (delta == 0) == verdict, name
    assert (float(true_epsilon(weights)[0]) <= epsilon) == verdict


@settings(max_examples=40)
@given(st.data(), st.integers(2, 5))
def test_the_pairs_that_are_left_out_follow_from_the_others(data, size):
    """Shortest paths along the kept pairs are no longer than the distances, in fractions."""
    steps = data.draw(distances(size))
    for name, guise in guises_of_distances(steps).items():
        far = Fraction(10) ** 30
        path = [[Fraction(0) if a == b else far for b in range(size)] for a in range(size)]
        for first, second in needed_pairs(guise).tolist():
            path[first][second] = min(path[first][second], steps[first][second])
        for middle in range(size):
            for first in range(size):
                for second in range(size):
                    by_way = path[first][middle] + path[middle][second]
                    path[first][second] = min(path[first][second], by_way)
        assert all(
            path[first][second] <= steps[first][second]
            for first in range(size)
            for second in range(size)
            if first != second
        ), name


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.uint64, np.float16, np.float32])
def test_disjoint_rows_are_not_private_whatever_holds_the_distances(dtype):
    """Sums of distances that wrap would leave every pair out."""
    far = {np.uint8: 200, np.uint16: 60000, np.float16: 60000.0, np.uint64: 2.0**63}.get(dtype, 2.0**62)
    steps = np.array([[0, far, far * 1.25], [far, 0, far], [far * 1.25, far, 0]])
    if dtype in (np.uint16, np.float16):
        steps = np.array([[0, far, far + 5000], [far, 0, far], [far + 5000, far, 0]])
    weights = np.array([[TOTAL, 0], [TOTAL // 2, TOTAL // 2], [0, TOTAL]])
    audit = audit_channel(weights, 1e-30, 0.0, steps.astype(dtype))
    assert not audit.holds
    assert audit.true_epsilon == np.inf


def test_a_distance_in_single_precision_counts_as_what_it_is():
    """A step of 0.1 is promised; its float32 is larger by 1.5e-9, its float16 less by 2.4e-5."""
    low, _ = exponential_bounds(Fraction(0.1) * 10)
    small = int(TOTAL / (low + 1)) + 1
    weights = np.array([[TOTAL - small, small], [small, TOTAL - small]])
    step = np.array([[0.0, 0.1], [0.1, 0.0]])
    assert audit_channel(weights, 10.0, distance=step).holds
    for dtype in (np.float32, np.float16):
        given_steps = step.astype(dtype)
        exact = [[Fraction(float(entry)) for entry in row] for row in given_steps]
        expected = is_private(weights.tolist(), Fraction(10), exact)
        assert audit_channel(weights, 10.0, distance=given_steps).holds == expected
        assert expected == (given_steps[0, 1].item() > 0.1)


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_no_audit_takes_what_is_no_number(name):
    value = NO_NUMBERS[name]
    weights = np.array([[TOTAL, 0], [TOTAL // 2, TOTAL // 2]])
    zeros = np.zeros((2, 2))
    calls = [
        lambda: audit_channel(weights, value),
        lambda: audit_channel(weights, 1.0, value),
        lambda: audit_channel(weights, value, 0.0, zeros),
        lambda: audit_channel(weights, 1.0, 0.0, [[0.0, value], [value, 0.0]]),
        lambda: audit_channel([[value, TOTAL], [0, TOTAL]], 1.0),
        lambda: channel_holds(weights, value),
        lambda: PrivacyTarget(value),
        lambda: PrivacyTarget(1.0, value),
        lambda: PrivacyTarget(value, 0.0, zeros),
        lambda: MetricChannel(weights, zeros, needed_pairs(zeros)).holds(value),
        lambda: needed_pairs([[0.0, value], [1.0, 0.0]]),
    ]
    if value is not None:
        calls.append(lambda: audit_channel(weights, 1.0, 0.0, value))
    for call in calls:
        with pytest.raises(MechDesignError) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_number_that_equals_everything_does_not_stand_for_another_in_a_memory():
    forged = LyingFloat(40.0)  # equal to 7, with the hash of 7
    assert exp_lower(forged) > 10**17
    assert exp_lower(7.0) < 1097
    assert exp_lower(forged) > 10**17


def test_an_array_that_answers_what_suits_it_is_read_as_what_it_holds():
    disjoint = np.array([[TOTAL, 0], [0, TOTAL]]).view(LyingArray)
    assert audit_channel(disjoint, 1.0).true_epsilon == np.inf
    short = np.array([[TOTAL, 0], [0, TOTAL - 1]]).view(LyingArray)
    with pytest.raises(MechDesignError, match="row 1 sums to"):
        audit_channel(short, 1.0)


def whole_matrix(size: int, kept: int, own: int, high: int, low: int) -> list[list[int]]:
    """Return the rows of a k-ary response that keeps the first answers, from the definition."""
    rows = []
    for answer in range(size):
        row = [low if report < kept else 0 for report in range(size)]
        row[answer if answer < kept else 0] += high - low
        row[answer] += own
        rows.append(row)
    return rows


@settings(max_examples=80)
@given(
    st.integers(2, 5).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))),
    st.integers(0, TOTAL),
    st.integers(0, TOTAL),
    st.sampled_from([int, np.int64, np.uint64, LyingInt]),
    st.sampled_from(EPSILONS),
)
def test_kary_weights_of_every_class_are_judged_as_the_matrix_they_stand_for(shape, own, low, kind, epsilon):
    size, kept = shape
    own, low = min(own, TOTAL), min(low, TOTAL)
    high = TOTAL - own - (kept - 1) * low
    sound = 0 <= high <= TOTAL and high >= low
    numbers = (own, max(high, 0), low)
    forged = KaryWeights(kind(size), kind(kept), *(kind(number) for number in numbers))
    assert {type(value) for value in vars(forged).values()} == {int}
    if not sound:
        with pytest.raises(MechDesignError):
            representative(forged)
        return
    verdict = is_private(whole_matrix(size, kept, own, high, low), epsilon)
    if verdict is not None:
        assert audit_channel(representative(forged)[0], epsilon).holds == verdict


def test_numpy_integers_do_not_overflow_in_kary_weights():
    forged = KaryWeights(19, 19, np.int64(0), np.int64(2**61), np.int64(2**60))
    with pytest.raises(MechDesignError, match="rows sum to"):
        forged.require()
    fields = {"size": 19, "kept": 19, "own": np.int64(0), "high": np.int64(2**61), "low": np.int64(2**60)}
    for field, value in fields.items():
        object.__setattr__(forged, field, value)
    with pytest.raises(MechDesignError, match="rows sum to"):
        representative(forged)


def test_menus_of_every_class_get_the_same_certificates():
    types, counts, epsilon, payment = [1, 2, 4], [10, 20, 5], [3, 2, 1], [9, 7, 5]
    expected = audit_menu(types, counts, epsilon, payment, 255)
    shown = [str(certificate) for certificate in expected]
    assert [certificate.holds for certificate in expected] == [True, True, True, True]
    kinds = [np.int8, np.uint8, np.float16, np.longdouble, Fraction, Decimal, LyingInt, LyingFloat, float]
    for kind in kinds:
        lists = [[kind(value) for value in values] for values in (types, counts, epsilon, payment)]
        for guise in (lists, [np.array(values, dtype=object) for values in lists]):
            found = audit_menu(*guise, Fraction(255))
            assert [str(certificate) for certificate in found] == shown, kind
    one_less = audit_menu(np.int8(types), np.int8(counts), np.int8(epsilon), np.int8(payment), 254)
    assert [c.property for c in one_less if not c.holds] == ["budget"]


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_no_menu_takes_what_is_no_number(name):
    value = NO_NUMBERS[name]
    rational = ("between doubles", "decimal between doubles", "long double between doubles", "huge")
    if name in rational:
        return
    good = ([1, 2], [1, 1], [1, 1], [2, 2])
    for place in range(4):
        forged = [[*entries] for entries in good]
        forged[place][1] = value
        with pytest.raises(MechDesignError):
            audit_menu(*forged, 10)
    with pytest.raises(MechDesignError):
        audit_menu(*good, 10, cost=[value, 0])
    if value is not None:
        with pytest.raises(MechDesignError):
            audit_menu(*good, value)


def test_negative_counts_do_not_make_room_in_the_budget():
    with pytest.raises(MechDesignError, match=r"^counts: entry 1 \(-1\) is negative"):
        audit_menu([1, 2], [1, -1], [1, 1], [2, 2], 0)
    with pytest.raises(MechDesignError, match=r"^epsilon: entry 0 \(-1\.0\) is negative"):
        audit_menu([1, 2], [1, 1], [-1.0, 1], [2, 2], 10)
    with pytest.raises(MechDesignError, match="information: 'full' is not a choice"):
        audit_menu([1, 2], [1, 1], [1, 1], [2, 2], 10, information="full")


def test_numbers_beyond_doubles_give_a_verdict():
    """Individual rationality is missed by 10**300 * 10**300, which is not a double."""
    twice = [1e300, 1e300]
    certificates = audit_menu(twice, twice, twice, twice, 1e300)
    assert [certificate.holds for certificate in certificates] == [False, True, False, True]
    assert certificates[0].figures["least_utility"] == -np.inf
    assert certificates[2].figures["total_payment"] == np.inf


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_monotonicity_compares_every_pair_also_of_tied_types(items):
    types, epsilon = [item[0] for item in items], [item[1] / 2 for item in items]
    expected = all(b[1] <= a[1] for a in items for b in items if a[0] < b[0])
    certificate = monotonicity(types, epsilon)
    assert certificate.holds == (expected and len(items) > 1), "of a single type nothing holds"
    if not expected:
        witness = certificate.witness
        assert witness["lower_type"] < witness["higher_type"]
        assert witness["higher_epsilon"] > witness["lower_epsilon"]
        assert (witness["lower_type"], 2 * witness["lower_epsilon"]) in items
        assert (witness["higher_type"], 2 * witness["higher_epsilon"]) in items
