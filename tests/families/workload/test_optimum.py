"""The optimum of small workloads: stated numbers, two methods that share no code, bounds that are checked."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.values import changed
from mechdesign.families.workload import Workload
from mechdesign.families.workload.queries import NAMED
from mechdesign.families.workload.query_outcomes import outcome
from mechdesign.families.workload.workload_bound import WorkloadBound

STATED = [
    ({"name": "prefix", "size": 4}, 1.0, 5.99300782),
    ({"name": "prefix", "size": 4}, 2.0, 1.02756594),
    ({"name": "prefix", "size": 6}, 1.0, 13.58373302),
    ({"name": "prefix", "size": 8}, 0.5, 101.88220280),
    ({"name": "prefix", "size": 8}, 1.0, 23.03136788),
    ({"name": "prefix", "size": 8}, 2.0, 4.33198589),
    ({"name": "prefix", "size": 10}, 1.0, 34.29511525),
    ({"name": "grid-prefix", "sizes": [3, 3]}, 1.0, 31.85549),
    ({"name": "ranges", "size": 8}, 1.0, 137.52299408),
    ({"name": "cyclic-ranges", "size": 8}, 2.0, 39.94683042),
]
FIVE = np.vstack([np.diag([1.0, 2.0, 3.0, 2.0, 1.0]), np.ones(5)])
SHARES = [0.1, 0.2, 0.3, 0.15, 0.25]


@pytest.mark.parametrize(("workload", "epsilon", "stated"), STATED)
def test_the_optimum_has_its_stated_value_and_the_bound_meets_it(workload, epsilon, stated):
    solution = md.solve(md.LinearQueries(workload=workload, epsilon=epsilon), "all-columns")
    assert solution.value == pytest.approx(stated, rel=1e-6 if stated != 34.29511525 else 1e-7)
    assert 0.0 <= solution.value - solution.bound <= 1e-8 * solution.value
    assert solution.certificates[-1].holds
    assert max(solution.residuals.values()) < 1e-9


@pytest.mark.parametrize("name", ["prefix", "histogram", "cyclic-ranges"])
def test_a_conic_program_finds_the_same(name):
    problem = md.LinearQueries(workload={"name": name, "size": 6}, epsilon=1.5)
    own, other = md.solve(problem, "all-columns"), md.solve(problem, "cvxpy")
    assert own.value == pytest.approx(other.value, rel=1e-7)
    assert other.bound == pytest.approx(own.bound, rel=1e-6)
    assert own.bound <= other.value
    assert other.bound <= own.value


def test_other_populations_and_matrices():
    given = md.solve(md.LinearQueries(workload=FIVE, epsilon=1.0, population=SHARES))
    assert given.value == pytest.approx(39.40581688, rel=1e-8)
    worst = md.solve(md.LinearQueries(workload=FIVE, epsilon=1.0, population="worst"))
    assert worst.value == pytest.approx(39.62675609, rel=1e-6)
    assert worst.bound <= 39.62675609 * (1.0 + 1e-8)
    assert worst.bound == pytest.approx(39.62675609, rel=1e-6)
    assert given.mechanism().worst_error >= worst.value * (1.0 - 1e-6)


@pytest.mark.parametrize(("size", "epsilon", "stated"), [(4, 1.0, 6.07593614), (4, 2.0, 1.11447359)])
def test_the_worst_type(size, epsilon, stated):
    problem = md.LinearQueries(workload={"name": "prefix", "size": size}, epsilon=epsilon, population="worst")
    solution = md.solve(problem)
    assert solution.value == pytest.approx(stated, rel=1e-6)
    assert solution.bound == pytest.approx(stated, rel=1e-6)


@pytest.mark.parametrize(
    ("size", "epsilon", "stated"), [(6, 1.0, 13.60281023), (8, 1.0, 23.05230334), (8, 2.0, 4.38906584)]
)
def test_the_worst_type_by_populations(size, epsilon, stated):
    workload = {"name": "prefix", "size": size}
    problem = md.LinearQueries(workload=workload, epsilon=epsilon, population="worst")
    solution = md.solve(problem, "populations")
    assert stated * (1.0 - 1e-6) <= solution.bound <= stated * (1.0 + 1e-8)
    assert stated * (1.0 - 1e-8) <= solution.value <= stated * (1.0 + 1e-6)
    assert solution.certificates[-1].holds
    average = md.solve(md.LinearQueries(workload=workload, epsilon=epsilon))
    assert solution.value < average.mechanism().worst_error


def test_where_all_types_are_alike_the_worst_one_is_the_average():
    workload = {"name": "cyclic-ranges", "size": 16}
    worst = md.solve(md.LinearQueries(workload=workload, epsilon=1.0, population="worst"))
    average = md.solve(md.LinearQueries(workload=workload, epsilon=1.0))
    assert worst.method == average.method == "symmetric"
    assert worst.value == pytest.approx(average.value, rel=1e-9)
    assert worst.certificates[-1].holds


def test_weights_scale_the_queries():
    rows = np.tri(3, 4)
    scaled = md.solve(md.LinearQueries(workload=rows * np.array([[1.0], [2.0], [3.0]]), epsilon=1.0))
    weighted = md.solve(md.LinearQueries(workload=rows, weights=[1.0, 4.0, 9.0], epsilon=1.0))
    assert scaled.value == pytest.approx(weighted.value, rel=1e-9)


@pytest.mark.parametrize("change", ["directions", "multiplier", "population"])
def test_changed_numbers_prove_less_or_nothing(change):
    problem = md.LinearQueries(workload={"name": "prefix", "size": 5}, epsilon=1.0)
    solution = md.solve(problem)
    stored = solution.realisation
    part = getattr(stored, change).copy()
    part[0] *= 0.9
    changed = dataclasses.replace(stored, **{change: part})
    try:
        proven = changed.check(*problem.queries.factor, 1.0)
    except md.CertificateError:
        return
    if change == "population":  # a bound for another average
        with pytest.raises(md.ParameterError, match="another population"):
            problem.proven(changed)
    else:
        assert proven < solution.bound - 1e-6


def test_a_claimed_bound_above_the_proven_one_fails_its_certificate():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=1.0)
    solution = md.solve(problem)
    claimed = changed(solution, bound=solution.bound * (1.0 + 1e-9))
    assert solution.certificates[-1].holds
    assert not problem.certificates(claimed)[-1].holds


def test_a_bound_reads_what_it_wrote():
    problem = md.LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=1.0)
    solution = md.solve(problem)
    again = WorkloadBound.from_json(solution.realisation.as_json())
    assert problem.proven(again) == solution.bound


NAMES = {
    "prefix": {"size": 5},
    "likert": {"size": 5},
    "ranges": {"size": 5},
    "cyclic-ranges": {"size": 6},
    "histogram": {"size": 4},
    "marginals": {"sizes": [2, 3, 2], "order": 2},
    "parities": {"bits": 4, "order": 2},
    "means": {"sizes": [4, 3], "low": -1.0},
    "grid-prefix": {"sizes": [3, 4]},
    "grid-ranges": {"sizes": [3, 4]},
    "events": {"slots": 3, "most": 2},
}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_workload_has_the_gram_matrix_of_its_rows(name):
    asked = Workload({"name": name, **NAMES[name]})
    rows = asked.rows
    assert rows.shape == (asked.count, asked.size)
    assert len(asked.names) == len(set(asked.names)) == asked.count
    assert (np.abs(asked.gram - rows.T @ rows) <= asked.gram_error + 1e-13).all()


BAD = [
    ({"workload": {"name": "prefx", "size": 4}}, "did you mean 'prefix'"),
    ({"workload": {"name": "prefix"}}, "'size' is missing"),
    ({"workload": {"name": "prefix", "size": 4, "bins": 2}}, "unknown argument 'bins'"),
    ({"workload": {"name": "prefix", "size": 1}}, "is not"),
    ({"workload": {"name": "prefix", "size": 100_000}}, "at most 4096 types"),
    ({"workload": {"name": "marginals", "sizes": [2] * 40, "order": 2}}, "too many"),
    ({"workload": [[1.0, 1.0, 1.0]]}, "constant"),
    ({"workload": [[0.0, 0.0], [2.0, 2.0]]}, "constant"),
    ({"workload": [[1.0, 0.0]], "weights": [-1.0]}, "negative"),
    ({"workload": [[1.0, 0.0]], "weights": [0.0]}, "all are 0"),
    ({"workload": [[1.0, 0.0]], "weights": [1.0, 2.0]}, "expected 1 number"),
    ({"workload": [[1.0, 0.0]], "population": [1.0, 0.0]}, "type 1 has no share"),
    ({"workload": [[1.0, 0.0]], "population": [0.5, 0.25, 0.25]}, "expected 2 shares"),
    ({"workload": [[1.0, 0.0]], "population": "wrost"}, "unknown word"),
    ({"workload": [[1.0, 0.0]], "epsilon": 1e-5}, "almost no information"),
    ({"workload": [[1.0, float("nan")]]}, "NaN"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_in_one_line(given, message):
    with pytest.raises(md.MechDesignError, match=message) as caught:
        md.LinearQueries(**{"epsilon": 1.0, **given})
    assert "\n" not in str(caught.value)


def test_without_privacy_budget_nothing_can_be_learnt():
    solution = md.solve(md.LinearQueries(workload=[[1.0, 0.0]], epsilon=0.0))
    assert solution.status == "infeasible"
    assert "epsilon" in solution.message


BAD = [
    ({"workload": [[1.0, 1.0, 1.0]]}, "every query is constant over the types"),
    ({"workload": [[0.0, 0.0]]}, "every query is constant over the types"),
    ({"workload": [[1e200, 0.0], [0.0, 1.0]]}, "1e[+]200 is too large; give at most 1e[+]75"),
    ({"workload": {"name": "prefix", "size": 5000}}, "5000 types need matrices of 5000.2 numbers"),
    ({"workload": {"name": "ranges", "size": 10**9}}, "size: 1000000000 is not from 2"),
    ({"workload": {"size": 4}}, "'name' is missing; use cyclic-ranges"),
    ({"workload": {"name": "prefix", "size": 3}, "epsilon": 1e-5}, "almost no information; set epsilon"),
    ({"workload": {"name": "prefix", "size": 3}, "weights": [1.0, -1.0]}, "entry 1 is negative"),
    ({"workload": {"name": "prefix", "size": 3}, "weights": [0.0, 0.0]}, "weights: all are 0"),
    ({"workload": {"name": "prefix", "size": 3}, "weights": [1e-300, 0.0]}, "none is above 1e-300"),
    ({"workload": [[1e-300, 0.0]]}, "no entry is above 1e-300; multiply"),
    ({"workload": [[1.0, 2.0], [3.0]]}, "row 1 has 1 entry, row 0 has 2"),
    ({"workload": "prefix"}, "expected a table or a matrix, got 'prefix'; write {name ="),
    ({"workload": {"name": "prefix", "size": 3}, "epsilon": 800.0}, "beyond double precision here; set"),
    ({"workload": {"name": "prefix", "size": 3}, "population": [0.5, 0.5, 0.0]}, "type 2 has no share"),
    ({"workload": {"name": "prefix", "size": 3}, "population": "often"}, "unknown word 'often'"),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_cannot_be_asked_is_refused_in_one_line(given, said):
    with pytest.raises(md.ParameterError, match=said) as caught:
        md.LinearQueries(**{"epsilon": 1.0, **given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("method", "status"), [("all-columns", "optimal"), ("subset", "feasible")])
def test_an_optimum_is_only_what_its_bound_proves(method, status):
    """Patterns from elsewhere beside the bound of the optimum: 42% above it is no optimum."""
    problem = md.LinearQueries(workload={"name": "prefix", "size": 8}, epsilon=1.0)
    bound = md.solve(problem, "all-columns").realisation
    given = md.solve(problem, method).variables
    assert outcome(problem, given["patterns"], given["weights"], bound, "test").status == status
