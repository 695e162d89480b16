"""Drafts and their plans: the file of a draft, what is wrong in it, margins, and the ways to a margin."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import replace
from importlib.resources import files
from itertools import combinations

import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.core.errors import NORMAL, DataError, MechDesignError, MethodError, margin_text
from mechdesign.families.survey import SurveyDesign
from tests.support.serving import require_packages

require_packages()

from mechdesign.serve.draft import (  # noqa: E402
    draft_model,
    draft_of_json,
    draft_of_text,
    faults,
    is_buildable,
    new_draft,
    question_form,
    text_of_draft,
)
from mechdesign.serve.planning import curves, plan_of, with_margin, without  # noqa: E402
from mechdesign.serve.ways import ways_to  # noqa: E402
from mechdesign.serve.worker import OvertakenError, Worker  # noqa: E402

STAFF = files("mechdesign.report.examples").joinpath("staff.toml").read_text(encoding="utf-8")

ODD = r'''
[survey]
title = "a\"b\\c </script> \u202e 😀 שלום"
introduction = """
One \\ two "three" \u0007

'''

ODD += '''Second.\ttab"""
epsilon = "abc"
goal = "mean"
tables = [["a b", "c.d"], { questions = ["a b", "é"], error = 0.02, importance = 3.5 }]
group_means = [{ number = "n", by = "a b" }]
strange = { deep = { "x y" = [1, 2.5, true, inf, [], {}] } }
[survey.translations.de]
title = "Titel"
[survey.translations.de.questions."a b"]
text = "Frage"
labels = ["eins", "zwei"]
[survey.translations.pt-BR]
contact = "x"
[[questions]]
name = "a b"
labels = ["1e3", "\\n", "", "x"]
[[questions]]
[[questions]]
name = "n"
range = [0, 1e-7]
kind = 7
[data]
missing = "drop"
[sweep]
epsilon = [1.0, 2.0]
'''


def survey(questions, **head):
    return {"survey": {"title": "T", "epsilon": 2.0, "users": 1000, **head}, "questions": questions}


def yes_no(name, **more):
    return {"name": name, "text": name, "labels": ["no", "yes"], **more}


def number(name, **more):
    return {"name": name, "text": name, "range": [0, 60], **more}


# Files


@pytest.mark.parametrize("text", [STAFF, ODD, '[survey]\n[[questions]]\nname = "x"\n'])
def test_the_file_of_a_draft_says_what_the_draft_says(text):
    document = tomllib.loads(text)
    draft = draft_of_text(text)
    assert {key: draft[key] for key in document} == document
    again = text_of_draft(draft)
    assert tomllib.loads(again) == draft
    assert text_of_draft(draft_of_text(again)) == again


def test_the_file_of_the_staff_survey_is_like_the_one_that_is_written_by_hand():
    """But for comments: the same lines, the introduction with its paragraphs."""
    by_hand = {line.partition(" #")[0].rstrip() for line in STAFF.splitlines() if not line.startswith("#")}
    assert by_hand - {""} <= set(text_of_draft(draft_of_text(STAFF)).splitlines())


def test_a_draft_of_a_page_passes_through_a_file():
    body = json.dumps(draft_of_text(ODD)).replace("Infinity", "7").encode()
    draft = draft_of_json(body)
    assert tomllib.loads(text_of_draft(draft)) == draft
    half = draft_of_json(
        b'{"survey": {"title": "\\ud800", "epsilon": null}, "questions": [{"labels": [null]}]}'
    )
    assert tomllib.loads(text_of_draft(half)) == {"survey": {"title": "?"}, "questions": [{"labels": []}]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("epsilon = 1,0", "line 1: 1,0 has a decimal comma"),
        ("[model]\nproblem = 'x'", "states no survey"),
        ("survey = 3", "survey: is not one table"),
        ("[survey]\nquestions = 3\n[[survey]]", ""),
        ("questions = 3\n[survey]", "questions: are not a list of tables"),
        ("[survey]\nday = 2026-01-01", "is a date or a time"),
        ("a" * (1 << 25), "is larger than"),
    ],
)
def test_a_file_that_is_no_survey_is_refused_in_one_line(text, what):
    with pytest.raises(MechDesignError) as error:
        draft_of_text(text, "mine.toml")
    assert what in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("mine.toml")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff", b"[" * 10**5])
def test_what_is_no_draft_of_a_page_is_refused(body):
    with pytest.raises(DataError):
        draft_of_json(body)


# Faults


def places(document, remarks=False):
    return [(fault.place, fault.key) for fault in faults(document) if fault.is_remark == remarks]


@pytest.mark.parametrize("epsilon", [0, -1, "abc", None, math.inf, math.nan, True, 51, 1e-400])
def test_an_impossible_epsilon_is_said_at_its_entry(epsilon):
    assert places(survey([yes_no("a")], epsilon=epsilon)) == [("survey.epsilon", "epsilon_wrong")]


@pytest.mark.parametrize("users", [0, -3, 1.5, "many", True, 10**13])
def test_an_impossible_number_of_people_is_said_at_its_entry(users):
    assert places(survey([yes_no("a")], users=users)) == [("survey.users", "users_wrong")]


@pytest.mark.parametrize(
    ("question", "key", "sentence"),
    [
        ({"name": "", "labels": ["a", "b"]}, "name", "name_missing"),
        ({"name": "a", "labels": []}, "labels", "labels_few"),
        ({"name": "a", "labels": ["x"]}, "labels", "labels_few"),
        ({"name": "a", "labels": ["x", "y", "x"]}, "labels", "labels_alike"),
        ({"name": "a", "labels": "xy"}, "labels", "labels_wrong"),
        ({"name": "a", "kind": "several", "labels": []}, "labels", "labels_none"),
        ({"name": "a", "range": [3, 3]}, "range", "range_wrong"),
        ({"name": "a", "range": [0, "x"]}, "range", "range_wrong"),
        ({"name": "a", "range": [0, 9], "bins": [0, 5, 4, 9]}, "bins", "bins_wrong"),
        ({"name": "a", "range": [0, 9], "bins": [0, 5, 8]}, "bins", "bins_wrong"),
        ({"name": "a", "range": [0, 9], "error": -1}, "error", "error_wrong"),
        ({"name": "a", "range": [0, 9], "importance": "x"}, "importance", "importance_wrong"),
    ],
)
def test_a_fault_of_a_question_is_said_at_its_entry(question, key, sentence):
    document = survey([yes_no("first"), {"text": "T", **question}])
    assert places(document) == [(f"questions.1.{key}", sentence)]
    assert not is_buildable(faults(document))


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ({"kind": "ordered", "labels": ["x", "y"], "scores": [1]}, "scores"),
        ({"labels": ["x", "y"], "frequencies": [0.2, 0.2]}, "frequencies"),
        ({"labels": ["x", "y"], "skip": "no"}, "skip"),
        ({"labels": ["x", "y"], "ends": ["only one"]}, "ends"),
        ({"range": [0, 9], "spread": 20}, "spread"),
        ({"labels": ["x", "y"], "kind": "essay"}, "kind"),
        ({"labels": ["x", "y"], "cumulative": True}, "cumulative"),
    ],
)
def test_what_the_reader_of_files_refuses_is_said_at_its_entry_in_its_words(question, key):
    (fault,) = faults(survey([{"name": "a", "text": "T", **question}]))
    assert fault.place == f"questions.0.{key}"
    assert fault.text
    assert "survey.toml" not in fault.text


def test_what_is_wrong_with_the_whole_has_a_place_as_well():
    twice = survey([yes_no("a"), yes_no("a")])
    assert places(twice) == [("questions.1.name", "name_twice")]
    assert places(survey([])) == [("questions", "questions_none")]
    assert places(survey([yes_no("a")], title=" ")) == [("survey.title", "title_missing")]
    assert places(survey([yes_no("a")], tables=[["a", "b"]])) == [("survey.tables", "")]
    assert places(survey([yes_no("a")], language="no language")) == [("survey.language", "")]
    wanted = survey([yes_no("a", error=0.02), number("b")], goal="users", tables=[["a", "a"]])
    expected = [("questions.1.error", "error_missing"), ("survey.tables.0.error", "error_missing")]
    assert places(wanted) == expected


def test_a_question_without_words_is_a_remark_and_can_be_built():
    document = survey([{"name": "a", "labels": ["x", "y"]}])
    assert places(document, remarks=True) == [("questions.0.text", "text_missing")]
    assert is_buildable(faults(document))
    assert faults(draft_of_text(STAFF)) == []
    assert places(new_draft("de")) == [("questions", "questions_none")]


def test_forms_of_questions():
    forms = [question_form(question) for question in draft_of_text(STAFF)["questions"]]
    assert forms == ["choice", "yes_no", "rating", "several", "classes", "mean"]
    assert question_form({"kind": "ordered", "labels": ["bad", "good"]}) == "ordered"


# Margins


def test_margins_are_those_that_build_states(tmp_path, capsys):
    """The second way: the command, which prints what it expects of the file that it is given."""
    from mechdesign.cli import main

    path = tmp_path / "staff.toml"
    path.write_text(STAFF, encoding="utf-8")
    assert main(["build", str(path), "-o", str(tmp_path / "staff.json")]) == 0
    printed = capsys.readouterr().out
    built = md.load_mechanism(tmp_path / "staff.json")
    plan = plan_of(draft_of_text(STAFF))
    assert [one.name for one in plan.results] == list(built.names())
    expected = [NORMAL * error for error in built.errors(2000).values()]
    assert [one.margin for one in plan.results] == pytest.approx(expected, rel=1e-9)
    for one in plan.results:
        (line,) = [line for line in printed.splitlines() if line.startswith(f"  {one.name}  ")]
        assert margin_text(one.margin, one.is_share) in line


def test_one_question_has_the_margin_of_the_mechanism_for_one():
    for question, problem in ((yes_no("a"), "frequency-oracle"), (number("a"), "mean-channel")):
        document = survey([question])
        model = draft_model(document)
        assert model.problem.name == problem
        mechanism = model.data.applied(md.solve(model.problem).mechanism())
        (result,) = plan_of(document).results
        assert result.margin == pytest.approx(NORMAL * mechanism.forecast(1000).largest)
        width = 60 if problem == "mean-channel" else 1
        assert result.points == pytest.approx(100 * result.margin / width)


def test_four_times_as_many_people_halve_the_margins_and_the_design_stays():
    document = survey([yes_no("a"), number("b"), yes_no("c", importance=2.0)])
    for goal in ({}, {"goal": "worst"}, {"goal": "users"}):
        stated = with_margin({**document, "survey": {**document["survey"], **goal}}, 5.0)
        few, many = (plan_of({**stated, "survey": {**stated["survey"], "users": n}}) for n in (1000, 4000))
        assert [one.margin / 2 for one in few.results] == pytest.approx([one.margin for one in many.results])
        questions = [{key: item[key] for key in item if key != "text"} for item in stated["questions"]]
        fresh = SurveyDesign(questions=questions, epsilon=2.0, users=4000, **goal)
        errors = md.solve(fresh).mechanism().errors(4000)  # solved again for that number
        assert [one.margin for one in many.results] == pytest.approx([NORMAL * e for e in errors.values()])


def test_requested_margins_decide_people_and_epsilon():
    document = with_margin(survey([yes_no("a"), yes_no("c")], users=3000), 4.0)
    users = plan_of({**document, "survey": {**document["survey"], "goal": "users"}})
    there = {**document, "survey": {**document["survey"], "goal": "users", "users": users.needed}}
    assert plan_of(there).least_exact == pytest.approx(4.0, rel=1e-3)
    stated = {**document["survey"], "goal": "epsilon"}
    epsilon = plan_of({**document, "survey": stated})
    assert epsilon.least_exact <= 4.0 * (1 + 1e-4)
    assert epsilon.epsilon < 2.0  # more people than are needed at 2
    proven = md.solve(draft_model({**document, "survey": stated}).problem)
    assert proven.value * (1 - 1e-4) <= epsilon.epsilon <= 1.012 * proven.value
    assert users.needed < 3000
    little = {**document, "survey": {**document["survey"], "users": 20, "goal": "epsilon"}}
    with pytest.raises(MechDesignError, match="no epsilon up to 50"):
        plan_of(little)


def test_margins_keep_what_was_typed():
    document = survey([yes_no("a", error=0.01), number("b")], tables=[["a", "c"]])
    filled, share = with_margin(document, 5.0), pytest.approx(0.05 / NORMAL, rel=1e-4)
    first, second = filled["questions"]
    assert (first["error"], second["error"] / 60) == (0.01, share)
    assert filled["survey"]["tables"] == [{"questions": ["a", "c"], "error": share}]
    assert "error" not in document["questions"][1]


# Ways to a margin


def test_the_smallest_sets_that_reach_a_margin_are_those_of_trying_all():
    many = {"name": "c", "labels": list("pqrstu")}
    document = survey([yes_no("a"), yes_no("b"), many, yes_no("d")], users=600)
    goal = 7.0
    ways = ways_to(document, goal)
    largest = {}
    for size in range(1, 4):
        for chosen in combinations(range(4), size):
            rest = [item for place, item in enumerate(document["questions"]) if place not in chosen]
            largest[frozenset(chosen)] = plan_of({**document, "questions": rest}).least_exact
    reaching = {chosen for chosen, margin in largest.items() if margin <= goal}
    smallest = min(map(len, reaching))
    expected = {chosen for chosen in reaching if len(chosen) == smallest}
    found = [frozenset(int(place.split(".")[1]) for place in drop.places) for drop in ways.sets]
    assert ways.now > goal
    assert set(found) == expected
    assert smallest > 1  # else the search by size would be of no use here
    for chosen, drop in zip(found, ways.sets, strict=True):
        assert largest[chosen] == pytest.approx(drop.points)
    assert ways.is_smallest


def test_people_and_epsilon_that_reach_a_margin_do_and_fewer_do_not():
    document = survey([yes_no("a"), {"name": "c", "labels": list("pqr")}], users=600)
    ways = ways_to(document, 5.0)
    pairs = {"users": (ways.people, ways.people - 1), "epsilon": (ways.epsilon, 0.98 * ways.epsilon)}
    for key, (enough, less) in pairs.items():
        for value, reaches in ((enough, True), (less, False)):
            plan = plan_of({**document, "survey": {**document["survey"], key: value}})
            assert (plan.least_exact <= 5.0) is reaches, (key, value)
    assert ways_to(document, 50.0).sets == ()
    hopeless = ways_to(survey([yes_no("a"), yes_no("b")], users=5), 1.0)
    assert (hopeless.sets, hopeless.epsilon) == ((), None)
    assert ways_to(document, 1.0, seconds=0.0).sets == ()


def test_without_time_one_result_after_the_other_is_dropped():
    questions = [{"name": f"q{place}", "labels": list("abcdefghij")[: 2 + place]} for place in range(5)]
    document = survey(questions, users=800)
    goal = 0.6 * plan_of(document).least_exact
    ways = ways_to(document, goal, seconds=0.0)
    assert not ways.is_smallest
    (drop,) = ways.sets
    assert drop.points <= goal
    assert len(drop.places) > 1


def test_dropping_a_question_drops_what_needs_it():
    document = draft_of_text(STAFF)
    rest = without(document, ["questions.1"])
    assert "tables" not in rest["survey"]
    assert is_buildable(faults(rest))
    translated = draft_of_text(ODD)
    assert without(translated, ["questions.0"])["survey"]["translations"]["de"]["questions"] == {}


def test_curves_pass_through_the_plan():
    document = survey([yes_no("a"), number("b")], users=500)
    words = dict.fromkeys(("people", "epsilon", "margin", "smallest", "now", "caption"), "word")
    words |= dict.fromkeys(("largest", "over_people", "over_epsilon"), "<b>word</b>")
    drawn = curves(document, words)
    plan = plan_of(document)
    for axis, own in (("people", 500), ("epsilon", 2.0)):
        (row,) = [row for row in drawn[axis]["rows"] if row["x"] == own]
        assert row["largest"] == pytest.approx(plan.least_exact)
        largest = [row["largest"] for row in drawn[axis]["rows"]]
        assert largest == sorted(largest, reverse=True)
        assert drawn[axis]["picture"].startswith("<svg")
        assert "<b>" not in drawn[axis]["picture"]


# The process


def test_a_newer_question_overtakes_an_older_one_and_a_lost_process_is_replaced(monkeypatch):
    import asyncio
    import os
    import time

    worker = Worker()

    async def asked():
        slow = asyncio.create_task(worker.ask("s", time.sleep, 0.8))
        await asyncio.sleep(0.2)
        waiting = asyncio.create_task(worker.ask("s", max, 1, 2))
        await asyncio.sleep(0.2)
        newest = asyncio.create_task(worker.ask("s", max, 3, 4))
        return await asyncio.gather(slow, waiting, newest, return_exceptions=True)

    _, waiting, newest = asyncio.run(asked())
    assert isinstance(waiting, OvertakenError)
    assert newest == 4
    with pytest.raises(MethodError, match="its process was lost"):
        asyncio.run(worker.ask("s", os._exit, 1))
    assert asyncio.run(worker.ask("s", max, 5, 6)) == 6
    with pytest.raises(MethodError, match="ZeroDivisionError"):
        asyncio.run(worker.ask("s", divmod, 1, 0))
    monkeypatch.setattr("mechdesign.serve.worker.LONGEST", 0.2)
    with pytest.raises(MethodError, match="takes longer"):
        asyncio.run(worker.ask("s", time.sleep, 30))
    worker.close()


def test_a_plan_says_so_where_nothing_is_learned():
    plan = plan_of(survey([yes_no("a"), yes_no("b")], users=1, epsilon=0.01))
    assert plan.least_exact > 100
    assert replace(plan, results=plan.results[:1]).as_json()["results"][0]["points"] > 100


def test_the_file_of_a_draft_is_a_model(tmp_path):
    path = tmp_path / "staff.toml"
    path.write_text(text_of_draft(draft_of_text(STAFF)), encoding="utf-8")
    own, by_hand = load_model(path), draft_model(draft_of_text(STAFF))
    assert own.problem == by_hand.problem
    assert own.about == by_hand.about
