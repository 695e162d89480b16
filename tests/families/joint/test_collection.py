"""Joint collection: closed form, boxes, what runs, and the paper's choice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog.sweeping import simulate
from mechdesign.core.errors import ParameterError
from mechdesign.families.joint.collection import JointCollection, coordinates, least_flip, variance
from mechdesign.families.joint.papers.collection import direct_response, singles_direct


def from_the_definition(h: Fraction, q: Fraction, p: Fraction, reports: int) -> Fraction:
    """Return the variance of the debiased mean of R reports of a bit that is 0, by total variance."""
    means, noise = {1: q, 0: p}, {1: h, 0: 1 - h}
    mean = sum(noise[bit] * means[bit] for bit in means)
    between = sum(noise[bit] * (means[bit] - mean) ** 2 for bit in means)
    within = sum(noise[bit] * means[bit] * (1 - means[bit]) / reports for bit in means)
    return (between + within) / ((1 - 2 * h) * (q - p)) ** 2


@pytest.mark.parametrize("seed", range(20))
def test_the_formula_of_the_variance_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    p, q = sorted(Fraction(int(value), 64) for value in rng.choice(65, 2, replace=False))
    h, reports = Fraction(int(rng.integers(0, 31)), 64), int(rng.integers(1, 9))
    exact = from_the_definition(h, q, p, reports)
    if p == 1:
        return
    x, y = coordinates(float(q), float(p))
    found = variance(np.asarray(float(h)), np.asarray(x), np.asarray(y), reports)
    assert float(found) == pytest.approx(float(exact), rel=1e-12)
    problem = md.JointCollection(attributes=[2, 3], epsilon=1.0, reports_per_user=reports)
    assert problem.objective({"redraw": 2 * float(h), "keep": float(q), "add": float(p)}) == pytest.approx(
        5 * float(exact), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_least_flip_is_where_the_exact_ratio_meets_the_promise(seed):
    from mechdesign.families.joint.repeated import RepeatedBits

    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.05, 0.9, 2)
    ratio, reports = math.exp(rng.uniform(0.1, 3.0)), int(rng.integers(1, 6))
    h = float(least_flip(np.asarray(x), np.asarray(y), ratio, reports))
    total = 1 << 40
    q, p = (1 - y) / (1 - x * y), x * (1 - y) / (1 - x * y)
    found = RepeatedBits(total, round(h * total), round(q * total), round(p * total)).ratio(reports)
    if h > 0.0:
        assert float(found) == pytest.approx(ratio, rel=1e-6)
    else:
        assert float(found) <= ratio * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_boxes_find_the_formula_for_one_report(epsilon):
    problem = md.JointCollection(attributes=[2, 3, 4], epsilon=epsilon, two_valued="one-hot")
    formula, boxes = md.solve(problem, "closed-form"), md.solve(problem, "branch-and-bound")
    assert boxes.bound <= formula.value * (1 + 1e-9)
    assert boxes.value == pytest.approx(formula.value, rel=2 * JointCollection.optimal_within)
    assert formula.value == pytest.approx(9 * 4 / (4 * math.sinh(epsilon / 6) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "reports", "single"), [(2.0, 2, None), (4.0, 5, 2.0), (1.0, 50, 0.2), (20.0, 3, None)]
)
def test_no_other_parameters_are_better(epsilon, reports, single):
    """A search of random parameters, made private by the exact audit's own formula, stays above the bound."""
    problem = md.JointCollection(
        attributes=[2, 2],
        epsilon=epsilon,
        report_epsilon=single,
        reports_per_user=reports,
        two_valued="one-hot",
    )
    solution = md.solve(problem)
    assert solution.method == "branch-and-bound"
    assert all(certificate.holds for certificate in solution.certificates)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.0, 1.0, (2, 20_000)) ** rng.choice([0.3, 1.0, 4.0], (2, 20_000))
    h = problem.least_flip(x, y)
    values = 4 * variance(h, x, y, reports)[h < 0.499]
    assert values.min() >= solution.bound
    assert values.min() == pytest.approx(solution.value, rel=0.05)


def test_enough_for_single_reports_is_enough_for_all():
    """R reports of report_epsilon each compose to at most epsilon: then nothing needs to be kept."""
    problem = md.JointCollection(attributes=[2, 3], epsilon=3.0, report_epsilon=1.0, reports_per_user=3)
    formula, boxes = md.solve(problem, "closed-form"), md.solve(problem, "branch-and-bound")
    assert formula.variables["redraw"] == 0.0
    assert formula.value == pytest.approx(boxes.value, rel=2 * JointCollection.optimal_within)
    assert formula.mechanism().audit().holds
    tighter = md.compare(
        md.JointCollection(attributes=[2, 3], epsilon=2.9, report_epsilon=1.0, reports_per_user=3)
    )
    assert "closed-form" in tighter.skipped


def test_keeping_costs_little_and_drawing_anew_alone_costs_much():
    """A hundred reports with noise that is kept, against a hundred that share epsilon among them."""
    many = md.solve(md.JointCollection(attributes=[4, 4], epsilon=2.0, reports_per_user=100))
    once = md.solve(md.JointCollection(attributes=[4, 4], epsilon=2.0))
    share = md.solve(md.JointCollection(attributes=[4, 4], epsilon=0.02))
    assert once.value < many.value < 1.1 * once.value
    assert share.value / 100 > 50 * many.value


