"""A spectrum database from the shell: build, answer slot after slot, and what is refused with code 2."""

import csv
import math
import threading

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError
from mechdesign.families.spectrum import SpectrumCloak
from mechdesign.work.files import one_at_a_time

MODEL = """[model]
title = "two channels"
problem = "spectrum-channel"

[parameters]
price = 0.1
privacy_cost = 2.0
secondary = [{ x = 9, y = 0, radius = 3, privacy = 0.5 }]
primary = { x = 0, y = 0, protection = 1 }
channels = [{ name = "free" }]
budget = 0.5
"""
USER = """[model]
title = "a client"
problem = "spectrum-secondary"

[parameters]
price = 0.1
reward = 0.2
privacy_cost = 1.0
radius = 2.0
area = [0, 0, 20, 20]
"""
OWNER = """[model]
title = "a widening"
problem = "spectrum-primary"

[parameters]
price = 0.1
privacy_cost = 2.0
radius = 5.0
location_privacy = 0.5
distance = 10.0
"""
HEADER = "user,channel,x,y,radius,privacy,epsilon\n"
SLOT = HEADER + "ann,channel,9,0,3,0.5,0.25\nben,free,0,8,2,0.5,0.25\n"


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL)
    assert main(["build", "m.toml", "-o", "db.json"]) == 0
    assert "SpectrumDatabase from m.toml" in capsys.readouterr().out
    return tmp_path


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def answer(place, text, output="a.csv", state="s.json", *more):
    (place / "q.csv").write_text(text)
    return main(["run", "db.json", "answer", "q.csv", "-o", output, "--state", state, *more])


def test_slots_one_after_the_other(place, capsys):
    assert answer(place, SLOT) == 0
    said = capsys.readouterr().out
    assert "a.csv: 2 rows" in said
    assert "1 state begun: nothing spent before" in said
    rows = rows_of(place / "a.csv")
    assert [row["user"] for row in rows] == ["ann", "ben"]
    assert rows[1]["status"] == "served"
    assert float(rows[1]["radius"]) == 2.0
    assert float(rows[1]["power"]) == 16.0
    assert answer(place, SLOT, "b.csv") == 0  # the same slot: as it was
    said = capsys.readouterr().out
    assert "slot answered before" in said
    assert "state begun" not in said
    assert (place / "b.csv").read_text() == (place / "a.csv").read_text()
    assert answer(place, SLOT.replace(",0,8,", ",0,7,"), "c.csv") == 0
    assert answer(place, SLOT.replace(",0,8,", ",0,6,"), "d.csv") == 0
    assert "1 budget spent" in capsys.readouterr().out
    assert rows_of(place / "d.csv")[1]["status"] == "budget spent"


