"""What models declare to be drawn: keys, names and values are checked, and every model's figure is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.catalog import SweepRow, curves, load_model, model_figures, run_sweep, sweep_points
from mechdesign.catalog.curves import COUNTED
from mechdesign.catalog.figure_table import METHOD, axis_of
from mechdesign.core.errors import MechDesignError, MethodError, ParameterError, UnknownNameError
from mechdesign.core.solution import Solution
from mechdesign.show import figure as marks
from mechdesign.show.draw import picture
from mechdesign.solvers.solve import solve
from tests.support.clashes import clashes
from tests.support.shipped import mentioning

MODEL = """
[model]
title = "Small"
problem = "randomized-response"
[parameters]
prior = [0.5, 0.5]
epsilon = 1.0
[[claim]]
quantity = "value"
value = 0.7311
tolerance = 1e-4
[[claim]]
quantity = "value"
value = 0.9
verdict = "refuted"
reason = "too large"
readings = [{ text = "as printed", outcome = "refuted" }]
at = { epsilon = 2.0 }
[[claim]]
quantity = "value"
value = 0.5
origin = "derived"
at = { epsilon = 0.0 }
[sweep]
epsilon = [2.0, 0.5, 1.0]
delta = [0.0, 0.1]
"""

DRAWN = mentioning(r"(figure|sweep)\b")


def written(folder, figure: str):
    path = folder / "small.toml"
    path.write_text(MODEL + figure)
    return path


@pytest.mark.parametrize(
    ("figure", "error", "text"),
    [
        ("[figure]\nx = 1", MechDesignError, "[[figure]]: is a single table; write it with double brackets"),
        ("[[figure]]\nxlabel = 'a'", UnknownNameError, "unknown key 'xlabel'; did you mean 'x_label'?"),
        ("[[figure]]\nseries = 'epsilom'", UnknownNameError, "no 'epsilom' in [sweep]; did you mean"),
        ("[[figure]]\nx = 'method'", ParameterError, "methods: is missing; 'method' on the axis needs"),
        ("[[figure]]\nx = 3", ParameterError, "x: 3 is not a string; put quotes around it"),
        ("[[figure]]\ny = []", ParameterError, "y: is empty; name a quantity"),
        ("[[figure]]\ny = [1]", ParameterError, "y: [1] is not a list of names"),
        ("[[figure]]\nkind = 'line'", ParameterError, "'line' is not a choice; did you mean 'lines'?"),
        ("[[figure]]\ny_scale = 'lg'", ParameterError, "'lg' is not a choice; did you mean 'log'?"),
        ("[[figure]]\nmethods = ['lpp']", UnknownNameError, "methods: no 'lpp'; did you mean 'lp'?"),
        ("[[figure]]\nat = { delta = 0.2 }", ParameterError, "at: delta: 0.2 is not among its values"),
        ("[[figure]]\nat = { beta = 0.2 }", UnknownNameError, "at: no 'beta' in [sweep]"),
        ("[[figure]]\nx = 'delta'\nseries = 'delta'", ParameterError, "x: 'delta' is also in series"),
        ("[[figure]]\nkind = 'surface'", ParameterError, "kind: a surface needs one y over x and series"),
        ("[[figure]]\nlabels = { value = 3 }", ParameterError, "labels: has a value that is not a string"),
        ("[[figure]]\nclaims = 1", ParameterError, "claims: 1 is neither true nor false"),
        ("[[figure]]\nonce = 3", ParameterError, "once: 3 is not a list of names"),
        ("[[figure]]\nx = 'number'\nonce = 'bound'", ParameterError, "once: needs a parameter of the sweep"),
        (
            "[[figure]]\nkind = 'surface'\nseries = 'delta'\nonce = 'bound'",
            ParameterError,
            "once: a surface shows one quantity",
        ),
        ("[[figure]]\nx = 'delta'\nx_path = [0]\nseries = 'delta'", ParameterError, "'delta' is also in"),
        ("[[figure]]\nx_path = [1.5]", ParameterError, "x_path: [1.5] is not a list of numbers and keys"),
    ],
)  # fmt: skip
def test_mistakes_in_a_figure_name_file_figure_and_key(tmp_path, figure, error, text):
    path = written(tmp_path, figure)
    with pytest.raises(error) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("y = 'valeu'", "[figure 1] y: no quantity 'valeu'; did you mean 'value'?"),
        ("y = 'channel'", "[figure 1] y: 'channel' is not a single number"),
        ("x = 'number'\ny = 'value'", "[figure 1] y: 'value' is not a list of numbers"),
        (
            "x = 'epsilom'",
            "x: 'epsilom' is neither a parameter of the sweep nor a list of numbers; did you mean 'epsilon'?",
        ),
        ("x_path = [1]", "[figure 1] epsilon: has nothing at 1 of the path [1]"),
    ],
)
def test_what_solutions_do_not_have_is_named_when_they_are_drawn(tmp_path, figure, text):
    path = written(tmp_path, f"[[figure]]\n{figure}")
    with pytest.raises(MechDesignError) as caught:
        model_figures(load_model(path))
    assert text in str(caught.value)


def test_curves_have_the_numbers_of_the_sweep_in_rising_order(tmp_path):
    model = load_model(written(tmp_path, "[[figure]]\nseries = 'delta'\nmethods = ['closed-form', 'lp']"))
    rows = list(run_sweep(model))
    panel = model_figures(model, rows)[0].panels[0]
    lines = [mark for mark in panel.marks if isinstance(mark, marks.Line)]
    assert [line.label for line in lines] == [
        "closed-form, delta = 0", "lp, delta = 0", "closed-form, delta = 0.1", "lp, delta = 0.1",
    ]  # fmt: skip
    found = {(row.parameters["epsilon"], row.parameters["delta"]): row.solution.value for row in rows}
    assert lines[0].x.tolist() == [0.5, 1.0, 2.0]
    assert lines[0].y.tolist() == [found[epsilon, 0.0] for epsilon in (0.5, 1.0, 2.0)]
    assert lines[2].y.tolist() == [found[epsilon, 0.1] for epsilon in (0.5, 1.0, 2.0)]


def test_printed_claims_are_open_markers_where_they_belong(tmp_path):
    """Of this method and these parameters only; refuted ones apart; what was derived is not a statement."""
    model = load_model(written(tmp_path, "[[figure]]\nat = { delta = 0.0 }"))
    panel = model_figures(model)[0].panels[0]
    stated, refuted = (mark for mark in panel.marks if isinstance(mark, marks.Points))
    assert (stated.x.tolist(), stated.y.tolist()) == ([1.0], [0.7311])
    assert (refuted.x.tolist(), refuted.y.tolist()) == ([2.0], [0.9])
    assert stated.open
    assert refuted.label == "stated in the source, refuted"
    for figure in ("at = { delta = 0.1 }", "methods = ['lp']\nclaims = false", "y = 'bound'"):
        again = model_figures(load_model(written(tmp_path, f"[[figure]]\n{figure}")))[0].panels[0]
        assert not [mark for mark in again.marks if isinstance(mark, marks.Points)]


def test_the_value_of_a_formula_is_not_a_number_that_the_source_states(tmp_path):
    for number in ("0.7310585786300049", '0.7311\nstated = "formula"'):
        path = written(tmp_path, "[[figure]]\nat = { delta = 0.0 }")
        path.write_text(path.read_text().replace("value = 0.7311", f"value = {number}"))
        panel = model_figures(load_model(path))[0].panels[0]
        (refuted,) = (mark for mark in panel.marks if isinstance(mark, marks.Points))
        assert refuted.y.tolist() == [0.9]


def test_a_printed_claim_that_is_not_decidable_has_markers_of_its_own(tmp_path):
    path = written(tmp_path, "[[figure]]\nat = { delta = 0.0 }")
    path.write_text(
        path.read_text().replace(
            'verdict = "refuted"',
            'verdict = "not-decidable"\noutcome = "refuted"\ndecided_by = "the printed page"',
        )
    )
    panel = model_figures(load_model(path))[0].panels[0]
    stated, undecided = (mark for mark in panel.marks if isinstance(mark, marks.Points))
    assert (undecided.x.tolist(), undecided.y.tolist()) == ([2.0], [0.9])
    assert undecided.label == "stated in the source, not decidable here"
    assert undecided.series != stated.series


def test_a_sweep_without_a_table_is_drawn_as_it_is(tmp_path):
    model = load_model(written(tmp_path, ""))
    panel = model_figures(model)[0].panels[0]
    assert (panel.x_label, panel.y_label) == ("epsilon", "expected utility")
    assert len([mark for mark in panel.marks if isinstance(mark, marks.Line)]) == 2
    plain = load_model("response/zhou2019_survey")
    assert model_figures(plain) == []


def test_methods_are_compared_by_bars_and_runs_are_not_repeated(tmp_path, monkeypatch):
    path = tmp_path / "three.toml"
    path.write_text(
        '[model]\ntitle = "Three"\nproblem = "randomized-response"\n'
        'methods = ["closed-form", "geometric", "lp"]\n'
        "[parameters]\nprior = [0.5, 0.5]\nepsilon = 1.0\n"
    )
    model = load_model(path)
    panel = model_figures(model)[0].panels[0]
    assert panel.x_names == ("closed-form", "geometric", "lp")
    assert panel.marks[0].x.tolist() == [0, 2], "where a method does not apply there is no bar"
    runs = [solve(model.problem, name) for name in ("closed-form", "lp")]
    row = SweepRow({}, runs[0], {})

    def unexpected(problem, method):
        assert method == "geometric", "was solved again"
        raise MethodError("does not apply")

    monkeypatch.setattr(curves, "solve", unexpected)
    again = model_figures(model, [row], runs)[0].panels[0]
    assert again.marks[0].y.tolist() == [run.value for run in runs]


def test_what_does_not_apply_or_is_infinite_is_a_gap(tmp_path):
    path = tmp_path / "gap.toml"
    path.write_text(
        '[model]\ntitle = "Gap"\nproblem = "randomized-response"\n[parameters]\nprior = [0.2, 0.8]\n'
        'epsilon = 0.1\n[sweep]\ndelta = [0.0, 0.15]\n[[figure]]\ny = "true_epsilon"\n'
        '[[figure]]\nmethods = ["geometric", "lp"]\n'
    )
    first, second = model_figures(load_model(path))
    assert np.isnan(first.panels[0].marks[0].y).tolist() == [False, True]
    assert len(second.panels[0].marks) >= 1


def test_what_no_method_changes_is_drawn_once(tmp_path):
    table = '[[figure]]\nmethods = ["closed-form", "lp"]\nonce = "true_epsilon"\nat = {{ delta = 0.0 }}\n{}'
    over = model_figures(load_model(written(tmp_path, table.format('x = "epsilon"'))))[0].panels[0]
    assert [mark.label for mark in over.marks if isinstance(mark, marks.Line)] == [
        "closed-form", "lp", "true epsilon",
    ]  # fmt: skip
    assert [mark for mark in over.marks if isinstance(mark, marks.Line)][-1].y.tolist() == [0.5, 1.0, 2.0]
    side = model_figures(load_model(written(tmp_path, table.format('x = "method"'))))[0].panels[0]
    bars, line = side.marks
    assert isinstance(line, marks.Reference)
    assert (len(bars.y), line.value, line.label) == (2, 1.0, "true epsilon")


def test_two_numbers_of_one_parameter_are_axis_and_series():
    """Figure 4.2 of the thesis: a curve for each number of users of the lowest type."""
    model = load_model("contract/three_types")
    rows = _made_up(model)
    for row in rows:
        counts = row.parameters["counts"]
        row.solution.notes["error_ratio"] = 1000.0 * counts[0] + counts[1]
    drawn = [mark for mark in model_figures(model, rows)[0].panels[0].marks if isinstance(mark, marks.Line)]
    assert [curve.label for curve in drawn] == [
        f"{count} of the lowest type" for count in (0, 50, 100, 150, 200, 250)
    ]
    for curve, lowest in zip(drawn, (0, 50, 100, 150, 200, 250), strict=True):
        assert (np.diff(curve.x) > 0).all()
        assert curve.x[-1] == 300 - lowest, "nobody is of the highest type there"
        assert curve.y.tolist() == (1000.0 * lowest + curve.x).tolist()


def test_bars_over_numbers_stand_beside_each_other(tmp_path):
    """At 0.5 and 1.0 they overlapped: their width does not know how near the numbers are."""
    path = written(
        tmp_path, '[[figure]]\nx = "epsilon"\nkind = "bars"\nat = { delta = 0.0 }\nclaims = false\n'
    )
    panel = model_figures(load_model(path))[0].panels[0]
    assert panel.x_names == ("0.5", "1", "2")
    assert panel.marks[0].x.tolist() == [0.0, 1.0, 2.0]
    assert (np.diff(panel.marks[0].y) > 0).all(), "a larger epsilon has more utility, in this order"


def test_what_was_measured_has_the_markers_of_its_line(tmp_path):
    """Figures 4 and 8 of the first source: both had the same markers at the same places."""
    model = load_model("response/zhou2019_figure4")
    drawn = model_figures(model, _made_up(model))[0].panels[0].marks
    lines = [mark for mark in drawn if isinstance(mark, marks.Line)]
    assert lines
    assert not any(line.dots for line in lines)
    assert len([mark for mark in drawn if isinstance(mark, marks.Intervals)]) == len(lines)


@pytest.mark.parametrize(
    ("values", "path", "label", "numbers"),
    [
        ([0.5, 1.0], (), "p", (0.5, 1.0)),
        ([{"name": "u", "size": 5}, {"name": "u", "size": 8}], (), "p: size", (5.0, 8.0)),
        ([[{"x": 1.0, "y": 2.0}], [{"x": 3.0, "y": 2.0}]], (), "p: x", (1.0, 3.0)),
        ([[0.2, 0.8], [0.5, 0.5]], (0,), "p", (0.2, 0.5)),
    ],
)
def test_values_with_one_number_that_differs_are_numbers(values, path, label, numbers):
    axis = axis_of("p", values, path)
    assert (axis.label, axis.numbers, axis.is_named) == (label, numbers, False)


def test_other_values_are_named_by_what_differs():
    axis = axis_of("counts", [[100, 0, 200], [100, 40, 160]])
    assert axis.is_named
    assert axis.names == ("0, 200", "40, 160")


def _made_up(model) -> list[SweepRow]:
    """Return rows as a sweep of the model might give them, without solving anything."""
    named = {name for table in model.figures for name in (*table.y, *table.once)}
    wanted = named - {"value", "bound", "seconds"}
    vectors = [table for table in model.figures if table.x not in (*model.sweep, METHOD)]
    rows = []
    for number, point in enumerate(sweep_points(model) or [{}]):
        values: dict[str, object] = {name: 0.5 + 0.1 * number for name in wanted}
        for table in vectors:
            names = [*table.y, *([] if table.x == COUNTED else [table.x])]
            values |= {name: np.linspace(1.0, 2.0, 4) + number for name in names}
        rows.append(SweepRow(point, _solution(model, values, 0.3 + 0.2 * number), {"measured_value": 1.0}))
    return rows


def _solution(model, values, value: float) -> Solution:
    return Solution(
        model.problem, "made-up", "analytic", "feasible", value, 0.9 * value, {}, {}, 0.01, notes=values
    )


@pytest.mark.parametrize("slug", DRAWN)
def test_the_figures_of_every_model_are_drawn_without_a_warning(slug, monkeypatch):
    model = load_model(slug)
    assert model.sweep or model.figures
    rows = _made_up(model)
    monkeypatch.setattr(curves, "solve", lambda problem, method: rows[0].solution)
    for figure in model_figures(model, rows):
        assert figure.caption
        assert len([mark for panel in figure.panels for mark in panel.marks]) <= 24
        assert clashes(picture(figure)) == []
