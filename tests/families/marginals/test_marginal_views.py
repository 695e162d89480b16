"""``marginal-views`` by the thesis's rule: table 3.3, line 13, coverings, refusals."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.cli import main
from mechdesign.core.errors import MechDesignError
from mechdesign.families.marginals.view_errors import mean_cells
from mechdesign.families.marginals.view_evaluation import balanced
from mechdesign.work.cache import Cache
from tests.support.checks import check_once, folder_of_run

MISPRINTED = {1.6: (3, 4), 1.8: (4, 5)}
"""Row d = 8, k = 7, n = 2^18: by epsilon, the size that the algorithm gives, and the one that is printed."""


TABLE = "marginals/zhang2019_table_3_3"


def is_cell(claim):
    """Whether a claim is a cell of table 3.3."""
    return claim.method is None and claim.where.startswith("table 3.3")


def table():
    """Return the claims that are the cells of table 3.3."""
    return [claim for claim in load_model(TABLE).claims if is_cell(claim)]


def of_cell(claim):
    return md.MarginalViews(**claim.at)


def test_278_of_280_cells_of_table_3_3_hold(tmp_path_factory):
    """The check of the model has solved each; the tests of models look at it, too."""
    claims = table()
    assert len({repr(sorted(claim.at.items())) for claim in claims}) == 280
    check = check_once(TABLE, Cache(folder_of_run(tmp_path_factory.getbasetemp())))
    found = [result for result in check.claims if is_cell(result.claim)]
    assert [result.claim for result in found] == claims
    wrong = [result.claim for result in found if list(result.found) != list(result.claim.value)]
    rows = {(claim.at["attributes"], claim.at["order"], claim.at["users"]) for claim in wrong}
    assert rows == {(8, 7, 1 << 18)}
    assert {claim.at["epsilon"] for claim in wrong} == set(MISPRINTED)
    assert [claim for claim in claims if claim.verdict == "misprint"] == wrong
    assert not [claim for claim in claims if claim.verdict == "refuted"]


@pytest.mark.parametrize("epsilon", MISPRINTED)
def test_the_two_misprints_are_above_the_threshold_that_the_algorithm_keeps(epsilon):
    problem = md.MarginalViews(attributes=8, order=7, users=1 << 18, epsilon=epsilon)
    right, printed = MISPRINTED[epsilon]
    assert problem.errors_by_rule(right, 1)[1] <= problem.threshold < problem.errors_by_rule(printed, 1)[1]
    fifth = md.MarginalViews(attributes=8, order=5, users=1 << 18, epsilon=epsilon)
    repeated = next(
        claim
        for claim in table()
        if claim.at == {"attributes": 8, "order": 7, "users": 1 << 18, "epsilon": epsilon}
    )
    assert md.solve(fifth).quantities["size_and_count"] == list(repeated.value)  # the row of k = 5


def test_the_algorithm_as_printed_misses_four_cells():
    wrong = [
        claim.at
        for claim in table()
        if md.solve(of_cell(claim), "published").quantities["size_and_count"] != list(claim.value)
    ]
    assert Counter(at["attributes"] for at in wrong) == {8: 2, 16: 2}
    problem = md.MarginalViews(attributes=16, order=3, users=1 << 18, epsilon=1.6)
    printed, right = md.solve(problem, "published"), md.solve(problem)
    assert (printed.variables["size"], printed.variables["count"]) == (4, math.floor(0.001 * (1 << 18)))
    assert (right.variables["size"], right.variables["count"]) == (4, 140)
    assert printed.certificates[0].witness["uncovered"]
    assert not printed.certificates[0].holds
    assert right.certificates[0].holds
    assert printed.value > right.value == right.bound


@pytest.mark.parametrize(
    ("order", "users", "epsilon"), [(3, 1 << 16, 0.4), (2, 1 << 16, 1.2), (3, 1 << 18, 2)]
)
def test_views_are_a_covering_or_said_to_be_none(order, users, epsilon):
    problem = md.MarginalViews(attributes=8, order=order, users=users, epsilon=epsilon)
    solution = md.solve(problem)
    views = solution.variables["views"]
    covered = {part for view in views for part in combinations(view, order)}
    assert solution.certificates[0].figures["uncovered"] == math.comb(8, order) - len(covered)
    assert max(solution.residuals.values()) == 0.0
    if len(covered) < math.comb(8, order):
        assert "reconstructed" in solution.certificates[0].note
    assert solution.claims_optimality


def test_a_view_missing_from_a_covering_is_found():
    problem = md.MarginalViews(attributes=8, order=3, users=1 << 16, epsilon=2.0)
    found = dict(md.solve(problem).variables)
    found["views"] = found["views"][1:]
    found["shares"] = found["shares"][1:]
    residuals = problem.residuals(found)
    assert residuals["uncovered"] == 4.0  # a Steiner system: each triple lies in one view only
    assert residuals["miscounted"] == 1.0
    assert residuals["shares"] == pytest.approx(1 / 14, rel=1e-12)


def test_mean_cells_are_those_of_all_views():
    sizes = [2, 3, 5, 7, 2]
    for size in range(1, 6):
        cells = [math.prod(view) for view in combinations(sizes, size)]
        assert mean_cells(sizes, size) * len(cells) == sum(cells)


@pytest.mark.parametrize(("points", "block", "count"), [(8, 2, 16), (9, 3, 20), (6, 3, 20), (16, 2, 65)])
def test_balanced_views_differ_and_ask_for_every_attribute_equally_often(points, block, count):
    rows = [tuple(row) for row in balanced(points, block, count).tolist()]
    assert len(set(rows)) == count
    times = Counter(attribute for row in rows for attribute in row)
    assert max(times.values()) - min(times[point] for point in range(points)) <= block


BAD = [
    (["attributes = [2, 1, 3]", "order = 2"], "attributes: entry 1: has 1 value(s)"),
    (["attributes = [2, 2]", 'names = ["age", "sex"]', 'workload = [["agee"]]'], "did you mean 'age'?"),
    (["attributes = [2, 2]", "workload = [[0, 7]]"], "7 is not from 0 to 1"),
    (["attributes = [2, 2]", "order = 3"], "order: 3 is above the number of attributes, 2"),
    (["attributes = 8", "order = 3", "users = 500"], "users: 500 users are too few for a single view"),
    (
        ["attributes = [2, 2, 3]", "order = 2", "users = 2", "views = [[0, 1], [0, 2], [1, 2]]"],
        "users: 2 users are fewer than the 3 views",
    ),
    (["attributes = [2, 3, 3, 4]", "order = 2", "users = 3"], "users: 3 users are fewer than the"),
    (["attributes = [200, 200, 300]", "order = 3"], "12000000 cells, which would take 91 MiB"),
    (["attributes = 100", "order = 7", "users = 1000000000000", "epsilon = 5"], "15 GiB of memory"),
    (["attributes = 100", "order = 7", 'criterion = "mean"'], "3816 GiB of memory"),
    (["attributes = [2, 2]"], "neither of order and workload"),
    (["attributes = [2, 2]", "workload = [{ attributes = [0], wieght = 2 }]"], "did you mean 'weight'?"),
    (["attributes = [2, 2]", "order = 1", 'names = ["a", "a"]'], "'a' is there twice"),
    (["attributes = [2, 2]", "workload = [[0], [0]]"], "entry 1 is there twice"),
]


@pytest.mark.parametrize(("lines", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(lines, message, tmp_path, capsys):
    given = {line.split(" = ")[0] for line in lines}
    rest = [line for line in ("users = 100000", "epsilon = 1.0") if line.split(" = ")[0] not in given]
    path = tmp_path / "own.toml"
    head = '[model]\ntitle = "t"\nproblem = "marginal-views"\n[parameters]\n'
    path.write_text(head + "\n".join(lines + rest) + "\n", encoding="utf-8")
    assert main(["build", str(path), "-o", str(tmp_path / "m.json")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m.json").exists()


def test_nothing_is_possible_with_epsilon_0_or_a_marginal_in_no_view():
    nothing = md.solve(md.MarginalViews(attributes=8, order=3, users=10_000, epsilon=0.0))
    assert (nothing.status, "no information" in nothing.message) == ("infeasible", True)
    lacking = md.MarginalViews(attributes=3, order=2, users=10_000, epsilon=1.0, views=[[0, 1], [1, 2]])
    assert "no view contains the marginal of 0, 2" in md.solve(lacking).message


def test_the_rule_is_not_for_workloads():
    with pytest.raises(MechDesignError, match="criterion: 'rule' is for all marginals"):
        md.MarginalViews(attributes=3, workload=[[0]], users=10_000, epsilon=1.0, criterion="rule")


@pytest.mark.parametrize(
    ("attributes", "epsilon", "order", "smaller"),
    [([2] * 6, 0.5, 2, ["ft"]), ([3] * 4, 2.0, 2, ["product-subset"]), ([2] * 3, 8.0, 2, [])],
)
def test_an_optimum_among_views_names_what_is_smaller_outside(attributes, epsilon, order, smaller):
    problem = md.MarginalViews(
        attributes=attributes, order=order, users=1000, epsilon=epsilon, criterion="mean"
    )
    solution = md.solve(problem)
    judged = next(item for item in solution.certificates if item.property == "optimality")
    assert solution.status == "optimal"
    assert judged.holds
    assert judged.among == "all splits of the users among the views, with the best oracle"
    stated = judged.note.partition("smaller outside of this class: ")[2].split(", ")
    assert [item.split()[0] for item in stated if item] == smaller
    for name in smaller:
        assert f"{name} {md.solve(problem, name).value:.4g}" in stated