@pytest.mark.parametrize("sizes", [[2, 2], [2, 3, 4], [8, 8, 8, 8]])
def test_what_runs_is_exactly_private_and_hardly_worse(sizes):
    for problem in (
        md.JointCollection(attributes=sizes, epsilon=1.5),
        md.JointCollection(attributes=sizes, epsilon=6.0, report_epsilon=3.0, reports_per_user=4),
    ):
        for solution in md.compare(problem).runs:
            mechanism = solution.mechanism()
            assert mechanism.audit().holds
            assert mechanism.audit().true_epsilon <= problem.epsilon
            assert problem.deployed(mechanism) == pytest.approx(solution.value, rel=1e-9)


def test_the_papers_parameters_cost_what_is_shown():
    found = md.solve(md.JointCollection(attributes=[2, 3], epsilon=2.0), "paper")
    assert (found.variables["keep"], found.variables["add"]) == (0.75, 0.5)
    assert found.kind == "published"
    assert found.quantities["excess"] == pytest.approx(
        found.value / md.solve(found.problem).value - 1, rel=1e-9
    )
    assert not found.quantities["printed_report_covers_a_report"]
    assert found.quantities["printed_sum_covers_any_number"]
    single = md.solve(md.JointCollection(attributes=[5], epsilon=1.0), "paper").quantities
    assert single["printed_report_covers_a_report"]


def test_joint_cells_are_better_reported_at_once():
    """The sum of variances over all joint cells, against randomized response on them, for many sizes."""
    for sizes in ([2, 2], [3, 4], [2, 2, 2, 2], [8, 8], [4, 4, 4]):
        for epsilon in (0.5, 2.0, 6.0):
            found = md.solve(md.JointCollection(attributes=sizes, epsilon=epsilon)).quantities
            assert min(found["direct_response"], found["direct_unary"]) < found["joint_variance"]
    singles = md.solve(md.JointCollection(attributes=[8, 8], epsilon=1.0)).quantities
    assert singles["singles_over_direct"] < 1.0  # single attributes: one-hot reports are better here


def test_the_sum_over_joint_cells_is_what_simulated_users_show():
    solution = md.solve(md.JointCollection(attributes=[2, 3], epsilon=5.0))
    mechanism, rng = solution.mechanism(), np.random.default_rng(2)
    users, repetitions = 500, 100
    values = np.tile([[0, 2], [1, 0]], (users // 2, 1))
    truth = np.zeros((2, 3))
    truth[0, 2] = truth[1, 0] = 0.5
    squares, quick = [], {"penalty": 100.0, "reference": "uniform"}  # of which unbiased shares make no use
    for _ in range(repetitions):
        table = mechanism.estimate(mechanism.randomize(values, rng=rng), **quick).marginal([0, 1])
        squares.append(users * float(((table.unbiased - truth) ** 2).sum()))
    spread = np.std(squares, ddof=1) / math.sqrt(repetitions)
    assert abs(np.mean(squares) - mechanism.joint_variance()) < 4.5 * spread


def test_direct_response_is_that_of_its_definition():
    cells, e = 6, math.e
    own, other = e / (e + cells - 1), 1 / (e + cells - 1)
    total = (own * (1 - own) + 5 * other * (1 - other)) / (own - other) ** 2
    assert direct_response(cells, 1.0) == pytest.approx(total, rel=1e-12)
    chance = 3 * other
    response = 2 * chance * (1 - chance) / (own - other) ** 2
    chance = 2 * other
    response += 3 * chance * (1 - chance) / (own - other) ** 2
    assert singles_direct([2, 3], 1.0) == pytest.approx(response, rel=1e-12)


def test_simulated_users_show_the_value():
    solution = md.solve(
        md.JointCollection(attributes=[3, 2], epsilon=4.0, report_epsilon=2.0, reports_per_user=4)
    )
    found = simulate(solution, 500, 120, np.random.default_rng(5))
    assert abs(found["measured_value"] - solution.value) < 4.5 * found["standard_error"]


def test_without_a_budget_it_is_infeasible():
    solution = md.solve(md.JointCollection(attributes=[2, 2], epsilon=0.0))
    assert solution.status == "infeasible"
    assert "reports contain no information" in solution.message


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"attributes": [2, 1]}, "attributes: attribute 1: 1 is not from 2"),
        ({"attributes": []}, "attributes: is empty"),
        ({"attributes": 3}, "attributes: expected a list"),
        ({"epsilon": -1.0}, "epsilon: -1 is negative"),
        ({"epsilon": 1e-9}, "epsilon: 1e-09 is 5e-10 for each attribute"),
        ({"report_epsilon": float("nan")}, "report_epsilon"),
        ({"reports_per_user": 0}, "reports_per_user: 0 is not from 1"),
        ({"reports_per_user": 9_999}, "reports_per_user: 9999 of 2 attributes"),
        ({"labels": [["a", "b"]]}, "labels: 1 list for 2 attributes"),
        ({"two_valued": "1-bit"}, "two_valued: '1-bit' is not a choice; did you mean 'one-bit'"),
    ],
)
def test_bad_parameters_are_named(arguments, text):
    with pytest.raises(ParameterError, match=text.replace("(", r"\(")) as caught:
        md.JointCollection(**{"attributes": [2, 2], "epsilon": 1.0, **arguments})
    assert "\n" not in str(caught.value)
