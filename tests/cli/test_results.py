"""Results of the command line as tables: one tidy row an estimate, grids, and what a file may be called."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest

from mechdesign.catalog import load_model, model_figures, sweep
from mechdesign.catalog.figures import plotted_quantities
from mechdesign.catalog.sweeping import sweep_points
from mechdesign.cli import main
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.mean.papers.printed_tables import (
    COMPARED,
    MOST_ERRORS,
    PRINTED_ERRORS,
    errors_outside,
    possible_errors,
)
from mechdesign.primitives import KaryResponse
from mechdesign.report.tables import write_results
from mechdesign.work.cache import Cache
from tests.support.checks import folder_of_run, shared

HEADER = ["question", "category", "estimate", "standard_error", "low", "high"]


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """A folder with two mechanisms and reports of each."""
    monkeypatch.chdir(tmp_path)
    KaryResponse.of(2, 2.0, labels=["no", "=1+1"]).save("one.json")
    names, labels = ["smoker", "city"], [["no", "yes"], ["Graz", "Linz", "Wien"]]
    MarginalRelease.of([2, 3], [(0, 1)], 4.0, names, labels).save("two.json")
    rng = np.random.default_rng(1)
    with open("people.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["smoker", "city", "sum"])
        for _ in range(600):
            writer.writerow([rng.choice(labels[0]), rng.choice(labels[1]), rng.choice(["no", "=1+1"])])
    assert (
        main(["randomize", "one.json", "people.csv", "--column", "sum", "-o", "r1.csv", "--seed", "1"]) == 0
    )
    assert main(["randomize", "two.json", "people.csv", "-o", "r2.csv", "--seed", "1"]) == 0
    return tmp_path


@pytest.fixture
def checked_once(tmp_path_factory):
    """The tables are of checks that other tests make or look at as well."""
    with shared(Cache(folder_of_run(tmp_path_factory.getbasetemp()))):
        yield


def rows_of(path: str) -> list[list[str]]:
    with open(path, newline="") as stream:
        return list(csv.reader(stream))


def test_one_tidy_row_an_estimate(survey, capsys):
    capsys.readouterr()
    assert main(["estimate", "one.json", "r1.csv", "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(["estimate", "one.json", "r1.csv", "-o", "out.csv"]) == 0
    assert capsys.readouterr().out == "out.csv: 2 rows\n"
    header, *rows = rows_of("out.csv")
    assert header == HEADER
    assert [row[:2] for row in rows] == [["sum", "no"], ["sum", "'=1+1"]]  # no formula
    assert [float(row[2]) for row in rows] == expected["value"]
    assert [float(row[4]) for row in rows] == expected["low"]


def test_every_format_says_the_same(survey, capsys):
    pandas, openpyxl = pytest.importorskip("pandas"), pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    command = ["estimate", "two.json", "r2.csv", "--marginal", "smoker,city", "--marginal", "city", "--raw"]
    for suffix in ("csv", "parquet", "json", "xlsx"):
        assert main([*command, "-o", f"out.{suffix}"]) == 0
    table = pandas.read_csv("out.csv")
    assert table.columns.tolist() == HEADER
    assert table["question"].tolist() == ["smoker x city"] * 6 + ["city"] * 3
    assert table["category"].tolist()[1] == "no, Linz"
    assert pandas.read_parquet("out.parquet").equals(table)
    assert pandas.DataFrame(json.loads((survey / "out.json").read_text())).equals(table)
    cells = list(openpyxl.load_workbook("out.xlsx")["estimates"].iter_rows(values_only=True))
    assert list(cells[0]) == [*HEADER, "margin"]
    assert np.allclose([row[2] for row in cells[1:]], table["estimate"], rtol=1e-14)


def test_penalized_tables_have_an_expected_error_and_no_interval(survey):
    assert main(["estimate", "two.json", "r2.csv", "-o", "out.csv"]) == 0
    header, *rows = rows_of("out.csv")
    assert header == [*HEADER, "predicted_error"]
    assert {tuple(row[3:6]) for row in rows} == {("", "", "")}
    assert all(float(row[6]) > 0 for row in rows)


def test_a_cross_table_is_a_grid(survey, capsys):
    command = ["estimate", "two.json", "r2.csv", "--marginal", "smoker,city"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4].split() == ["smoker", "city:", "Graz", "city:", "Linz", "city:", "Wien"]
    assert [line.split()[0] for line in lines[-2:]] == ["no", "yes"]
    assert main([*command, "--raw", "--grid"]) == 0
    assert "\n\nsmoker x city, standard errors\nsmoker" in capsys.readouterr().out
    assert main([*command, "--raw", "--grid", "-o", "grid.csv"]) == 0
    assert rows_of("grid.csv")[0] == ["smoker", "city: Graz", "city: Linz", "city: Wien"]
    assert sum(float(cell) for row in rows_of("grid.csv")[1:] for cell in row[1:]) == pytest.approx(1.0)


def test_a_workbook_holds_several_grids(survey):
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    command = [
        "estimate",
        "two.json",
        "r2.csv",
        "--marginal",
        "smoker,city",
        "--marginal",
        "city,smoker",
        "--raw",
    ]
    assert main([*command, "--grid", "-o", "grid.xlsx"]) == 0
    names = openpyxl.load_workbook("grid.xlsx").sheetnames
    assert names == [
        name
        for title in ("smoker x city", "city x smoker")
        for name in (title, f"{title}, standard errors"[:31])
    ]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "estimate one.json r1.csv -o t.xls",
            "-o t.xls: no format '.xls'; name it .csv, .parquet, .xlsx or .json",
        ),
        ("estimate one.json r1.csv -o t", "-o t: has no extension; name it .csv"),
        (
            "randomize one.json people.csv --column sum -o t.xlsx",
            "no format '.xlsx'; name it .csv or .parquet",
        ),
        ("build response/warner_1965 -o t.csv", "-o t.csv: no format '.csv'; name it .json"),
        ("choose --epsilon 1 --users 100 -o t.txt", "-o t.txt: no format '.txt'; name it .json"),
        (
            "sweep mean/rcp2023_single -o t.tsv",
            "-o t.tsv: no format '.tsv'; name it .csv, .parquet, .xlsx or .json",
        ),
        ("estimate one.json r1.csv --grid", "one.json: --grid: this is not a cross table; omit it"),
        (
            "estimate two.json r2.csv --grid",
            "--grid: 'smoker' is a single attribute; name two attributes or more",
        ),
        ("estimate one.json r1.csv -o people.csv", "-o people.csv: file exists; choose another path"),
        ("estimate one.json r1.csv -o r1.csv --force", "-o r1.csv: is an input of this command"),
        (
            "estimate two.json r2.csv --marginal smoker,city --marginal city,smoker --grid -o t.csv",
            "-o t.csv: holds one grid, and there are 2; name a file ending in .xlsx",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(survey, capsys, command, said):
    capsys.readouterr()
    before = sorted(survey.iterdir())
    assert main(command.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(survey.iterdir()) == before


def test_a_workbook_without_its_library_names_the_extra(survey, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert main(["estimate", "one.json", "r1.csv", "-o", "t.xlsx"]) == 2
    assert (
        "t.xlsx: a workbook needs xlsxwriter; install mechdesign[xlsx], or use .csv"
        in capsys.readouterr().err
    )
    assert not (survey / "t.xlsx").exists()


def test_cells_of_a_workbook(tmp_path):
    """Formulas, links and numbers in texts stay texts; gaps are empty, infinities are words."""
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    path = str(tmp_path / "t.xlsx")
    values = ["=1+1", "http://a.b", "12", None, float("inf"), 0.1, 3, True]
    same = {f"a/b: {'x' * 40}": {"v": values}, f"a*b: {'x' * 40}": {"v": []}}
    assert write_results(path, same) == len(values)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == [f"a b  {'x' * 26}", f"a b  {'x' * 24} 2"]
    cells = [row[0] for row in book.worksheets[0].iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == ["=1+1", "http://a.b", "12", None, "inf", 0.1, 3, True]
    assert [cell.data_type for cell in cells[:3]] == ["s", "s", "s"]


def test_a_sweep_holds_what_its_figure_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = load_model("mean/rcp2023_single")
    assert main(["sweep", model.slug, "-o", "s.csv"]) == 0
    header, *rows = rows_of("s.csv")
    assert {*model.figures[0].y} <= set(header)
    capsys.readouterr()
    assert main(["sweep", model.slug, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)
    (panel,) = model_figures(model)[0].panels
    drawn = {mark.label: mark for mark in panel.marks if mark.label and not getattr(mark, "open", False)}
    for name, label in model.figures[0].labels.items():
        column = [float(row[header.index(name)]) for row in rows]
        order = np.argsort([float(row[header.index("epsilon")]) for row in rows])
        assert np.array_equal(np.array(column)[order], drawn[label].y)
        assert column == [point["plotted"].get(name, point["value"]) for point in points]


def test_every_figure_has_its_quantities_by_their_methods():
    """Of all shipped sweeps with a method on the curves, one: a column for each method."""
    model = load_model("mean/rcp2023_censoring")
    rows = sweep(model, jobs=1)
    plotted = plotted_quantities(model, rows)
    (table,) = model.figures
    assert table.methods
    names = [f"{name} by {method}" for method in table.methods for name in table.y]
    assert set(names) <= set(plotted[0])
    assert all(isinstance(each[name], float) for each in plotted for name in names)


def test_the_table_of_a_source_has_stated_and_rebuilt_beside_ours(
    checked_once, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["table", "response/zhou2019_figure2", "-o", "t.csv"]) == 0
    assert capsys.readouterr().out.startswith("t.csv: ")
    header, *rows = rows_of("t.csv")
    assert header == [
        *("quantity", "method", "epsilon", "prior", "relation", "stated", "rebuilt", "ours", "difference"),
        *("verdict", "origin", "where"),
    ]
    of_formula = [row for row in rows if row[6]]
    assert len(of_formula) >= 8
    assert {row[5] for row in of_formula} == {"as a formula"}, "none of these numbers is printed"
    assert all(float(row[6]) == pytest.approx(float(row[7]), abs=1e-9) for row in of_formula)
    assert all(float(row[8]) == 0.0 for row in of_formula)
    drawn = [row for row in rows if row[-1].startswith("figure: ")]
    points = len(sweep_points(load_model("response/zhou2019_figure2")))
    surface, sections = (
        [row for row in drawn if row[-1] == place] for place in sorted({row[-1] for row in drawn})
    )
    assert len(surface) == len(sections) == points
    assert "" not in {row[2] for row in surface}
    assert {row[2] for row in sections} == {""}  # the name of the curve says which epsilon
    assert main(["table", "response/zhou2019_figure2"]) == 0
    assert "more rows; -o FILE writes all" in capsys.readouterr().out


def test_a_list_of_a_table_is_a_row_an_entry(checked_once, capsys):
    assert main(["table", "marginals/zhang2019_table_3_3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    place = "table 3.3, d = 8, k = 3, n = 2^16"
    cell = [row for row in rows if row["where"] == place and row["epsilon"] == 2.0]
    assert [(row["entry"], row["stated"], row["ours"]) for row in cell] == [(0, 4, 4), (1, 14, 14)]


def test_what_is_lost_is_rebuilt_and_what_is_ours_is_not_called_stated(checked_once, capsys):
    assert main(["table", "shuffle/wang2022_table1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    cells = [row for row in rows if row["where"] == "table 1, eq. (3)"]
    assert len(cells) == 25
    assert {row["stated"] for row in cells} == {"lost in the copy"}
    assert all(abs(row["difference"]) <= 5e-5 for row in cells)
    assert main(["table", "contract/three_types", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    own = [row for row in rows if row["origin"] in ("derived", "computed")]
    assert len(own) > 3
    assert {row["stated"] for row in own} == {None}
    assert all(row["recorded"] is not None for row in own)


def test_table_8_has_the_printed_numbers_their_ranges_and_their_distances(checked_once, capsys):
    assert main(["table", "mean/rcp2023_table8", "--json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out) if row["stated"] is not None]
    assert len(rows) == 45
    for row in rows:
        name = row["quantity"].removeprefix("table_8_")
        assert row["stated"] == PRINTED_ERRORS[row["epsilon"]][COMPARED.index(name)]
        assert (row["least"], row["largest"]) == possible_errors(name, row["epsilon"])
        assert (row["standard errors"] > MOST_ERRORS) == (row["verdict"] != "holds")
        assert row["standard errors"] == abs(errors_outside(row["epsilon"])[name])
        assert row["ours"] is None


def test_a_model_without_numbers_says_so(tmp_path, capsys):
    path = tmp_path / "own.toml"
    path.write_text(
        '[model]\ntitle = "t"\nproblem = "randomized-response"\nsource = { where = "own" }\n'
        "[parameters]\nprior = [0.5, 0.5]\nepsilon = 1.0\n"
    )
    assert main(["table", str(path)]) == 2
    assert "no claim of it is about a number; see mechdesign show" in capsys.readouterr().err
