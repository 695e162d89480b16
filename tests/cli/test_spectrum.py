"""A spectrum database from the shell: build, answer slot after slot, and what is refused with code 2."""

import csv
import threading

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError
from mechdesign.core.files import one_at_a_time

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
    assert "is no state of a spectrum database" in capsys.readouterr().err
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
        ("budget = 0.5", "draws = 0", "draws: 0"),
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


def test_cells_draws_and_path_loss_come_from_the_model(place):
    text = MODEL.replace("budget = 0.5", "cell = 100\ndraws = 1\npath_loss = 2")
    (place / "m.toml").write_text(text)
    assert main(["build", "m.toml", "-o", "db.json", "--force"]) == 0
    assert answer(place, SLOT + "cat,channel,-50,0,3,0.5,0.25\n") == 0
    rows = rows_of(place / "a.csv")
    assert [row["status"] for row in rows] == ["covered", "served", "draws spent"]
    assert float(rows[1]["power"]) == 4.0


def test_a_covered_user_is_a_status_and_not_an_error_of_the_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL.replace("protection = 1", "protection = 10"))
    assert main(["solve", "m.toml"]) != 2
    assert "nobody is admitted" in "".join(capsys.readouterr())
