"""REAP from files: noise of the chosen items, and the fused average against the promise of the menu."""

import csv
import math
import re

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.contract.menu_tables import device, fused

MODEL = """[model]
title = "hours"
problem = "privacy-contract"

[parameters]
types = [1.0, 2.0, 3.0]
counts = [100, 100, 100]
budget = 1000.0
data_range = 16.0
noise = "NOISE"
"""


def menu_for(noise="laplace", **more):
    return md.solve(
        md.PrivacyContract(
            types=[1.0, 2.0, 3.0], counts=[100, 100, 100], budget=1000.0, data_range=16.0, noise=noise, **more
        )
    ).mechanism()


def people(count=300):
    random = np.random.default_rng(3)
    return np.repeat([1.0, 2.0, 3.0], count // 3), random.uniform(2.0, 18.0, count)


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL.replace("NOISE", "laplace"))
    assert main(["build", "m.toml", "-o", "m.json"]) == 0
    types, values = people()
    rows = [f"u{n},{t},{v}" for n, (t, v) in enumerate(zip(types, values, strict=True))]
    (tmp_path / "p.csv").write_text("\n".join(["name,type,hours", *rows, "rich,9,5"]) + "\n")
    choose = ["run", "m.json", "choose", "p.csv", "-o", "c.csv", "--column", "type", "--keep", "name"]
    assert main([*choose, "--keep", "hours"]) == 0
    return tmp_path


def noise(*more, table="c.csv", output="r.csv"):
    given = ["--column", "hours", "--low", "2", *more]
    return main(["run", "m.json", "noise", table, "-o", output, *given])


def fuse(*tables, output="a.csv"):
    return main(["run", "m.json", "fuse", *tables, "-o", output])


@pytest.mark.parametrize(("more", "what"), [((), "in real numbers"), (("--exact",), "exactly")])
def test_the_run_ends_in_an_average_within_the_promise(folder, capsys, more, what):
    assert noise("--seed", "1", "--keep", "name", *more) == 0
    said = capsys.readouterr().out
    assert f"300 reports private at their item's epsilon {what}" in said
    assert "1 user staying out, without a report" in said
    reports = rows_of(folder / "r.csv")
    assert len(reports) == 300
    assert list(reports[0])[:3] == ["name", "item", "epsilon"]
    assert "rich" not in {row["name"] for row in reports}
    assert fuse("r.csv") == 0
    equal, precision = rows_of(folder / "a.csv")
    menu = menu_for()
    column = list(reports[0])[3]
    mean = math.fsum(float(row[column]) for row in reports) / 300
    assert float(equal["average"]) == pytest.approx(mean, rel=1e-12)
    assert float(equal["alpha"]) == pytest.approx(menu.alpha(), rel=1e-12)
    assert float(equal["promised"]) == pytest.approx(menu.alpha(), rel=1e-12)
    assert (equal["kept"], precision["kept"], equal["buyers"]) == ("yes", "", "300")
    assert float(precision["standard_error"]) < float(equal["standard_error"])
    truth = people()[1].mean()
    assert abs(float(equal["average"]) - truth) < float(equal["alpha"])


def test_reports_of_two_days_are_fused_together_and_fewer_buyers_miss_the_promise(folder):
    assert noise("--seed", "1") == noise("--seed", "2", output="s.csv") == 0
    assert fuse("r.csv", "s.csv") == 0
    assert rows_of(folder / "a.csv")[0]["buyers"] == "600"
    lines = (folder / "r.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:100]) + "\n")
    assert fuse("few.csv", output="b.csv") == 0
    assert rows_of(folder / "b.csv")[0]["kept"] == "no"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda text: text.replace(",0,1.66", ",1,1.66", 1), "row 1: .* not the epsilon of the item"),
        (lambda text: text.replace(",0,1.66", ",7,1.66", 1), "7 is not an item of this menu, -1 to 2"),
        (lambda text: text.replace("u0,", "u0,9", 1), "outside"),
    ],
)
def test_a_table_that_is_not_of_this_menu_is_refused(folder, capsys, change, what):
    (folder / "d.csv").write_text(change((folder / "c.csv").read_text()))
    assert noise(table="d.csv") == 2
    assert re.search(what, capsys.readouterr().err)


