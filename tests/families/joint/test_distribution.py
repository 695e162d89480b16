"""The most likely joint distribution: against the definition, other methods, and on what cannot be told."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError, MechDesignError, ParameterError, UnknownNameError
from mechdesign.families.joint import Likelihood, most_likely
from mechdesign.families.joint.distribution import GAP
from mechdesign.families.joint.likelihood import climb
from mechdesign.families.joint.papers.distribution import coordinate_descent, one_hot_design
from mechdesign.solvers.least_squares import nonnegative_least_squares


def negative_log_likelihood(problem: md.JointDistribution, distribution: np.ndarray) -> float:
    """Return it from the definition: a report's chance in every cell, bit by bit."""
    h = problem.redraw / 2
    own, other = (1 - h) * problem.keep + h * problem.add, h * problem.keep + (1 - h) * problem.add
    total = 0.0
    for pattern, count in zip(problem.patterns, problem.counts, strict=True):
        chance = 0.0
        for share, cell in zip(distribution, product(*map(range, problem.attributes)), strict=True):
            truth = [
                int(v == b) for v, size in zip(cell, problem.attributes, strict=True) for b in range(size)
            ]
            chances = [own if bit else other for bit in truth]
            chance += share * math.prod(c if t else 1 - c for c, t in zip(chances, pattern, strict=True))
        total -= count * math.log(chance)
    return total / sum(problem.counts)


def random_problem(seed: int, sizes: list[int] | None = None, users: int = 300) -> md.JointDistribution:
    rng = np.random.default_rng(seed)
    sizes = sizes or [[2], [2, 2], [3, 2], [2, 2, 2]][seed % 4]
    f, pair = rng.uniform(0, 0.6), np.sort(rng.uniform(0.1, 0.9, 2))
    p, q = pair[0] - 0.05, pair[1] + 0.05
    h = f / 2
    own, other = (1 - h) * q + h * p, h * q + (1 - h) * p
    cells = rng.choice(math.prod(sizes), users, p=rng.dirichlet(np.full(math.prod(sizes), 0.5)))
    codes = np.unravel_index(cells, sizes)
    truth = np.concatenate(
        [np.arange(size) == code[:, None] for size, code in zip(sizes, codes, strict=True)], axis=1
    )
    bits = (rng.random(truth.shape) < np.where(truth, own, other)).astype(int)
    patterns, counts = np.unique(bits, axis=0, return_counts=True)
    return md.JointDistribution(
        attributes=sizes, redraw=f, keep=q, add=p, patterns=patterns.tolist(), counts=counts.tolist()
    )


