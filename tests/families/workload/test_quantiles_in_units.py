"""Estimates of linear queries as readers need them: names in units, quartiles, the mean of a rating."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from tests.support.statistics import binomial_limits

SALARY = """
[model]
title = "Salary"
problem = "linear-queries"
[parameters]
workload = {{ name = "{name}", size = 10 }}
epsilon = 2.0
[data]
columns = ["salary"]
range = [2000, 7000]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    salaries = np.random.default_rng(1).normal(3600, 700, 3000).clip(2000, 7000).astype(int)
    (tmp_path / "people.csv").write_text("salary\n" + "\n".join(map(str, salaries)) + "\n")
    return tmp_path


BUILT: dict[str, str] = {}
"""By the name of the queries: the file of their mechanism, which is searched for once."""


def results(folder, name, capsys):
    (folder / "m.toml").write_text(SALARY.format(name=name))
    if name not in BUILT:
        assert main(["build", "m.toml", "-o", "m.json"]) == 0
        BUILT[name] = (folder / "m.json").read_text()
    (folder / "m.json").write_text(BUILT[name])
    assert main(["randomize", "m.json", "people.csv", "-o", "r.csv", "--seed", "1", "--force"]) == 0
    capsys.readouterr()
    assert main(["estimate", "m.json", "r.csv"]) == 0
    text = capsys.readouterr().out
    assert main(["estimate", "m.json", "r.csv", "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [("prefix", "below 2500", "below 6500"), ("histogram", "2000 to 2500", "6500 to 7000")],
)
def test_names_are_in_the_units_of_the_range_and_the_median_is_everywhere(folder, capsys, name, first, last):
    text, document = results(folder, name, capsys)
    assert (document["queries"][0], document["queries"][-1]) == (first, last)
    assert first in text
    quantiles = document["quantiles"]
    assert quantiles["levels"] == [0.25, 0.5, 0.75]
    low, median, high = (quantiles[key][1] for key in ("low", "category", "high"))
    assert 3000 < low <= median <= high < 4200
    line = next(line for line in text.splitlines() if line.startswith("0.5 (median)"))
    assert line.split()[2:] == [f"{median:g}", f"{low:g}", f"{high:g}"]
    assert main(["report", "m.json", "r.csv", "-o", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    assert f"The median is {median:g}" in page
    assert "0.5 (median)" in page
    openpyxl = pytest.importorskip("openpyxl")
    assert main(["estimate", "m.json", "r.csv", "-o", "e.xlsx"]) == 0
    sheet = openpyxl.load_workbook("e.xlsx").worksheets[2]
    rows = {row[0]: row[1] for row in sheet.iter_rows(values_only=True)}
    assert rows["0.5 (median)"] == pytest.approx(median)


def test_pictures_are_within_what_is_possible(folder, capsys):
    results(folder, "prefix", capsys)
    mechanism = md.load_mechanism("m.json")
    estimate = mechanism.estimate(np.loadtxt("r.csv", skiprows=1, dtype=int)[:200])
    (figure,) = estimate.figures()
    bars, lines = figure.panels[0].marks
    assert estimate.value.min() < 0 or estimate.value.max() > 1
    assert bars.y.min() >= 0
    assert max(bars.y.max(), lines.high.max()) <= 1
    assert estimate.is_share


def test_labels_name_the_queries_and_a_rating_has_a_mean():
    problem = md.LinearQueries(workload={"name": "likert", "size": 5}, epsilon=2.0)
    plain = md.solve(problem).mechanism()
    labels = ("1", "2", "3", "4", "5")
    rating = type(plain)(plain.workload, plain.epsilon, plain.weights, labels=labels)
    answers = np.random.default_rng(3).choice(5, 2000, p=[0.1, 0.1, 0.3, 0.4, 0.1])
    codes = np.array(labels)[answers]
    truth, covered = answers.mean() + 1, 0
    for seed in range(200):
        estimate = rating.estimate(rating.randomize(codes, rng=seed))
        low, high = estimate.mean.interval()
        covered += low <= truth <= high
    assert covered >= binomial_limits(200, 0.95, 1e-4)[0]
    assert estimate.queries == ("up to 1", "up to 2", "up to 3", "up to 4")
    assert estimate.as_json()["mean"]["value"] == pytest.approx(estimate.mean.value)
    assert "mean " in str(estimate)
    words = type(plain)(plain.workload, plain.epsilon, plain.weights, labels=("a", "b", "c", "d", "e"))
    reports = words.randomize(["a", "b", "c"] * 100, rng=1)
    assert words.estimate(reports).mean is None
    assert words.estimate(reports).quantiles.category[0] in "abcde"


def test_types_without_an_order_have_no_quantiles():
    problem = md.LinearQueries(workload={"name": "cyclic-ranges", "size": 4}, epsilon=1.0)
    mechanism = md.solve(problem).mechanism()
    estimate = mechanism.estimate(mechanism.randomize([0, 1, 2, 3] * 50, rng=1))
    assert estimate.quantiles is None
    assert "quantiles" not in estimate.as_json()
