"""Two surveys and two waves that draw reports in the same way, at the shell: none is taken for another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.exact.numbers import plain_values
from tests.support.mechanism_files import opened
from tests.support.tables import refused, said

YES_NO = """[model]
title = "Health"
problem = "frequency-oracle"

[parameters]
labels = ["no", "yes"]
epsilon = 1.0
"""
STAFF = """[model]
title = "Staff"
problem = "survey-design"

[parameters]
epsilon = 4.0
questions = [{ name = "a", labels = ["x", "y"] }, { name = "b", labels = ["p", "q", "r"] }]
"""
JOINT = """[model]
title = "Joint"
problem = "joint-collection"

[parameters]
attributes = [2, 3]
epsilon = 4.0
reports_per_user = 2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("yes_no", YES_NO), ("staff", STAFF)):
        Path(f"{name}.toml").write_text(text)
    Path("people.csv").write_text("answer\n" + "no\nyes\n" * 50)
    return tmp_path


def build(capsys, model, name, *options):
    said(capsys, "build", f"{model}.toml", "-o", f"{name}.json", *options)
    return md.load_mechanism(f"{name}.json")


def test_two_surveys_of_one_model_are_two_collections(capsys):
    drink, smoke = build(capsys, "yes_no", "drink"), build(capsys, "yes_no", "smoke", "--title", "Smoking")
    assert drink.fingerprint == smoke.fingerprint
    for name in ("drink", "smoke"):
        said(capsys, "randomize", f"{name}.json", "people.csv", "-o", f"{name}.csv")
        said(capsys, "count", f"{name}.json", f"{name}.csv", "-o", f"{name}-counts.json")
    line = refused(capsys, "estimate", "drink.json", "smoke.csv")
    assert "smoke.csv: holds reports of another mechanism or survey" in line
    assert f"of the survey 'Health' (id {drink.about.id})" in line
    line = refused(capsys, "estimate", "drink.json", "smoke-counts.json")
    assert (
        f"counts reports of the survey 'Smoking' (id {smoke.about.id}), and this is the survey 'Health'"
        in line
    )
    line = refused(capsys, "merge", "drink-counts.json", "smoke-counts.json", "-o", "all.json")
    assert f"(the survey 'Smoking' (id {smoke.about.id}), and the survey 'Health'" in line
    assert "holds reports" in refused(capsys, "estimate", "drink.json", "drink.csv", "smoke.csv")
    assert said(capsys, "estimate", "drink.json", "drink.csv").startswith("100 reports\n")


def built_lines(capsys, model, path, *options):
    """Build, and return what is said of identities."""
    assert main(["build", f"{model}.toml", "-o", path, *options]) == 0
    return [line for line in capsys.readouterr().err.splitlines() if "cannot be told apart" in line]


def test_an_identity_that_two_surveys_have_is_refused_unless_one_insists(capsys):
    Path("sub").mkdir()
    assert built_lines(capsys, "yes_no", "drink.json", "--id", "h26", "--question", "Do you drink?") == []
    smoke = ("--id", "h26", "--question", "Do you smoke?")
    line = refused(capsys, "build", "yes_no.toml", "-o", "smoke.json", *smoke)
    assert "had the identity h26 with another title, question or column" in line
    assert line.rstrip().endswith("give this survey or wave an identity of its own, or insist with --anyway")
    assert not Path("smoke.json").exists()
    (line,) = built_lines(capsys, "yes_no", "smoke.json", *smoke, "--anyway")
    assert line.startswith("mechdesign: smoke.json: drink.json had the identity h26 with another title, ques")
    again = ("--id", "h26", "--force", "--column", "drinks", "--anyway")
    (line,) = built_lines(capsys, "yes_no", "sub/../drink.json", *again)
    assert "drink.json: sub/../drink.json and 1 more had the identity h26 with" in line
    Path("coded.toml").write_text(YES_NO.replace("[model]", '[model]\nid = "h26"\nquestion = "Do you run?"'))
    assert "run.json: drink.json and 1 more had" in built_lines(capsys, "coded", "run.json", "--anyway")[0]


