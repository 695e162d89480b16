"""The spectrum database: slots, budgets, moves and repetitions, the owners' draws, its file and its state."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.core.errors import DataError, MechDesignError, ParameterError, RowError
from mechdesign.mechanisms.spectrum import SpectrumDatabase
from mechdesign.mechanisms.spectrum.database import _exponential
from mechdesign.mechanisms.spectrum.state import State

TV = {"name": "tv", "x": 0, "y": 0, "protection": 1}
FREE = {"name": "free"}


def database(**options):
    return SpectrumDatabase([TV, FREE], 0.1, 2.0, **{"budget": 1.0, **options})


def ask(user, channel="tv", x=9.0, y=0.0, **more):
    given = {"user": user, "channel": channel, "x": x, "y": y, "radius": 3.0, "privacy": 0.5, "epsilon": 0.25}
    return {**given, **more}


def held(answers):
    return {item.property: item.holds for item in answers.certificates}


@pytest.mark.parametrize("seed", range(15))
def test_whatever_is_drawn_nobody_is_disturbed_and_nothing_pays_more(seed):
    rng = np.random.default_rng(seed)
    queries = [
        ask(f"u{user}", ["tv", "free"][user % 2], *rng.uniform(-12, 12, 2), radius=rng.uniform(1, 4))
        for user in range(10)
    ]
    base = database()
    answers = base.answer(queries, rng=seed)
    assert held(answers) == {"privacy": True, "interference": True, "optimality": True}
    for channel in ("tv", "free"):
        served = [
            (q, a) for q, a in zip(queries, answers, strict=True) if a.channel == channel and a.radius > 0
        ]
        for place, (one, mine) in enumerate(served):
            for other, theirs in served[place + 1 :]:
                apart = math.hypot(one["x"] - other["x"], one["y"] - other["y"])
                assert apart >= mine.radius + theirs.radius + 1.0 - 1e-9
            if channel == "tv":
                assert math.hypot(one["x"], one["y"]) > mine.radius + 0.5 + 1.0
            assert mine.power == mine.radius**4.0


def test_a_report_that_is_repeated_is_free_and_a_move_is_not():
    base = database(budget=0.75)
    assert base.answer([ask("ann")], rng=1)[0].spent == 0.25
    assert base.answer([ask("ann"), ask("ben", y=9.0)], rng=1)[0].spent == 0.25
    assert base.answer([ask("ann", x=8.0)], rng=1)[0].spent == 0.5
    assert base.answer([ask("ann", x=9.0)], rng=1)[0].spent == 0.5  # sent before, if not last
    assert base.answer([ask("ann", x=7.0)], rng=1)[0].spent == 0.75
    refused = base.answer([ask("ann", x=8.5), ask("ben", y=9.0)], rng=1)
    assert (refused[0].status, refused[0].radius, refused[0].spent) == ("budget spent", 0.0, 0.75)
    assert refused[1].status != "budget spent"
    assert base.state.spent == {"ann": Fraction(3, 4), "ben": Fraction(1, 4)}


def test_a_report_with_another_sign_of_zero_is_the_same_and_the_state_has_no_positions(tmp_path):
    base = database()
    base.answer([ask("ann", "free", x=7.34375, y=0.0)])
    assert base.answer([ask("ann", "free", x=7.34375, y=-0.0)])[0].spent == 0.25
    base.save_state(tmp_path / "state.json")
    assert "7.34375" not in (tmp_path / "state.json").read_text()


def test_one_report_for_several_channels_is_charged_once():
    answers = database().answer([ask("ann"), ask("ann", "free")], rng=1)
    assert [answer.spent for answer in answers] == [0.25, 0.25]
    assert answers[1].status == "served"
    assert answers[1].radius == 3.0


def test_the_budget_is_exact():
    """Ten times 0.1 in doubles is above 1 by 5e-17 of exact arithmetic, and is refused."""
    base = database(budget=1.0)
    statuses = [base.answer([ask("ann", x=9.0 + step, epsilon=0.1)], rng=1)[0].status for step in range(10)]
    assert statuses[-1] == "budget spent"
    assert "budget spent" not in statuses[:-1]
    base = database(budget=math.nextafter(1.0, 2.0))
    for step in range(10):
        answer = base.answer([ask("ann", x=9.0 + step, epsilon=0.1)], rng=1)[0]
    assert answer.status != "budget spent"


def test_asking_again_from_the_same_cell_meets_the_same_draw():
    base = database(budget=100.0)
    radii = {
        base.answer([ask("ann", x=4.25, epsilon=0.001 * step)], rng=step)[0].radius for step in range(1, 9)
    }
    assert len(radii) == 1
    assert len(base.state.widenings["tv"]) == 1
    base.answer([ask("ann", x=5.25)], rng=1)
    assert len(base.state.widenings["tv"]) == 2


def test_without_draws_left_new_places_are_refused():
    base = database(draws=1)
    base.answer([ask("ann")], rng=1)
    answer = base.answer([ask("ben", y=7.0)], rng=1)[0]
    assert (answer.status, answer.radius) == ("draws spent", 0.0)
    assert base.answer([ask("ann")], rng=1)[0].status != "draws spent"


def test_the_status_does_not_tell_the_protection_from_the_widening():
    base = database()
    base.state.widenings["tv"] = {"9,0": 7.0}
    statuses = [base.answer([ask("ann", privacy=s)])[0].status for s in (0.5, 1.5, 7.5, 8.5)]
    assert statuses == ["served", "covered", "covered", "covered"]
    base = database(draws=1)
    base.answer([ask("ann")], rng=1)
    assert {base.answer([ask("ben", x=2.5, privacy=s)])[0].status for s in (0.5, 5.0)} == {"draws spent"}


def test_all_answers_from_a_cell_tell_one_number():
    """Places, privacy radii, wanted radii and company of one cell: room plus privacy is the same."""
    base = database(budget=100.0)
    base.state.widenings["tv"] = {"9,4": 1.25}
    rng = np.random.default_rng(7)
    rooms = set()
    for step in range(20):
        place = {"x": 9.0 + rng.random(), "y": 4.0 + rng.random()}
        query = ask("ann", **place, radius=50.0, privacy=2.0 ** -rng.integers(1, 6), epsilon=0.001)
        others = [ask("ben", x=-9.0 - step, y=-4.0)] if step % 2 else []
        rooms.add(base.answer([query, *others], rng=step)[0].radius + query["privacy"])
    room = math.hypot(9.0, 4.0) - 1.0 - 1.25
    assert max(rooms) - min(rooms) <= 4 * math.ulp(room)
    assert max(rooms) <= room + 4 * math.ulp(room)


@pytest.mark.parametrize("cell", [1e-9, 0.1, 1e9])
def test_small_and_large_cells_far_from_the_origin(cell):
    far = SpectrumDatabase([{**TV, "x": 1e8}], 0.1, 2.0, cell=cell)
    answers = far.answer([ask("ann", x=1e8 + 9.3, y=0.7)], rng=1)
    assert all(held(answers).values())
    assert answers[0].status == ("covered" if cell == 1e9 else "served")


@pytest.mark.parametrize("privacy", [7.999999, 20.0])
def test_who_asks_cannot_make_the_widening_vanish(privacy):
    """A privacy radius that leaves next to no room, or none, does not make a small widening the best one."""
    base = database(cell=2.0)
    base.answer([ask("ann", privacy=privacy)], rng=3)
    calm = database(cell=2.0)
    calm.answer([ask("ann", privacy=20.0)], rng=3)
    assert base.state.widenings["tv"]["4,0"] == calm.state.widenings["tv"]["4,0"] > 2.0**-50


def test_covered_users_and_coincident_users_get_a_status():
    base = database()
    assert base.answer([ask("ann", x=0.5), ask("ben", x=1.2)], rng=1)[0].status == "covered"
    statuses = [a.status for a in base.answer([ask("cat", "free"), ask("dan", "free")], rng=1)]
    assert sorted(statuses) == ["not served", "served"]


def test_the_very_same_slot_again_gives_the_same_answers_and_draws_nothing():
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
        ([{"name": "tv", "x": 0, "y": 0}], "'protection' is missing"),
        ([{**TV, "protection": 0}], "protection: 0 is not positive"),
    ]:
        with pytest.raises(ParameterError, match=text):
            SpectrumDatabase(channels, 0.1, 2.0)


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
        with pytest.raises(MechDesignError, match="build it anew"):
            SpectrumDatabase.load(path)


def test_a_restored_state_goes_on_where_it_stopped(tmp_path):
    path, first, second = tmp_path / "state.json", database(), database()
    slots = [[ask("ann"), ask("ben", y=6.0)], [ask("ann", x=7.0)], [ask("ben", "free", y=5.0)]]
    straight = [list(first.answer(slot, rng=3)) for slot in slots]
    resumed = []
    for slot in slots:
        second = database()
        second.restore_state(path)
        resumed.append(list(second.answer(slot, rng=3)))
        second.save_state(path)
    assert resumed == straight
    assert second.state == first.state
    assert [item.name for item in tmp_path.iterdir()] == ["state.json"]


def test_a_state_of_another_database_or_a_changed_one_is_refused(tmp_path):
    path, base = tmp_path / "state.json", database()
    base.answer([ask("ann")], rng=1)
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


def test_a_state_with_impossible_amounts_is_refused():
    with pytest.raises(ValueError, match="below 0"):
        State.from_json({**State().as_json(), "spent": {"ann": "-1/4"}})
    with pytest.raises(ValueError, match="not positive"):
        State.from_json({**State().as_json(), "widenings": {"tv": {"9,0": -1.0}}})


def test_an_overspent_state_fails_the_audit():
    base = database()
    base.state.spent["ann"] = Fraction(2)
    assert not base.audit().holds
    assert "witness user = ann" in str(base.audit())


def test_the_draws_are_exponential():
    """A Kolmogorov-Smirnov test at one in ten thousand, with a fixed seed."""
    base = database()
    source = base.source(np.random.default_rng(5))
    draws = np.sort([_exponential(source) for _ in range(2000)])
    steps = np.arange(1, len(draws) + 1) / len(draws)
    distance = np.abs(steps - 1.0 + np.exp(-draws)).max()
    assert distance < 2.23 / math.sqrt(len(draws))


def test_nobody_spends_all_draws_of_an_owner_alone(tmp_path):
    base, path = database(budget=9.0, user_draws=2, draws=4), tmp_path / "state"
    said = [base.answer([ask("ann", x=9.0 + place)], rng=1)[0].status for place in range(4)]
    assert [status == "draws spent" for status in said] == [False, False, True, True]
    base.save_state(path)
    again = database(budget=9.0, user_draws=2, draws=4)
    again.restore_state(path)
    assert again.answer([ask("ann", x=-9.0)], rng=1)[0].status == "draws spent"
    assert again.answer([ask("ben", x=11.0)], rng=1)[0].status != "draws spent"
    assert again.answer([ask("ann", x=11.5)], rng=1)[0].status != "draws spent"  # drawn for ben
    together = [ask("ann", x=-9.0), ask("cem", x=-8.5, y=0.5)]
    assert "draws spent" not in {answer.status for answer in again.answer(together, rng=1)}
    assert again.state.drawn == {"tv": {"ann": 2, "ben": 1, "cem": 1}}


def test_levels_that_the_owner_does_not_accept_are_refused():
    least = database(levels=0.2)
    with pytest.raises(RowError, match=r"epsilon: 0\.1.* is below 0\.2.*, the least that is accepted"):
        least.answer([ask("ann", epsilon=0.1)])
    assert not least.state.spent
    assert least.answer([ask("ann", epsilon=0.2)], rng=1)[0].spent == 0.2
    listed = database(levels=[0.5, 0.25])
    assert listed.answer([ask("ann", epsilon=0.25)], rng=1)[0].spent == 0.25
    with pytest.raises(RowError, match=r"epsilon: 0\.75 is not accepted; report with one of 0\.25, 0\.5"):
        listed.answer([ask("ann", epsilon=0.75)])
    bad = (([], "is an empty list"), (-1.0, "is not positive"), ([0.1, 0.0], "is not positive"))
    for levels, text in bad:
        with pytest.raises(ParameterError, match=f"levels: .*{text}"):
            database(levels=levels)


@pytest.mark.parametrize("levels", [None, 0.2, [0.25, 0.5]])
def test_levels_are_kept_in_the_file(tmp_path, levels):
    base = database(levels=levels, user_draws=3)
    base.save(tmp_path / "db.json")
    loaded = SpectrumDatabase.load(tmp_path / "db.json")
    assert (loaded.levels, loaded.user_draws) == (base.levels, 3)


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
    from mechdesign.mechanisms.base import digest

    base, path = database(), tmp_path / "state"
    base.answer([ask("ann")], rng=1)
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
    base.answer([ask("ann")], rng=1)
    path.write_text("{}")
    path.chmod(0o644)
    base.save_state(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_numbers_next_to_a_limit_are_shown_as_what_they_are():
    with pytest.raises(RowError, match=r"x: 1000000000.0000001 is outside \[-1e\+09, 1e\+09\]"):
        database().answer([ask("ann", x=math.nextafter(1e9, math.inf))])
