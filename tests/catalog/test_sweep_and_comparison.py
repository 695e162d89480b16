"""Sweeps and comparisons as objects: sequences, tables, frames, pictures; problems with other parameters."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.sweeping import SweepRow
from mechdesign.report.plot import figures_of

PROBLEM = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
GRID = [0.5, 1.0, 2.0]


@pytest.fixture(scope="module")
def swept():
    return md.sweep(PROBLEM, epsilon=GRID, delta=[0.0, 0.1], jobs=1)


def test_a_sweep_of_a_problem_solves_every_combination(swept):
    assert [tuple(row.parameters.values()) for row in swept] == [(e, d) for e in GRID for d in (0.0, 0.1)]
    for row in swept:
        again = md.solve(PROBLEM.replace(**row.parameters))
        assert row.solution.value == again.value


def test_it_is_a_sequence_a_table_and_a_frame(swept):
    assert len(swept) == 6
    assert isinstance(swept[0], SweepRow)
    assert [row.solution.value for row in swept[:2]] == [swept[0].solution.value, swept[1].solution.value]
    frame = swept.to_frame()
    assert list(frame.columns) == ["epsilon", "delta", "status", "method", "value", "bound", "seconds"]
    assert np.allclose(frame["value"], [row.solution.value for row in swept])
    assert str(swept).splitlines()[0].split() == list(frame.columns)
    assert repr(swept) == "Sweep(randomized-response: 6 points of epsilon, delta)"
    assert "<table" in swept._repr_html_()


def test_it_is_drawn_as_the_model_of_the_same_sweep(swept):
    (figure,) = figures_of(swept)
    (panel,) = figure.panels
    assert panel.x_label == "epsilon"
    lines = [mark for mark in panel.marks if len(getattr(mark, "x", ())) == 3]
    assert any(np.allclose(mark.y, [row.solution.value for row in swept[::2]]) for mark in lines)
    assert len(md.plot(swept)) == 1


def test_a_models_own_sweep_can_be_replaced():
    model = md.load_model("response/zhou2019_figure2")
    rows = md.sweep(model, epsilon=[0.3], jobs=1)
    assert [row.parameters for row in rows] == [{"epsilon": 0.3}]
    assert md.sweep(model, jobs=1).model is model


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilom": [1.0]}, "did you mean 'epsilon'"),
        ({"epsilon": 1.0}, "expected a list of values"),
        ({"epsilon": "1"}, "expected a list of values"),
        ({"epsilon": []}, "there are no values"),
        ({"epsilon": [-1.0]}, "negative"),
        ({}, r"has no \[sweep\]"),
    ],
)
def test_what_cannot_be_swept(parameters, words):
    with pytest.raises(md.ParameterError, match=words):
        md.sweep(PROBLEM, jobs=1, **parameters)


def test_a_comparison_is_a_table_and_a_picture():
    comparison = md.compare(PROBLEM)
    assert [run.method for run in comparison] == [run.method for run in comparison.runs]
    assert comparison["closed-form"] is comparison.runs[0]
    assert len(comparison) == len(comparison.runs)
    frame = comparison.to_frame()
    assert frame["value"].tolist() == [run.value for run in comparison]
    assert frame["bound"].dtype == float
    assert (frame["gap"] < 1e-9).all()
    (figure,) = comparison.figures()
    assert len(md.plot(comparison)) == 1
    assert "bounds" in figure.title
    with pytest.raises(md.UnknownNameError, match="no run of 'closed'"):
        comparison["closed"]


def test_a_problem_with_other_parameters_is_checked_anew():
    assert PROBLEM.replace(epsilon=3).epsilon == 3.0
    assert PROBLEM.epsilon == 1.0
    assert np.array_equal(PROBLEM.replace(epsilon=2).prior, PROBLEM.prior)
    with pytest.raises(md.ParameterError, match="negative"):
        PROBLEM.replace(epsilon=-1)
    with pytest.raises(md.UnknownNameError, match="did you mean 'epsilon'"):
        PROBLEM.replace(epsilom=1)