def test_values_are_named_and_clipped_and_reports_of_another_menu_refused(folder, capsys):
    assert main(["run", "m.json", "noise", "c.csv", "-o", "r.csv"]) == 2
    assert "name the column of the users' values" in capsys.readouterr().err
    given = ["--column", "hours", "--low", "3"]
    assert main(["run", "m.json", "noise", "c.csv", "-o", "r.csv", *given]) == 2
    assert "column 'hours': values: row" in capsys.readouterr().err
    assert main(["run", "m.json", "noise", "c.csv", "-o", "r.csv", *given, "--clip"]) == 0
    assert "clipped" in capsys.readouterr().out
    assert main(["build", "m.toml", "-o", "other.json", "--set", "budget=900"]) == 0
    assert main(["run", "other.json", "fuse", "r.csv", "-o", "a.csv"]) == 2
    assert "reports of another mechanism" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["laplace", "duchi", "piecewise"])
@pytest.mark.parametrize("exact", [False, True])
def test_no_device_has_more_variance_than_the_menu_counts_with(name, exact):
    menu = menu_for(name)
    for item, variance in enumerate(menu.variances.tolist()):
        mechanism = device(menu, item, 2.0, exact)
        assert mechanism.worst_variance() <= variance * (1 + 1e-12)
        assert mechanism.certificates()[0].holds
        assert mechanism.certificates()[0].exact == (exact or name != "laplace")
        assert mechanism.epsilon == menu.items[item, 0]


def test_where_the_grid_has_more_variance_the_published_noise_stays():
    menu = md.solve(
        md.PrivacyContract(types=[1.0], counts=[10], budget=300.0, noise="piecewise")
    ).mechanism()  # epsilon 30
    assert device(menu, 0, 0.0, exact=True).type == "piecewise"


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["laplace", "duchi", "piecewise"])
def test_fused_averages_are_unbiased_and_no_further_off_than_stated(name, exact):
    import pandas

    menu, surveys = menu_for(name), 60
    types, values = people()
    table = pandas.DataFrame({"item": menu.choose(types), "hours": values})
    many = pandas.concat([table] * surveys, ignore_index=True)
    reports = menu.run("noise", many, column="hours", low=2.0, exact=exact, seed=8)
    errors = [
        menu.run("fuse", reports[start : start + len(table)])["average"].to_numpy() - values.mean()
        for start in range(0, len(many), len(table))
    ]
    stated = menu.run("fuse", reports[: len(table)])["standard_error"].to_numpy()
    spread, bias = np.std(errors, axis=0), np.mean(errors, axis=0)
    assert (spread < 1.25 * stated).all()
    assert abs(bias[0]) < 4 * stated[0] / math.sqrt(surveys)


def test_weights_of_precision_are_those_of_the_least_noise():
    menu = menu_for()
    items = np.array([0, 1, 1, 2])
    reports = np.array([1.0, 2.0, 4.0, 8.0])
    block = fused(menu, items, reports)
    weights = 1.0 / menu.variances[items]
    assert block["average"][1] == pytest.approx(float(weights @ reports / weights.sum()))
    assert block["standard_error"][1] == pytest.approx(1.0 / math.sqrt(weights.sum()))
    assert block["standard_error"][0] == pytest.approx(math.sqrt(menu.variances[items].sum()) / 4)


def test_a_user_who_stays_out_has_no_report():
    import pandas

    menu = menu_for()
    reports = menu.run("noise", pandas.DataFrame({"item": [0, 1], "hours": [3.0, 4.0]}), column="hours")
    reports.loc[1, "item"] = -1
    with pytest.raises(DataError, match="stays out, and has no report"):
        menu.run("fuse", reports.drop(columns="epsilon"))
    with pytest.raises(ParameterError, match="column"):
        menu.run("noise", pandas.DataFrame({"item": [0], "hours": [3.0]}))
