"""One-hot reports: the client that remembers, the server, estimates with errors, files and the shell."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    MechDesignError,
    MethodError,
    ModelFileError,
    ParameterError,
)
from mechdesign.exact.bits import as_texts
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint import JointResponse, PatternCounts, PermanentResponse
from mechdesign.families.joint.one_hot import bits_of

SIZES = [2, 3]


def small(**options) -> JointResponse:
    given = {"epsilon": 8.0, "redraw": 0.25, "keep": 0.75, "add": 0.25, "reports_per_user": 3, **options}
    return JointResponse.of(given.pop("sizes", SIZES), given.pop("epsilon"), **given)


# The client


def test_bits_have_the_chances_of_the_weights():
    mechanism, users = small(), 40_000
    client = mechanism.remember([[1, 2]] * users, rng=1)
    kept = bits_of(client.bits, SIZES, (0, 1)).mean(axis=0)
    sent = bits_of(client.report(rng=2), SIZES, (0, 1)).mean(axis=0)
    truth = np.array([0, 1, 0, 0, 1])
    own, other = (float(share) for share in mechanism.shares)
    assert (own, other) == (0.875 * 0.75 + 0.125 * 0.25, 0.125 * 0.75 + 0.875 * 0.25)
    for found, high, low in ((kept, 0.875, 0.125), (sent, own, other)):
        wanted = np.where(truth, high, low)
        assert (np.abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / users)).all()


def test_what_is_kept_is_answered_from_every_time():
    """Reports of one client agree with its permanent bits with q and 1 - p, whatever the true value was."""
    mechanism, users = small(), 20_000
    client = mechanism.remember([[0, 0]] * users, rng=1)
    kept = bits_of(client.bits, SIZES, (0, 1))
    both = [bits_of(client.report(rng=seed), SIZES, (0, 1)) for seed in (2, 3)]
    for sent in both:
        assert abs(sent[kept == 1].mean() - 0.75) < 0.02
        assert abs(sent[kept == 0].mean() - 0.25) < 0.02
    fresh = [bits_of(mechanism.randomize([[0, 0]] * users, rng=seed), SIZES, (0, 1)) for seed in (4, 5)]
    agreement = [float((one == two).mean()) for one, two in (both, fresh)]
    assert agreement[0] == pytest.approx(0.75**2 + 0.25**2, abs=0.01)  # given the kept bit
    assert agreement[1] < agreement[0] - 0.05  # forgetting draws other permanent bits


def test_a_client_survives_a_restart_and_keeps_count(tmp_path):
    mechanism = small(epsilon=7.0)  # three reports, and any number would be more
    assert mechanism.audit().any_reports > 7.0
    client = mechanism.remember([[1, 2]], rng=1)
    client.report()
    client.save(tmp_path / "client.json")
    again = PermanentResponse.load(mechanism, tmp_path / "client.json")
    assert (again.bits == client.bits).all()
    assert (again.report_count, again.left) == (1, 2)
    again.report()
    again.report()
    with pytest.raises(MethodError, match="3 made, and the guarantee is for 3"):
        again.report()
    assert small(epsilon=8.0).remember([[0, 0]]).left is None  # 4 ln 7 = 7.78: any number of reports
    other = small(epsilon=7.1)
    with pytest.raises(DataError, match="belongs to a different mechanism"):
        PermanentResponse.load(other, tmp_path / "client.json")
    (tmp_path / "client.json").write_text("{}")
    with pytest.raises(ModelFileError, match="is not a permanent response"):
        PermanentResponse.load(mechanism, tmp_path / "client.json")


def test_a_promise_that_the_weights_break_is_refused(tmp_path):
    with pytest.raises(CertificateError, match="not private as stated"):
        small(epsilon=3.0)
    with pytest.raises(CertificateError, match="not private as stated"):
        small(report_epsilon=0.5)
    mechanism, path = small(), tmp_path / "m.json"
    mechanism.save(path)
    assert md.load_mechanism(path).fingerprint == mechanism.fingerprint
    document = json.loads(path.read_text())
    for key, value in (
        ("flip", TOTAL // 1000),
        ("keep", TOTAL),
        ("add", 0),
        ("reports", 50),
        ("epsilon", 1.0),
    ):
        changed = json.loads(json.dumps(document))
        changed["content"][key] = value
        path.write_text(json.dumps(changed))
        with pytest.raises(MechDesignError):
            md.load_mechanism(path)


def test_weights_are_rounded_to_the_private_side():
    mechanism = JointResponse.of([2, 2], 9.0, redraw=Fraction(1, 3), keep=Fraction(2, 3), add=Fraction(1, 3))
    weights = mechanism.weights
    assert Fraction(weights.flip, TOTAL) >= Fraction(1, 6)
    assert Fraction(weights.keep, TOTAL) <= Fraction(2, 3)
    assert Fraction(weights.add, TOTAL) >= Fraction(1, 3)


@pytest.mark.parametrize(
    ("f", "q", "p", "text"),
    [
        (1.0, 0.75, 0.5, "redraw: with 1"),
        (1.2, 0.75, 0.5, r"redraw: 1.2 is outside \[0, 1\]"),
        (0.1, -0.1, 0.5, r"keep: -0.1 is outside"),
        (0.1, 0.5, 0.5, "add = 0.5 is not below keep = 0.5"),
        (0.1, 0.4, 0.5, "add = 0.5 is not below keep = 0.4"),
    ],
)
def test_bad_parameters_are_named(f, q, p, text):
    with pytest.raises(ParameterError, match=text):
        JointResponse.of([2, 3], 5.0, redraw=f, keep=q, add=p)
    with pytest.raises(ParameterError, match="attribute 1: 1 is not from 2"):
        JointResponse.of([2, 1], 5.0, redraw=0.2, keep=0.75, add=0.5)


# The server


def test_patterns_merge_in_any_order_and_come_back():
    mechanism = small()
    reports = mechanism.randomize([[1, 0]] * 500 + [[0, 2]] * 500, rng=1)
    whole, first, second = (mechanism.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(as_texts(reports[:300]))
    for row in reports[300:]:
        second.update(row[None])
    second.merge(first)
    for one, other in zip(whole.patterns(), second.patterns(), strict=True):
        assert (one == other).all()
    again = PatternCounts.from_json(mechanism, json.loads(json.dumps(whole.as_json())))
    assert again.users == 1000
    assert (again.estimate().value == whole.estimate().value).all()
    with pytest.raises(DataError, match="different mechanism"):
        whole.merge(small(reports_per_user=2).aggregator())
    with pytest.raises(DataError, match="counts are damaged"):
        PatternCounts.from_json(mechanism, {**whole.as_json(), "counts": [-1]})
    with pytest.raises(DataError, match="there are none"):
        mechanism.aggregator().estimate()


def test_reports_of_another_width_are_refused():
    mechanism = small()
    reports = JointResponse.of([4, 8], 8.0, redraw=0.25, keep=0.75, add=0.25).randomize([[0, 0]], rng=1)
    for given in (reports, as_texts(reports)):
        with pytest.raises(DataError, match=r"reports"):
            mechanism.estimate(given)
    with pytest.raises(DataError, match="beyond the 5 categories"):
        mechanism.estimate(["xff"])


# The shell

MODEL = """
[model]
title = "a survey"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 8.0
reports_per_user = 2
labels = [["no", "yes"], ["low", "mid", "high"]]
[data]
columns = ["smokes", "income"]
"""


def test_from_columns_to_a_conditional_distribution(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    rows = ["no,low"] * 900 + ["yes,high"] * 600 + ["no,mid"] * 500
    (tmp_path / "people.csv").write_text("smokes,income\n" + "\n".join(rows) + "\n")
    assert main(["build", "model.toml", "-o", "m.json"]) == 0
    count = ["--state", "count.json"]
    assert main(["run", "m.json", "remember", "people.csv", "-o", "kept.csv", "--seed", "1", *count]) == 0
    assert main(["run", "m.json", "report", "kept.csv", "-o", "one.csv", "--seed", "1", *count]) == 0
    assert main(["run", "m.json", "report", "kept.csv", "-o", "two.csv", "--seed", "2", *count]) == 0
    assert (tmp_path / "one.csv").read_text() != (tmp_path / "two.csv").read_text()
    capsys.readouterr()
    assert main(["run", "m.json", "estimate", "one.csv", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["tables"][0]
    assert table["users"] == 2000
    assert np.abs(np.array(table["unbiased"]) - [[0.45, 0.25, 0.0], [0.0, 0.0, 0.3]]).max() < 0.2
    assert main(["run", "m.json", "estimate", "one.csv", "two.csv", "--linked", "--json"]) == 0
    both = json.loads(capsys.readouterr().out)["tables"][0]
    assert both["users"] == 2000
    assert np.array(both["standard_error"]).sum() < np.array(table["standard_error"]).sum()
    asked = ["--marginal", "income", "--given", "smokes", "--bootstrap", "5"]
    assert main(["run", "m.json", "estimate", "one.csv", *asked]) == 0
    out = capsys.readouterr().out
    assert "income given smokes: 2000 reports" in out
    assert "spread" in out
    assert main(["run", "m.json", "estimate", "kept.csv"]) == 2
    assert "holds reports of another mechanism" in capsys.readouterr().err
    assert main(["run", "m.json", "report", "one.csv", "-o", "three.csv", *count]) == 2
    assert "name a file that 'remember' of this mechanism wrote" in capsys.readouterr().err
    assert not (tmp_path / "three.csv").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["estimate", "empty.csv"], "empty.csv: is empty"),
        (["estimate", "none.csv"], "none.csv: has a header and no rows"),
        (["estimate", "wide.csv"], "is not a report"),
        (["estimate", "good.csv", "--marginal", "smoke"], "did you mean 'smokes'"),
        (["estimate", "good.csv", "--given", "smokes"], "--given: name the attributes it is for"),
        (["estimate", "good.csv", "--joint", "smokes", "--marginal", "income"], "is not among smokes"),
        (["estimate", "good.csv", "--marginal", "smokes", "--bootstrap", "1"], "bootstrap: 1 is not from 2"),
        (["randomize", "people.csv", "-o", "out.csv"], "people.csv: column 'income'"),
    ],
)
def test_bad_files_and_options_are_one_line(tmp_path, capsys, monkeypatch, command, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    assert main(["build", "model.toml", "-o", "m.json"]) == 0
    mark = md.load_mechanism("m.json").survey_digest[:12]
    for name, content in (
        ("empty", ""),
        ("none", f"report__m{mark}\n"),
        ("wide", f"report__m{mark}\nx8888\n"),
        ("good", f"report__m{mark}\n" + "x90\nx20\n" * 20),
        ("people", "smokes,income\nno,low\nyes,huge\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(content)
    capsys.readouterr()
    assert main(["run", "m.json", *command]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_without_columns_attributes_are_numbers_and_say_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL.partition("[data]")[0])
    (tmp_path / "people.csv").write_text("smokes,income\n" + "no,low\nyes,high\n" * 200)
    assert main(["build", "model.toml", "-o", "m.json"]) == 0
    assert main(["run", "m.json", "randomize", "people.csv", "-o", "r.csv", "--seed", "1"]) == 0
    capsys.readouterr()
    assert main(["run", "m.json", "estimate", "r.csv", "--marginal", "1", "--given", "0"]) == 0
    assert "attribute 1 given attribute 0: 400 reports" in capsys.readouterr().out
    assert main(["run", "m.json", "estimate", "r.csv", "--marginal", "income"]) == 2
    assert "give numbers from 0 to 1, or build with 'columns' under [data]" in capsys.readouterr().err
