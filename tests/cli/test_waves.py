"""Waves at the shell: build --wave finds the wave before, estimate prints changes and the total."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from tests.support.tables import refused

SURVEY = """[survey]
title = "How we work"
wave = "2026"
epsilon = 4.0
users = 400
{more}
[[questions]]
name = "happy"
text = "Are you happy?"
labels = ["no", "yes"]

[[questions]]
name = "hours"
text = "How many hours do you work?"
range = [0, 60]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("staff.toml").write_text(SURVEY.format(more=""))
    Path("a.csv").write_text("happy,hours\n" + "no,40\nyes,30\n" * 200)
    Path("b.csv").write_text("happy,hours\n" + "yes,30\nyes,20\n" * 200)
    return tmp_path


def run(capsys, *arguments, code=0):
    assert main(list(arguments)) == code
    return capsys.readouterr()


def built(capsys, name, *options, model="staff.toml"):
    _, error = run(capsys, "build", model, "-o", f"{name}.json", *options)
    return md.load_mechanism(f"{name}.json").about, error


def test_the_wave_before_is_found_in_the_folder_of_the_output(capsys):
    first, said = built(capsys, "staff")
    assert (first.wave, first.earlier, said) == ("2026", (), "")
    second, said = built(capsys, "staff2027", "--wave", "2027")
    assert said == "mechdesign: staff2027.json: wave 2027, after staff.json (wave 2026)\n"
    assert [wave.id for wave in second.earlier] == [first.id]
    third, said = built(capsys, "staff2028", "--wave", "2028", "--set", "epsilon=2")
    assert "after staff2027.json (wave 2027)" in said
    assert [str(wave.guarantee.epsilon) for wave in third.earlier] == ["4", "4"]
    again, _ = built(capsys, "staff2028", "--wave", "2028", "--set", "epsilon=2")
    assert again == third
    assert built(capsys, "staff")[0] == first


def test_a_wave_that_the_model_file_names_is_linked_too(capsys):
    first, _ = built(capsys, "staff")
    Path("next.toml").write_text(SURVEY.format(more="").replace('"2026"', '"2027"'))
    second, said = built(capsys, "next", model="next.toml")
    assert "wave 2027, after staff.json" in said
    assert second.earlier[0].id == first.id
    copy, said = built(capsys, "copy")
    assert (copy.wave, copy.earlier, said) == ("2026", (), "")


def test_the_wave_before_is_named_where_it_is_elsewhere(capsys):
    first, _ = built(capsys, "staff")
    Path("later").mkdir()
    second, said = built(capsys, "later/staff", "--wave", "2027", "--after", "staff.json")
    assert second.earlier[0].id == first.id
    assert "after staff.json" in said


def test_an_identity_of_the_model_file_gets_the_name_of_the_wave(capsys):
    Path("staff.toml").write_text(SURVEY.format(more='id = "staff"'))
    assert built(capsys, "staff")[0].id == "staff"
    assert built(capsys, "staff2027", "--wave", "2027")[0].id == "staff-2027"
    assert built(capsys, "other", "--wave", "wave 3", "--id", "third")[0].id == "third"


def wrong(capsys, *arguments):
    """Return what is said where a command is refused before anything is written."""
    return refused(capsys, *arguments)


def test_a_wave_without_its_first_is_one_line(capsys):
    said = wrong(capsys, "build", "staff.toml", "--wave", "2027", "-o", "x.json")
    assert "has no file of an earlier wave with these questions; name it with --after FILE" in said
    assert "file not found" in wrong(
        capsys, "build", "staff.toml", "--wave", "2027", "--after", "y.json", "-o", "x.json"
    )
    built(capsys, "staff")
    assert "y.json: file not found" in wrong(
        capsys, "build", "staff.toml", "--wave", "2027", "--after", "y.json", "-o", "staff.json"
    )
    said = wrong(capsys, "build", "staff.toml", "--wave", "2026", "-o", "x.json")
    assert "wave '2026' exists already" in said
    said = wrong(capsys, "build", "staff.toml", "--wave", "", "-o", "x.json")
    assert "--wave: is empty" in said
    said = wrong(capsys, "build", "staff.toml", "--wave", "2027", "--after", "staff.json", "-o", "staff.json")
    assert "is the file of the wave before" in said
    Path("staff.toml").write_text(SURVEY.format(more="").replace('wave = "2026"\n', ""))
    said = wrong(capsys, "build", "staff.toml", "--after", "staff.json", "-o", "x.json")
    assert "the wave has no name" in said


def test_two_surveys_with_the_same_questions_in_one_folder_are_not_guessed(capsys):
    built(capsys, "north")
    built(capsys, "south", "--id", "south")
    said = wrong(capsys, "build", "staff.toml", "--wave", "2027", "-o", "x.json")
    assert "north.json, south.json have these questions, and are not waves of each other" in said
    assert "--after FILE" in said


def test_other_questions_are_said_and_none_in_common_is_refused(capsys):
    built(capsys, "staff")
    other = SURVEY.format(more="").replace('"hours"', '"sleep"')
    Path("other.toml").write_text(other)
    _, said = built(capsys, "other", "--wave", "2027", "--after", "staff.json", model="other.toml")
    assert "only the new wave has sleep; only the earlier one has hours" in said
    Path("third.toml").write_text(other.replace('"happy"', '"mood"'))
    said = wrong(capsys, "build", "third.toml", "--wave", "2028", "--after", "staff.json", "-o", "third.json")
    assert said.count("\n") == 1


