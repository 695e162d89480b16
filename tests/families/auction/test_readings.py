"""LEPA's readings from files: reports of a slot's winners, and the average of each task."""

import csv

import numpy as np
import pandas
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.auction import Bid, OnlineAuction
from mechdesign.families.auction.slot_rules import needed

MODEL = """[model]
title = "air"
problem = "auction-slot"

[parameters]
bids = [[1.0, 0.5], [1.0, 1.0], [0.5, 1.0]]
tasks = [[0, 1], [0], [0]]
requirements = [2, 1]
task_names = ["air", "noise"]
epsilon = 2.0
reserve = 6.0
"""
BIDS = "user,sensing,privacy,tasks\nann,1,0.5,air noise\nbob,1,1,air\ncat,0.5,1,air noise\ndan,2,1,air\n"
READINGS = "user,task,reading\nann,air,21.5\nann,noise,40\ncat,air,19\n"
RANGE = ["--low", "0", "--high", "50"]


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL)
    (tmp_path / "bids.csv").write_text(BIDS)
    (tmp_path / "readings.csv").write_text(READINGS)
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    step = ["run", "m.json", "step", "bids.csv", "-o", "w.csv", "--state", "s.json", "--slot", "1"]
    assert main(step) == 0
    assert {row["user"] for row in rows_of(tmp_path / "w.csv")} == {"ann", "cat"}
    return tmp_path


def noise(*more, table="readings.csv", output="r.csv"):
    return main(["run", "m.json", "noise", table, "-o", output, *RANGE, "--seed", "4", *more])


def fuse(*more, table="r.csv", output="a.csv"):
    return main(["run", "m.json", "fuse", table, "-o", output, "--state", "s.json", *RANGE, *more])


@pytest.mark.parametrize(
    ("more", "what"), [((), "in real numbers"), (("--noise", "duchi"), "at epsilon 2 exactly")]
)
def test_a_slot_ends_in_an_average_of_each_task(folder, capsys, more, what):
    assert noise(*more) == 0
    assert what in capsys.readouterr().out
    assert fuse(*more) == 0
    air, loud = rows_of(folder / "a.csv")
    assert (air["task"], air["reports"], air["winners"]) == ("air", "2", "2")
    assert (loud["task"], loud["reports"], loud["winners"]) == ("noise", "1", "2")
    assert float(loud["alpha"]) == pytest.approx(float(air["alpha"]) * 2**0.5)


def test_alpha_is_that_of_the_requirement(tmp_path):
    """With as many reports as ``needed`` asks for, alpha is what was asked for, or a little less."""
    count = needed(epsilon=2.0, alpha=30.0, delta=0.1, value_range=50.0)
    auction = OnlineAuction(["air"], [count], 2.0, reserve=10.0)
    season = auction.season()
    names = [f"u{number}" for number in range(count + 2)]
    decision = auction.step(season, {name: Bid(1.0, 0.5, ("air",)) for name in names})
    table = pandas.DataFrame({"user": decision.winners, "task": "air", "reading": 20.0})
    reports = auction.run("noise", table, low=0.0, high=50.0, seed=1)
    season.save(tmp_path / "s.json")
    row = auction.run("fuse", reports, state=str(tmp_path / "s.json"), low=0.0, high=50.0).iloc[0]
    assert row["reports"] == count
    assert row["alpha"] <= 30.0 < row["alpha"] * np.sqrt((count + 1) / (count - 1))
    device = auction.randomizer(0.0, 50.0)
    expected = device.estimate(reports.iloc[:, 2].to_numpy())
    assert row["average"] == expected.value
    assert row["standard_error"] == expected.standard_error


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("cat", "dan"), "row 3: 'dan' is no winner of slot 1"),
        (("ann,noise", "ann,air"), "row 2: a second report of 'ann' on 'air'"),
        (("ann,noise", "ann,smell"), "'smell' is unknown"),
    ],
)
def test_reports_that_nobody_bought_are_refused(folder, capsys, change, what):
    assert noise() == 0
    (folder / "r.csv").write_text((folder / "r.csv").read_text().replace(*change))
    assert fuse() == 2
    assert what in capsys.readouterr().err


def test_range_noise_and_slot_have_to_be_those_of_the_reports(folder, capsys):
    assert noise() == 0
    assert fuse("--noise", "duchi") == 2
    assert "reports of another mechanism" in capsys.readouterr().err
    assert fuse("--slot", "2") == 2
    assert "slot 2 is not decided; 1 to 1 are" in capsys.readouterr().err
    assert fuse("--slot", "0") == 2
    assert main(["run", "m.json", "fuse", "r.csv", "-o", "a.csv", "--state", "s.json"]) == 2
    assert "--low: is missing" in capsys.readouterr().err
    (folder / "readings.csv").write_text(READINGS.replace("21.5", "61.5"))
    assert noise(output="x.csv") == 2
    assert "column 'reading': values: row 1" in capsys.readouterr().err
    assert noise("--clip", output="x.csv") == 0


def test_python_says_the_same():
    auction = OnlineAuction(["air"], [1], 1.0, reserve=5.0)
    table = pandas.DataFrame({"user": ["ann"], "task": ["air"], "reading": [1.0]})
    with pytest.raises(ParameterError, match="low"):
        auction.run("noise", table)
    with pytest.raises(DataError, match="reading"):
        auction.run("noise", table.assign(reading=np.nan), low=0.0, high=1.0)
