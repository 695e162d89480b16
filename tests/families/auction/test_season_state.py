"""The file of a season: nothing that a season cannot come to is believed, whatever its digest says."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from mechdesign.core.errors import DataError, ModelFileError, ParameterError
from mechdesign.families.auction import Bid, OnlineAuction
from mechdesign.families.auction.season import Season, _digest, user_counts

AUCTION = OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.3, reserve=5.0)


def bids(slot: int, users: int = 6) -> dict[str, Bid]:
    """Some users leave and come back."""
    kinds = [("noise", "air"), ("noise",), ("air", "noise")]
    return {
        f"u{n}": Bid(0.5 + n / 7, 1.0 + (n * slot) % 5 / 11, kinds[n % 3])
        for n in range(users)
        if (n + slot) % 7
    }


@pytest.fixture(scope="module")
def season() -> Season:
    found = AUCTION.season()
    for slot in range(25):
        assert AUCTION.step(found, bids(slot)).status == "decided"
    return found


def loaded(path: Path, content: object, version: int = 2) -> Season:
    document = {"format": "mechdesign-season", "version": version, "content": content}
    path.write_text(json.dumps({**document, "sha256": _digest(content)}))
    return Season.load(path, AUCTION.fingerprint, Fraction(0.3))


def problem(path: Path, content: object) -> str:
    """Return what is said of a content; empty if it is taken."""
    try:
        loaded(path, content)
    except ModelFileError as error:
        return str(error)
    return ""


def test_what_decisions_imply_is_what_was_counted(season, tmp_path):
    for name, member in season.members.items():
        won = [one.slot for one in season.decisions if name in one.winners]
        assert user_counts(won, member.slots, 25, season.share) == (member.backlog, member.idle, member.won)
    assert len({member.slots for member in season.members.values()}) > 2, "users came and went"
    assert loaded(tmp_path / "s.json", season.as_json()) == season


def changes():
    """Yield single changes of a state, each with a name."""

    def at(*path, put):
        def change(content):
            place = content
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = put(place[path[-1]]) if callable(put) else put

        return change

    for number in range(5):
        for value in (-1, "1", 1.5, None, True, 10**400, [1]):
            yield f"count {number} {value!s:.9}", at("members", "u1", number, put=value)
    for number in (0, 1, 3):  # a slot more that it won nothing in may be possible
        yield f"count {number} one more", at("members", "u1", number, put=lambda old: old + 1)
    yield "a count less", at("members", "u1", put=lambda old: old[:-1])
    yield "a table for counts", at("members", "u1", put={})
    for name in ("", "\ud800", "\udfff x"):
        yield f"name {name!a}", at("members", put=lambda old, name=name: {**old, name: old["u1"]})
    decision = ("decisions", 7)
    for key in ("winners", "payments", "covered", "requested"):
        yield f"{key} shorter", at(*decision, key, put=lambda old: old[:-1])
        yield f"{key} longer", at(*decision, key, put=lambda old: [*old, old[0]])
        for value in (None, 3, "ab", {}, [None], [[1]], ["\ud800"] * 2):
            yield f"{key} {value!a}", at(*decision, key, put=value)
    for value in (-1.0, 1e7, 2.0**-31, 1, "1", None, True):
        yield f"payment {value!s}", at(*decision, "payments", 0, put=value)
    for key in ("value", "cost"):
        for value in ("1", None, 10**400, 1, 1e308):
            yield f"{key} {value!s:.9}", at(*decision, key, put=value)
    yield "cost below 0", at(*decision, "cost", put=-1.0)
    for value in (0, "8", 9, 8.0, True):
        yield f"slot {value!s}", at(*decision, "slot", put=value)
    yield "status", at(*decision, "status", put="infeasible")
    yield "message", at(*decision, "message", put="hello")
    for value in ("", "x" * 64, 3, None, "A" * 64):
        yield f"digest {value!s:.5}", at(*decision, "bids", put=value)
    yield "other winner", at("decisions", 24, "winners", 0, put="u5")
    yield "extra", at(*decision, put=lambda old: {**old, "more": 1})
    yield "no decision", at("decisions", put=lambda old: old[:7] + old[8:])
    for value in (None, 3, {}, [3], [[]], "x"):
        yield f"decisions {value!s}", at("decisions", put=value)
        yield f"members {value!s}", at("members", put=value if value != {} else [])
    for value in ("", None, 3, "\ud800"):
        yield f"identity {value!a}", at("identity", put=value)
    yield "other share", at("share", put=[1, 2])
    yield "extra entry", lambda content: content.update(more=1)


CHANGES = dict(changes())


def test_every_change_is_one_line(season, tmp_path):
    """Each digest fits; lengths that differ were tracebacks, and a lone surrogate was one later."""
    said = {}
    for name, change in CHANGES.items():
        content = copy.deepcopy(season.as_json())
        change(content)
        said[name] = problem(tmp_path / "s.json", content)
    wrong = [
        name for name, text in said.items() if not (text.isprintable() and text.startswith(str(tmp_path)))
    ]
    assert wrong == []


def test_random_values_at_random_places_are_one_line_or_the_same_season(season, tmp_path):
    generator = random.Random(3)
    values = [None, 0, -1, 10**30, 0.5, 1e300, "", "\ud800", "u1", [], {}, True, [0, 0], {"a": 1}]
    for _ in range(300):
        content = copy.deepcopy(season.as_json())
        place, key = content, None
        while True:
            inner = place if key is None else place[key]
            if isinstance(inner, (dict, list)) and inner and (key is None or generator.random() < 0.9):
                place, key = (
                    inner,
                    generator.choice(list(inner) if isinstance(inner, dict) else range(len(inner))),
                )
            else:
                break
        before = place[key]
        place[key] = generator.choice(values)
        text = problem(tmp_path / "s.json", content)
        assert text.isprintable()
        if not text:
            asked = type(before) is int and place is not content and len(place) == 5
            same = loaded(tmp_path / "s.json", content) == season
            assert same or asked or key in ("identity", "value", "cost"), (key, before, place[key])


def test_numbers_beyond_all_doubles_are_one_line(season, tmp_path):
    text = json.dumps(
        {"format": "mechdesign-season", "version": 2, "content": season.as_json(), "sha256": ""}
    )
    for old in ('"cost": ', '"value": '):
        place = text.index(old) + len(old)
        (tmp_path / "s.json").write_text(text[:place] + "1e400, " + text[place:].partition(", ")[2])
        with pytest.raises(ModelFileError, match="is not a state file of a season"):
            Season.load(tmp_path / "s.json", AUCTION.fingerprint, Fraction(0.3))


def test_a_state_of_the_version_before_is_taken_up(season, tmp_path):
    content = season.as_json()
    del content["identity"]
    content["members"] = {name: counts[:4] for name, counts in content["members"].items()}
    old = loaded(tmp_path / "s.json", content, version=1)
    assert old.decisions == season.decisions
    assert [m.backlog for m in old.members.values()] == [m.backlog for m in season.members.values()]
    assert old.identity == ""
    old.save(tmp_path / "s.json")
    with pytest.raises(ModelFileError, match="it has no identity"):
        Season.load(tmp_path / "s.json", AUCTION.fingerprint, Fraction(0.3))
    for version in (0, 3, True, "2", None):
        with pytest.raises(ModelFileError, match="is not a season of this release"):
            loaded(tmp_path / "s.json", season.as_json(), version)


def test_seasons_of_one_auction_differ_and_may_be_told_apart(tmp_path):
    first, second = AUCTION.season(), AUCTION.season()
    assert first.identity != second.identity
    second.save(tmp_path / "s.json")
    again = Season.load(tmp_path / "s.json", AUCTION.fingerprint, first.share, second.identity)
    assert again == second
    with pytest.raises(ModelFileError, match="is the state of another season"):
        Season.load(tmp_path / "s.json", AUCTION.fingerprint, first.share, first.identity)
    assert AUCTION.season("spring").identity == "spring"
    with pytest.raises(ParameterError, match="season: '' is not a name"):
        AUCTION.season("")


def test_a_name_that_no_file_can_hold_is_refused():
    for name in ("\ud800", ""):
        with pytest.raises(DataError, match="is not a name of a user; give a string"):
            AUCTION.step(AUCTION.season(), {**bids(1), name: Bid(1.0, 1.0, ("air",))})
