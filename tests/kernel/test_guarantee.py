"""Guarantees: exact sums, one rule of what holds, and nothing that contradicts itself or is about nothing."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.guarantee import NOTIONS, VACUOUS, Guarantee, Proof, exact_text
from mechdesign.core.validation import as_written, exact_number, stated

EPSILONS = st.fractions(0, 50, max_denominator=10**30)
DELTAS = st.fractions(0, 1, max_denominator=10**30)
GUARANTEES = st.builds(Guarantee, EPSILONS, DELTAS)


@given(st.lists(GUARANTEES, min_size=1, max_size=5), st.integers(1, 1 << 40))
def test_sums_are_exact_and_in_any_order_and_k_fold_is_the_sum_of_k(parts, count):
    total = Guarantee.total(parts)
    assert total.epsilon == sum(part.epsilon for part in parts)
    assert total.delta == min(1, sum(part.delta for part in parts))
    assert Guarantee.total(parts[::-1]).within(total)
    assert total.within(Guarantee.total(parts[::-1]))
    assert parts[0].times(count).epsilon == count * parts[0].epsilon
    three = parts[0].plus(parts[0], parts[0])
    assert (three.epsilon, three.delta) == (parts[0].times(3).epsilon, parts[0].times(3).delta)


@given(GUARANTEES, GUARANTEES, GUARANTEES)
def test_sums_are_monotone(low, more, other):
    assert low.within(low.plus(more))
    assert low.plus(other).within(low.plus(more).plus(other))


@given(GUARANTEES, EPSILONS)
def test_another_epsilon_never_makes_a_guarantee_stronger(found, epsilon):
    moved = found.at(epsilon)
    assert moved.epsilon == epsilon
    assert not moved.delta < found.delta
    if epsilon < found.epsilon and found.delta < 1:
        gap = math.exp(found.epsilon) - math.exp(epsilon)
        assert moved.delta == 1 or moved.delta - found.delta >= gap * (1 - 1e-9)


@pytest.mark.parametrize("name", ["notion", "distance"])
def test_guarantees_of_different_kinds_do_not_add(name):
    other = Guarantee(1, **{name: {"notion": "central", "distance": "metre"}[name]})
    with pytest.raises(ParameterError, match=f"different kinds of {name}"):
        Guarantee(1).plus(other)
    assert not Guarantee(1).within(other)


@given(EPSILONS, st.none() | EPSILONS, st.none() | DELTAS, DELTAS, st.integers(0, 3))
def test_one_rule_decides_and_contradictions_are_refused(epsilon, true, least, delta, pairs):
    promise = Guarantee(epsilon, delta)
    pure = true is not None and true <= epsilon
    if pure and least is not None and least > 0:
        with pytest.raises(CertificateError, match="report this as a bug"):
            Proof(promise, true, least, pairs)
        return
    proof = Proof(promise, true, least, pairs)
    assert proof.holds == (pairs > 0 and (pure or (least is not None and least <= delta < 1)))
    assert bool(proof.reason) == (not proof.holds)
    if proof.holds:
        assert proof.proven.within(promise)
    else:
        with pytest.raises(CertificateError, match="does not hold"):
            _ = proof.proven


def test_nothing_holds_over_no_pairs_even_at_epsilon_0():
    proof = Proof(Guarantee(1, 0.5), 0, 0, pairs=0)
    assert (proof.holds, proof.reason) == (False, VACUOUS)
    assert Proof(Guarantee(0), 0, 0, pairs=2).holds


def test_a_delta_of_1_holds_for_what_is_private_without_it_only():
    assert not Proof(Guarantee(1, 1), None, 1, pairs=2).holds
    assert not Proof(Guarantee(1, 1), 2, "0.5", pairs=2).holds
    assert Proof(Guarantee(1, 1), 1, 0, pairs=2).holds


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1, "one", "1/0", "nan", None, True, Decimal("NaN")])
def test_a_promise_is_a_finite_number(wrong):
    with pytest.raises(ParameterError):
        Guarantee(wrong)
    with pytest.raises(ParameterError):
        Guarantee(1, wrong)


@pytest.mark.parametrize("wrong", [math.nan, -1, "one", True, Decimal("NaN"), -math.inf])
def test_a_true_epsilon_may_be_infinite_and_nothing_else_that_is_not_a_number(wrong):
    with pytest.raises(ParameterError):
        Proof(Guarantee(1), wrong)
    for infinite in (None, math.inf, Decimal("inf")):
        assert Proof(Guarantee(1), infinite, pairs=2).true_up() == math.inf


def test_rounding_is_for_what_is_not_exact():
    assert Proof(Guarantee(1), 1 + 2.0**-50, exact=False, rounding=2.0**-48).holds
    assert not Proof(Guarantee(1), 1 + 2.0**-40, exact=False, rounding=2.0**-48).holds
    with pytest.raises(CertificateError):
        Proof(Guarantee(1), 1, rounding=2.0**-48)


@settings(max_examples=200)
@given(st.floats(1e-9, 700.0))
def test_a_double_stands_for_itself_its_decimal_and_short_quotients(number):
    least = as_written(number)
    assert float(least) == number
    assert least <= min(Fraction(number), Fraction(Decimal(repr(number))))


@settings(max_examples=200)
@given(st.decimals(Decimal("1e-9"), 700, places=25) | st.fractions(Fraction(1, 10**9), 700))
def test_a_written_number_is_kept_as_a_double_that_stands_for_no_more(number):
    kept = stated(str(number))
    assert as_written(kept) <= Fraction(number)
    assert as_written(math.nextafter(math.nextafter(kept, math.inf), math.inf)) > Fraction(number)


@pytest.mark.parametrize("size", range(1, 120))
def test_so_many_parts_of_a_whole_fit_into_it(size):
    assert as_written(1 / size) * size <= 1
    assert as_written(stated(f"1/{size}")) * size <= 1


@given(st.fractions(0, 10**6, max_denominator=10**40))
def test_a_number_in_a_text_is_never_below_it(number):
    text = exact_text(number)
    assert exact_number("epsilon", text) >= number
    assert len(text) < 50


def test_a_guarantee_in_words_and_as_plain_values():
    found = Guarantee("1/11", "1e-6", "central", covers="a batch")
    assert str(found) == "epsilon = 1/11, delta = 0.000001, central, a batch"
    assert found.as_json() == {
        "epsilon": "1/11",
        "delta": "0.000001",
        "notion": "central",
        "covers": "a batch",
    }
    assert "central" in NOTIONS