def test_an_identity_that_is_not_of_two_surveys_is_not_said(capsys):
    own = ("--id", "h26", "--question", "Do you drink?")
    assert built_lines(capsys, "yes_no", "drink.json", *own) == []
    assert built_lines(capsys, "yes_no", "copy.json", *own) == []  # the same survey
    assert built_lines(capsys, "yes_no", "drink.json", *own) == []
    assert built_lines(capsys, "yes_no", "other.json", "--id", "h2", "--question", "Do you smoke?") == []
    assert built_lines(capsys, "yes_no", "drawn.json", "--question", "Do you smoke?") == []
    assert built_lines(capsys, "staff", "staff.json", "--id", "h26") == []  # other reports: they are apart
    Path("broken.json").write_text('{"id": "h26"}')
    Path("folder.json").mkdir()
    assert built_lines(capsys, "yes_no", "again.json", *own) == []


def test_messages_of_another_survey_in_json_lines_are_refused(capsys):
    survey = build(capsys, "yes_no", "drink", "--id", "drink-1")
    other = build(capsys, "yes_no", "smoke", "--id", "smoke-1")
    for name, one in (("drink", survey), ("smoke", other)):
        row = {one.recipe().columns[0]: "yes"}
        said_so = {"format": "mechdesign-report", "version": 1, "fingerprint": one.fingerprint}
        Path(f"{name}.jsonl").write_text(
            json.dumps({**said_so, "survey": one.about.id, "rows": [row]}) + "\n"
        )
    assert said(capsys, "estimate", "drink.json", "drink.jsonl").startswith("1 report\n")
    line = refused(capsys, "estimate", "drink.json", "smoke.jsonl")
    assert (
        "smoke.jsonl: line 1: is of the survey (id smoke-1), and this is the survey 'Health' (id drink-1)"
        in line
    )
    both = Path("drink.jsonl").read_text() + Path("smoke.jsonl").read_text()
    Path("both.jsonl").write_text(both)
    assert "line 2" in refused(capsys, "estimate", "drink.json", "both.jsonl")


def test_what_is_remembered_belongs_to_a_wave(capsys):
    Path("staff.csv").write_text("user,a,b\n" + "".join(f"{each},x,q\n" for each in range(9)))
    for wave in ("2026", "2027"):
        build(capsys, "staff", wave, "--id", f"staff-{wave}")
    remember = ["remember", "staff.csv", "--key", "user", "--state", "kept.json"]
    assert main(["run", "2026.json", *remember, "-o", "r2026.csv"]) == 0
    capsys.readouterr()
    line = refused(capsys, "run", "2027.json", *remember, "-o", "r2027.csv")
    assert (
        "kept.json: belongs to the survey 'Staff' (id staff-2026), and this is the survey 'Staff' (id st"
        in line
    )
    assert main(["run", "2027.json", *remember[:-1], "other.json", "-o", "r2027.csv"]) == 0
    capsys.readouterr()
    assert "9 reports; each report gives away" in said(capsys, "estimate", "2027.json", "r2027.csv")
    assert "another mechanism or survey" in refused(capsys, "estimate", "2027.json", "r2026.csv", "r2027.csv")


def test_permanent_responses_and_their_counts_belong_to_a_survey(capsys):
    Path("joint.toml").write_text(JOINT)
    Path("codes.csv").write_text("u,v\n" + "0,1\n1,2\n" * 5)
    one, two = (build(capsys, "joint", name, "--id", name) for name in ("one", "two"))
    columns = ["--column", "u", "--column", "v"]
    said(capsys, "run", "one.json", "remember", "codes.csv", *columns, "--state", "s.json", "-o", "kept.csv")
    assert "has no column permanent__m" in refused(
        capsys, "run", "two.json", "report", "kept.csv", "--state", "s.json", "-o", "r.csv"
    )
    client = one.remember([[0, 1]])
    client.save("client.json")
    with pytest.raises(md.DataError, match=r"belongs to the survey 'Joint' \(id one\), and this is .*id two"):
        type(client).load(two, "client.json")


