"""Many slots: queues, shares, waiting times, who comes and goes, and the file of the season."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, ModelFileError, ParameterError
from mechdesign.families.auction import Bid, OnlineAuction, needed, slot_certificates
from mechdesign.families.auction.rules import all_rules, trial_slot
from mechdesign.families.auction.season import Season

AUCTION = OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.25, 1.0, reserve=5.0)


def drawn_bids(seed: int, users: int = 8) -> dict[str, Bid]:
    rng = np.random.default_rng(seed)
    kinds = [("noise", "air"), ("noise",), ("noise", "air"), ("air", "noise")]
    return {
        f"u{number}": Bid(*rng.uniform(0.5, 2.0, 2).tolist(), kinds[number % 4]) for number in range(users)
    }


def played(auction: OnlineAuction, slots: int, fixed: bool = True) -> Season:
    season = auction.season()
    for slot in range(slots):
        assert auction.step(season, drawn_bids(0 if fixed else slot)).status == "decided"
    return season


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("gamma", [0.2, 1.0, 3.0])
def test_queues_waits_and_shares_keep_their_bounds(fixed, gamma):
    auction = OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.25, gamma, reserve=5.0)
    season, longest, waits = auction.season(), 0.0, dict.fromkeys(drawn_bids(0), 0)
    for slot in range(80):
        auction.step(season, drawn_bids(0 if fixed else slot))
        for name in waits:
            waits[name] = max(waits[name], season.idle(name))
            longest = max(longest, float(season.backlog(name)))
    cost = 4.0
    assert longest <= auction.largest_backlog(cost)
    assert max(waits.values()) <= auction.longest_wait(cost)
    for member in season.members.values():
        assert member.won >= 0.25 * 80 - auction.largest_backlog(cost)
    certificate = season.participation()
    assert certificate.holds
    assert certificate.exact


def test_the_longest_wait_is_attained():
    """One cheap user and a dear one who costs 2: it loses 2 / 0.25 = 8 times, and then wins."""
    auction = OnlineAuction(["noise"], [1], 1.0, 0.25)
    bids = {"cheap": Bid(0.0, 0.0, ("noise",)), "dear": Bid(2.0, 0.0, ("noise",))}
    season = auction.season()
    wins = ["dear" in auction.step(season, bids).winners for _ in range(9)]
    assert wins == [False] * 8 + [True]
    assert auction.longest_wait(2.0) == 8


def test_backlogs_have_no_bound_where_they_do_not_count():
    online = OnlineAuction(["noise"], [1], 1.0, 0.25, reserve=3.0)
    assert online.largest_backlog(3.0) < 3.26
    assert online.longest_wait(3.0) == 12
    assert online.largest_backlog(3.5) == math.inf, "who asks more than the reserve price is not admitted"
    assert online.longest_wait(3.5) is None
    static = OnlineAuction(["noise"], [1], 1.0, 0.25, reserve=3.0, policy="static")
    assert static.largest_backlog(3.0) == math.inf
    assert static.longest_wait(3.0) is None


def test_a_wrong_count_of_wins_breaks_the_certificate():
    season = played(AUCTION, 30)
    name = min(season.members, key=lambda name: season.members[name].won)
    season.members[name].won -= 8
    assert not season.participation().holds
    assert season.participation().witness == {"user": name}


def test_the_queue_is_exact():
    season = played(AUCTION, 50)
    share = Fraction(0.25)
    for name, member in season.members.items():
        queue = Fraction(0)
        for decision in season.decisions:
            queue = max(queue - (name in decision.winners), Fraction(0)) + share
        assert season.backlog(name) == queue
        assert member.slots == 50


def test_who_is_absent_has_left_and_who_is_new_starts_with_nothing():
    season = played(AUCTION, 3)
    bids = drawn_bids(0)
    del bids["u5"]
    bids["new"] = Bid(1.0, 1.0, ("air",))
    AUCTION.step(season, bids)
    assert "u5" not in season.members
    assert season.members["new"].slots == 1
    AUCTION.step(season, drawn_bids(0))
    assert season.members["u5"].slots == 1
    assert "new" not in season.members


def test_tasks_ask_at_their_own_rates():
    auction = OnlineAuction(["noise", "air"], [2, 1], 1.0, periods=[1, 3], reserve=5.0)
    season = auction.season()
    asked = [auction.step(season, drawn_bids(0)).requested for _ in range(4)]
    assert asked == [("noise", "air"), ("noise",), ("noise",), ("noise", "air")]
    assert auction.step(season, drawn_bids(0), requested=["air"]).requested == ("air",)


def test_an_infeasible_slot_says_why_and_changes_nothing():
    season = played(AUCTION, 2)
    before = season.as_json()
    decision = AUCTION.step(season, {"ann": Bid(1.0, 1.0, ("noise",))})
    assert decision.status == "infeasible"
    assert decision.message.startswith("task noise: needs 2 users and 1 are able to do it; 1 missing")
    assert season.as_json() == before


def test_a_decided_slot_is_repeated_and_other_bids_are_refused():
    season = played(AUCTION, 3)
    before = season.as_json()
    assert AUCTION.step(season, drawn_bids(0), slot=2) == season.decisions[1]
    assert season.as_json() == before
    with pytest.raises(DataError, match="slot 2: was decided already, with other bids"):
        AUCTION.step(season, drawn_bids(9), slot=2)
    with pytest.raises(DataError, match="slot 5: is not the next one; 4 is"):
        AUCTION.step(season, drawn_bids(0), slot=5)


def test_policies_differ():
    static = OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.25, reserve=5.0, policy="static")
    forced = OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.25, reserve=5.0, policy="forced")
    waits = []
    for auction in (static, forced):
        season, longest = auction.season(), 0
        for _ in range(30):
            auction.step(season, drawn_bids(0))
            longest = max(longest, *(member.idle for member in season.members.values()))
        waits.append(longest)
    assert waits == [30, 3]
    with pytest.raises(ParameterError, match="needs a participation and a reserve"):
        OnlineAuction(["noise"], [1], 1.0, policy="forced")


def test_losing_on_purpose_can_pay_later():
    """Truthful in each slot, not over several: a backlog raises what a user is paid.

    Users a, b and c cost 1, 1.5 and 1.5; one of them is needed. A payment is at least backlog / gamma, and a
    grows its backlog by asking too much for a while.
    """
    auction = OnlineAuction(["noise"], [1], 1.0, 0.9)
    kind = ("noise",)

    def utility(asks: list[float]) -> float:
        season, total = auction.season(), 0.0
        for ask in asks:
            bids = {"a": Bid(ask, 0.0, kind), "b": Bid(1.5, 0.0, kind), "c": Bid(1.5, 0.0, kind)}
            decision = auction.step(season, bids)
            paid = dict(zip(decision.winners, decision.payments, strict=True))
            total += paid["a"] - 1.0 if "a" in paid else 0.0
        return total

    honest = utility([1.0] * 8)
    assert max(utility([5.0] * wait + [1.0] * (8 - wait)) for wait in range(1, 8)) > honest


def test_the_file_gives_back_the_season(tmp_path):
    season = played(AUCTION, 5)
    season.save(tmp_path / "season.json")
    again = Season.load(tmp_path / "season.json", AUCTION.fingerprint, season.share)
    assert again == season


def test_a_season_of_another_auction_or_a_changed_one_is_refused(tmp_path):
    path = tmp_path / "season.json"
    season = played(AUCTION, 2)
    season.save(path)
    with pytest.raises(ModelFileError, match="is a season of another auction"):
        Season.load(path, "x", season.share)
    text = path.read_text()
    document = json.loads(text)
    document["content"]["decisions"][0]["payments"][0] += 1.0
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="was changed after it was written"):
        Season.load(path, AUCTION.fingerprint, season.share)
    for damaged in (text[: len(text) // 2], "[]", "{}", '{"content": 3}', ""):
        path.write_text(damaged)
        with pytest.raises(ModelFileError, match="is not a state file"):
            Season.load(path, AUCTION.fingerprint, season.share)


def test_settings_are_checked_and_survive_the_file(tmp_path):
    AUCTION.save(tmp_path / "a.json")
    assert load_mechanism(tmp_path / "a.json").content() == AUCTION.content()
    bad = {
        "epsilon": {"epsilon": 0.0},
        "tradeoff": {"tradeoff": -1.0},
        "participation": {"participation": 1.0},
        "requirements": {"requirements": [1]},
        "periods": {"periods": [1, 0]},
        "reserve": {"reserve": 0.0},
        "rule": {"rule": "greed"},
        "rule: 'published' is not truthful with queues": {"rule": "published", "participation": 0.1},
        "tasks": {"tasks": ["a b", "c"]},
    }
    good = {"tasks": ["noise", "air"], "requirements": [2, 1], "epsilon": 1.0}
    for field, change in bad.items():
        with pytest.raises(ParameterError, match=f"^{field}"):
            OnlineAuction(**{**good, **change})
    with pytest.raises(ParameterError, match="requirements: that of task 1 is negative"):
        OnlineAuction(["a", "b"], [1, -1], 1.0)


def test_the_certificates_are_those_of_the_rule(monkeypatch):
    assert all(certificate.holds for certificate in AUCTION.certificates())
    assert [certificate.property for certificate in AUCTION.certificates()] == [
        "coverage",
        "individual_rationality",
        "truthfulness",
    ]
    paid = AUCTION.rule.paid
    generous = replace(AUCTION.rule, paid=lambda slot, user: paid(slot, user) and slot.prices[user] + 1000)
    monkeypatch.setitem(all_rules(), "greedy", generous)
    again = OnlineAuction.from_content(AUCTION.content())
    assert not again.certificates()[2].holds, "a winner who is paid what it asks asks more"


def test_the_same_settings_are_tried_once_and_others_on_a_slot_of_their_own():
    plain = {"tasks": ["noise", "air"], "requirements": [2, 1], "epsilon": 1.0}
    settings = {
        (1.0, 1.0, None, False, 2): plain,
        (2.0, 1.0, None, False, 2): {**plain, "epsilon": 2.0},
        (1.0, 3.0, None, False, 2): {**plain, "tradeoff": 3.0},
        (1.0, 1.0, 2.5, False, 2): {**plain, "reserve": 2.5},
        (1.0, 1.0, None, True, 2): {**plain, "participation": 0.1},
        (1.0, 1.0, None, False, 1): {**plain, "tasks": ["noise"], "requirements": [2]},
    }
    slots = [trial_slot(*given) for given in settings]
    assert not any(same_slot(one, other) for one, other in combinations(slots, 2))
    for slot, parameters in zip(slots, settings.values(), strict=True):
        auction = OnlineAuction(**parameters)
        assert auction.certificates() == slot_certificates(slot, "greedy", "checked on one random slot")
        assert auction.certificates() is OnlineAuction(**parameters).certificates()


def same_slot(one, other):
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))


def test_so_many_users_keep_the_promised_accuracy():
    """Exactly the needed users, values at random, 4000 averages: misses are rarer than delta."""
    alpha, delta, epsilon = 0.8, 0.15, 1.3
    count = needed(epsilon, alpha, delta, 2.0)
    assert count == math.ceil(2 * 4 / (epsilon**2 * alpha**2 * delta))
    device = OnlineAuction(["noise"], [count], epsilon).randomizer(-1.0, 1.0)
    rng = np.random.default_rng(8)
    values = rng.uniform(-1.0, 1.0, count)
    misses = 0
    for _ in range(400):
        estimate = device.estimate(device.randomize(values, rng=rng))
        misses += abs(estimate.value - values.mean()) > alpha
    assert misses / 400 <= delta
    # Chebyshev's bound is met by the variance exactly: it would not hold with half the users
    assert 2 * 4 / epsilon**2 / (count // 2) > alpha**2 * delta