@pytest.fixture
def waves(capsys):
    built(capsys, "staff")
    built(capsys, "staff2027", "--wave", "2027")
    run(capsys, "randomize", "staff.json", "a.csv", "-o", "ra.csv", "--seed", "1")
    run(capsys, "randomize", "staff2027.json", "b.csv", "-o", "rb.csv", "--seed", "1")
    return ("staff.json", "ra.csv", "staff2027.json", "rb.csv")


def test_estimate_prints_each_wave_the_change_and_the_total(capsys, waves):
    text, error = run(capsys, "estimate", *waves)
    assert error == ""
    assert text.count("400 reports") >= 2
    assert "change from 2026 to 2027" in text
    assert "each person who took part in both has a total of epsilon = 4 + 4 = 8" in text
    other, _ = run(capsys, "estimate", *waves[2:], *waves[:2])
    assert other == text  # whatever order they are named in
    document = json.loads(run(capsys, "estimate", *waves, "--json").out)
    (change,) = [
        one
        for one in document["changes"][0]["changes"]
        if (one["question"], one["category"]) == ("happy", "yes")
    ]
    assert change["low"] < 0.5 < change["high"]
    assert document["total"]["epsilon"] == "8"
    assert [wave["wave"] for wave in document["waves"]] == ["2026", "2027"]


def test_estimates_of_waves_go_to_files(capsys, waves):
    run(capsys, "estimate", *waves, "-o", "waves.csv")
    head, *rows = Path("waves.csv").read_text().splitlines()
    assert head == "question,category,estimate,standard_error,low,high,wave"
    assert {row.rsplit(",", 1)[1] for row in rows} == {"2026", "2027", "2026 to 2027"}
    said = refused(capsys, "estimate", *waves, "-o", "waves.csv")
    assert "file exists" in said
    run(capsys, "count", "staff.json", "ra.csv", "-o", "ca.json")
    counted, _ = run(capsys, "estimate", "staff.json", "ca.json", *waves[2:])
    assert counted == run(capsys, "estimate", *waves).out


def test_what_is_no_list_of_waves_is_one_line(capsys, waves):
    built(capsys, "stranger", "--id", "stranger")
    run(capsys, "randomize", "stranger.json", "a.csv", "-o", "rs.csv")
    said = refused(capsys, "estimate", *waves[:2], "stranger.json", "rs.csv")
    assert "is not an earlier wave of" in said
    assert "no reports follow it" in refused(capsys, "estimate", "staff.json", "staff2027.json", "rb.csv")
    assert "no reports follow it" in refused(capsys, "estimate", *waves[:3])
    assert "another mechanism or survey" in refused(
        capsys, "estimate", "staff.json", "rb.csv", "staff2027.json", "ra.csv"
    )
    assert "another mechanism or survey" in refused(capsys, "estimate", "staff.json", "ra.csv", "rb.csv")
    assert "--grid" in refused(capsys, "estimate", *waves, "--grid", "-o", "x.xlsx")
    assert "is there twice" in refused(capsys, "estimate", *waves[:2], *waves[:2])
    Path("broken.json").write_text('{"format": "mechdesign-mechanism", "version": 4}')
    assert refused(capsys, "estimate", *waves[:2], "broken.json", "rb.csv").startswith(
        "mechdesign: broken.json"
    )


def test_an_audit_and_a_ledger_add_up_waves(capsys, waves):
    text, _ = run(capsys, "audit", waves[0], waves[2])
    assert "epsilon = 8" in text
    run(capsys, "ledger", "open", "staff.ledger", "--survey", "staff", "--epsilon", "8", "--account", "sums")
    run(capsys, "ledger", "collect", "staff.ledger", waves[0], "--group", "staff")
    _, error = run(capsys, "ledger", "collect", "staff.ledger", waves[2], "--group", "staff")
    assert "entered before" not in error
    run(capsys, "ledger", "collect", "staff.ledger", waves[2], "--group", "staff", code=1)


def test_an_example_is_a_complete_survey(capsys):
    run(capsys, "init", "--example", "staff", "-o", "work.toml")
    assert "mechdesign build work.toml -o work.json" in Path("work.toml").read_text()
    about, _ = built(capsys, "work", model="work.toml")
    assert 5 <= len(about.questions) <= 6
    run(capsys, "export", "work.json", "--to", "html", "-o", "work.html")
    assert about.title in Path("work.html").read_text(encoding="utf-8")
    assert "file exists" in refused(capsys, "init", "--example", "staff", "-o", "work.toml")
    assert "is missing; name a file of answers, or write --example staff" in refused(
        capsys, "init", "-o", "y.toml"
    )


def test_two_surveys_in_one_folder_are_told_apart(capsys, waves):
    Path("mixed").mkdir()
    for name in ("ra.csv", "rb.csv"):
        Path("mixed", name).write_bytes(Path(name).read_bytes())
    said = refused(capsys, "estimate", "staff.json", "mixed")
    assert "another mechanism or survey" in said
    assert "wave 2026" in said
