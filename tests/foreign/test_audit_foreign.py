"""Channels of other programs: exact epsilon, witness, sums of rows; RAPPOR by brute force; black boxes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.foreign.audit import exact_sums
from mechdesign.foreign.black_box import attack_program
from mechdesign.foreign.channels import ForeignChannel
from mechdesign.foreign.rappor import Rappor


def brute_ratio(rows: list[list[Fraction]]) -> Fraction:
    """Return the largest ratio of two entries of a column, by trying all."""
    scaled = [[entry / sum(row) for entry in row] for row in rows]
    return max(
        first[column] / second[column]
        for first in scaled
        for second in scaled
        for column in range(len(first))
    )


@pytest.mark.parametrize("seed", range(8))
def test_ratio_of_doubles_is_that_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.random((5, 4)) ** rng.integers(1, 40)
    rows[:, 0] = np.maximum(rows[:, 0] * 2.0 ** rng.integers(-1000, 0), 5e-324)
    found = ForeignChannel(rows).audit()
    exact = [[Fraction(entry) for entry in row] for row in rows]
    assert found.ratio == brute_ratio(exact)
    assert [item.total for item in found.defects] == [sum(row) for row in exact if sum(row) != 1]


def test_sums_are_exact_where_doubles_round() -> None:
    rows = np.array([[1e300, 1.0, 5e-324], [0.1, 0.2, 0.3]])
    assert exact_sums(rows) == [sum(map(Fraction, row.tolist())) for row in rows]


def test_interval_contains_the_logarithm_and_nothing_else() -> None:
    found = ForeignChannel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]).audit()
    assert found.ratio == 3
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high
    assert found.high - found.low < Fraction(1, 10**48)
    assert float(found.low) == pytest.approx(math.log(3), rel=1e-15)
    assert not found.defects


def test_a_stated_epsilon_one_ulp_too_small_fails() -> None:
    channel = ForeignChannel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    above = channel.audit().epsilon
    assert channel.audit().keeps(above)
    assert not channel.audit().keeps(math.nextafter(above, 0.0))
    assert channel.audit(3).keeps(3 * above * (1 + 1e-15))
    assert not channel.audit(3).keeps(above)


def test_zero_beside_a_positive_entry_is_infinite() -> None:
    found = ForeignChannel(np.array([[0.5, 0.5], [1.0, 0.0]])).audit()
    assert found.ratio is None
    assert found.epsilon == math.inf
    assert (found.witness["answer"], found.witness["other"], found.witness["report"]) == ("0", "1", "1")


def test_a_positive_number_below_all_doubles_is_not_zero() -> None:
    tiny = Fraction(1, 10**400)
    found = ForeignChannel([[tiny, 1 - tiny], [1 - tiny, tiny]]).audit()
    assert found.ratio == (1 - tiny) / tiny


def test_a_report_that_no_answer_makes_is_no_witness() -> None:
    assert ForeignChannel(np.array([[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]])).audit().ratio == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.array([[0.5, -1e-12], [0.5, 0.5]]), "row 0, column 1: -1e-12 is negative"),
        (np.array([[0.5, np.nan], [0.5, 0.5]]), "NaN"),
        (np.array([[0.0, 0.0], [0.5, 0.5]]), "row '0': holds only zeros"),
        ([[0.5, 0.5], [1.0]], "row 2: has 1 entry"),
        ([[0.5, math.inf], [1.0, 0.0]], "is infinite"),
        ([[True, 0.5], [1.0, 0.0]], "expected a number"),
        ([], "is empty"),
        ([0.5, 0.5], "expected rows of numbers"),
    ],
)
def test_what_is_no_channel_is_refused(rows: object, said: str) -> None:
    with pytest.raises(MechDesignError, match=said):
        ForeignChannel(rows)


def rappor_law(mechanism: Rappor, bits: tuple[int, ...], reports: int) -> dict[object, Fraction]:
    """Return the law of several reports of one value, by summing over the permanent bits."""
    noise = mechanism.f / 2
    outcomes = list(itertools.product((0, 1), repeat=len(bits)))
    law: dict[object, Fraction] = {}
    for permanent in outcomes:
        weight = Fraction(1)
        for bit, kept in zip(bits, permanent, strict=True):
            weight *= 1 - noise if bit == kept else noise
        for sent in itertools.product(outcomes, repeat=reports):
            chance = weight
            for one in sent:
                for kept, bit in zip(permanent, one, strict=True):
                    share = mechanism.q if kept else mechanism.p
                    chance *= share if bit else 1 - share
            law[sent] = law.get(sent, Fraction(0)) + chance
    return law


@pytest.mark.parametrize("reports", [1, 2])
@pytest.mark.parametrize(("bits", "hashes"), [(4, 2), (3, 2), (2, 1), (2, 2), (1, 1)])
@pytest.mark.parametrize("shares", [("1/2", "3/4", "1/2"), ("4/5", "1/10", "1/3"), ("1/10", "1/5", "3/4")])
def test_rappor_is_that_of_its_whole_channel(
    shares: tuple[str, str, str], bits: int, hashes: int, reports: int
) -> None:
    p, q, f = map(Fraction, shares)
    mechanism = Rappor(bits=bits, hashes=hashes, p=p, q=q, f=f)
    fewest = 0 if bits == 1 else 1  # one bit is a boolean; else hashes may collide
    values = [value for value in itertools.product((0, 1), repeat=bits) if fewest <= sum(value) <= hashes]
    laws = [rappor_law(mechanism, value, reports) for value in values]
    best = max(first[key] / second[key] for first in laws for second in laws for key in first)
    assert mechanism.audit(reports).ratio == best


def test_more_reports_of_rappor_approach_the_permanent_bits() -> None:
    mechanism = Rappor(bits=16, hashes=2, p=Fraction(1, 2), q=Fraction(3, 4), f=Fraction(1, 2))
    found = [mechanism.audit(number).ratio or Fraction(0) for number in (1, 2, 10, 100)]
    assert found == sorted(set(found))
    assert 80.99 < found[-1] < 81
    assert mechanism.audit(None).ratio == 81
    alike = Rappor(bits=4, hashes=1, p=Fraction(1, 2), q=Fraction(1, 2), f=Fraction(0))
    assert alike.audit(5).ratio == alike.audit(None).ratio == 1
    bare = Rappor(bits=4, hashes=1, p=Fraction(1, 4), q=Fraction(1, 2), f=Fraction(0))
    assert bare.audit(None).ratio is None
    assert bare.audit(1).ratio == 3


@pytest.mark.parametrize(
    ("name", "value"), [("p", Fraction(3, 2)), ("hashes", 5), ("bits", 0), ("f", -1), ("cohorts", 1.5)]
)
def test_impossible_configurations_are_refused(name: str, value: object) -> None:
    given: dict[str, Any] = {
        "bits": 4,
        "hashes": 1,
        "p": Fraction(1, 4),
        "q": Fraction(1, 2),
        "f": Fraction(0),
        name: value,
    }
    with pytest.raises(ParameterError, match=name):
        Rappor(**given)


def test_bound_of_a_black_box_is_below_epsilon_as_often_as_stated() -> None:
    """At confidence 0.9 the bound exceeds epsilon in at most 10% of runs; 25 of 100 has probability 2e-5."""
    rng = np.random.default_rng(7)
    wrong, positive = 0, 0
    for _ in range(100):
        ones = {"no": rng.random(400) < 0.25, "yes": rng.random(400) < 0.75}
        found = attack_program({name: list(map(str, made)) for name, made in ones.items()}, confidence=0.9)
        wrong += found.refutes(math.log(3))
        positive += found.epsilon > 0.5
    assert wrong < 25
    assert positive > 75


def test_black_box_finds_a_report_that_one_answer_never_makes() -> None:
    rng = np.random.default_rng(3)
    runs = {"a": ["x"] * 2000, "b": rng.choice(["x", "y"], 2000).tolist(), "c": ["x"] * 2000}
    found = attack_program(runs)
    assert (found.answer, found.reports) == ("b", ("y",))
    assert 3.5 < found.epsilon < math.inf
    assert attack_program(runs, delta=0.6).epsilon == 0.0


def test_black_box_needs_two_answers_and_enough_runs() -> None:
    with pytest.raises(DataError, match="1 of at least 2"):
        attack_program({"a": ["x"] * 100})
    with pytest.raises(DataError, match="reports are too few"):
        attack_program({"a": ["x"] * 100, "b": ["x"] * 3})
