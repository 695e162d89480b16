"""The mechanism direct-mechanism: what is drawn, tables, files, damaged content, payments for lotteries."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import CertificateError, DataError, MechDesignError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.incentives import DirectRule, implementable
from mechdesign.families.incentives.deviations import (
    Demands,
    ExactAudit,
    ExactRule,
    exact_rule,
    fraction_array,
)
from mechdesign.families.incentives.environments import environment_of
from mechdesign.families.incentives.implementation import negative_cycle, rounded_lotteries, rounded_rule

GOODS = {"name": "two-goods", "types": [[2, 1], [4, 0], [5, 1]], "prior": ["3/7", "2/7", "2/7"]}


@pytest.fixture(scope="module")
def goods():
    return md.solve(md.DirectMechanism(environment=GOODS)).mechanism()


@pytest.fixture(scope="module")
def auction():
    sale = {"name": "single-item", "types": [1, 2, 3], "agents": 2}
    return md.solve(md.DirectMechanism(environment=sale)).mechanism()


def test_lotteries_are_drawn_with_their_exact_chances(goods):
    assert max(goods.out_of) > 1
    count = 20_000
    for number, name in enumerate(goods.environment.types[0]):
        drawn = goods._drawn(np.full(count, number), 3)
        counts = np.bincount(drawn, minlength=4)
        weights = goods.weights[number]
        assert not counts[weights == 0].any()
        possible = weights > 0
        if possible.sum() > 1:
            expected = count * weights[possible] / goods.out_of[number]
            assert stats.chisquare(counts[possible], expected).pvalue > 1e-6
        assert goods.decide([name])[1] == tuple(goods.payments[number])


def test_a_table_of_rounds_in_the_shell(auction, tmp_path, capsys):
    path, rounds, out = tmp_path / "m.json", tmp_path / "rounds.csv", tmp_path / "out.csv"
    auction.save(path)
    rounds.write_text("note,bidder2,bidder1\nx,1,3\ny,2,1\nz,1,1\n")
    assert main(["run", str(path), "run", str(rounds), "-o", str(out), "--exact"]) == 0
    assert out.read_text().splitlines() == [
        "outcome,pays_bidder1,pays_bidder2", "bidder1,2,0", "bidder2,0,2", "unsold,0,0"
    ]  # fmt: skip
    rounds.write_text("bidder2,bidder1\n1,3\n2,4\n")
    assert main(["run", str(path), "run", str(rounds), "-o", str(out), "--force"]) != 0
    error = capsys.readouterr().err
    assert "row 2" in error
    assert "'4' is not a type" in error
    assert error.count("\n") == 1
    rounds.write_text("bidder1\n1\n")
    assert main(["run", str(path), "run", str(rounds), "-o", str(out), "--force"]) != 0
    assert "no column 'bidder2'" in capsys.readouterr().err


def test_types_by_name_or_as_numbers(auction):
    assert auction.decide([3, "1"])[0] == auction.decide(["3", 1.0])[0] == "bidder1"
    with pytest.raises(DataError, match="bidder2 has no type"):
        auction.decide([3, 4])
    with pytest.raises(DataError, match="expected 2 types, got 1"):
        auction.decide([3])


def test_a_content_that_lies_is_refused(auction):
    content = json.loads(json.dumps(auction.content()))
    assert DirectRule.from_content(content) == auction
    for profile in range(9):
        for agent in range(2):
            changed = json.loads(json.dumps(content))
            paid = Fraction(changed["payments"][profile][agent])
            changed["payments"][profile][agent] = str(paid + Fraction(1, 10**9))
            with pytest.raises(CertificateError, match=r"incentive_compatibility|participation"):
                DirectRule.from_content(changed)
    wrong = {
        "out_of": (3, [2] * 9, [1], [0] * 9),
        "weights": (content["weights"][:-1], [[2, -1, 0]] * 9),
        "payments": ([[0, 0]],),
    }
    for part, value in [(part, value) for part, values in wrong.items() for value in values]:
        with pytest.raises(MechDesignError):
            DirectRule.from_content({**content, part: value})


def brute_force(rule):
    """Return the largest gain of a lie by trying every one with fractions, one after the other."""
    environment, best = rule.environment, None
    profiles = list(product(*map(range, environment.counts)))
    place = {profile: number for number, profile in enumerate(profiles)}
    chances = rule.lotteries()
    for profile in profiles:
        for agent, count in enumerate(environment.counts):
            worth = environment.by_profile(agent)[profile]

            def utility(number, worth=worth, agent=agent):
                return (chances[number] * worth).sum() - rule.payments[number, agent]

            for other in range(count):
                lie = place[(*profile[:agent], other, *profile[agent + 1 :])]
                gain = utility(lie) - utility(place[profile])
                if other != profile[agent]:
                    best = gain if best is None else max(best, gain)
    return best


def test_the_audit_agrees_with_trying_every_lie(auction, goods):
    for rule in (auction, goods):
        judged = ExactAudit(rule.environment, rule.rule).incentives("dominant")
        assert -judged.slack == brute_force(rule) == 0


def test_payments_are_the_largest_for_given_lotteries(auction):
    found = implementable(auction.environment, auction.lotteries().reshape(3, 3, 3), participation=True)
    assert found.payments.reshape(9, 2).tolist() == auction.payments.tolist()
    bayesian = implementable(
        auction.environment, auction.lotteries().reshape(3, 3, 3), "bayesian", participation=True
    )
    prior = auction.environment.prior[..., None]
    assert (bayesian.payments * prior).sum() == 2
    assert str(found) == "implementable: payments exist"


def test_lotteries_that_fall_in_the_type_have_a_cycle():
    sale = environment_of("environment", {"name": "single-item", "types": [1, 2, 5]})
    chances = np.array([[0, 1], [1, 0], [0, 1]])
    found = implementable(sale, chances)
    assert not found.holds
    assert (
        found.cycle == {"agent": "bidder1", "types": "2 -> 1 -> 2", "length": -1} or found.cycle["length"] < 0
    )
    with pytest.raises(ParameterError, match="sum to 1"):
        implementable(sale, np.array([[1, 1], [1, 0], [0, 1]]))
    with pytest.raises(ParameterError, match="shape"):
        implementable(sale, np.array([[1, 0]]))


def test_implementable_agrees_with_every_cycle_of_two_and_three():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(200):
        values = rng.integers(0, 5, (3, 3))
        chances = np.eye(3, dtype=int)[rng.integers(0, 3, 3)]
        environment = environment_of(
            "environment",
            {"types": [["a", "b", "c"]], "outcomes": ["x", "y", "z"], "values": [values.tolist()]},
        )
        worth = values @ chances.T  # worth[b, a]: true type b, report a
        length = {(a, b): worth[b, b] - worth[b, a] for a in range(3) for b in range(3)}
        cycles = [(0, 1), (1, 2), (0, 2), (0, 1, 2), (0, 2, 1)]
        sums = [sum(length[pair] for pair in zip(c, c[1:] + c[:1], strict=True)) for c in cycles]
        found = implementable(environment, chances)
        assert found.holds == (min(sums) >= 0)
        seen.add(found.holds)
        if found.holds:
            numbers, per = ExactRule(chances, 1, np.zeros((3, 1), dtype=int), 1), 1
            paid = found.payments.astype(int)
            assert per == 1
            assert (
                ExactAudit(environment, ExactRule(numbers.lotteries, 1, paid, 1)).incentives("dominant").slack
                >= 0
            )
    assert seen == {True, False}


def test_a_cycle_without_negative_length_is_none():
    assert negative_cycle([[0, 2, 5], [-1, 0, 1], [0, 0, 0]]) == []
    cycle = negative_cycle([[0, 2, 5], [-1, 0, -3], [0, 2, 0]])
    assert cycle[0] == cycle[-1]


def test_rounded_lotteries_have_payments_of_their_own():
    """Denominators beyond 2^62 are rounded, and incentives hold exactly for what is left."""
    market = environment_of("environment", {"name": "single-item", "types": [1, 2, 3]})
    out_of = 3**50
    lotteries = np.array([[out_of - 1, 1], [out_of // 5, out_of - out_of // 5], [0, out_of]], dtype=object)
    exact = fraction_array(lotteries, out_of)
    payments = implementable(market, exact, participation=True).payments
    rule = ExactRule(lotteries, out_of, *payment_parts(payments))
    made = DirectRule.of(market, Demands(), rule)
    assert TOTAL // 8 <= max(made.out_of) <= TOTAL
    assert made.audit().holds
    assert made.weights.sum(axis=1).tolist() == list(made.out_of)
    assert abs(float(made.payments[2, 0]) - float(payments[2, 0])) < 1e-15
    assert rounded_rule(market, Demands(budget="balanced"), rule, TOTAL) is None
    with pytest.raises(CertificateError, match="common denominator of 80 bits"):
        DirectRule.of(market, Demands(budget="no-deficit"), rule)


def payment_parts(payments):
    from mechdesign.families.incentives.deviations import common_integers

    return common_integers(payments)


def test_rounding_keeps_the_sum():
    rule = ExactRule(np.array([[1, 1, 1], [0, 0, 3]]), 3, np.zeros((2, 1), dtype=int), 1)
    rounded = rounded_lotteries(rule, 1 << 62)
    assert rounded.sum(axis=1).tolist() == [1 << 62] * 2
    assert rounded[1].tolist() == [0, 0, 1 << 62]


def test_each_lottery_has_a_denominator_of_its_own():
    """Together they would need more than 2^62; alone each is drawn exactly, in one table."""
    primes = [2**31 - 1, 2**31 - 19, 2**31 - 61]
    market = environment_of(
        "environment", {"types": [["a", "b", "c"]], "outcomes": ["x", "y"], "values": [[[0, 0]] * 3]}
    )
    lotteries = np.array([[Fraction(1, prime), 1 - Fraction(1, prime)] for prime in primes], dtype=object)
    rule = exact_rule(lotteries, np.array([[Fraction(0)]] * 3, dtype=object))
    assert rule.out_of > TOTAL
    made = DirectRule.of(market, Demands(budget="balanced"), rule)
    assert made.out_of == tuple(primes)
    assert made.lotteries().tolist() == lotteries.tolist()
    assert set(made._drawn(np.array([0, 1, 2] * 100), 1).tolist()) <= {0, 1}
    assert DirectRule.from_content(json.loads(json.dumps(made.content()))) == made


def test_what_a_rule_says_counts_its_agents_outcomes_and_items(goods, auction):
    """A menu is listed item by item; several agents have none."""
    assert goods.menu() == {
        "2/3 second + 1/3 both for 5/3": ("2 1",),
        "first for 4": ("4 0",),
        "both for 5": ("5 1",),
    }
    texts = goods.explained()
    assert "buyer names a type. The outcome is one of none, first, second, both." in texts
    assert "first for 4: chosen by 4 0." in texts
    assert "bidder1, bidder2 each name a type. The outcome is one of unsold, bidder1, bidder2." in (
        auction.explained()
    )
    assert not any("in all" in text for text in (*texts, *auction.explained()))
    assert auction.operations()[0].takes[0].content == "a type: 1, 2, 3"
    with pytest.raises(DataError, match="menu: is for one agent; use decide"):
        auction.menu()
