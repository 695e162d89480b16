"""One form of each user's identifier, whatever other programs make of a column of them."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import RowError
from mechdesign.data.identifiers import identifier, identifier_or, identifiers
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.families.survey.remembered_reports import RememberedReports

LABELS = tuple(f"a{number}" for number in range(40))
DECOMPOSED, COMPOSED = "Zu\u0308rich", "Z\u00fcrich"

ONE = [1, 1.0, "1", "1.0", "1.", " 1", "1\t", "\ufeff1", "1\u00a0", Decimal("1.0"), Fraction(1)]
ONE += [np.int8(1), np.uint64(1), np.float32(1), np.str_("1"), b"1", np.bytes_("1.0")]


@pytest.mark.parametrize("value", ONE)
def test_all_forms_of_a_number_are_one(value):
    assert identifier(value) == "1"
    assert identifier(identifier(value)) == "1"


def test_all_forms_of_a_letter_are_one_and_other_names_stay_apart():
    assert identifier(DECOMPOSED) == identifier(f"{COMPOSED} ") == COMPOSED
    apart = ["01", "1", "1a", "A", "a", "1.5", "-1", "1e5", "a b", "a  b", "1.0.0"]
    assert [identifier(name) for name in apart] == apart


@pytest.mark.parametrize(
    "value", ["", " ", None, float("nan"), "nan", "<NA>", 1e16, 2.0**53, "1.2e+15", "a\nb"]
)
def test_what_identifies_nobody_is_refused_with_its_row(value):
    with pytest.raises(RowError, match="users: row 2: "):
        identifiers(["a", value])
    assert identifier_or(str(value)) == str(value)


def test_two_forms_of_one_identifier_appear_twice():
    for pair in ([1, 1.0], ["1", "1.0"], ["a", "a "], [DECOMPOSED, COMPOSED]):
        with pytest.raises(RowError, match=r"row 2: user .* appears twice"):
            identifiers(pair)
    seen: set[str] = set()
    identifiers([1, 2], seen)
    with pytest.raises(RowError, match="row 1: user '2' appears twice"):
        identifiers(["2.0"], seen)


def survey() -> SurveyMechanism:
    return SurveyMechanism.of([Question("a", labels=LABELS)], 1.0)


@pytest.mark.parametrize("again", [[1.0, 2.0], ["1.0", "2.0"], [" 1", "2 "], np.array([1, 2])])
def test_a_report_is_drawn_once_whatever_the_form_of_the_user(again, tmp_path):
    answers = {"a": ["a1", "a2"]}
    kept = survey().remember(answers, users=[1, 2])
    first = kept.reports().tolist()
    assert kept.ask(again, answers).tolist() == first
    kept.save(tmp_path / "kept.json")
    other = RememberedReports.load(survey(), tmp_path / "kept.json")
    assert other.ask(again, answers).tolist() == first
    assert other.reports(again).tolist() == first
    assert len(other) == 2
    assert other.ask(["3"], {"a": ["a3"]}).tolist() == other.ask([3.0], {"a": ["a4"]}).tolist()


def test_a_file_with_two_forms_of_one_user_is_still_read(tmp_path):
    """Written by an earlier release: nothing of it is lost, and the first report is the one that is sent."""
    made = survey().randomize({"a": ["a1", "a2", "a3"]}, rng=1).tolist()
    kept = RememberedReports(survey(), dict(zip(["1.0", "1", "missing"], made, strict=True)))
    kept.save(tmp_path / "kept.json")
    read = RememberedReports.load(survey(), tmp_path / "kept.json")
    assert read.users == ("1.0", "1", "missing")
    assert read.ask([1, 2], {"a": ["a1", "a1"]}).tolist()[0] == made[0]
    assert list(json.loads((tmp_path / "kept.json").read_text())["reports"])[:3] == ["1.0", "1", "missing"]
    assert len(read) == 4


def test_a_column_that_became_one_of_floats_repeats_the_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey().save("m.json")
    (tmp_path / "first.csv").write_text("id,a\n1,a1\n2,a2\n")
    (tmp_path / "second.csv").write_text("id,a\n1.0,a1\n 2,a7\n")
    for name in ("first", "second"):
        base = [
            "run",
            "m.json",
            "remember",
            f"{name}.csv",
            "--key",
            "id",
            "--state",
            "s.json",
            "--column",
            "a",
        ]
        assert main([*base, "-o", f"{name}_reports.csv"]) == 0
    assert (tmp_path / "first_reports.csv").read_text() == (tmp_path / "second_reports.csv").read_text()


@pytest.mark.parametrize("value", [True, np.False_, b"\xff"])
def test_what_is_neither_a_text_nor_a_number_identifies_nobody(value):
    with pytest.raises(ValueError, match=r"identifies nobody|is not text in UTF-8"):
        identifier(value)
