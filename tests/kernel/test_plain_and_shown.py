"""Results as JSON, as columns and in notebooks: plain values, rows of equal length, escaped texts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.collector import OnSimplex
from mechdesign.data.tidy import TIDY, Tidy
from mechdesign.families.marginals import MarginalRelease
from mechdesign.primitives import KaryResponse
from tests.contract.test_every_mechanism import COUNTED, reports_of, server_of
from tests.meta.test_shown import MECHANISMS

VERDICTS = ("aut", "put", "uniformity-dump")
"""Types whose server says yes or no."""


class Balanced(HTMLParser):
    """Counts what was opened and not closed, and collects the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def texts_of(thing: Any) -> list[str]:
    parser = Balanced()
    parser.feed(thing._repr_html_())
    parser.close()
    assert parser.open == []
    return parser.texts


def estimate_of(kind: str) -> Any:
    mechanism = MECHANISMS[kind][0]()
    server = server_of(mechanism)
    server.update(reports_of(mechanism))
    return server.estimate()


@pytest.mark.parametrize("kind", COUNTED)
def test_every_estimate_is_json_and_a_table(kind):
    estimate = estimate_of(kind)
    assert json.loads(json.dumps(estimate.as_json(), allow_nan=False))
    assert texts_of(estimate)
    assert isinstance(estimate, Tidy) == (kind not in VERDICTS)
    if kind in VERDICTS:
        return
    columns = estimate.tidy()
    assert tuple(columns)[: len(TIDY)] == TIDY
    assert len({len(values) for values in columns.values()}) == 1
    assert all(
        value is None or type(value) in (str, int, float) for values in columns.values() for value in values
    )


def test_tables_of_a_release_are_json():
    release = MarginalRelease.of([2, 2], [(0, 1)], 4.0, ["s", "c"], [["n", "y"], ["G", "W"]])
    found = release.estimate(release.randomize([["n", "G"], ["y", "W"]] * 200, rng=1))
    raw = found.marginal(["c", "s"], raw=True)
    for table in (found.marginal(["s"]), found.marginal(["s", "c"], spread=3), raw):
        assert json.dumps(table.as_json(), allow_nan=False)
        assert texts_of(table)
        values = np.asarray(table.tidy()["estimate"])
        assert np.array_equal(values, table.value.ravel())
    assert raw.grid()["s: n"] == raw.value[:, 0].tolist()


def test_a_projection_stands_beside_its_estimate():
    mechanism = KaryResponse.of(3, 1.0)
    estimate = mechanism.estimate(mechanism.randomize([0] * 500, rng=1))
    shown = OnSimplex(estimate)
    assert sum(shown.tidy()["simplex"]) == pytest.approx(1.0)
    assert json.dumps(shown.as_json())


def test_names_are_escaped():
    mechanism = KaryResponse.of(2, 2.0, labels=["<b>no</b>", "yes & no"])
    estimate = mechanism.estimate(mechanism.randomize(["yes & no"] * 99, rng=1))
    assert "<b>" not in estimate._repr_html_()
    assert "<b>no</b>" in texts_of(estimate)
    assert "<b>" not in mechanism._repr_html_()


@pytest.mark.parametrize("kind", sorted(MECHANISMS))
def test_every_mechanism_and_its_audit_have_a_form_for_notebooks(kind):
    mechanism = MECHANISMS[kind][0]()
    assert repr(mechanism) in texts_of(mechanism)
    audit = mechanism.audit()
    assert "".join(texts_of(audit)).find(str(audit).splitlines()[0]) >= 0


def test_comparisons_solutions_and_rankings_have_one_too():
    problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    comparison = md.compare(problem)
    texts = texts_of(comparison)
    assert {run.method for run in comparison.runs} <= set(texts)
    assert "holds" in " ".join(texts_of(md.solve(problem)))
    ranking = md.choose(epsilon=1.0, users=1000)
    assert {candidate.name for candidate in ranking.candidates} <= set(texts_of(ranking))
    assert json.dumps(ranking.as_json())
