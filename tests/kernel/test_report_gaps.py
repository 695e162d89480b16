"""Empty fields in columns of reports are refused: other programs make them out of reports such as NA."""

from __future__ import annotations

from typing import Any

import pytest

from mechdesign.cli import main
from mechdesign.cli.mechanisms import labels_note
from mechdesign.collect.server import is_report, report_rule, risky_labels
from mechdesign.core.errors import ParameterError, RowError
from mechdesign.data.intake import Intake
from mechdesign.primitives import KaryResponse
from tests.contract.test_every_mechanism import COUNTED, made

WORDS = ["NA", "None", "nan", "yes"]


def survey(**options: Any) -> KaryResponse:
    return KaryResponse.of(4, epsilon=2.0, labels=WORDS, **options)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism = survey()
    mechanism.save("m.json")
    column = f"q__m{mechanism.fingerprint[:12]}"
    lines = [column, "yes", "", "yes", "nan"]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "all.csv").write_text("\n".join([column, *WORDS]) + "\n")
    return tmp_path


def test_an_empty_field_of_reports_is_not_to_be_dropped(saved, capsys):
    for command in (["estimate", "m.json", "r.csv"], ["count", "m.json", "r.csv", "-o", "c.json"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert "row 2: is missing; a report is never empty" in said
        assert "--missing" not in said
        assert main([*command, "--missing", "drop"]) == 2
        assert "an empty field may be the report 'NA'" in capsys.readouterr().err
        assert main([*command, "--missing", "category"]) == 2
        assert "a report has no category" in capsys.readouterr().err
    assert not (saved / "c.json").exists()


@pytest.mark.parametrize("command", [["estimate", "m.json"], ["run", "m.json", "estimate"]])
def test_a_report_is_not_a_code_for_missing(saved, capsys, command):
    assert main([*command, "all.csv", "--missing", "drop", "--missing-code", "yes"]) == 2
    assert "--missing-code: 'yes' can be a report" in capsys.readouterr().err
    assert main([*command, "all.csv", "--missing-code", "-"]) == 0


def test_users_without_a_report_may_be_dropped_where_no_report_is_read_as_missing(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    mechanism = KaryResponse.of(2, epsilon=2.0, labels=["no", "yes"])
    mechanism.save("m.json")
    column = f"q__m{mechanism.fingerprint[:12]}"
    (tmp_path / "r.csv").write_text(f"n,{column}\n1,yes\n2,\n3,no\n")
    assert main(["estimate", "m.json", "r.csv"]) == 2
    assert main(["estimate", "m.json", "r.csv", "--missing", "drop"]) == 0
    assert "1 row without a report dropped: right only if none was sent" in capsys.readouterr().out


def test_the_rule_for_answers_is_not_one_for_reports():
    """A mechanism that drops or counts missing answers refuses empty reports all the same."""
    pandas = pytest.importorskip("pandas")
    mechanism = KaryResponse.of(3, epsilon=2.0, labels=["no", "yes", "missing"])
    for rule in ("drop", "category"):
        own = mechanism.for_data(Intake(("q",), rule))
        reports = own.randomize(pandas.DataFrame({"q": ["no", "yes", None]}))
        reports = pandas.concat([reports, pandas.DataFrame({reports.columns[0]: [None]})])
        with pytest.raises(RowError, match="is missing; a report is never empty"):
            own.estimate(reports)
        with pytest.raises(ParameterError, match=r"missing='category'.*is for answers"):
            own.run("estimate", reports, missing="category")


@pytest.mark.parametrize("kind", COUNTED)
def test_every_mechanism_knows_that_words_are_not_its_reports(kind):
    mechanism: Any = made(kind)
    assert not is_report(mechanism, "no such report")
    with pytest.raises(ParameterError, match="is for answers"):
        report_rule(mechanism, "category")


def test_numbers_and_bits_can_be_reports():
    for kind, text in (
        ("laplace", "-9"),
        ("hadamard-response", "0"),
        ("marginal-release", "x0f"),
        ("murs", "3"),
    ):
        assert is_report(made(kind), text), kind
        with pytest.raises(ParameterError, match="can be a report"):
            report_rule(made(kind), "drop", [text])
    assert not is_report(survey(), "-9")


def test_labels_that_other_programs_read_as_missing_are_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = '[model]\ntitle = "t"\nproblem = "frequency-oracle"\n[parameters]\nepsilon = 2.0\nlabels = '
    (tmp_path / "m.toml").write_text(f'{table}["N/A", "yes", "."]\n')
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    assert "read 'N/A', '.' as a missing value; choose other words" in capsys.readouterr().err
    (tmp_path / "n.toml").write_text(f'{table}["none", "yes", "n.a."]\n')
    assert main(["build", "n.toml", "-o", "n.json"]) == 0
    assert not capsys.readouterr().err
    assert risky_labels(survey()) == WORDS[:3]
    assert labels_note(made("marginal-release")) is None


@pytest.mark.parametrize(
    ("code", "labels"), [("NA", ["NA", "b"]), ("1.0", None), ("-9", ["-9.0", "b"]), ("b", ["a", "b"])]
)
@pytest.mark.parametrize("rule", ["drop", "refuse"])
def test_a_category_is_not_a_code_for_missing(code, labels, rule, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    KaryResponse.of(2, epsilon=1.0, labels=labels).save("m.json")
    (tmp_path / "a.csv").write_text(f"q\n{(labels or ['0'])[0]}\n")
    words = ["randomize", "m.json", "a.csv", "-o", "r.csv", f"--missing-code={code}", "--missing", rule]
    assert main(words) == 2
    assert "--missing-code: '" in (said := capsys.readouterr().err)
    assert "is a category here; without such answers the estimates are wrong" in said
    assert not (tmp_path / "r.csv").exists()
    words[5] = "--missing-code=99"
    assert main(words) == 0
