"""Screening: closed forms against the linear program, the menu in use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import parameters_of, problem_from
from mechdesign.export.messages import MemoryTable
from mechdesign.families.incentives import ScreeningMenu
from mechdesign.families.incentives.closed_forms import ironed_line, ironed_values, virtual_values


def test_regular_types_by_hand():
    solution = md.solve(md.Screening(types=[1, 2, 3, 4, 5]))
    assert solution.method == "mussa-rosen"
    assert solution.variables["quantity"].tolist() == [0, 0, 1, 3, 5]
    assert solution.notes["exact_value"] == "7/2"
    # 3 for the first unit, 4 for the next two, 5 for the last two
    assert solution.variables["payments"].tolist() == [0, 0, 3, 11, 21]


def test_the_formula_and_the_program_agree_on_random_problems():
    rng = np.random.default_rng(4)
    for _ in range(25):
        count = int(rng.integers(1, 6))
        weights = rng.integers(1, 9, count)
        types = sorted(rng.choice(20, count, replace=False).tolist())
        prior = [f"{int(weight)}/{int(weights.sum())}" for weight in weights]
        listed = md.Screening(types=types, prior=prior, quantities=[1, 2, 3], cost=[1, 3, 7])
        values = {md.solve(listed, method).notes["exact_value"] for method in ("exact-lp", "ironing")}
        assert len(values) == 1
        smooth = md.solve(md.Screening(types=types, prior=prior))
        offered = smooth.variables["menu"].offered
        grid = md.Screening(types=types, prior=prior, quantities=[q for q in offered if q > 0] or [1], cost=1)
        assert md.solve(grid, "exact-lp").notes["exact_value"] == smooth.notes["exact_value"]


def test_one_good_is_sold_at_a_posted_price():
    problem = md.Screening(types=[1, 2, 4], prior=["1/2", "1/4", "1/4"], quantities=[1], cost=[0])
    values = {
        md.solve(problem, name).notes["exact_value"] for name in ("posted-price", "exact-lp", "ironing")
    }
    assert values == {"1"}
    assert md.compare(problem).agree


def test_ironing_pools_and_keeps_the_mean():
    values, weights = [Fraction(3), Fraction(1), Fraction(2), Fraction(9)], [Fraction(1), Fraction(2)] * 2
    pooled = ironed_values(values, weights)
    assert pooled == sorted(pooled)
    assert sum(v * w for v, w in zip(values, weights, strict=True)) == sum(
        v * w for v, w in zip(pooled, weights, strict=True)
    )
    line = ironed_line(
        [Fraction(v) for v in (1, 2, 3, 6)], [Fraction(1, 4), Fraction(1, 2)] + [Fraction(1, 8)] * 2
    )
    assert line.virtual == (-2, Fraction(3, 2), 0, 6)
    assert line.ironed == (-2, Fraction(6, 5), Fraction(6, 5), 6)
    assert not line.is_regular
    assert virtual_values([Fraction(5)], [Fraction(1)]) == [5]


def test_buyers_choose_in_the_shell(tmp_path):
    menu = md.solve(md.Screening(types=[1, 2, 3, 4, 5])).mechanism()
    assert [float(price) for _, price in menu.items] == [3, 11, 21]
    path, buyers, out = tmp_path / "m.json", tmp_path / "buyers.csv", tmp_path / "out.csv"
    menu.save(path)
    buyers.write_text("value\n1\n3\n3.9\n100\n")
    assert main(["run", str(path), "choose", str(buyers), "-o", str(out)]) == 0
    assert out.read_text().splitlines() == [
        "value,item,quantity,payment", "1,-1,0.0,0.0", "3,0,1.0,3.0", "3.9,0,1.0,3.0", "100,2,5.0,21.0"
    ]  # fmt: skip
    buyers.write_text("value\n1\n-3\n")
    assert main(["run", str(path), "choose", str(buyers), "-o", str(out), "--force"]) != 0


def test_a_type_of_a_third_takes_the_item_meant_for_it():
    menu = md.solve(md.Screening(types=["1/3", "2/3"], prior=["1/9", "8/9"])).mechanism()
    assert menu.choose([1 / 3, 2 / 3]).tolist() == [-1, 0]


def test_lotteries_of_a_menu_are_drawn(tmp_path):
    menu = ScreeningMenu([1, 2], ["1/2", "1/2"], [0, 2], 4, [[4, 0], [1, 3]], [0, 3])
    (operation,) = menu.operations()
    table = MemoryTable({"value": np.full(4000, 2.0)})
    block = next(iter(operation.run([table], operation.settings({"seed": 1}))))
    share = float((block["quantity"] == 2).mean())
    assert abs(share - 0.75) < 0.05
    assert set(block["payment"].tolist()) == {3.0}


def test_a_menu_that_overcharges_is_refused():
    with pytest.raises(CertificateError, match="incentive_compatibility: FAILS"):
        ScreeningMenu([1, 2], ["1/2", "1/2"], [0, 1], 1, [[1, 0], [0, 1]], [0, 3])


def test_parameters_survive():
    problem = md.Screening(types=["1/3", 1], prior=["1/4", 0.75], quantities=[1, 2], cost=["1/7", 1])
    assert problem_from(md.Screening, parameters_of(problem)) == problem
    assert problem.quantities == (0, 1, 2)
    assert problem.cost == (0, Fraction(1, 7), 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"types": []}, "types: is empty"),
        ({"types": [2, 1]}, "is not above"),
        ({"types": [-1, 1]}, "negative"),
        ({"types": [1, 2], "prior": [0.5, 0.6]}, "sums to 1.1, not 1"),
        ({"types": [1, 2], "prior": [1, 0]}, "without probability"),
        ({"types": [1, 2], "cost": 0}, "is not above 0"),
        ({"types": [1, 2], "cost": [1]}, "quantities are continuous"),
        ({"types": [1, 2], "quantities": [1, 2], "cost": [1]}, "expected 3 entries"),
    ],
)
def test_bad_input_of_a_menu_is_one_line(options, text):
    with pytest.raises(ParameterError, match=text):
        md.Screening(**options)
