"""Answers and columns that files may not tell apart are named when a mechanism is built."""

from __future__ import annotations

import json

import pytest

from mechdesign.cli import main
from mechdesign.cli.mechanisms import clashes_in, clashes_note
from mechdesign.collect.server import alphabets_of
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.primitives import KaryResponse
from tests.contract.test_every_mechanism import KINDS, made

PAIRS = [
    ("1", "1.0"),
    ("1", "01"),
    ("1.5", "1,50"),
    ("0", "-0"),
    ("1000", "1e3"),
    ("12345678901234567", "12345678901234568"),
    ("yes", "Yes"),
    ("yes", "yes "),
    ("New York", "New  York"),
    ("New York", "New\u00a0York"),
    ("caf\u00e9", "cafe\u0301"),
    ("caf\u00e9", "CAFE\u0301"),
    ("fish", "\ufb01sh"),
    ("Stra\u00dfe", "STRASSE"),
    ("no", "no\u200b"),
]
FORMS = {
    "frequency-oracle": "labels = {}",
    "survey-design": """questions = [{{ name = "a", labels = {} }}, {{ name = "b", labels = ["x", "y"] }}]""",
    "marginal-views": """attributes = [3, 2]\norder = 1\nusers = 1000\nlabels = [{}, ["x", "y"]]""",
    "joint-collection": """attributes = [3, 2]\nreport_epsilon = 1.0\nlabels = [{}, ["x", "y"]]""",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_names_of_one_form_are_one_group(pair):
    assert clashes_in(["first", *pair, "last"]) == [list(pair)]


def test_names_that_differ_in_more_are_fine():
    names = ["1", "10", "-1", "1.5", "15", "yes", "yes!", "no", "a b", "ab", "1 to 2", "1-2", "e", "\u00e9"]
    assert clashes_in(names) == []
    assert clashes_in(["yes", "yes"]) == []  # one name


@pytest.mark.parametrize("problem", FORMS)
def test_build_names_them_for_every_kind_of_labels(problem, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for labels, is_noted in ((["e\u0301", "maybe", "\u00e9"], True), (["no", "maybe", "yes"], False)):
        text = FORMS[problem].format(json.dumps(labels))
        table = f'[model]\ntitle = "t"\nproblem = "{problem}"\n[parameters]\nepsilon = 2.0\n{text}\n'
        (tmp_path / "m.toml").write_text(table, encoding="utf-8")
        assert main(["build", "m.toml", "-o", "m.json", "--force"]) == 0
        noted = [line for line in capsys.readouterr().err.splitlines() if "as one name" in line]
        assert len(noted) == is_noted
        if is_noted:
            assert "labels: people or other programs may write 'e\\u0301' and '\u00e9' as" in noted[0]


def test_columns_that_differ_in_case_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = '[{ name = "age", labels = ["a", "b"] }, { name = "Age", labels = ["a", "b"] }]'
    head = '[model]\ntitle = "t"\nproblem = "survey-design"\n[parameters]\nepsilon = 2.0\n'
    (tmp_path / "m.toml").write_text(f"{head}questions = {asked}\n")
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    assert "columns: people or other programs may write 'age' and 'Age'" in capsys.readouterr().err


def test_a_shuffled_mechanism_has_the_labels_of_its_reports():
    local = KaryResponse.of(2, 1.0, labels=["yes", "Yes"])
    assert alphabets_of(Shuffled(local, Promise(10_000, 0.5, 1e-6))) == [("yes", "Yes")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_is_looked_at(kind):
    assert clashes_note(made(kind)) is None
