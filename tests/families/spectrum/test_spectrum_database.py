"""The spectrum database: slots, budgets, moves and repetitions, owners' tiles, its file and its state."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import (
    CertificateError,
    DataError,
    MechDesignError,
    ParameterError,
    RowError,
    UnknownNameError,
)
from mechdesign.families.spectrum import SpectrumCloak, SpectrumDatabase
from mechdesign.families.spectrum.queries import State
from mechdesign.families.spectrum.registration import Registered
from mechdesign.families.spectrum.tiling import Tiling

TV = {"name": "tv", "tiles": [[0, 0]], "protection": 1}
FREE = {"name": "free"}


def database(**options):
    return SpectrumDatabase([TV, FREE], 0.1, **{"budget": 1.0, **options})


def ask(user, channel="tv", x=9.0, y=0.0, **more):
    given = {"user": user, "channel": channel, "x": x, "y": y, "radius": 3.0, "privacy": 0.5, "epsilon": 0.25}
    return {**given, **more}


def held(answers):
    return {item.property: item.holds for item in answers.certificates}


def test_a_budget_of_nobody_is_named_as_such():
    fresh = database()
    assert "no user has sent a report yet, so this is about nobody" in str(fresh.certificates()[0])
    fresh.answer([ask("u1")])
    assert "about nobody" not in str(fresh.certificates()[0])


@pytest.mark.parametrize("seed", range(15))
def test_nobody_is_disturbed_and_nothing_pays_more(seed):
    rng = np.random.default_rng(seed)
    queries = [
        ask(f"u{user}", ["tv", "free"][user % 2], *rng.uniform(-12, 12, 2), radius=rng.uniform(1, 4))
        for user in range(10)
    ]
    base = database()
    answers = base.answer(queries)
    assert held(answers) == {"privacy": True, "cloak": True, "interference": True, "optimality": True}
    for channel in ("tv", "free"):
        served = [
            (q, a) for q, a in zip(queries, answers, strict=True) if a.channel == channel and a.radius > 0
        ]
        for place, (one, mine) in enumerate(served):
            for other, theirs in served[place + 1 :]:
                apart = math.hypot(one["x"] - other["x"], one["y"] - other["y"])
                assert apart >= mine.radius + theirs.radius + 1.0 - 1e-9
            if channel == "tv":
                corners = base.tiling.vertices((0, 0))
                nearest = min(math.hypot(one["x"] - x, one["y"] - y) for x, y in corners)
                assert nearest >= mine.radius + 0.5 + 1.0 - 1e-9
            assert mine.power == mine.radius**4.0


def test_a_report_that_is_repeated_is_free_and_a_move_is_not():
    base = database(budget=0.75)
    assert base.answer([ask("ann")])[0].spent == 0.25
    assert base.answer([ask("ann"), ask("ben", y=9.0)])[0].spent == 0.25
    assert base.answer([ask("ann", x=8.0)])[0].spent == 0.5
    assert base.answer([ask("ann", x=9.0)])[0].spent == 0.5  # sent before, if not last
    assert base.answer([ask("ann", x=7.0)])[0].spent == 0.75
    refused = base.answer([ask("ann", x=8.5), ask("ben", y=9.0)])
    assert (refused[0].status, refused[0].radius, refused[0].spent) == ("budget spent", 0.0, 0.75)
    assert refused[1].status != "budget spent"
    assert base.state.spent == {"ann": Fraction(3, 4), "ben": Fraction(1, 4)}


def test_a_report_that_no_budget_pays_for_is_told_from_a_budget_that_is_spent(tmp_path):
    base = database(budget=0.75)
    answers = base.answer([ask("ann", epsilon=0.7500001), ask("ben", y=9.0, epsilon=0.5)])
    assert (answers[0].status, answers[0].radius, answers[0].spent) == ("above the budget", 0.0, 0.0)
    assert answers[1].spent == 0.5
    assert base.answer([ask("ben", y=8.0, epsilon=0.75)])[0].status == "budget spent"
    assert base.answer([ask("cat", y=8.0, epsilon=0.75)])[0].spent == 0.75
    base.save_state(tmp_path / "state.json")
    again = database(budget=0.75)
    again.restore_state(tmp_path / "state.json")
    assert again.state == base.state


def test_a_report_with_another_sign_of_zero_is_the_same_and_the_state_has_no_positions(tmp_path):
    base = database()
    base.answer([ask("ann", "free", x=7.34375, y=0.0)])
    assert base.answer([ask("ann", "free", x=7.34375, y=-0.0)])[0].spent == 0.25
    base.save_state(tmp_path / "state.json")
    assert "7.34375" not in (tmp_path / "state.json").read_text()


def test_one_report_for_several_channels_is_charged_once():
    answers = database().answer([ask("ann"), ask("ann", "free")])
    assert [answer.spent for answer in answers] == [0.25, 0.25]
    assert answers[1].status == "served"
    assert answers[1].radius == 3.0


def test_the_budget_is_exact():
    """Ten times 0.1 in doubles is above 1 by 5e-17 of exact arithmetic, and is refused."""
    base = database(budget=1.0)
    statuses = [base.answer([ask("ann", x=9.0 + step, epsilon=0.1)])[0].status for step in range(10)]
    assert statuses[-1] == "budget spent"
    assert "budget spent" not in statuses[:-1]
    base = database(budget=math.nextafter(1.0, 2.0))
    for step in range(10):
        answer = base.answer([ask("ann", x=9.0 + step, epsilon=0.1)])[0]
    assert answer.status != "budget spent"


def test_the_room_is_the_distance_to_the_tile_however_users_ask():
    """Privacy radii, wanted radii, company and time change nothing: room plus privacy is one number."""
    base = database(budget=100.0, cell=2.0)
    corner = base.tiling.vertices((0, 0))[1]
    for x, y, near in [(9.0, 0.0, (float(corner[0]), 0.0)), (9.0, 9.0, tuple(map(float, corner)))]:
        room = math.hypot(x - near[0], y - near[1]) - 1.0
        for step in range(1, 8):
            query = ask("ann", x=x, y=y, radius=50.0, privacy=2.0**-step, epsilon=0.001 * step)
            others = [ask("ben", x=-9.0 - step, y=-4.0)] if step % 2 else []
            assert base.answer([query, *others])[0].radius + 2.0**-step == pytest.approx(room, abs=1e-12)
    assert base.room("tv", 9.0, 0.0) == pytest.approx(8.0 - float(corner[0]), abs=1e-15)
    assert math.isinf(base.room("free", 0.0, 0.0))


@pytest.mark.parametrize("cell", [1e-9, 0.1, 1e9])
def test_small_and_large_cells_far_from_the_origin(cell):
    tiling = Tiling.of(cell)
    tiles = [list(tiling.tile_of(1e8, 0.0))]
    far = SpectrumDatabase([{**TV, "tiles": tiles}], 0.1, cell=cell)
    answers = far.answer([ask("ann", x=1e8 + 9.3, y=0.7)])
    assert all(held(answers).values())
    assert answers[0].status == ("covered" if cell == 1e9 else "served")


def registered_by(x, y, cloak):
    found = cloak.register([{"name": "tv", "x": x, "y": y}])["tv"]
    return SpectrumDatabase([{"name": "tv", **found.as_json()}, FREE], 0.1, budget=100.0, cell=2.0)


def test_two_owners_of_one_tile_cannot_be_told_apart_by_anything(tmp_path):
    """Random slots: answers, certificates, figures, the database file and the state are equal to the byte."""
    cloak, rng = SpectrumCloak(2.0, 1.0), np.random.default_rng(11)
    one, other = registered_by(0.9, -1.2, cloak), registered_by(-1.6, 0.4, cloak)
    one.save(tmp_path / "one.json")
    other.save(tmp_path / "other.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()
    for slot in range(25):
        queries = [
            ask(f"u{user}", ["tv", "free"][user % 2], *rng.uniform(-9, 9, 2), privacy=rng.uniform(0.01, 3))
            for user in range(int(rng.integers(1, 7)))
        ]
        first, second = one.answer(queries), other.answer(queries)
        assert (repr(list(first)), str(first)) == (repr(list(second)), str(second))
        assert all(held(first).values()), slot
    assert repr(one.figures()[0].panels[0].marks[0].x) == repr(other.figures()[0].panels[0].marks[0].x)
    for name, base in (("one", one), ("other", other)):
        base.save_state(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    far = registered_by(9.0, 0.0, cloak)  # another tile: answers differ, so the comparison can fail
    radii = [base.answer([ask("z", x=15.0, radius=50.0)])[0].radius for base in (one, other, far)]
    assert radii[0] == radii[1] != radii[2]


def test_nothing_that_is_asked_changes_where_an_owner_may_be():
    base = database(budget=1e9, cell=2.0)
    before, content = base.region("tv"), base.content()
    fair = base.answer([ask("ann", radius=50.0)])[0].radius
    for privacy, radius in [(1e4, 1.0), (1e-6, 1e6), (1e9, 1e9)]:
        base.answer([ask("spy", privacy=privacy, radius=radius)])
    assert (base.region("tv"), base.content()) == (before, content)
    assert base.answer([ask("ann", radius=50.0)])[0].radius == fair


def test_a_database_that_grants_more_than_the_tiles_leave_fails_its_audit():
    base = database(cell=2.0)
    base.answer([ask("ann", radius=50.0)])
    grant = base.grants["tv"]
    base.grants["tv"] = replace(grant, rooms=grant.rooms + 1e-9, radii=grant.radii + 1e-9)
    found = {item.property: item for item in base.certificates()}
    assert not found["cloak"].holds
    assert not found["interference"].holds
    assert found["interference"].witness["of"] == "the owner"
    base.register({"tv": Registered(((5, 5),), 1.0)})
    assert base.audit().holds
    base.grants["tv"] = grant  # rooms of other tiles than those now registered
    assert not {item.property: item for item in base.certificates()}["cloak"].holds


def test_a_registration_counts_from_the_next_slot_on_and_stale_answers_are_not_repeated(tmp_path):
    base, slot = database(cell=2.0), [ask("ann", radius=5.0)]
    assert base.answer(slot)[0].status == "served"
    base.register({"tv": Registered(((2, 0), (3, 0)), 1.0)})
    again = base.answer(slot)
    assert (again.repeated, again[0].status) == (False, "covered")
    base.register({"tv": None})
    assert base.answer(slot)[0].radius == 5.0
    base.save_state(tmp_path / "state")
    other = database(cell=2.0)
    other.restore_state(tmp_path / "state")
    assert other.registered() == {"tv": None, "free": None}
    with pytest.raises(UnknownNameError, match="no channel 'fre'; did you mean 'free'"):
        base.register({"fre": None})


def test_covered_users_and_coincident_users_get_a_status():
    base = database()
    assert base.answer([ask("ann", x=0.5), ask("ben", x=1.2)])[0].status == "covered"
    statuses = [a.status for a in base.answer([ask("cat", "free"), ask("dan", "free")])]
    assert sorted(statuses) == ["not served", "served"]


def test_the_very_same_slot_again_gives_the_same_answers():
    base = database()
    first = base.answer([ask("ann")])
    again = base.answer([ask("ann")])
    assert again.repeated
    assert list(again) == list(first)
    assert base.state.slots == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"channel": "fre"}, "channel: no 'fre'; did you mean 'free'?"),
        ({"x": math.nan}, "x: is NaN"),
        ({"radius": 0.0}, "radius: 0 is not positive"),
        ({"privacy": -1.0}, "privacy: -1 is not positive"),
        ({"epsilon": 0.0}, "epsilon: 0 is not positive"),
        ({"user": ""}, "user: is empty"),
        ({"user": "ann"}, "'ann' asks twice for 'tv'"),
        ({"user": "ann", "channel": "free", "x": 1.0}, "'ann' sends two reports in one slot"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_its_row_and_nothing_is_spent(change, text):
    base = database()
    with pytest.raises(RowError) as caught:
        base.answer([ask("ann"), {**ask("ben"), **change}])
    assert str(caught.value).startswith("queries: row 2")
    assert text in str(caught.value)
    assert base.state.spent == {}


def test_bad_channels_are_refused():
    for channels, text in [
        ([], "give at least one"),
        ([TV, TV], "there is another channel 'tv'"),
        ([{"x": 0}], "has no name"),
        ([{"name": "tv", "tiles": [[0, 0]]}], "'protection' is missing"),
        ([{"name": "tv", "x": 0, "y": 0, "protection": 1}], "'x' is a location, which a database must not"),
        ([{**TV, "tiles": []}], "give at least one tile"),
        ([{**TV, "tiles": [[0.5, 0]]}], "expected a whole number"),
        ([{**TV, "tiles": [[1 << 70, 0]]}], "is beyond"),
        ([{**TV, "tile": [0, 0]}], "no entry 'tile'"),
        ([{**TV, "protection": 0}], "protection: 0 is not positive"),
    ]:
        with pytest.raises(MechDesignError, match=text):
            SpectrumDatabase(channels, 0.1)


def test_the_file_gives_back_the_same_database_and_every_change_is_refused(tmp_path):
    path, base = tmp_path / "db.json", database()
    base.save(path)
    assert SpectrumDatabase.load(path).content() == base.content()
    original = json.loads(path.read_text())
    for key in original["content"]:
        document = json.loads(json.dumps(original))
        value = document["content"][key]
        document["content"][key] = value[:-1] if isinstance(value, list) else value + 1
        path.write_text(json.dumps(document))
        with pytest.raises(MechDesignError, match="rebuild it"):
            SpectrumDatabase.load(path)


def test_a_restored_state_goes_on_where_it_stopped(tmp_path):
    path, first, second = tmp_path / "state.json", database(), database()
    slots = [[ask("ann"), ask("ben", y=6.0)], [ask("ann", x=7.0)], [ask("ben", "free", y=5.0)]]
    straight = [list(first.answer(slot)) for slot in slots]
    resumed = []
    for slot in slots:
        second = database()
        second.restore_state(path)
        resumed.append(list(second.answer(slot)))
        second.save_state(path)
    assert resumed == straight
    assert second.state == first.state
    assert [item.name for item in tmp_path.iterdir()] == ["state.json"]


def test_a_state_of_another_database_or_a_changed_one_is_refused(tmp_path):
    path, base = tmp_path / "state.json", database()
    base.answer([ask("ann")])
    base.save_state(path)
    with pytest.raises(DataError, match="belongs to another database"):
        database(budget=2.0).restore_state(path)
    text = path.read_text()
    path.write_text(text.replace('"1/4"', '"1/8"'))
    with pytest.raises(DataError, match="was changed after it was saved"):
        database().restore_state(path)
    for bad in ("", "{}", "[1]", text[:-30]):
        path.write_text(bad)
        with pytest.raises(DataError):
            database().restore_state(path)


def test_files_of_the_former_release_are_one_clear_line(tmp_path):
    path, base = tmp_path / "file", database()
    base.save_state(path)
    document = json.loads(path.read_text())
    del document["version"]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"state of an earlier release.*begin a new state") as caught:
        base.restore_state(path)
    assert "\n" not in str(caught.value)
    base.save(path)
    document = json.loads(path.read_text())
    document["content"] |= {"draws": 1000, "user_draws": 100, "privacy_cost": 2.0}
    document["content"]["channels"] = [{"name": "tv", "x": 0.0, "y": 0.0, "protection": 1.0}]
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match=r"earlier release.*spectrum-cloak; rebuild it$") as caught:
        SpectrumDatabase.load(path)
    assert "\n" not in str(caught.value)


def test_a_state_with_impossible_amounts_is_refused():
    with pytest.raises(ValueError, match="below 0"):
        State.from_json({**State().as_json(), "spent": {"ann": "-1/4"}})
    with pytest.raises(ValueError, match="at least one tile"):
        State.from_json({**State().as_json(), "registered": {"tv": {"tiles": [], "protection": 1.0}}})


def test_an_overspent_state_fails_the_audit():
    base = database()
    base.state.spent["ann"] = Fraction(2)
    assert not base.audit().holds
    assert "witness user = ann" in str(base.audit())


def test_levels_that_the_database_does_not_accept_are_refused():
    least = database(levels=0.2)
    with pytest.raises(RowError, match=r"epsilon: 0\.1.* is below 0\.2.*, the least that is accepted"):
        least.answer([ask("ann", epsilon=0.1)])
    assert not least.state.spent
    assert least.answer([ask("ann", epsilon=0.2)])[0].spent == 0.2
    listed = database(levels=[0.5, 0.25])
    assert listed.answer([ask("ann", epsilon=0.25)])[0].spent == 0.25
    with pytest.raises(RowError, match=r"epsilon: 0\.75 is not accepted; report with one of 0\.25, 0\.5"):
        listed.answer([ask("ann", epsilon=0.75)])
    bad = (([], "is an empty list"), (-1.0, "is not positive"), ([0.1, 0.0], "is not positive"))
    for levels, text in bad:
        with pytest.raises(ParameterError, match=f"levels: .*{text}"):
            database(levels=levels)


@pytest.mark.parametrize("levels", [None, 0.2, [0.25, 0.5]])
def test_levels_are_kept_in_the_file(tmp_path, levels):
    base = database(levels=levels)
    base.save(tmp_path / "db.json")
    loaded = SpectrumDatabase.load(tmp_path / "db.json")
    assert loaded.levels == base.levels


@pytest.mark.parametrize(
    "answers",
    [
        "served",
        [["ann"]],
        [["ann", "tv", "served", "far", 1.0, 0.25]],
        [["ann", "tv", "welcome", 1.0, 1.0, 0.25]],
        [["ann", "tv", "served", -1.0, 1.0, 0.25]],
        [[1, "tv", "served", 1.0, 1.0, 0.25]],
        [["ann", "tv", "served", 1.0, True, 0.25]],
        None,
    ],
)
def test_a_state_with_malformed_last_answers_is_refused_even_with_its_digest(tmp_path, answers):
    from mechdesign.collect.base import digest

    base, path = database(), tmp_path / "state"
    base.answer([ask("ann")])
    base.save_state(path)
    document = json.loads(path.read_text())
    document["state"]["last"]["answers"] = answers
    document["sha256"] = digest(base.fingerprint, document["state"])
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="is damaged") as caught:
        database().restore_state(path)
    assert "\n" not in str(caught.value)


def test_a_state_is_its_owners_alone(tmp_path):
    base, path = database(), tmp_path / "state"
    base.answer([ask("ann")])
    path.write_text("{}")
    path.chmod(0o644)
    base.save_state(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_numbers_next_to_a_limit_are_shown_as_what_they_are():
    with pytest.raises(RowError, match=r"x: 1000000000.0000001 is outside \[-1e\+09, 1e\+09\]"):
        database().answer([ask("ann", x=math.nextafter(1e9, math.inf))])
