"""Pictures of estimates: bars with intervals that do not leave what is possible; tables of a release."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect.collector import OnSimplex
from mechdesign.families.joint import JointResponse
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.mean import Duchi
from mechdesign.report.plot import figures_of
from mechdesign.show.figure import Bars, Intervals, Points
from mechdesign.show.panels import cut_ends, interval_figures, table_figures


@pytest.fixture(scope="module")
def release() -> MarginalRelease:
    return MarginalRelease.of(
        [2, 3, 2],
        [(0, 1), (1, 2)],
        epsilon=1.0,
        names=["smoker", "city", "age"],
        labels=[["no", "yes"], ["Bern", "Chur", "Zug"], None],
    )


@pytest.fixture(scope="module")
def found(release):
    rng = np.random.default_rng(5)
    people = np.stack([rng.random(3000) < 0.02, rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)], axis=1)
    rows = [[["no", "yes"][a], ["Bern", "Chur", "Zug"][b], int(c)] for a, b, c in people.astype(int)]
    return release.estimate(release.randomize(rows, rng=6))


def of(figure, kind):
    return [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, kind)]


def test_intervals_are_cut_off_where_the_estimate_is_possible_and_only_there():
    value = np.array([0.01, -0.02, 0.99, 1.2])
    low, high = cut_ends(value, (value - 0.05, value + 0.05), (0.0, 1.0))
    assert low == pytest.approx([0.0, -0.07, 0.94, 1.15])
    assert high == pytest.approx([0.06, 0.03, 1.0, 1.25])


def test_the_estimate_is_a_bar_and_the_raw_reports_are_faint():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()
    estimate = mechanism.estimate(mechanism.randomize([0] * 990 + [1] * 10, rng=3))
    (figure,) = estimate.figures()
    (bars,), (lines,), (raw,) = of(figure, Bars), of(figure, Intervals), of(figure, Points)
    assert bars.y == pytest.approx(estimate.value.clip(0, 1)), "no bar below 0"
    assert ("tables have it as it is" in figure.caption) == bool(estimate.value.min() < 0)
    assert bars.series == lines.series, "drawn on the bars"
    assert raw.faint
    assert raw.y.max() < 0.8, "far from the estimate"
    low, high = estimate.interval()
    assert lines.low == pytest.approx(low.clip(0, 1))
    assert lines.high == pytest.approx(high.clip(0, 1))


def test_a_projected_estimate_has_no_interval_outside_of_what_is_possible():
    mechanism = md.solve(md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.0)).mechanism()
    estimate = mechanism.estimate(mechanism.randomize([0] * 500, rng=1))
    assert estimate.value.min() < 0
    (figure,) = OnSimplex(estimate).figures()
    assert of(figure, Bars)[0].y.min() >= 0
    assert of(figure, Intervals)[0].low.min() >= 0
    assert of(figure, Intervals)[0].high.max() <= 1


def test_means_have_no_bars():
    mechanism = Duchi(1.0, 40.0, 200.0)
    estimate = mechanism.estimate(mechanism.randomize([75.0] * 500, rng=1))
    assert not of(estimate.figures()[0], Bars)


def test_a_consistent_table_has_the_confidence_intervals_of_the_unbiased_one(found):
    consistent, raw = found.marginal(["smoker", "city"]), found.marginal(["smoker", "city"], raw=True)
    (figure,) = consistent.figures()
    assert [mark.label for mark in of(figure, Bars)] == ["smoker: no", "smoker: yes"]
    assert np.stack([mark.y for mark in of(figure, Bars)]) == pytest.approx(consistent.value)
    low, high = raw.interval()
    assert np.stack([mark.high for mark in of(figure, Intervals)]) == pytest.approx(high.clip(0, 1))
    assert np.stack([mark.low for mark in of(figure, Intervals)]) == pytest.approx(low.clip(0, 1))
    assert low.min() < 0
    assert figure.panels[0].x_names == ("Bern", "Chur", "Zug")
    assert "of the unbiased estimate" in of(figure, Intervals)[-1].label


def test_a_table_that_no_view_contains_says_that_its_lines_are_no_intervals(found):
    (figure,) = found.marginal(["smoker", "age"]).figures()
    label = of(figure, Intervals)[-1].label
    assert "expected errors" in label
    assert "confidence" not in label


def test_bars_of_a_table_are_those_of_the_attribute_with_fewer_values():
    value = np.array([[0.1, 0.2], [0.3, 0.1], [0.2, np.nan]])
    labels = [["a", "b", "c"], ["x", "y"]]
    (figure,) = table_figures("t", ["long", "short"], labels, value, (value - 0.1, value + 0.1))
    first, second = of(figure, Bars)
    assert (first.label, first.y.tolist()) == ("short: x", [0.1, 0.3, 0.2])
    assert (second.label, second.x.tolist()) == ("short: y", [0, 1]), "no bar where nothing is known"
    three = np.full((2, 2, 2), 0.125)
    (figure,) = table_figures("t", "abc", [["0", "1"]] * 3, three, (three - 1, three + 1))
    assert figure.panels[0].x_names[:2] == ("0, 0, 0", "0, 0, 1")
    assert of(figure, Intervals)[0].low.tolist() == [0.0] * 8


def test_nothing_known_is_not_drawn():
    assert interval_figures("t", ["a"], [np.nan], ([0], [1]), "x", "y") == []
    value = np.full((2, 2), np.nan)
    assert table_figures("t", "ab", [["0", "1"]] * 2, value, (value, value)) == []


def test_the_shell_draws_every_table_of_a_release(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("all.json")
    cities = ["Bern", "Chur", "Zug"]
    rows = "".join(f"{['no', 'yes'][n % 9 == 0]},{cities[n % 3]},{n % 2}\n" for n in range(900))
    (tmp_path / "people.csv").write_text("smoker,city,age\n" + rows)
    assert main(["randomize", "all.json", "people.csv", "-o", "all.csv", "--seed", "1"]) == 0
    base = ["estimate", "all.json", "all.csv"]
    assert main([*base, "--figure", "all.svg"]) == 0
    assert main([*base, "--raw", "--figure", "raw.svg"]) == 0
    two = ["--marginal", "smoker,city", "--marginal", "city,age"]
    assert main([*base, *two, "--figure", "two.svg"]) == 0
    assert main([*base, *two, "--raw", "--figure", "tworaw.svg"]) == 0
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "all.svg", "raw.svg", "two.svg", "two-2.svg", "tworaw.svg", "tworaw-2.svg",
    }  # fmt: skip
    text = (tmp_path / "all.svg").read_text()
    assert all(name in text for name in ("smoker", "city", "age", "95% confidence interval"))
    capsys.readouterr()
    assert main([*base, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["marginals"]) == 3


def test_intervals_of_means_end_with_the_range_of_the_values() -> None:
    """With 8 users the interval of a mean reaches beyond the range; its picture does not."""
    mechanism = Duchi(1.0, 0.0, 100.0)
    estimate = mechanism.estimate(np.array([0, 1] * 4))
    low, high = estimate.interval()
    assert low < 0.0
    assert high > 100.0
    (figure,) = estimate.figures()
    drawn = [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, Intervals)]
    assert [(float(mark.low[0]), float(mark.high[0])) for mark in drawn] == [(0.0, 100.0)]


def test_each_table_that_was_asked_for_is_drawn():
    joint = JointResponse.of([2, 3, 2], 7.0, 0.0, 0.75, 0.25, names=["a", "b", "c"])
    people = np.random.default_rng(1).integers(0, 2, (400, 3))
    reports = pd.DataFrame({"a": people[:, 0], "b": people[:, 1], "c": people[:, 2]})
    sent = joint.run("randomize", reports, rng=1)
    tables = joint.run("estimate", sent, marginal=["a,b", "c"])
    titles = [figure.title for figure in figures_of(tables)]
    assert titles == [figure.title for table in tables.tables for figure in figures_of(table)]
    assert len(titles) == len(tables.tables) == 2
    first = figures_of(tables)[0].panels[0].marks[0]
    assert np.ravel(first.y).tolist() == pytest.approx(
        tables.tables[0].unbiased.clip(0, 1).ravel().tolist()[: first.y.size]
    )
