"""The exact audit against brute force over all subsets of reports, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mechdesign.audit import audit_channel
from mechdesign.audit.channel import channel_holds
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower, exp_upper
from tests.support.channels import integer_channels
from tests.support.exact import brute_entry_wise, brute_set_wise, largest_ratio

LN2 = 0.6931471805599453  # the double below ln 2
AFTER_LN2 = math.nextafter(LN2, 1.0)  # the double above ln 2
EPSILONS = st.one_of(st.sampled_from([0.0, LN2, AFTER_LN2, 1e-18, 1.0, 40.0, 5000.0]), st.floats(0.0, 10.0))


@given(integer_channels(), EPSILONS)
def test_least_set_wise_delta_is_the_maximum_over_all_subsets(weights, epsilon):
    audit = audit_channel(weights, epsilon)
    assert audit.least_delta_exact == brute_set_wise(weights.tolist(), exp_lower(epsilon), TOTAL)
    assert Fraction(audit.least_delta) >= audit.least_delta_exact
    assert math.nextafter(audit.least_delta, -1.0) < audit.least_delta_exact


@given(integer_channels(), EPSILONS)
def test_entry_wise_delta_is_the_maximum_over_all_entries(weights, epsilon):
    exact = brute_entry_wise(weights.tolist(), exp_lower(epsilon), TOTAL)
    found = Fraction(audit_channel(weights, epsilon).entry_delta)
    assert exact <= found <= exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1000)


@given(integer_channels(), EPSILONS)
def test_the_set_that_is_named_attains_the_least_delta(weights, epsilon):
    audit = audit_channel(weights, epsilon)
    if audit.least_delta_exact == 0:
        assert audit.delta_witness == {}
        return
    first, second, reports = (audit.delta_witness[key] for key in ("input", "other", "reports"))
    more, less = (sum(int(weights[row, report]) for report in reports) for row in (first, second))
    assert more - exp_lower(epsilon) * less == audit.least_delta_exact * TOTAL


@given(integer_channels())
def test_true_epsilon_is_the_logarithm_of_the_largest_ratio(weights):
    audit, ratio = audit_channel(weights, 1.0), largest_ratio(weights.tolist())
    if ratio is None:
        assert audit.true_epsilon == math.inf
    elif ratio == 1:
        assert audit.true_epsilon == 0.0
        assert audit.epsilon_witness == {}
        return
    else:
        assert exp_upper(audit.true_epsilon) >= ratio
        below = math.nextafter(audit.true_epsilon, 0.0)
        assert exp_lower(below) < ratio, "a smaller double would do"
    where = audit.epsilon_witness
    high, low = (int(weights[where[key], where["report"]]) for key in ("input", "other"))
    assert (low == 0 and high > 0) if ratio is None else Fraction(high, low) == ratio


@given(integer_channels(), EPSILONS, st.sampled_from([0.0, 0.25, 0.5, 0.9]))
def test_the_verdict_is_the_comparison_of_the_exact_delta(weights, epsilon, delta):
    lower = exp_lower(epsilon)
    for notion, brute in (("ldp", brute_set_wise), ("entry-wise", brute_entry_wise)):
        audit = audit_channel(weights, epsilon, delta, notion=notion)
        least = brute(weights.tolist(), lower, TOTAL)
        assert audit.holds == (least <= Fraction(delta))


def test_one_unit_in_four_quintillion_decides():
    third = TOTAL // 3  # 2**62 = 3 * third + 1
    beyond = np.array([[TOTAL - third, third], [third, TOTAL - third]], dtype=np.int64)
    assert not audit_channel(beyond, LN2).holds
    lower = exp_lower(LN2)
    low = int(TOTAL / (lower + 1)) + 1  # the least low with TOTAL - low <= E low
    within = np.array([[TOTAL - low, low], [low, TOTAL - low]], dtype=np.int64)
    one_less = np.array([[TOTAL - low + 1, low - 1], [low - 1, TOTAL - low + 1]], dtype=np.int64)
    assert audit_channel(within, LN2).holds
    assert not audit_channel(one_less, LN2).holds


def test_a_ratio_of_exactly_two_fails_below_and_holds_above_ln_2():
    weights = np.array([[TOTAL // 2, TOTAL // 2, 0], [TOTAL // 4, TOTAL // 2, TOTAL // 4]], dtype=np.int64)
    halves = np.array([[TOTAL // 2, TOTAL // 4, TOTAL // 4], [TOTAL // 4, TOTAL // 2, TOTAL // 4]], np.int64)
    assert not audit_channel(weights, 100.0).holds  # a zero faces a positive entry: no epsilon is enough
    assert not audit_channel(halves, LN2).holds
    assert audit_channel(halves, AFTER_LN2).holds
    assert audit_channel(halves, AFTER_LN2).true_epsilon == AFTER_LN2


def test_set_wise_and_entry_wise_delta_differ_for_three_reports():
    quarter = TOTAL // 4
    weights = np.array([[2 * quarter, 2 * quarter, 0], [quarter, quarter, 2 * quarter]], dtype=np.int64)
    audit = audit_channel(weights, 0.0, 0.5, notion="entry-wise")
    assert (audit.entry_delta, audit.least_delta) == (0.5, 0.5)
    rows = np.array([[2 * quarter, 2 * quarter, 0, 0], [quarter, quarter, quarter, quarter]], dtype=np.int64)
    audit = audit_channel(rows, 0.0, 0.25, notion="entry-wise")
    assert (audit.entry_delta, audit.least_delta, audit.holds) == (0.25, 0.5, True)
    assert not audit_channel(rows, 0.0, 0.25).holds
    assert "set by set it needs least_delta" in str(audit)
    assert audit.details()["notion"] == "entry-wise"
    assert audit_channel(rows, 0.0, 0.25, notion="ldp") == audit_channel(rows, 0.0, 0.25)


def test_the_former_name_of_a_notion_is_told_the_new_one():
    weights = np.array([[TOTAL // 2, TOTAL // 2]] * 2, dtype=np.int64)
    for audit in (audit_channel, channel_holds):
        with pytest.raises(ParameterError) as caught:
            audit(weights, 1.0, 0.1, notion="set-wise")
        assert str(caught.value) == "notion: 'set-wise' is not a choice; it is called 'ldp' now"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[TOTAL + 1, -1]], "the weight of report 1 in row 0 is negative"),
        ([[TOTAL // 2, TOTAL // 2], [TOTAL // 2, TOTAL // 2 - 1]], "row 1 sums to 4611686018427387903"),
        ([[TOTAL, TOTAL], [TOTAL, 0]], "row 0 sums to"),
        ([[TOTAL * 2 - 1, 1]], "the weight of report 0 in row 0 exceeds 2\\*\\*62"),
        ([[TOTAL, TOTAL, TOTAL, TOTAL, TOTAL]], "row 0 sums to"),  # a sum that wraps around to 2**62
        ([[]], "non-empty matrix"),
    ],
)
def test_what_is_no_channel_is_refused_naming_the_row(rows, text):
    with pytest.raises(CertificateError, match=text):
        audit_channel(np.array(rows, dtype=np.int64), 1.0)


def test_floats_are_refused():
    with pytest.raises(CertificateError, match="expected integers"):
        audit_channel(np.array([[float(TOTAL)]]), 1.0)


def test_metric_privacy_with_a_delta_is_refused():
    with pytest.raises(ParameterError, match="set delta = 0"):
        audit_channel(np.array([[TOTAL]], dtype=np.int64), 1.0, 0.1, distance=np.zeros((1, 1)))


def test_a_long_witness_is_abridged():
    size = 40
    rows = np.zeros((2, 2 * size), dtype=np.int64)
    rows[0, :size] = rows[1, size:] = TOTAL // size
    rows[0, 0] += TOTAL - int(rows[0].sum())
    rows[1, -1] += TOTAL - int(rows[1].sum())
    witness = audit_channel(rows, 1.0).delta_witness
    assert len(witness["reports"]) == 12
    assert witness["and_more_reports"] == size - 12