def test_the_shipped_user_asks_the_shipped_database(tmp_path, monkeypatch, capsys):
    """Its epsilon is above the default budget, which is said; with a budget of 20 it is served."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("user,channel,x,y\nann,channel,0,9\nbob,channel,7,0\n")
    assert main(["build", "spectrum/zhang2019_figure6_12", "-o", "u.json"]) == 0
    assert main(["run", "u.json", "query", "p.csv", "-o", "q.csv"]) == 0
    for more, status in (([], "above the budget"), (["--set", "budget=20"], "served")):
        assert main(["build", "spectrum/occupied_overlap", "-o", "db.json", "--force", *more]) == 0
        capsys.readouterr()
        run = ["run", "db.json", "answer", "q.csv", "-o", f"{len(more)}.csv", "--state", f"{len(more)}.json"]
        assert main(run) == 0
        said = capsys.readouterr().out
        assert ("2 above the budget (9.113 > 1; build the database with" in said) == (not more)
        assert [row["status"] for row in rows_of(tmp_path / f"{len(more)}.csv")] == [status] * 2


def test_two_processes_do_not_answer_from_one_state_at_once(place):
    """Else both would spend the same budget."""
    other = threading.Thread(target=answer, args=(place, SLOT))
    with one_at_a_time(place / "s.json", DataError):
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert not (place / "s.json").exists()
    other.join(60.0)
    assert (place / "s.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SLOT.replace("free", "fre"), "row 2: channel: no 'fre'; did you mean 'free'?"),
        (SLOT.replace("9,0", "nan,0"), "row 1"),
        (SLOT.replace("8,2,", "8,0,"), "row 2: radius: 0 is not positive"),
        (SLOT.replace("0.5,0.25\nben", "-1,0.25\nben"), "row 1: privacy: -1 is not positive"),
        (SLOT.replace("ben,free", "ann,channel"), "row 2: 'ann' asks twice"),
        (SLOT.replace("epsilon", "eps"), "no column 'epsilon'"),
        (HEADER, "has a header and no rows"),
    ],
)
def test_bad_queries_are_one_line_and_nothing_is_written(place, capsys, text, said):
    assert answer(place, text) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (place / "a.csv").exists()
    assert not (place / "s.json").exists()


def test_without_a_state_or_with_a_wrong_one_nothing_is_answered(place, capsys):
    (place / "q.csv").write_text(SLOT)
    assert main(["run", "db.json", "answer", "q.csv", "-o", "a.csv"]) == 2
    assert "--state: is missing" in capsys.readouterr().err
    assert answer(place, SLOT, state="a.csv") == 2  # else the answers would take its place
    assert "is named like a table" in capsys.readouterr().err
    assert answer(place, SLOT, state="m.toml") == 2
    assert "is not JSON" in capsys.readouterr().err
    assert answer(place, SLOT, state="db.json") == 2
    assert "is not a state of a spectrum database" in capsys.readouterr().err
    assert (place / "m.toml").read_text() == MODEL
    assert not (place / "a.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("radius = 3", "radius = 0", "secondary 1: radius: 0 is not positive"),
        ("x = 9", "x = nan", "secondary 1: x: is NaN"),
        ("privacy = 0.5", "privacy = 0.5, distance = 8", "contradicts the positions"),
        ("price = 0.1", "price = -0.1", "price: -0.1 is not positive"),
        ('name = "free"', 'name = "channel"', "there is another channel 'channel'"),
        ("budget = 0.5", "budget = 0", "budget: 0 is not positive"),
        ("budget = 0.5", "cell = 0", "cell: 0 is not positive"),
        ("budget = 0.5", "draws = 10", "'draws'"),
        ("budget = 0.5", "origin = [1]", "origin: expected [x, y]"),
        ("budget = 0.5", "path_loss = 0", "path_loss: 0"),
    ],
)
def test_bad_models_are_one_line(tmp_path, monkeypatch, capsys, old, new, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL.replace(old, new))
    assert main(["build", "m.toml", "-o", "db.json"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "db.json").exists()


def test_a_crowd_for_which_the_search_is_stopped_is_counted(place, capsys):
    rng = np.random.default_rng(3)
    spots = rng.uniform(0.0, 20.0, (20, 2)).round(3).tolist()
    rows = [f"u{user},free,{x},{y},5,0.5,0.25\n" for user, (x, y) in enumerate(spots)]
    assert answer(place, HEADER + "".join(rows)) == 0
    said = capsys.readouterr().out
    assert "1 optimality not proven" in said
    assert "interference" not in said


def test_cell_origin_and_path_loss_come_from_the_model_and_the_file_has_no_place(place):
    text = MODEL.replace("budget = 0.5", "cell = 4\norigin = [0.5, 0.25]\npath_loss = 2")
    (place / "m.toml").write_text(
        text.replace("primary = { x = 0, y = 0", "primary = { x = 0.7109375, y = 0")
    )
    assert main(["build", "m.toml", "-o", "db.json", "--force"]) == 0
    assert "0.7109375" not in (place / "db.json").read_text()
    assert answer(place, SLOT.replace("9,0,3", "9,0,30") + "cat,channel,4.5,0,3,0.5,0.25\n") == 0
    rows = rows_of(place / "a.csv")
    assert [row["status"] for row in rows] == ["served", "served", "covered"]
    edge = 0.5 + 4 * 97 / 112
    assert float(rows[0]["radius"]) == pytest.approx(9 - edge - 1.5, abs=1e-12)
    assert float(rows[1]["power"]) == 4.0


def test_from_an_owner_s_place_and_a_user_s_place_to_an_answer(place, capsys):
    """The owner's device, the user's device and the database share nothing but these files."""
    (place / "m.toml").write_text(MODEL.replace("budget = 0.5", "budget = 20"))
    assert main(["build", "m.toml", "-o", "db.json", "--force"]) == 0
    capsys.readouterr()
    (place / "user.toml").write_text(USER)
    assert main(["build", "user.toml", "-o", "user.json"]) == 0
    said = capsys.readouterr().out
    assert "SpectrumUser from user.toml" in said
    assert said.count("holds (exact)") == 3
    SpectrumCloak(cell=1.0, protection=1.0).save(place / "cloak.json")
    (place / "tower.csv").write_text("name,x,y\nchannel,5.1,5.2\n")
    assert main(["run", "cloak.json", "register", "tower.csv", "-o", "tile.csv"]) == 0
    run = ["run", "db.json"]
    assert main([*run, "register", "tile.csv", "-o", "public.csv", "--state", "s.json"]) == 0
    assert "5.1" not in (place / "public.csv").read_text() + (place / "s.json").read_text()
    (place / "me.csv").write_text("user,channel,x,y\nann,channel,12,5\nann,free,12,5\nben,channel,5.5,5\n")
    assert main(["run", "user.json", "query", "me.csv", "-o", "q.csv", "--seed", "1"]) == 0
    asked = rows_of(place / "q.csv")
    assert asked[0]["x"] == asked[1]["x"] != "12.0"
    assert math.hypot(float(asked[0]["x"]) - 12, float(asked[0]["y"]) - 5) < 2.0
    assert main([*run, "answer", "q.csv", "-o", "a.csv", "--state", "s.json"]) == 0
    rows = rows_of(place / "a.csv")
    assert [row["status"] for row in rows] == ["served", "served", "covered"]
    assert main([*run, "room", "me.csv", "public.csv", "-o", "room.csv"]) == 0
    rooms = rows_of(place / "room.csv")
    assert float(rooms[0]["room"]) > float(rows[0]["radius"])  # no privacy radius is lost
    assert [float(room["room"]) for room in rooms[1:]] == [math.inf, 0.0]


def test_slots_of_an_owner_that_comes_and_goes(place, capsys):
    SpectrumCloak(cell=1.0, protection=1.0, slot=10.0).save(place / "cloak.json")
    (place / "times.csv").write_text("name,start,end,x,y\nchannel,12,25,9,0.5\n")
    assert main(["run", "cloak.json", "sessions", "times.csv", "-o", "slots.csv"]) == 0
    assert [row["slot"] for row in rows_of(place / "slots.csv")] == ["1", "2"]
    register = ["run", "db.json", "register", "slots.csv", "-o", "p.csv", "--state", "s.json", "--force"]
    assert main(register) == 2
    assert "name one with --slot" in capsys.readouterr().err
    found = []
    for slot in ("2", "3"):
        assert main([*register, "--slot", slot]) == 0
        assert answer(place, SLOT, "a.csv", "s.json", "--force") == 0
        found.append(rows_of(place / "a.csv")[0]["status"])
    assert found == ["covered", "served"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name,column,row,protection,tiling\nchannel,0,0,1,t0\n", "row 1: tile of another tiling (t0"),
        ("name,column,row,protection,tiling\nfre,0,0,1,MARK\n", "no channel 'fre'; did you mean 'free'?"),
        ("name,column,row,protection,tiling\nfree,0.5,0,1,MARK\n", "row 1: '0.5' is not an integer"),
        ("name,column,row,protection,tiling\nfree,0,0,-1,MARK\n", "row 1: protection: -1 is not positive"),
        ("name,x,y\nfree,0,0\n", "no column 'column'"),
    ],
)
def test_registrations_that_make_no_sense_are_one_line(place, capsys, table, said):
    mark = SpectrumCloak(cell=1.0, protection=1.0).tiling.mark
    (place / "tile.csv").write_text(table.replace("MARK", mark))
    assert main(["run", "db.json", "register", "tile.csv", "-o", "p.csv", "--state", "s.json"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (place / "p.csv").exists()
    assert not (place / "s.json").exists()


def test_the_published_widening_is_not_built_and_one_line_says_why(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(OWNER)
    assert main(["build", "p.toml", "-o", "p.json"]) != 0
    error = capsys.readouterr().err
    assert "cloak: FAILS" in error
    assert "median_error" in error
    assert "spectrum-cloak" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "p.json").exists()


def test_a_covered_user_is_a_status_and_not_an_error_of_the_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL.replace("protection = 1", "protection = 10"))
    assert main(["solve", "m.toml"]) != 2
    assert "no user is admitted" in "".join(capsys.readouterr())
