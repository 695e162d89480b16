"""``marginal-views`` by sets of answers: errors beside those of views, and what is built."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MethodError
from mechdesign.families.marginals.sets import CellSet, MatchSet, SetResponse
from mechdesign.families.marginals.sets.products import best_products, product_shares
from mechdesign.families.survey import SurveyMechanism

CENSUS = [8, 2, 16, 15, 2]


def singles(sizes, epsilon, **more):
    workload = [[place] for place in range(len(sizes))]
    return md.MarginalViews(attributes=sizes, users=100_000, epsilon=epsilon, workload=workload, **more)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0, 8.0])
def test_single_attributes_are_told_at_least_as_well_as_by_views(epsilon):
    problem = singles(CENSUS, epsilon)
    views, found = md.solve(problem, "allocation"), md.solve(problem, "product-subset")
    assert found.value <= views.value * (1 + 1e-6)
    assert all(item.holds for item in found.certificates)
    limit = md.solve(md.SurveyLimit(questions=CENSUS, epsilon=epsilon, measure="squared"), "product-sets")
    assert found.value * problem.users == pytest.approx(limit.value, rel=2e-3)
    assert limit.bound <= found.value * problem.users


def test_what_is_built_has_the_predicted_error():
    """40 surveys of 4000 users with even answers: the summed squared errors, within 4 standard deviations."""
    problem = md.MarginalViews(
        attributes=[2, 3, 2], users=4000, epsilon=4.0, workload=[[0], [1], [2]], names=["a", "b", "c"]
    )
    solution = md.solve(problem, "product-subset")
    survey, rng = solution.mechanism(), np.random.default_rng(3)
    assert isinstance(survey, (SurveyMechanism, SetResponse))
    assert survey.audit().holds
    assert survey.epsilon == 4.0
    errors = []
    for _ in range(40):
        answers = np.stack([rng.integers(0, k, 4000) for k in (2, 3, 2)], axis=1)
        columns = {name: answers[:, place].astype(str) for place, name in enumerate("abc")}
        if isinstance(survey, SurveyMechanism):
            results = survey.estimate(survey.randomize(columns, rng=rng), population=True)
            values = [results[name].value for name in "abc"]
        else:
            values = survey.estimate(survey.randomize(answers, rng=rng), population=True).value
        errors.append(
            np.mean([((value - 1 / k) ** 2).sum() for value, k in zip(values, (2, 3, 2), strict=True)])
        )
    spread = np.std(errors, ddof=1) / math.sqrt(40)
    assert abs(np.mean(errors) - solution.value) < 4 * spread


def test_two_way_tables_at_small_epsilon_are_scattered_cells(tmp_path):
    problem = md.MarginalViews(attributes=[4, 4], users=20_000, epsilon=0.5, workload=[[0, 1]])
    solution = md.solve(problem, "product-subset")
    mechanism = solution.mechanism()
    assert isinstance(mechanism.sets, CellSet)
    assert solution.value == pytest.approx(md.solve(problem, "allocation").value)
    mechanism.save(tmp_path / "m.json")
    assert md.load_mechanism(tmp_path / "m.json") == mechanism


def test_several_tables_are_reported_together_at_large_epsilon():
    problem = md.MarginalViews(
        attributes=[2, 2, 2],
        users=9000,
        epsilon=6.0,
        workload=[[0, 1], [1, 2], [0, 2]],
        names=["x", "y", "z"],
    )
    mechanism = md.solve(problem, "product-subset").mechanism()
    assert mechanism.total_variance(["x", "y"]) > 0
    answers = np.random.default_rng(1).integers(0, 2, (9000, 3))
    table = mechanism.estimate(mechanism.randomize(answers, rng=2)).table(["x", "z"])
    truth = np.array([[((answers[:, 0] == a) & (answers[:, 2] == c)).mean() for c in (0, 1)] for a in (0, 1)])
    assert (np.abs(table.value - truth) < 5 * table.standard_error).all()


def test_many_yes_no_questions_are_matched():
    """Fifty at epsilon 8: 7.4072 effective questions, 6.7843 by products; built and estimated."""
    problem = singles([2] * 50, 8.0)
    solution = md.solve(problem, "product-subset")
    assert solution.variables["sets"] == [{"widths": [1] * 50, "matches": 35}]
    assert 0.5 / (solution.value * problem.users) * 50 == pytest.approx(7.4072, abs=5e-5)
    mechanism = solution.mechanism()
    assert isinstance(mechanism.sets, MatchSet)
    assert float(mechanism.effective_share([7])) * 50 == pytest.approx(7.4072, abs=5e-5)
    ten = md.solve(singles([2] * 10, 8.0), "product-subset")
    assert all("matches" not in column for column in ten.variables["sets"])


def test_products_found_by_steps_are_the_best_of_all():
    """Against all products of four attributes, at random prices; the steps lose less than a thousandth."""
    rng = np.random.default_rng(2)
    sizes = [2, 3, 5, 4]
    grids = np.indices(sizes).reshape(4, -1).T + 1
    for epsilon in (0.5, 2.0, 5.0):
        for _ in range(4):
            prices = rng.exponential(size=4)
            worth = [np.dot(product_shares(sizes, row, epsilon), prices) for row in grids.tolist()]
            found = best_products(sizes, epsilon, prices.tolist())
            best = max(np.dot(product_shares(sizes, row, epsilon), prices) for row in found)
            assert best >= 0.999 * max(worth)


def test_where_it_does_not_apply():
    with pytest.raises(MethodError, match="criterion 'mean'"):
        md.solve(singles([2, 3], 1.0, criterion="worst"), "product-subset")
    with pytest.raises(MethodError, match="takes no views"):
        md.solve(singles([2, 3], 1.0, views=[[0], [1], [0, 1]]), "product-subset")
    wide = md.MarginalViews(attributes=[2] * 20, users=10**6, epsilon=1.0, workload=[[0, 1]])
    with pytest.raises(MethodError, match="at most 300 tables of 16"):
        md.solve(wide, "product-subset")
    assert md.solve(singles([2, 3], 0.0), "product-subset").status == "infeasible"
