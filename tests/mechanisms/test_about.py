"""A mechanism file keeps title and question of a survey; they change nothing that the mechanism does."""

from __future__ import annotations

import json

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.mechanisms.about import About

SURVEY = """[model]
title = "Health 2026"
question = "Do you smoke?"
problem = "randomized-response"

[parameters]
labels = ["no", "yes"]
prior = [0.5, 0.5]
epsilon = 1.0
"""


@pytest.fixture
def mechanism():
    return md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()


def test_build_keeps_title_question_and_the_planned_users(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    place = str(tmp_path / "survey.json")
    assert main(["build", str(tmp_path / "survey.toml"), "-o", place, "--users", "800"]) == 0
    built = md.load_mechanism(place)
    assert built.about == About("Health 2026", "Do you smoke?", 800)
    assert built.about.heading == "Do you smoke?"


def test_a_model_without_a_question_is_headed_by_its_title(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY.replace('question = "Do you smoke?"\n', ""))
    assert md.load_model(tmp_path / "survey.toml").question == ""
    place = str(tmp_path / "survey.json")
    assert main(["build", str(tmp_path / "survey.toml"), "-o", place]) == 0
    assert md.load_mechanism(place).about == About("Health 2026")


def test_it_survives_a_file_and_changes_nothing_else(mechanism, tmp_path):
    named = mechanism.described("t", "q?", 10)
    assert named == mechanism
    assert named.fingerprint == mechanism.fingerprint
    named.save(tmp_path / "m.json")
    assert md.load_mechanism(tmp_path / "m.json").about == named.about
    old, new = tmp_path / "old.json", json.loads((tmp_path / "m.json").read_text())
    mechanism.save(old)
    assert "about" not in json.loads(old.read_text()), "as files were before"
    assert md.load_mechanism(old).about == About()
    assert new["sha256"] == json.loads(old.read_text())["sha256"], "a release before this one reads it"


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ([], "expected title, question and users"),
        ({"titel": "a"}, "expected title, question and users"),
        ({"title": 3}, "title: expected a string"),
        ({"question": "a" * 1001}, "question: has 1001 letters"),
        ({"users": 0}, "users"),
        ({"users": True}, "users"),
    ],
)
def test_what_is_no_title_is_refused_in_one_line(mechanism, tmp_path, about, said):
    mechanism.described("t").save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps(document | {"about": about}))
    with pytest.raises(MechDesignError) as caught:
        md.load_mechanism(tmp_path / "m.json")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "m.json" in str(caught.value)


def test_a_question_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY.replace('"Do you smoke?"', "3"))
    with pytest.raises(MechDesignError, match=r"question.*not a string"):
        md.load_model(tmp_path / "survey.toml")


def test_texts_are_on_one_printable_line():
    assert About("a\n  b", "\x1b[2J").heading == "\\x1b[2J"
    assert About("a\n  b").title == "a b"
    with pytest.raises(ParameterError, match="expected a string"):
        About(title=["a"])
