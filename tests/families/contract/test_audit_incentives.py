"""The exact judge of menus against brute force over all pairs, in rational arithmetic."""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.collect.base import mechanism_of
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.families.contract.incentives import (
    audit_menu,
    incentive_compatibility,
    menu_numbers,
    monotonicity,
    upper_envelope,
    within_budget,
)

EIGHTHS = st.integers(0, 40).map(lambda n: n / 8)
MENUS = st.lists(
    st.tuples(
        st.integers(1, 40).map(lambda n: n / 8), EIGHTHS, EIGHTHS, st.integers(0, 8).map(lambda n: n / 4)
    ),
    min_size=1,
    max_size=7,
)


def utility(theta, item, cost):
    """A type's utility of an item; (0, 0) is staying out."""
    epsilon, payment = item
    return Fraction(0) if epsilon == payment == 0 else payment - theta * epsilon - cost


@given(MENUS)
@settings(max_examples=300, deadline=None)
def test_verdicts_and_worst_cases_equal_brute_force(rows):
    types, epsilon, payment, cost = (list(column) for column in zip(*rows, strict=True))
    exact = [[Fraction(value) for value in column] for column in (types, epsilon, payment, cost)]
    items = list(zip(exact[1], exact[2], strict=True))
    own = [utility(theta, item, spent) for theta, item, spent in zip(exact[0], items, exact[3], strict=True)]
    gains = {
        (i, j): utility(exact[0][i], items[j], exact[3][i]) - own[i]
        for i in range(len(types))
        for j in range(len(types))
        if items[j] != (0, 0)
    }
    found = audit_menu(types, [1] * len(types), epsilon, payment, 9.5, cost)
    judged = {item.property: item for item in found}
    rationality, budget = judged.pop("individual_rationality"), judged.pop("budget")
    assert rationality.holds == (min(own) >= 0)
    assert rationality.figures["least_utility"] == float(min(own))
    assert budget.holds == (sum(exact[2]) <= Fraction(19, 2))
    if len(types) == 1:  # there is nobody to imitate, and nobody to compare with
        assert judged == {}
        return
    compatibility, monotone = judged["incentive_compatibility"], judged["monotonicity"]
    worst = max([Fraction(0), *gains.values()])
    assert compatibility.holds == (worst == 0)
    assert compatibility.figures["worst_gain"] == float(worst)
    if worst > 0:
        named = gains[compatibility.witness["type"], compatibility.witness["better_item"]]
        assert named == worst
    order = sorted(zip(types, epsilon, strict=True))
    rises = any(high > low and b > a for (a, low), (b, high) in itertools.pairwise(order))
    assert monotone.holds != rises or len(set(types)) < len(types)


def test_nothing_is_certified_of_a_single_type():
    """Neither by the judges alone, nor in a menu; files that once said so are still read."""
    assert not incentive_compatibility(menu_numbers([1.0], [1.0], [1.0])).holds
    assert not monotonicity([1.0], [1.0]).holds
    menu = md.solve(md.PrivacyContract(types=[1], counts=[100], budget=1000, data_range=10)).mechanism()
    stated = [item.property for item in menu.certificates()]
    assert stated == ["individual_rationality", "budget", "optimality"]
    document = menu.document() | {"version": 2}
    former = {"property": "monotonicity", "holds": True, "exact": True, "witness": None}
    document["certificates"] = [*document["certificates"], former]
    assert mechanism_of(document, "old.json") == menu
    with pytest.raises(CertificateError, match="certificates are not its content's"):
        mechanism_of(document | {"version": 3}, "new.json")


def test_one_unit_in_the_last_place_is_seen():
    types, epsilon = [1.0, 2.1], [0.3, 0.1]
    exact = Fraction(2.1) * Fraction(0.1)
    high = next(pay for pay in (2.1 * 0.1, np.nextafter(2.1 * 0.1, 1)) if Fraction(float(pay)) >= exact)
    low = float(np.nextafter(high, 0))
    assert audit_menu(types, [1, 1], epsilon, [1.0, float(high)])[0].holds
    assert not audit_menu(types, [1, 1], epsilon, [1.0, low])[0].holds


def test_decimals_and_fractions_are_taken_exactly():
    certificates = audit_menu([Decimal("0.1")], [1], [Fraction(1, 3)], [Fraction(1, 30)], 1)
    assert all(certificate.holds for certificate in certificates)
    assert certificates[0].figures["least_utility"] == 0.0


def test_complete_information_has_no_deviations():
    names = [
        c.property for c in audit_menu([1, 2], [1, 1], [1.0, 2.0], [1.0, 4.0], 5, information="complete")
    ]
    assert "incentive_compatibility" not in names


def test_dominated_items_are_not_on_the_envelope():
    assert upper_envelope(menu_numbers([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [5.0, 1.0, 2.0])) == [0, 2]


def test_bad_input_names_the_field():
    with pytest.raises(ParameterError, match=r"^payment: has 1 entry for 2 types"):
        menu_numbers([1, 2], [1, 1], [1])
    with pytest.raises(ParameterError, match=r"^epsilon: entry 1: is NaN"):
        menu_numbers([1, 2], [1.0, float("nan")], [1, 1])
    with pytest.raises(ParameterError, match=r"^payment: has 1 entry for 2 counts"):
        within_budget([1, 2], [1], 3)
