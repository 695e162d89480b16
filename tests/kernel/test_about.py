"""A mechanism file keeps identity, title and question of a survey; they change nothing that is drawn."""

from __future__ import annotations

import json
import re

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect.collecting import mark_in
from mechdesign.core.errors import CertificateError, MechDesignError, ParameterError
from mechdesign.data.about import About
from mechdesign.data.intake import Intake
from tests.meta.test_shown import MECHANISMS

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
    assert built.about == About("Health 2026", "Do you smoke?", 800, built.about.id)
    assert built.about.heading == "Do you smoke?"
    assert re.fullmatch("[0-9a-f]{32}", built.about.id)


def test_a_model_without_a_question_is_headed_by_its_title(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY.replace('question = "Do you smoke?"\n', ""))
    assert md.load_model(tmp_path / "survey.toml").question == ""
    place = str(tmp_path / "survey.json")
    assert main(["build", str(tmp_path / "survey.toml"), "-o", place]) == 0
    built = md.load_mechanism(place)
    assert built.about == About("Health 2026", id=built.about.id)


def test_it_survives_a_file_and_changes_nothing_else(mechanism, tmp_path):
    named = mechanism.described("t", "q?", 10)
    assert named == mechanism
    assert named.fingerprint == mechanism.fingerprint
    named.save(tmp_path / "m.json")
    assert md.load_mechanism(tmp_path / "m.json").about == named.about
    plain = tmp_path / "plain.json"
    mechanism.save(plain)
    assert "about" not in json.loads(plain.read_text()), "saving draws no identity"
    assert md.load_mechanism(plain).about == About()


@pytest.mark.parametrize("part", ["id", "title", "question", "users"])
def test_what_is_said_about_a_survey_is_sealed(mechanism, tmp_path, part):
    mechanism.described("t", "q?", 10).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    document["about"][part] = 11 if part == "users" else "another"
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="changed after saving"):
        md.load_mechanism(tmp_path / "m.json")
    del document["about"]
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="changed after saving"):
        md.load_mechanism(tmp_path / "m.json")


def test_a_file_of_version_2_has_a_title_outside_its_digest_and_no_identity(mechanism, tmp_path):
    mechanism.save(tmp_path / "m.json")
    older = json.loads((tmp_path / "m.json").read_text()) | {"version": 2, "about": {"title": "Mood"}}
    (tmp_path / "m.json").write_text(json.dumps(older))
    assert md.load_mechanism(tmp_path / "m.json").about == About("Mood")
    older["about"]["id"] = "mood-1"
    (tmp_path / "m.json").write_text(json.dumps(older))
    with pytest.raises(MechDesignError, match=r"about: expected title, question and users"):
        md.load_mechanism(tmp_path / "m.json")


def test_an_identity_is_drawn_once_and_stays(mechanism):
    first, second = mechanism.described("a"), mechanism.described("a")
    assert first.about.id != second.about.id
    assert first.described("b").about.id == first.about.id
    assert first.described("a", id="wave-2").about.id == "wave-2"
    assert first.described("a", id="").survey_digest == mechanism.survey_digest == mechanism.fingerprint
    assert len({one.survey_digest for one in (mechanism, first, second)}) == 3


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_columns_of_reports_name_the_survey(name):
    made = MECHANISMS[name][0]()
    survey = made.described("t", id="one")
    assert survey.about.id == "one"
    assert survey.for_data(Intake()).about == survey.about
    gives = [{column.name for turn in each.operations() for column in turn.gives} for each in (made, survey)]
    assert len(gives[0]) == len(gives[1])
    assert not any(mark_in(column) for column in gives[0] & gives[1]), "columns of reports name the survey"


@pytest.mark.parametrize(
    ("kind", "columns", "ranges"),
    [
        ("duchi", ("a",), [(0.0, 9.0)]),
        ("attribute-sampling", ("a", "b"), [(0.0, 9.0)]),
        ("marginal-release", ("a", "b", "c"), []),
        ("joint-response", ("a", "b"), []),
        ("shuffled", ("a",), []),
        ("linear-queries", ("a",), [(0.0, 9.0)]),
    ],
)
def test_columns_and_ranges_do_not_change_the_survey(kind, columns, ranges):
    survey = MECHANISMS[kind][0]().described("t", id="one")
    assert survey.for_data(Intake(columns), ranges).about == survey.about


def test_a_shuffled_mechanism_is_for_the_survey_of_its_local_one(tmp_path):
    shuffled = MECHANISMS["shuffled"][0]()
    local = shuffled.local.described("Local", id="local-1")
    made = type(shuffled)(local, shuffled.promise)
    assert made.about == local.about
    made.save(tmp_path / "m.json")
    again = md.load_mechanism(tmp_path / "m.json")
    assert again.about == again.local.about == local.about


@pytest.mark.parametrize("text", ["a b", "-a", "\u00fc", "a" * 101, "a/b", 3, None, "a\n"])
def test_what_cannot_be_an_identity_is_refused(text):
    with pytest.raises(ParameterError, match=r"id: .* cannot be the identity of a survey; give"):
        About(id=text)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ([], "expected title, question, users and id"),
        ({"titel": "a"}, "expected title, question, users and id"),
        ({"id": "no spaces"}, "cannot be the identity"),
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


def built(tmp_path, *options, text=SURVEY):
    """Return what "build" printed as errors, its exit code, and the identity in the file."""
    (tmp_path / "survey.toml").write_text(text)
    place = tmp_path / "survey.json"
    code = main(["build", str(tmp_path / "survey.toml"), "-o", str(place), *options])
    return code, md.load_mechanism(place).about.id if place.exists() else ""


def test_a_model_file_or_an_option_gives_the_identity(tmp_path, capsys):
    with_id = SURVEY.replace("[model]", '[model]\nid = "health-26"')
    assert built(tmp_path, text=with_id) == (0, "health-26")
    assert built(tmp_path, "--id", "health-27", "--force", text=with_id) == (0, "health-27")
    error = capsys.readouterr().err
    assert "the survey 'Health 2026' (id health-26) was replaced" in error
    assert "--id health-26" in error
    assert built(tmp_path, text=with_id.replace("health-26", "health 26")) == (2, "health-27")
    assert "survey.toml: [model] id: 'health 26' cannot be the identity" in capsys.readouterr().err


def test_a_survey_that_is_built_again_in_its_place_stays_the_same_and_another_one_needs_force(
    tmp_path, capsys
):
    _, first = built(tmp_path)
    assert built(tmp_path) == (0, first)
    assert built(tmp_path, "--title", "Health 2027") == (2, first)
    assert "file exists" in capsys.readouterr().err
    assert built(tmp_path, "--id", "wave-2") == (2, first)
    code, second = built(tmp_path, "--title", "Health 2027", "--force")
    assert (code, len(second)) == (0, 32)
    assert second != first


def test_texts_are_on_one_printable_line():
    assert About("a\n  b", "\x1b[2J").heading == "\\x1b[2J"
    assert About("a\n  b").title == "a b"
    with pytest.raises(ParameterError, match="expected a string"):
        About(title=["a"])
