"""A mechanism file keeps title and question of a survey; they change nothing that the mechanism does."""

from __future__ import annotations

import json

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import MechDesignError

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
    build = ["build", str(tmp_path / "survey.toml"), "-o", place, "--users", "800"]
    assert main(build) == 0
    built = md.load_mechanism(place)
    assert built.about() == {"title": "Health 2026", "question": "Do you smoke?", "planned_users": 800}
    assert built.headline == "Do you smoke?"
    assert main([*build, "--question", "Why?"]) == 0
    assert md.load_mechanism(place).headline == "Why?", "the command line goes first"


def test_a_model_without_a_question_is_headed_by_its_title(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY.replace('question = "Do you smoke?"\n', ""))
    assert md.load_model(tmp_path / "survey.toml").question == ""
    place = str(tmp_path / "survey.json")
    assert main(["build", str(tmp_path / "survey.toml"), "-o", place]) == 0
    assert md.load_mechanism(place).about() == {"title": "Health 2026"}
    assert md.load_mechanism(place).headline == "Health 2026"


def test_it_survives_a_file_and_changes_nothing_else(mechanism, tmp_path):
    named = mechanism.described("t", "q?", 10)
    assert named == mechanism
    assert named.fingerprint == mechanism.fingerprint
    named.save(tmp_path / "m.json")
    assert md.load_mechanism(tmp_path / "m.json").about() == named.about()
    old, new = tmp_path / "old.json", json.loads((tmp_path / "m.json").read_text())
    mechanism.save(old)
    assert set(new) - set(json.loads(old.read_text())) == {"title", "question", "planned_users"}
    assert md.load_mechanism(old).about() == {}
    assert new["sha256"] == json.loads(old.read_text())["sha256"], "it is no part of what is certified"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"title": 3}, "title: 3 is not one line of text"),
        ({"question": "a\nb"}, "question: "),
        ({"question": "a" * 1001}, "question: has 1001 letters"),
        ({"planned_users": 0}, "planned_users"),
        ({"planned_users": True}, "planned_users"),
        ({"planned_users": None, "title": None}, "title"),
    ],
)
def test_what_is_no_title_is_refused_in_one_line(mechanism, tmp_path, changed, said):
    mechanism.described("t").save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps(document | changed))
    with pytest.raises(MechDesignError) as caught:
        md.load_mechanism(tmp_path / "m.json")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "m.json" in str(caught.value)


def test_a_question_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY.replace('"Do you smoke?"', "3"))
    with pytest.raises(MechDesignError, match=r"question.*not a text"):
        md.load_model(tmp_path / "survey.toml")