@pytest.mark.parametrize("seed", range(12))
def test_value_and_ratios_are_those_of_the_definition(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    point = rng.dirichlet(np.ones(problem.model.cells))
    assert problem.objective({"distribution": point}) == pytest.approx(
        negative_log_likelihood(problem, point), rel=1e-12
    )
    ratios = problem.model.ratios(problem.model.densities(point))
    other = rng.dirichlet(np.ones(problem.model.cells))
    step = 1e-6  # the gradient of the mean log-likelihood along other - point is ratios . (other - point)
    moved = negative_log_likelihood(problem, (1 - step) * point + step * other)
    slope = (negative_log_likelihood(problem, point) - moved) / step
    assert slope == pytest.approx(float(ratios @ (other - point)), abs=1e-4)
    assert float(ratios @ point) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("seed", range(0, 16, 2))
def test_three_methods_agree_and_no_distribution_beats_the_bound(seed):
    problem = random_problem(seed, users=60 + 20 * seed)
    comparison = md.compare(problem, ["active-set", "convex", "em"])
    assert comparison.agree
    best = comparison.runs[0]
    assert best.status == "optimal"
    assert all(certificate.holds for certificate in best.certificates)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        near = 0.9 * best.variables["distribution"] + 0.1 * rng.dirichlet(np.ones(problem.model.cells))
        assert problem.objective({"distribution": near}) >= best.bound
    for run in comparison.runs[1:]:
        assert run.value >= best.bound
        assert best.value >= run.bound


def test_published_methods_stop_short_and_are_not_asked():
    problem = md.JointDistribution(
        attributes=[4, 4, 4],
        redraw=0.3,
        keep=0.75,
        add=0.5,
        reports={"name": "simulated", "distribution": "mixture", "users": 20_000, "seed": 1},
    )
    comparison = md.compare(problem, ["active-set", "lasso", "sparse-lasso", "lremh", "printed-em"])
    best, lasso, sparse, lremh, printed = comparison.runs
    assert comparison.agree
    assert best.value < min(printed.value, lremh.value)
    assert lremh.value < lasso.value
    assert all(run.kind == "published" for run in (lasso, sparse, lremh, printed))
    assert printed.quantities["largest_ratio"] > 1.001
    assert lremh.quantities["largest_ratio"] > 1.001
    assert sparse.quantities["support"] <= sparse.quantities["single_attribute_rank"]


def test_the_papers_rule_stops_at_once_with_thousands_of_cells():
    """Every probability is below 0.001 from the start, and so is its first change."""
    given = {"name": "simulated", "distribution": "mixture", "users": 5000, "seed": 2}
    problem = md.JointDistribution(attributes=[8, 8, 8, 4], redraw=0.1, keep=0.75, add=0.5, reports=given)
    printed = md.solve(problem, "printed-em")
    assert printed.notes["steps"] == 1
    assert printed.quantities["largest_ratio"] > 1.1
    assert md.solve(problem).quantities["largest_ratio"] <= 1 + GAP


def test_lasso_cannot_see_dependence():
    """Two attributes that always agree, and two that are independent, have the same bits."""
    matrix = one_hot_design([2, 2])
    equal, independent = np.array([0.5, 0.0, 0.0, 0.5]), np.full(4, 0.25)
    assert (matrix @ equal == matrix @ independent).all()
    assert np.linalg.matrix_rank(one_hot_design([4, 5, 3])) == 4 + 5 + 3 - 3 + 1
    distances = []
    for users in (2_000, 200_000):
        given = {"name": "simulated", "distribution": [0.4, 0.1, 0.1, 0.4], "users": users, "seed": 1}
        problem = md.JointDistribution(attributes=[2, 2], redraw=0.2, keep=0.75, add=0.25, reports=given)
        distances.append(
            [md.solve(problem, m).quantities["variation_distance"] for m in ("active-set", "lasso")]
        )
    assert distances[1][0] < 0.02
    assert distances[1][1] > 0.08


def test_what_looks_at_single_bits_is_far_from_one_of_two_populations():
    """Always agreeing or never: the same bits; which solution comes out is up to the algorithm."""
    agree, differ = np.array([0.5, 0.0, 0.0, 0.5]), np.array([0.0, 0.5, 0.5, 0.0])
    matrix, users = one_hot_design([2, 2]), 200_000
    found = []
    for truth in (agree, differ):
        given = {"name": "simulated", "distribution": truth, "users": users, "seed": 1}
        problem = md.JointDistribution(attributes=[2, 2], redraw=0.2, keep=0.75, add=0.25, reports=given)
        solutions = [md.solve(problem, method) for method in ("lasso", "sparse-lasso", "active-set")]
        found.append([solution.quantities["variation_distance"] for solution in solutions])
        for solution in solutions[:2]:
            assert np.abs(matrix @ solution.variables["distribution"] - 0.5).max() < 0.01
    distances = np.array(found)
    assert (distances[:, :2].sum(axis=0) > 0.98).all()
    assert abs(distances[0, 0] - distances[0, 1]) > 0.2
    assert distances[:, 2].max() < 0.02


@pytest.mark.parametrize("seed", range(20))
def test_coordinate_descent_meets_the_conditions_of_optimality(seed):
    """Up to its rule to stop: a sweep moves no cell by more than 1e-4 of the largest."""
    rng = np.random.default_rng(seed)
    sizes = [[2, 3], [4], [2, 2, 3]][seed % 3]
    matrix, penalty = one_hot_design(sizes), 0.01
    target = rng.uniform(0.0, 0.5, sum(sizes))
    found = coordinate_descent(sizes, target, penalty)
    best = nonnegative_least_squares(matrix, target - penalty / len(sizes))
    values = [((target - matrix @ b) ** 2).sum() / 2 + penalty * b.sum() for b in (found, best)]
    assert values[0] - values[1] < 1e-5
    assert found.min() >= 0.0


@pytest.mark.parametrize("seed", range(10))
def test_a_penalty_only_moves_all_counts(seed):
    """LASSO minimises |y - M b|^2 / 2 + penalty sum b: the same as least squares for y - penalty / d."""
    rng = np.random.default_rng(seed)
    matrix, target, penalty = one_hot_design([3, 2, 2]), rng.uniform(0.1, 0.5, 7), 0.03
    found = nonnegative_least_squares(matrix, target - penalty / 3)
    gradient = matrix.T @ (matrix @ found - target) + penalty  # optimal: >= 0, and 0 where b > 0
    assert gradient.min() > -1e-12
    assert np.abs(gradient[found > 0]).max() < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_meet_the_conditions_of_optimality(seed):
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(5, 30)), rng.normal(size=5)
    matrix[:, 7] = matrix[:, 3]  # dependent columns
    found = nonnegative_least_squares(matrix, target)
    gradient = matrix.T @ (matrix @ found - target)
    assert found.min() >= 0.0
    assert gradient.min() > -1e-10
    assert np.abs(gradient[found > 0]).max(initial=0.0) < 1e-10


