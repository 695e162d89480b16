"""Trees, wavelets and sampled marginals: recorded errors, and the formula of a tree against its reports."""

from __future__ import annotations

import pytest

import mechdesign as md
from mechdesign.families.workload.papers.linear_queries import tree_error

BITS = {"name": "marginals", "sizes": [2] * 6, "order": 3}


@pytest.mark.parametrize(("epsilon", "stated"), [(0.5, 3353.7), (1.0, 785.549), (2.0, 155.6), (4.0, 17.82)])
def test_the_best_tree_of_64_types_has_its_recorded_error(epsilon, stated):
    problem = md.LinearQueries(workload={"name": "prefix", "size": 64}, epsilon=epsilon)
    assert tree_error(problem) == pytest.approx(stated, rel=4e-4)


@pytest.mark.parametrize("workload", [{"name": "prefix", "size": 16}, {"name": "ranges", "size": 8}])
def test_a_written_out_tree_has_the_error_of_its_formula(workload):
    problem = md.LinearQueries(workload=workload, epsilon=1.0)
    best = md.solve(problem)
    for method in ("tree", "haar"):
        found = md.solve(problem, method)
        assert found.value >= best.bound
        assert found.certificates[0].holds
        assert found.bound is None
    assert md.solve(problem, "tree").value == pytest.approx(tree_error(problem), rel=1e-9)


def test_sampled_marginals_have_their_recorded_error():
    problem = md.LinearQueries(workload=BITS, epsilon=1.0)
    assert md.solve(problem, "marginal-sampling").value == pytest.approx(2631.3, rel=1e-4)


def test_other_workloads_have_no_tree_and_no_marginals():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 12}, epsilon=1.0)
    for method in ("tree", "haar", "marginal-sampling"):
        with pytest.raises(md.MechDesignError, match="does not apply"):
            md.solve(problem, method)