def test_waves_are_collections_of_a_ledger_and_the_same_file_twice_is_said(capsys):
    for wave in ("2026", "2027"):
        build(capsys, "yes_no", wave, "--id", f"wave-{wave}")
    said(capsys, "ledger", "open", "l.json", "--survey", "Panel", "--epsilon", "9")
    for wave in ("2026", "2027"):
        said(capsys, "ledger", "collect", "l.json", f"{wave}.json", "--group", "staff")
    assert main(["ledger", "collect", "l.json", "2026.json", "--group", "staff"]) == 0
    printed = capsys.readouterr()
    assert "epsilon = 3" in printed.out
    assert "group 'staff': the survey 'Health' (id wave-2026) was entered before (20" in printed.err
    assert printed.err.count("\n") == 1
    entries = json.loads(Path("l.json").read_text())["groups"]["staff"]
    assert [entry["survey"] for entry in entries] == ["wave-2026", "wave-2027", "wave-2026"]


def test_a_ledger_without_identities_names_no_survey(capsys):
    md.solve(md.load_model("yes_no.toml").problem).mechanism().save("old.json")
    said(capsys, "ledger", "open", "l.json", "--survey", "Panel", "--epsilon", "9")
    said(capsys, "ledger", "collect", "l.json", "old.json", "--group", "staff")
    document = json.loads(Path("l.json").read_text())
    assert document["version"] == 3
    assert "survey" not in document["groups"]["staff"][0]
    assert main(["ledger", "collect", "l.json", "old.json", "--group", "staff"]) == 0
    assert "a mechanism without the identity of a survey was entered before" in capsys.readouterr().err


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_without_an_identity_work_and_say_what_they_cannot_tell_apart(capsys, version):
    md.solve(md.load_model("yes_no.toml").problem).mechanism().save("old.json")
    document = json.loads(Path("old.json").read_text())
    if version == 1:
        document = opened(Path("old.json")) | {"certificates": plain_values(document["certificates"])}
    Path("old.json").write_text(json.dumps({**document, "version": version}))
    mechanism = md.load_mechanism("old.json")
    assert mechanism.survey_digest == mechanism.fingerprint
    said(capsys, "randomize", "old.json", "people.csv", "-o", "r.csv")
    assert Path("r.csv").read_text().startswith(f"answer__m{mechanism.fingerprint[:12]}\n")
    said(capsys, "count", "old.json", "r.csv", "-o", "c.json")
    for command in (["estimate", "old.json", "r.csv"], ["estimate", "old.json", "c.json"]):
        assert main(command) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith("100 reports\n")
        assert "old.json: has no survey identity" in printed.err
        assert printed.err.count("\n") == 1
    assert main(["export", "old.json", "--to", "js", "-o", "old.js"]) == 0
    assert "cannot be told apart; build it for the next one" in capsys.readouterr().err
    new = build(capsys, "yes_no", "new")
    assert new.fingerprint == mechanism.fingerprint
    line = refused(capsys, "estimate", "new.json", "r.csv")
    assert "holds reports of this mechanism from before it had an identity (m" in line
    line = refused(capsys, "estimate", "new.json", "c.json")
    assert "counts reports of a survey without an identity, and this is the survey 'Health' (id " in line


def test_a_page_with_another_question_is_not_another_survey_and_that_is_said(capsys):
    build(capsys, "yes_no", "drink", "--question", "Do you drink?")
    for options, remark in (
        (["--question", "Do you drink?"], ""),
        (["--question", "Do you smoke?"], "same survey"),
    ):
        assert main(["export", "drink.json", "--to", "html", "-o", "page.html", "--force", *options]) == 0
        error = capsys.readouterr().err
        assert remark in error
        assert bool(error) == bool(remark)