def test_equal_reports_count_together():
    one = md.JointDistribution(
        attributes=[2, 2], redraw=0.1, keep=0.7, add=0.3, patterns=[[1, 0, 1, 0]] * 3 + [[0, 1, 0, 1]]
    )
    two = md.JointDistribution(
        attributes=[2, 2], redraw=0.1, keep=0.7, add=0.3, patterns=[[1, 0, 1, 0], [0, 1, 0, 1]], counts=[3, 1]
    )
    point = np.array([0.1, 0.2, 0.3, 0.4])
    assert one.objective({"distribution": point}) == pytest.approx(
        two.objective({"distribution": point}), rel=1e-14
    )
    assert len(one.model.counts) == 2


def test_expectation_steps_never_fall():
    problem = random_problem(7, [3, 3], 400)
    point, values = np.full(9, 1 / 9), []
    for _ in range(20):
        values.append(problem.objective({"distribution": point}))
        point, _, _ = climb(problem.model, point, 1)
    assert all(later <= earlier + 1e-14 for earlier, later in pairwise(values))


def test_many_attributes_need_no_array_of_reports_by_cells():
    given = {"name": "simulated", "distribution": "mixture", "users": 5000, "seed": 4}
    problem = md.JointDistribution(attributes=[2] * 12, redraw=0.3, keep=0.75, add=0.25, reports=given)
    assert problem.model.first.shape[1] == problem.model.second.shape[1] == 64
    solution = md.solve(problem)
    assert solution.status == "optimal"
    assert solution.quantities["largest_ratio"] <= 1 + GAP


def test_a_flat_likelihood_is_told():
    """One pattern alone: some cells get all the mass, and nothing tells which of equally likely ones."""
    given = [[1, 1, 0, 0, 0]]
    solution = md.solve(
        md.JointDistribution(attributes=[2, 3], redraw=0.2, keep=0.75, add=0.25, patterns=given, counts=[2])
    )
    assert solution.status == "optimal"
    assert solution.quantities["unique"] is False
    assert md.solve(random_problem(3)).quantities["unique"] is True


def test_a_file_of_reports_is_read(tmp_path):
    from mechdesign.exact.bits import as_texts
    from mechdesign.families.joint import JointResponse

    mechanism = JointResponse.of([2, 3], 5.0, redraw=0.3, keep=0.75, add=0.25)
    packed = mechanism.randomize([[0, 1]] * 300 + [[1, 2]] * 200, rng=1)
    path = tmp_path / "reports.csv"
    path.write_text("report__m0123456789ab\n" + "\n".join(as_texts(packed).tolist()) + "\n")
    problem = md.JointDistribution(
        attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": str(path)}
    )
    assert problem.users == 500
    estimate = mechanism.estimate(packed, estimator="maximum-likelihood")
    assert md.solve(problem).variables["distribution"] == pytest.approx(estimate.value.ravel(), abs=1e-5)
    path.write_text("report__m0123456789ab\n")
    with pytest.raises(DataError, match=r"reports.csv: is empty; give a header line"):
        md.JointDistribution(
            attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": str(path)}
        )
    path.write_text("")
    with pytest.raises(DataError, match=r"reports.csv: is empty"):
        md.JointDistribution(
            attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": str(path)}
        )
    path.write_text("a\nxff\n")
    with pytest.raises(DataError, match="has a bit beyond the 5 categories"):
        md.JointDistribution(
            attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": str(path)}
        )
    path.write_text("a\nx8888\n")
    with pytest.raises(DataError, match="row 1: 'x8888' is not a report"):
        md.JointDistribution(
            attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": str(path)}
        )
    with pytest.raises(DataError, match="file not found"):
        md.JointDistribution(
            attributes=[2, 3], redraw=0.3, keep=0.75, add=0.25, reports={"name": "file", "path": "none.csv"}
        )


