"""The problem of planar noise: methods, the published one refused, and the way from the shell."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import kv

import mechdesign as md
from mechdesign.cli import main
from mechdesign.families.location import PlanarLattice

PROBLEM = md.LocationNoise(epsilon=2.0, area=[0.0, 0.0, 4.0, 4.0], beta=0.1)

MODEL = """
[model]
title = "Places in a town"
problem = "location-noise"
[parameters]
epsilon = {epsilon}
area = {area}
beta = {beta}
"""


def write_model(path: Path, epsilon: object = 2.0, area: object = "[0, 0, 4, 4]", beta: object = 0.1) -> str:
    path.write_text(MODEL.format(epsilon=epsilon, area=area, beta=beta))
    return str(path)


def test_the_lattice_is_chosen_and_costs_little():
    solution = md.solve(PROBLEM)
    mechanism = solution.mechanism()
    assert isinstance(mechanism, PlanarLattice)
    assert mechanism.audit().exact
    assert mechanism.audit().true_epsilon <= 2.0
    assert md.solve(PROBLEM, "planar-laplace").value == 1.0
    assert 1.0 < solution.value < 1.01


def test_the_published_noise_is_shown_to_fail_and_not_built():
    solution = md.solve(PROBLEM, "truncated")
    (privacy,) = solution.certificates
    assert not privacy.holds
    assert privacy.exact
    assert solution.value < 1.0  # it is nearer, because it is not private
    with pytest.raises(md.MechDesignError, match="impossible from the other"):
        solution.mechanism()


def test_the_radius_is_that_of_beta():
    comparison = md.solve(PROBLEM, "planar-laplace")
    radius = comparison.notes["radius"]
    assert (1 + 2 * radius) * math.exp(-2 * radius) == pytest.approx(0.1, rel=1e-12)


@pytest.fixture
def built(tmp_path) -> str:
    model, file = write_model(tmp_path / "town.toml"), str(tmp_path / "town.json")
    assert main(["build", model, "-o", file]) == 0
    return file


def read(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open() as lines:
        header, *rows = csv.reader(lines)
    return header, np.array(rows, dtype=float)


def test_places_are_randomized_from_the_shell(built, tmp_path, capsys):
    data, out = tmp_path / "people.csv", tmp_path / "reports.csv"
    data.write_text("name,x,y\n" + "anna,1.0,2.0\nben,3.9,0.1\n" * 20)
    assert main(["randomize", built, str(data), "-o", str(out)]) == 0
    header, reports = read(out)
    mark = md.load_mechanism(built).survey_digest[:12]
    assert header == [f"x__m{mark}", f"y__m{mark}"]
    assert reports.shape == (40, 2)
    steps = reports / (1 / 16)
    assert (steps == np.rint(steps)).all()  # places of the lattice, nothing in between
    assert main(["randomize", built, str(out), "-o", str(tmp_path / "twice.csv")]) == 2
    assert main(["run", built]) == 0
    assert "randomize: one private location for each location" in capsys.readouterr().out


def test_columns_of_other_names_and_clipping(built, tmp_path, capsys):
    data, out = tmp_path / "people.csv", tmp_path / "reports.csv"
    data.write_text("east,north,age\n1.0,9.0,30\n2.0,2.0,40\n")
    arguments = ["randomize", built, str(data), "-o", str(out), "--column", "east", "--column", "north"]
    assert main(arguments) == 2
    assert "row 1: (1, 9) is outside" in capsys.readouterr().err
    assert not out.exists()
    assert main([*arguments, "--clip"]) == 0
    assert "1 point moved into the area" in capsys.readouterr().out
    assert [name.partition("__")[0] for name in read(out)[0]] == ["east", "north"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("x,y\n1.0,nan\n", "nan"),
        ("x,y\n1.0,\n", "row 1: is missing"),
        ("x,y\n1.0,7.0\n", "is outside [0, 4] x [0, 4]"),
        ("x,y\n1.0,2.0\n1.0\n", "line 3"),
        ("a,b,c\n1,2,3\n", "name two with --column"),
        ("x\n1\n", "1 column"),
        ("1.0,2.0\n3.0,3.0\n", "first line is numbers"),
        ("x,y\nhere,2.0\n", "is not a number"),
    ],
)
def test_bad_tables_end_in_one_line(built, tmp_path, capsys, rows, text):
    data, out = tmp_path / "people.csv", tmp_path / "reports.csv"
    data.write_text(rows)
    assert main(["randomize", built, str(data), "-o", str(out)]) == 2
    error = capsys.readouterr().err.strip()
    assert text in error
    assert len(error.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"epsilon": 0}, "epsilon: is 0"),
        ({"epsilon": -2.0}, "epsilon: -2 is negative"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"beta": 0.0}, "beta: 0 is outside (0, 1)"),
        ({"beta": 1.0}, "beta: 1 is outside (0, 1)"),
        ({"area": "[0, 0, 4]"}, "area"),
        ({"epsilon": 1e308}, "epsilon: 1e+308 is not from 1e-100 to 1e+100; use another unit"),
        ({"epsilon": 1e-300}, "epsilon: 1e-300 is not from"),
        ({"epsilon": 1e100}, "step: 1.25e-101 goes 3.2e+101 times into a side"),
        ({"epsilon": 1e-3}, "area: a side of 4 is below 20, where noise hides every location in it"),
        ({"area": "[0, 0, nan, 4]"}, "area"),
    ],
)
def test_bad_models_end_in_one_line(tmp_path, capsys, changes, text):
    model, file = write_model(tmp_path / "town.toml", **changes), tmp_path / "town.json"
    assert main(["build", model, "-o", str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert text in error
    assert len(error.splitlines()) == 1
    assert not file.exists()


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_telling_two_places_apart_is_a_tail_of_the_bessel_density(epsilon):
    """Along any line the noise has the density eps^2 |x| K_1(eps |x|) / pi."""
    from mechdesign.families.location.papers.noise import telling_apart

    beyond, error = quad(lambda x: epsilon**2 * x * kv(1, epsilon * x) / math.pi, 0.5, math.inf)
    assert abs(telling_apart(epsilon) - (1.0 - beyond)) <= error + 1e-8  # 20 000 parts: h^2 / 24


def test_truncated_noise_is_excluded_as_often_as_in_draws():
    problem = md.LocationNoise(epsilon=1.0, area=[0.0, 0.0, 100.0, 100.0])
    noise, count = problem.noise({"noise": "truncated"}), 200_000
    reports = noise.randomize([[50.0, 50.0]] * count, rng=3) - 50.0
    drawn = float((np.hypot(reports[:, 0] - noise.radius, reports[:, 1]) > noise.radius).mean())
    found = md.solve(problem, "truncated").quantities["excluded"]
    assert abs(found - drawn) <= 4.9 * math.sqrt(found * (1.0 - found) / count)  # one error in a million
    assert md.solve(problem, "planar-laplace").quantities["excluded"] == 0.0
