"""One-hot reports: the client that remembers, the server, estimates with errors, files and the shell."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    EstimationError,
    MechDesignError,
    MethodError,
    ModelFileError,
    ParameterError,
)
from mechdesign.core.randomness import TOTAL
from mechdesign.mechanisms.joint import JointResponse, PatternCounts, PermanentResponse
from mechdesign.mechanisms.joint.layout import bits_of
from mechdesign.mechanisms.oracles.packed import as_texts

SIZES = [2, 3]


def small(**options) -> JointResponse:
    given = {"epsilon": 8.0, "f": 0.25, "q": 0.75, "p": 0.25, "reports": 3, **options}
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
    assert (again.made, again.left) == (1, 2)
    again.report()
    again.report()
    with pytest.raises(MethodError, match="3 were made and the promise is for 3"):
        again.report()
    assert small(epsilon=8.0).remember([[0, 0]]).left is None  # 4 ln 7 = 7.78: any number of reports
    other = small(epsilon=7.1)
    with pytest.raises(DataError, match="belongs to a different mechanism"):
        PermanentResponse.load(other, tmp_path / "client.json")
    (tmp_path / "client.json").write_text("{}")
    with pytest.raises(ModelFileError, match="is no permanent response"):
        PermanentResponse.load(mechanism, tmp_path / "client.json")


def test_a_promise_that_the_weights_break_is_refused(tmp_path):
    with pytest.raises(CertificateError, match="not private as promised"):
        small(epsilon=3.0)
    with pytest.raises(CertificateError, match="not private as promised"):
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
    mechanism = JointResponse.of([2, 2], 9.0, f=Fraction(1, 3), q=Fraction(2, 3), p=Fraction(1, 3))
    weights = mechanism.weights
    assert Fraction(weights.flip, TOTAL) >= Fraction(1, 6)
    assert Fraction(weights.keep, TOTAL) <= Fraction(2, 3)
    assert Fraction(weights.add, TOTAL) >= Fraction(1, 3)


@pytest.mark.parametrize(
    ("f", "q", "p", "text"),
    [
        (1.0, 0.75, 0.5, "f: with 1"),
        (1.2, 0.75, 0.5, r"f: 1.2 is outside \[0, 1\]"),
        (0.1, -0.1, 0.5, r"q: -0.1 is outside"),
        (0.1, 0.5, 0.5, "p = 0.5 is not below q = 0.5"),
        (0.1, 0.4, 0.5, "p = 0.5 is not below q = 0.4"),
    ],
)
def test_bad_parameters_are_named(f, q, p, text):
    with pytest.raises(ParameterError, match=text):
        JointResponse.of([2, 3], 5.0, f=f, q=q, p=p)
    with pytest.raises(ParameterError, match="attribute 1: 1 is not from 2"):
        JointResponse.of([2, 1], 5.0, f=0.2, q=0.75, p=0.5)


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
        whole.merge(small(reports=2).aggregator())
    with pytest.raises(DataError, match="counts are damaged"):
        PatternCounts.from_json(mechanism, {**whole.as_json(), "counts": [-1]})
    with pytest.raises(DataError, match="there are none"):
        mechanism.aggregator().estimate()


def test_reports_of_another_width_are_refused():
    mechanism = small()
    reports = JointResponse.of([4, 8], 8.0, f=0.25, q=0.75, p=0.25).randomize([[0, 0]], rng=1)
    for given in (reports, as_texts(reports)):
        with pytest.raises(DataError, match=r"reports"):
            mechanism.estimate(given)
    with pytest.raises(DataError, match="beyond the 5 categories"):
        mechanism.estimate(["xff"])


# Estimates


def people(users: int) -> np.ndarray:
    """Return values of two attributes that depend on each other."""
    return np.tile([[0, 0], [0, 0], [0, 1], [1, 1], [1, 2]], (users // 5, 1))


TRUTH = np.array([[0.4, 0.2, 0.0], [0.0, 0.2, 0.2]])


def test_intervals_of_joint_cells_and_conditionals_cover():
    """Of unbiased estimates: 400 simulations, so the share of misses is known to 4 standard errors."""
    mechanism, values, rng = small(epsilon=12.0, f=0.1), people(1500), np.random.default_rng(3)
    repetitions = 400
    misses, given_misses, values_found = np.zeros((2, 3)), np.zeros((2, 3)), []
    for _ in range(repetitions):
        estimate = mechanism.estimate(mechanism.randomize(values, rng=rng))
        table = estimate.marginal([0, 1])
        low, high = table.interval(0.9)
        misses += (low > TRUTH) | (high < TRUTH)
        values_found.append(table.unbiased)
        given = estimate.conditional([0], [1])
        low, high = given.interval(0.9)
        given_misses += (low > TRUTH / TRUTH.sum(axis=0)) | (TRUTH / TRUTH.sum(axis=0) > high)
    slack = 4 * math.sqrt(0.1 * 0.9 / repetitions)
    assert (np.abs(misses / repetitions - 0.1) < slack).all()
    assert (np.abs(given_misses / repetitions - 0.1) < slack).all()
    errors = np.std(values_found, axis=0, ddof=1) / math.sqrt(repetitions)
    assert (np.abs(np.mean(values_found, axis=0) - TRUTH) < 4.5 * errors).all()


def test_the_bootstrap_covers_inside_and_is_rough_at_the_border():
    """Normal intervals from bootstrap errors of likeliest shares that are well above 0."""
    mechanism, values, rng = small(epsilon=12.0, f=0.1), people(1500), np.random.default_rng(4)
    repetitions, hits = 60, np.zeros((2, 3))
    for _ in range(repetitions):
        table = mechanism.estimate(mechanism.randomize(values, rng=rng)).marginal([0, 1], bootstrap=30)
        hits += np.abs(table.value - TRUTH) < 1.645 * table.bootstrap_error
    inside = hits[TRUTH > 0] / repetitions
    assert inside.min() > 0.9 - 4 * math.sqrt(0.1 * 0.9 / repetitions)


def test_likeliest_is_closer_than_unbiased_and_both_near():
    mechanism, values, rng = small(epsilon=12.0, f=0.1), people(2000), np.random.default_rng(5)
    distances = []
    for _ in range(20):
        table = mechanism.estimate(mechanism.randomize(values, rng=rng)).marginal([0, 1])
        distances.append([np.abs(found - TRUTH).sum() / 2 for found in (table.value, table.unbiased)])
    likeliest, unbiased = np.mean(distances, axis=0)
    assert likeliest < unbiased < 0.2


def test_marginals_and_conditionals_are_those_of_the_joint_table():
    mechanism = JointResponse.of([2, 3, 2], 15.0, f=0.1, q=0.75, p=0.25, names=["a", "b", "c"])
    rng = np.random.default_rng(1)
    estimate = mechanism.estimate(mechanism.randomize(rng.integers(0, 2, (3000, 3)), rng=1))
    joint = estimate.value
    assert joint.sum() == pytest.approx(1.0)
    assert estimate.marginal(["c", "a"]).value == pytest.approx(joint.sum(axis=1).T)
    given = estimate.conditional(["b"], ["c"]).value
    assert given == pytest.approx(joint.sum(axis=0) / joint.sum(axis=(0, 1)))
    fewer = estimate.over(["b", "c"])
    assert fewer.value.shape == (3, 2)
    assert fewer.marginal(["b", "c"]).unbiased == pytest.approx(estimate.marginal(["b", "c"]).unbiased)
    with pytest.raises(ParameterError, match="attribute 'b' is asked for and given"):
        estimate.conditional(["b"], ["b"])
    with pytest.raises(EstimationError, match="attribute 'a' is not among b, c"):
        fewer.marginal(["a"])


# The shell

MODEL = """
[model]
title = "a survey"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 8.0
reports = 2
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
    assert main(["run", "m.json", "remember", "people.csv", "-o", "kept.csv", "--seed", "1"]) == 0
    assert main(["run", "m.json", "report", "kept.csv", "-o", "one.csv", "--seed", "1"]) == 0
    assert main(["run", "m.json", "report", "kept.csv", "-o", "two.csv", "--seed", "2"]) == 0
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
    assert "bootstrap" in out
    assert main(["run", "m.json", "estimate", "kept.csv"]) == 2
    assert "holds reports of another mechanism" in capsys.readouterr().err
    assert main(["run", "m.json", "report", "one.csv", "-o", "three.csv"]) == 2
    assert "name a file that 'remember' of this mechanism wrote" in capsys.readouterr().err
    assert not (tmp_path / "three.csv").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["estimate", "empty.csv"], "empty.csv: is empty"),
        (["estimate", "none.csv"], "none.csv: has a header and no rows"),
        (["estimate", "wide.csv"], "is no report"),
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
    mark = md.load_mechanism("m.json").fingerprint[:12]
    for name, content in (
        ("empty", ""),
        ("none", f"report__m{mark}\n"),
        ("wide", f"report__m{mark}\nx8888\n"),
        ("good", f"report__m{mark}\n" + "x88\nx48\n" * 20),
        ("people", "smokes,income\nno,low\nyes,huge\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(content)
    capsys.readouterr()
    assert main(["run", "m.json", *command]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


# Several reports of the same users


def test_linked_reports_have_the_likelihood_of_the_definition():
    """Every sequence of two reports of three bits, in every cell."""
    from itertools import product

    from mechdesign.mechanisms.joint.linked import sequence_chances

    mechanism = JointResponse.of([3], 8.0, f=0.25, q=0.75, p=0.125, reports=2)
    rng = np.random.default_rng(1)
    tables = [np.packbits(rng.integers(0, 2, (40, 3)).astype(np.uint8), axis=1) for _ in range(2)]
    estimate = mechanism.estimate_linked(tables)
    point = np.array([0.2, 0.5, 0.3])
    h, share = 0.125, {1: 0.75, 0: 0.125}
    total = 0.0
    for rows in zip(*(np.unpackbits(table, axis=1, count=3) for table in tables), strict=True):
        chance = 0.0
        for cell, weight in enumerate(point):
            likely = weight
            for place in range(3):
                both = 0.0
                for kept in (0, 1):
                    noise = 1 - h if kept == (place == cell) else h
                    both += noise * math.prod(share[kept] if row[place] else 1 - share[kept] for row in rows)
                likely *= both
            chance += likely
        total -= math.log(chance) / 40
    assert estimate.model.value(estimate.model.densities(point)) == pytest.approx(total, rel=1e-12)
    sums = [
        sum(chances[sum(bits)] for bits in product((0, 1), repeat=2))
        for chances in sequence_chances(mechanism.weights, 2)
    ]
    assert sums == pytest.approx([1.0, 1.0])


def test_linked_reports_are_unbiased_with_honest_errors_and_better_than_one():
    mechanism, values, rng = small(epsilon=12.0, f=0.1), people(1000), np.random.default_rng(6)
    repetitions, misses, found, single = 200, np.zeros((2, 3)), [], []
    for _ in range(repetitions):
        clients = mechanism.remember(values, rng=rng)
        tables = [clients.report(rng=rng) for _ in range(3)]
        table = mechanism.estimate_linked(tables).marginal([0, 1])
        low, high = table.interval(0.9)
        misses += (low > TRUTH) | (high < TRUTH)
        found.append(table.unbiased)
        single.append(mechanism.estimate(tables[0]).marginal([0, 1]).unbiased)
    slack = 4 * math.sqrt(0.1 * 0.9 / repetitions)
    assert (np.abs(misses / repetitions - 0.1) < slack).all()
    errors = np.std(found, axis=0, ddof=1)
    assert (np.abs(np.mean(found, axis=0) - TRUTH) < 4.5 * errors / math.sqrt(repetitions)).all()
    assert (errors < 0.8 * np.std(single, axis=0, ddof=1)).all()


def test_linked_tables_that_do_not_belong_together_are_refused():
    mechanism = small()
    one, two = (mechanism.randomize([[0, 0]] * users, rng=1) for users in (5, 6))
    with pytest.raises(DataError, match="table 2 has 6 users, the first 5"):
        mechanism.estimate_linked([one, two])
    with pytest.raises(DataError, match="there are none"):
        mechanism.estimate_linked([])
    kept = JointResponse.of([2, 3], 8.0, f=0.5, q=1.0, p=0.0, reports=5)  # every report is what is kept
    with pytest.raises(DataError, match="contradict each other"):
        kept.estimate_linked([["x88"] * 3, ["x88", "x90", "x88"]])
    twice = kept.estimate_linked([["x88"] * 300 + ["x48"] * 100] * 2)  # no more than the first report says
    assert twice.value == pytest.approx(kept.estimate(["x88"] * 300 + ["x48"] * 100).value, abs=1e-4)