SIMULATED = {"name": "simulated", "distribution": [0.4, 0.1, 0.2, 0.3], "users": 5000, "seed": 1}


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"attributes": [2, 1]}, ParameterError, "attributes: attribute 1: 1 is not from 2"),
        ({"attributes": [2, 3]}, ParameterError, "patterns: rows of 4 bits; these attributes have 5"),
        ({"redraw": 1.0}, ParameterError, "redraw: with 1 the permanent response is pure noise"),
        ({"redraw": -0.1}, ParameterError, r"redraw: -0.1 is outside \[0, 1\]"),
        ({"keep": 1.5}, ParameterError, r"keep: 1.5 is outside \[0, 1\]"),
        ({"add": 0.75}, ParameterError, "add = 0.75 is not below keep = 0.75"),
        ({"redraw": 0.0, "add": 0.0}, ParameterError, "redraw: with 0, and keep = 1 or add = 0"),
        (
            {"patterns": [[1, 0, 2, 0]]},
            ParameterError,
            "patterns: row 0 has a number that is neither 0 nor 1",
        ),
        ({"patterns": []}, MechDesignError, "patterns"),
        ({"counts": [1]}, ParameterError, "counts: 1 for 2 patterns"),
        ({"counts": [0, 0]}, ParameterError, "counts: must be >= 0 and not all 0"),
        ({"reports": SIMULATED}, ParameterError, "reports: give either patterns, with counts, or reports"),
        ({"attributes": [1000] * 4}, ParameterError, "1000000000000 joint cells"),
        ({"patterns": None, "reports": {"name": "fil"}}, UnknownNameError, "did you mean 'file'"),
        ({"patterns": None, "reports": {**SIMULATED, "users": 0}}, ParameterError, "reports: users"),
        ({"patterns": None, "reports": {"name": "file"}}, ParameterError, "'path' is missing"),
        (
            {"patterns": None, "reports": {**SIMULATED, "distribution": [0.5, 0.5]}},
            ParameterError,
            "reports: distribution has 2 numbers for 4 joint cells",
        ),
    ],
)
def test_bad_parameters_are_named(arguments, kind, text):
    given = {
        "attributes": [2, 2],
        "redraw": 0.2,
        "keep": 0.75,
        "add": 0.25,
        "patterns": [[1, 0, 1, 0], [0, 1, 0, 1]],
    }
    with pytest.raises(kind, match=text) as caught:
        md.JointDistribution(**{**given, **arguments})
    assert "\n" not in str(caught.value)


def test_reports_of_other_parameters_are_refused():
    reports = {"name": "simulated", "distribution": "mixture", "users": 20_000, "seed": 1}
    right = md.JointDistribution(attributes=[3, 3], redraw=0.2, keep=0.75, add=0.25, reports=reports)
    packed, counts = right.different
    patterns = np.unpackbits(packed, axis=1, count=6)
    with pytest.raises(
        DataError, match=r"by redraw, keep and add attribute 0 has .* values a user, \d+ standard errors"
    ):
        md.JointDistribution(
            attributes=[3, 3],
            redraw=0.2,
            keep=0.75,
            add=0.5,
            patterns=patterns.tolist(),
            counts=counts.tolist(),
        )


def test_too_large_arrays_say_how_large():
    with pytest.raises(
        ParameterError, match=r"262144 joint cells of 100000000 different reports need an array of"
    ):
        Likelihood.require_room([64, 64, 64], 10**8)


def test_a_worse_start_ends_at_the_same_maximum():
    problem = random_problem(5, [3, 3, 2], 2000)
    start = np.zeros(18)
    start[0] = 1.0
    first, second = most_likely(problem.model), most_likely(problem.model, start=start)
    assert second.ratio <= 1 + GAP
    assert abs(first.value - second.value) <= 2 * GAP
