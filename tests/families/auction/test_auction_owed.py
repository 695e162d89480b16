"""Across slots: what asking near the reserve price earns, and how little where others decide what is owed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import ParameterError
from mechdesign.families.auction import Bid, OnlineAuction
from mechdesign.families.auction.season import price_limits

COSTS = [1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
RESERVE, SHARE, SLOTS = 10.0, 0.2, 200


def auction(owed: str = "reserve") -> OnlineAuction:
    return OnlineAuction(["noise"], [2], 1.0, SHARE, reserve=RESERVE, owed=owed)


def bids_of(asks) -> dict[str, Bid]:
    return {f"u{number}": Bid(float(ask), 0.0, ("noise",)) for number, ask in enumerate(asks)}


def played(owed: str, asks, slots: int = SLOTS):
    """Return what user 0 earns a slot when it costs ``COSTS[0]``, and the season."""
    mechanism = auction(owed)
    season, earned = mechanism.season(), 0.0
    for _ in range(slots):
        decision = mechanism.step(season, bids_of(asks))
        paid = dict(zip(decision.winners, decision.payments, strict=True))
        earned += paid["u0"] - COSTS[0] if "u0" in paid else 0.0
    return earned / slots, season


def test_pretending_to_cost_the_reserve_price_earns_the_share_times_it():
    """At least (D T - gamma R - D)(R - c), as proven; and hardly more."""
    honest, _ = played("reserve", COSTS)
    earned, season = played("reserve", [RESERVE, *COSTS[1:]])
    proven = (SHARE * SLOTS - RESERVE - SHARE) * (RESERVE - COSTS[0]) / SLOTS
    assert proven <= earned <= SHARE * (RESERVE + SHARE - COSTS[0])
    assert earned > 10 * honest
    assert season.members["u0"].won >= SHARE * SLOTS - RESERVE - SHARE


@pytest.mark.parametrize("owed", ["highest", "median"])
def test_it_earns_nothing_where_others_decide_what_is_owed(owed):
    assert played(owed, [RESERVE, *COSTS[1:]])[0] == 0.0
    assert played(owed, [5.0, *COSTS[1:]])[0] == 0.0


def test_the_highest_price_of_others_keeps_everybodys_share_here():
    plain, first = played("reserve", COSTS)
    other, second = played("highest", COSTS)
    assert other == pytest.approx(plain, abs=0.05)
    shares = [[member.won / SLOTS for member in season.members.values()] for season in (first, second)]
    assert min(shares[1]) >= SHARE - (2.2 / SLOTS)
    assert shares[1] == pytest.approx(shares[0], abs=0.02)


@pytest.mark.parametrize("owed", ["highest", "median"])
def test_a_slot_stays_truthful_by_itself(owed):
    """What is owed is settled before the slot: no report of it changes it."""
    mechanism = auction(owed)
    season = mechanism.season()
    asks = [1.0, 4.0, 1.5, 3.0, 9.0]
    for slot in range(12):
        bids = bids_of(asks[slot % 2 :] + asks[: slot % 2])
        coverage, rational, truthful = mechanism.audit_slot(season, bids)
        assert coverage.holds
        assert rational.holds
        assert truthful.holds
        assert truthful.exact
        assert truthful.note.startswith("within one slot; searched every report")
        assert mechanism.step(season, bids).status == "decided"


@pytest.mark.parametrize("owed", ["highest", "median"])
def test_nobody_moves_its_own_limit(owed):
    """Against the slow reading: sort what the others asked."""
    names = [f"u{number}" for number in range(6)]
    for own in (0.0, 1.3, 1.4, 1.5, 9.0):
        mechanism = auction(owed)
        season = mechanism.season()
        mechanism.step(season, bids_of([own, *COSTS[1:]]))
        limits = price_limits(season, names, owed, 10 << 30)
        for number, name in enumerate(names):
            others = sorted(season.members[other].price for other in names if other != name)
            price = others[-1] if owed == "highest" else others[len(others) // 2]
            assert limits[number] == Fraction(price, 1 << 30)
        assert float(limits[0]) == pytest.approx(2.0 if owed == "highest" else 1.6, abs=1e-8)


def test_the_reserve_price_limits_what_others_asked_too():
    season = auction("highest").season()
    auction("highest").step(season, bids_of([1.0, 1.0, 50.0]))
    assert price_limits(season, ["u0", "u2"], "highest", 3 << 30) == [3, 1]
    assert price_limits(season, ["u0"], "reserve", 3 << 30) is None
    alone = OnlineAuction(["noise"], [0], 1.0, SHARE, reserve=RESERVE, owed="highest")
    season = alone.season()
    alone.step(season, bids_of([1.0]))
    assert price_limits(season, ["u0"], "highest", None) == [0], "there are no others"


def test_the_option_is_kept_and_an_auction_without_it_is_what_it_was(tmp_path):
    assert "owed" not in auction().content(), "seasons that run keep their auction"
    auction("median").save(tmp_path / "a.json")
    again = load_mechanism(tmp_path / "a.json")
    assert again.content() == auction("median").content()
    assert again.fingerprint != auction().fingerprint
    assert again.longest_wait(2.0) is None, "nothing bounds it where the others decide"
    with pytest.raises(ParameterError, match="owed: policy 'static' looks at no backlogs"):
        OnlineAuction(["noise"], [1], 1.0, 0.2, policy="static", owed="median")
    with pytest.raises(ParameterError, match="owed: "):
        OnlineAuction(["noise"], [1], 1.0, 0.2, owed="lowest")


def test_every_promise_of_truthfulness_says_within_one_slot():
    assert auction().certificates()[2].note.startswith("checked on one random slot; within one slot; ")
    assert all(item.note.startswith("checked on one random slot") for item in auction().certificates())
    assert "within one slot" in auction().explained()[-1]
    assert "up to the reserve price" in auction().explained()[-1]
    assert "up to the median price that others ask" in auction("median").explained()[-1]
    assert len(OnlineAuction(["noise"], [1], 1.0).explained()) == 1
