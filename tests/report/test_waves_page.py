"""The page of several waves: its changes are those of ``estimate``, and each wave has its own results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mechdesign.analysis.student import Change
from mechdesign.cli import main
from mechdesign.data.tidy import OF_ANSWERED
from mechdesign.report.page.waves import WaveTable, change_sentence
from tests.report.test_page import Outline

pytest.importorskip("jinja2", reason="needs the extra mechdesign[report]")

STAFF = """[survey]
title = "Team <b>2026</b>"
id = "team"
wave = "2026"
epsilon = 4.0
users = 900

[[questions]]
name = "content"
text = "Are you content & calm?"
labels = ["no", "yes"]
skip = true

[[questions]]
name = "tools"
text = "What do you use?"
kind = "several"
labels = ["chat", "paper"]

[[questions]]
name = "hours"
text = "How many hours?"
range = [0, 40]
"""
LATER = STAFF.replace('"no", "yes"', '"no", "yes", "hardly"').replace("[0, 40]", "[0, 50]")
PEOPLE = 900


def answers(path: Path, share: float, hours: float) -> None:
    rng = np.random.default_rng(5)
    rows = ["content,tools,hours"]
    for _ in range(PEOPLE):
        content = "" if rng.random() < 0.1 else ("yes" if rng.random() < share else "no")
        tools = "; ".join(tool for tool in ("chat", "paper") if rng.random() < share)
        rows.append(f"{content},{tools},{int(np.clip(rng.normal(hours, 5), 0, 40))}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with three waves; the questions of the later ones offer other answers."""
    place = tmp_path_factory.mktemp("waves")
    (place / "a.toml").write_text(STAFF)
    (place / "b.toml").write_text(LATER)
    at = str(place)
    assert main(["build", f"{at}/a.toml", "-o", f"{at}/a.json"]) == 0
    assert main(["build", f"{at}/b.toml", "--wave", "2027", "-o", f"{at}/b.json"]) == 0
    assert main(["build", f"{at}/b.toml", "--wave", "2028", "-o", f"{at}/c.json"]) == 0
    for name, share, hours in (("a", 0.3, 10), ("b", 0.6, 20), ("c", 0.6, 20)):
        answers(place / f"{name}.csv", share, hours)
        arguments = [f"{at}/{name}.json", f"{at}/{name}.csv", "-o", f"{at}/r{name}.csv", "--seed", "1"]
        assert main(["randomize", *arguments]) == 0
    return place


@pytest.fixture
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def rows_of(page: str) -> list[list[str]]:
    """Return the texts of the cells of each row."""
    return [
        re.findall(r"<t[hd][^>]*>(?:<[^>]*>)*([^<]*)", row) for row in re.findall(r"<tr>.*?</tr>", page, re.S)
    ]


def test_a_later_wave_that_offers_other_answers_is_named_when_it_is_built(there, tmp_path, capsys):
    assert (
        main(
            [
                "build",
                "b.toml",
                "--wave",
                "2029",
                "--after",
                "a.json",
                "-o",
                str(tmp_path / "x.json"),
                "--id",
                "x",
            ]
        )
        == 0
    )
    lines = capsys.readouterr().err.splitlines()
    notes = [line for line in lines if "note:" in line]
    assert len(notes) == 2
    assert "'content' offers other answers (only now: 'hardly')" in notes[0]
    assert "'hours' has another range (0 to 50, before 0 to 40)" in notes[1]
    assert (
        main(
            [
                "build",
                "b.toml",
                "--wave",
                "2029",
                "--after",
                "c.json",
                "-o",
                str(tmp_path / "y.json"),
                "--id",
                "y",
            ]
        )
        == 0
    )
    assert "note:" not in capsys.readouterr().err


def test_the_changes_of_the_page_are_those_of_estimate(there, tmp_path, capsys):
    subjects = ["a.json", "ra.csv", "b.json", "rb.csv"]
    assert main(["report", *subjects, "-o", str(tmp_path / "page.html")]) == 0
    assert "results of 2 waves: 2026, 2027" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    outline = Outline(page)
    assert outline.loads == []
    assert "Are you content &amp; calm?" in page
    assert "Team &lt;b&gt;2026&lt;/b&gt;" in page
    assert main(["estimate", *subjects, "--json"]) == 0
    (changes,) = json.loads(capsys.readouterr().out)["changes"]
    rows = rows_of(page)
    points = {(one["question"], one["category"]): one for one in changes["changes"]}
    for key, label in (
        (("content", "yes"), "yes"),
        (("content", f"{OF_ANSWERED}: yes"), "yes"),
        (("tools: chat", "yes"), "chat"),
    ):
        one = points[key]
        numbers = [f"{100.0 * one[name]:+.1f}" for name in ("value", "low", "high")]
        assert [label, *numbers, "yes"] in rows
    hours = points["hours", "mean"]
    assert any(row[0] == "mean" and row[1:2] == [f"{hours['value']:+.1f}"] for row in rows)
    assert "each person who took part in both has a total of epsilon = 4 + 4 = 8" in page.replace(
        "Each", "each"
    )
    assert "'content' offers other answers in some waves" in page.replace("&#39;", "'")
    assert page.count('aria-label="Certificates of wave') == 2


def test_waves_come_in_their_order_whatever_the_order_of_the_files(there, tmp_path):
    first, second = tmp_path / "one.html", tmp_path / "two.html"
    assert main(["report", "c.json", "rc.csv", "a.json", "ra.csv", "b.json", "rb.csv", "-o", str(first)]) == 0
    assert (
        main(["report", "a.json", "ra.csv", "b.json", "rb.csv", "c.json", "rc.csv", "-o", str(second)]) == 0
    )
    page = first.read_text()
    assert page == second.read_text()
    assert re.findall(r"<h2>Wave (\d+)</h2>", page) == ["2026", "2027", "2028"]
    assert "change from 2026 to 2028" in page
    assert "mechdesign estimate a.json ra.csv b.json rb.csv c.json rc.csv" in page


@pytest.mark.parametrize(
    ("subjects", "words"),
    [
        (["a.json", "ra.csv", "b.json"], "no reports follow it"),
        (["a.json", "ra.csv", "a.json", "ra.csv"], "is there twice"),
        (["a.json", "ra.csv", "absent.json", "rb.csv"], "file not found"),
    ],
)
def test_wrong_waves_are_refused_in_one_line(there, tmp_path, capsys, subjects, words):
    assert main(["report", *subjects, "-o", str(tmp_path / "no.html")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "no.html").exists()


def test_a_sentence_names_the_mean_and_what_is_clear():
    unclear = Change("", "mean", 0.01, 0.1, -0.2, 0.2)
    shares = WaveTable("", True, ("3",), (), (("A", "B", [Change("", "3", 0.2, 0.01, 0.18, 0.22)]),))
    mean = WaveTable("mean", False, ("mean",), (), (("A", "B", [unclear]),))
    assert change_sentence([shares]) == "From A to B: “3” up by 20 ±2 points."
    assert change_sentence([shares, mean]) == "No clear change of the mean from A to B."
