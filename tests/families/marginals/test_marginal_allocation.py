"""``marginal-views`` by predicted errors: exact predictions, proven gaps, independent second ways."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.marginals import (
    MarginalRelease,
    view_candidates as candidates_module,
    view_evaluation as judging,
)
from mechdesign.families.marginals.view_candidates import candidates, reachable_cells
from mechdesign.families.marginals.view_errors import Plan, marginal_noise, one_report, planned
from mechdesign.solvers.descent import allocate, error_lower_bound

ROUNDING = 1e-12
"""Far more than the rounding of a few dozen double operations, relative."""


# Predicted errors against channels written out


def channel(plan):
    """Return the sets of cells that a report may support, and their chances for each own cell."""
    cells, exponential = plan.cells, math.exp(plan.epsilon)
    if plan.kind == "optimised-unary":
        sets = [bits for bits in product((0, 1), repeat=cells)]
        q = 1.0 / (exponential + 1.0)
        rows = [
            [
                math.prod(0.5 if i == own else (q if bit else 1.0 - q) for i, bit in enumerate(bits))
                for bits in sets
            ]
            for own in range(cells)
        ]
        return np.array(sets, dtype=float), np.array(rows)
    members = list(combinations(range(cells), plan.size))
    sets = np.array([[float(i in one) for i in range(cells)] for one in members])
    rows = np.where(sets.T > 0, exponential, 1.0)
    return sets, rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "plan",
    [
        Plan("randomized-response", 6, 1.3, 1),
        Plan("randomized-response", 2, 0.4, 1),
        Plan("subset-selection", 6, 0.7, 2),
        Plan("subset-selection", 8, 0.3, 3),
        Plan("optimised-unary", 6, 1.1, 0),
    ],
)
def test_the_noise_of_a_marginal_is_that_of_the_channel_written_out(plan):
    """For every division of the cells into equal groups, and every own cell."""
    sets, rows = channel(plan)
    own, other = float(rows[0] @ sets[:, 0]), float(rows[0] @ sets[:, 1])
    for groups in (number for number in range(1, plan.cells + 1) if plan.cells % number == 0):
        sums = sets.reshape(len(sets), groups, -1).sum(axis=2) / (own - other)
        for row in rows:
            variance = row @ sums**2 - (row @ sums) ** 2
            assert marginal_noise(plan, groups) == pytest.approx(
                variance.sum(), rel=ROUNDING * 10, abs=ROUNDING
            )


@pytest.mark.parametrize("oracle", ["best", "thesis"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_a_view_with_an_attribute_more_says_less_of_a_marginal(epsilon, oracle):
    """So unions of wanted marginals are enough as views."""
    for small in (2, 3, 4, 6, 8, 12):
        for cells in range(small, 400, small):
            for more in (2, 3, 5):
                narrow, wide = (planned(size, epsilon, oracle) for size in (cells, cells * more))
                assert one_report(narrow, small) < one_report(wide, small)


def test_the_predicted_error_is_what_is_measured():
    """By 200 collections; the mean squared error of each marginal within 5 standard errors of it."""
    problem = md.MarginalViews(
        attributes=[2, 3, 4],
        users=1500,
        epsilon=1.5,
        workload=[[0, 1], [1, 2], [1], [0]],
        views=[[0, 1], [1, 2]],
    )
    solution = md.solve(problem)
    release = solution.mechanism()
    assert isinstance(release, MarginalRelease)
    rng = np.random.default_rng(20190601)
    law = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    wanted = [(0, 1), (1, 2), (1,), (0,)]
    true = [law.sum(axis=tuple({0, 1, 2} - set(one))) for one in wanted]
    errors = []
    for _ in range(200):
        cells = rng.choice(24, size=problem.users, p=law.ravel())
        people = np.column_stack(np.unravel_index(cells, law.shape))
        estimate = release.estimate(release.randomize(people, rng=rng, anyway=True))
        errors.append(
            [
                float(((estimate.marginal(list(one), raw=True).value - exact) ** 2).sum())
                for one, exact in zip(wanted, true, strict=True)
            ]
        )
    measured, spread = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / math.sqrt(len(errors))
    predicted = np.array(solution.quantities["predicted_error"])
    # the prediction bounds the sampling part by 1 - 1/|A|, where it is 1 - sum f^2, by view or less
    slack = np.array([1.0 - 1.0 / exact.size - (1.0 - (exact**2).sum()) for exact in true])
    share = min(solution.variables["shares"])
    assert (measured <= predicted + 5 * spread).all()
    assert (measured >= predicted - slack / problem.users / share - 5 * spread).all()


# Optimality


def random_problem(seed, criterion="mean"):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    subsets = [one for size in range(1, count + 1) for one in combinations(range(count), size)]
    number = int(rng.integers(1, min(7, len(subsets)) + 1))
    wanted = [subsets[i] for i in rng.choice(len(subsets), size=number, replace=False)]
    return md.MarginalViews(
        attributes=rng.integers(2, 6, size=count).tolist(),
        users=10**6,
        epsilon=float(rng.uniform(0.2, 3.0)),
        workload=[{"attributes": one, "weight": float(rng.uniform(0.1, 5.0))} for one in wanted],
        criterion=criterion,
        oracle=("best", "thesis")[seed % 2],
    )


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_no_split_of_any_views_beats_the_bound(start):
    """Not only unions of marginals: all sets of attributes, with random shares, sparse ones too."""
    for seed in range(start, start + 20):
        problem = random_problem(seed)
        solution = md.solve(problem)
        assert solution.status == "optimal", seed
        assert solution.gap <= 1e-6 * solution.bound
        count = len(problem.sizes)
        every = [one for size in range(1, count + 1) for one in combinations(range(count), size)]
        terms = judging.terms(problem, every)
        rng = np.random.default_rng(seed)
        for power in (1, 3, 9):
            for shares in rng.dirichlet(np.ones(len(every)), size=20) ** power:
                assert terms.mean(shares / shares.sum()) / problem.users >= solution.bound
        full = allocate(terms)
        assert full.value / problem.users == pytest.approx(solution.value, rel=2e-6)


@pytest.mark.parametrize("seed", range(12))
def test_a_general_solver_agrees(seed):
    mean = md.compare(random_problem(seed), ["allocation", "statement", "even"])
    worst = md.compare(random_problem(seed, "worst"), ["worst-lp", "statement", "even"])
    for comparison in (mean, worst):
        own, even, general = comparison.runs
        assert comparison.agree
        assert general.bound >= general.value * (1.0 - 1e-6)
        assert own.bound * (1.0 - ROUNDING) <= general.value <= own.value * (1.0 + 1e-6)
        assert even.value >= own.bound


def test_separate_views_get_shares_as_the_square_roots_of_their_costs():
    problem = md.MarginalViews(
        attributes=[2, 5, 9],
        users=1000,
        epsilon=1.0,
        workload=[{"attributes": [i], "weight": i + 1} for i in range(3)],
        views=[[0], [1], [2]],
    )
    cost = np.array(
        [(i + 1) * one_report(planned(size, 1.0, "best"), size) for i, size in enumerate([2, 5, 9])]
    )
    solution = md.solve(problem)
    expected = np.sqrt(cost) / np.sqrt(cost).sum()
    np.testing.assert_allclose(solution.variables["shares"], expected, rtol=ROUNDING)
    assert solution.value == pytest.approx(np.sqrt(cost).sum() ** 2 / 6 / 1000, rel=ROUNDING)


def test_the_bound_is_met_at_the_optimum_and_below_everywhere():
    terms = judging.terms(
        md.MarginalViews(attributes=[2, 3, 4], users=100, epsilon=1.0, order=2, criterion="mean"),
        [(0, 1), (0, 2), (1, 2)],
    )
    best = allocate(terms)
    for shares in np.random.default_rng(5).dirichlet(np.ones(3), size=200):
        assert error_lower_bound(terms, shares) <= best.value
        assert terms.mean(shares) >= best.bound


@pytest.mark.parametrize("criterion", ["mean", "worst"])
@pytest.mark.parametrize(("count", "order", "epsilon"), [(8, 3, 1.0), (7, 2, 0.5), (6, 2, 3.0), (9, 3, 2.0)])
def test_closed_form_and_program_agree_where_all_attributes_are_alike(count, order, epsilon, criterion):
    problem = md.MarginalViews(
        attributes=count, order=order, users=10**6, epsilon=epsilon, criterion=criterion
    )
    method = {"mean": "allocation", "worst": "worst-lp"}[criterion]
    formula, program = md.solve(problem), md.solve(problem, method)
    assert (formula.method, formula.status, program.status) == ("symmetric", "optimal", "optimal")
    assert formula.value == pytest.approx(program.value, rel=1e-6)


def test_an_even_covering_is_taken_where_there_is_one():
    problem = md.MarginalViews(
        attributes=8, order=3, users=2000, epsilon=0.5, criterion="mean", oracle="thesis"
    )
    solution = md.solve(problem)
    times = {
        part: sum(set(part) <= set(view) for view in solution.variables["views"])
        for part in combinations(range(8), 3)
    }
    assert len(set(times.values())) == 1


def test_views_left_out_enter_the_bound(monkeypatch):
    problem = md.MarginalViews(attributes=[2, 2, 3, 2, 4, 3], order=2, users=1000, epsilon=2.0)
    full = md.solve(problem)
    assert full.status == "optimal"
    monkeypatch.setattr(candidates_module, "MOST_CANDIDATES", 3)
    part = candidates(problem)
    assert 15 <= len(part.views) <= 18
    assert part.left_out
    assert set(part.left_out) < set(reachable_cells(problem.sizes))
    few = md.solve(problem)
    assert few.bound <= full.value <= few.value
    assert few.bound > 0


def test_a_dominated_view_is_no_candidate_and_is_worth_no_more_than_the_others():
    """All sets of attributes are priced at the optimum over the candidates, which are far fewer."""
    problem = md.MarginalViews(attributes=[3, 4, 5, 6, 2, 7, 3], order=2, users=1000, epsilon=1.0)
    listed = candidates(problem)
    every = [
        one for size in range(2, 8) for one in combinations(range(7), size) if problem.cells(one) <= 1 << 16
    ]
    assert not listed.left_out
    assert len(listed.views) < len(every) / 2
    best = allocate(judging.terms(problem, listed.views)).shares
    shares = np.zeros(len(every))
    shares[[every.index(view) for view in listed.views]] = best
    terms = judging.terms(problem, every)
    assert terms.prices(shares).max() <= terms.mean(shares) * (1.0 + 1e-6)


def test_where_more_cells_told_more_nothing_would_be_excluded(monkeypatch):
    problem = md.MarginalViews(attributes=[3, 4, 5], order=2, users=1000, epsilon=1.0)
    monkeypatch.setattr(candidates_module, "retained", lambda problem, numbers: [0.5, 1.1, 0.5])
    assert candidates(problem).left_out == tuple(reachable_cells(problem.sizes))


def test_weights_and_names_say_what_is_meant():
    named = md.MarginalViews(
        attributes=[4, 3, 2],
        names=["age", "region", "sex"],
        users=5000,
        epsilon=1.0,
        workload=[{"attributes": ["sex", "age"], "weight": 4.0}, ["region"]],
    )
    numbered = md.MarginalViews(
        attributes=[4, 3, 2], users=5000, epsilon=1.0, workload=[{"attributes": [0, 2], "weight": 4}, [1]]
    )
    solution = md.solve(named)
    assert solution.value == md.solve(numbered).value
    assert solution.notes["error of age x sex"] == pytest.approx(solution.quantities["predicted_error"][0])
    assert solution.mechanism().attributes.names == ("age", "region", "sex")


def test_attributes_that_nobody_wants_are_not_asked_for():
    problem = md.MarginalViews(attributes=[4, 3, 2], users=5000, epsilon=1.0, workload=[[0, 2]])
    release = md.solve(problem).mechanism()
    assert release.attributes.names == ("0", "2")
    assert release.epsilon == 1.0


def test_a_better_oracle_than_the_thesis_s_makes_smaller_errors():
    problem = {"attributes": [4, 5, 6], "order": 2, "users": 5000, "epsilon": 1.0}
    best = md.solve(md.MarginalViews(**problem))
    thesis = md.solve(md.MarginalViews(**problem, oracle="thesis"))
    assert best.value < thesis.value
    kinds = {type(oracle).__name__ for oracle in thesis.mechanism().oracles}
    assert kinds <= {"KaryResponse", "UnaryEncoding"}


def test_many_small_marginals_beside_a_large_one_are_quick():
    """Their unions below the largest marginal's cells are more than could be listed."""
    pairs = [list(one) for one in combinations(range(16), 2)]
    problem = md.MarginalViews(attributes=16, users=10**6, epsilon=1.0, workload=[*pairs, list(range(15))])
    found = candidates(problem)
    assert len(found.views) <= candidates_module.MOST_CANDIDATES + len(problem.targets)
    solution = md.solve(problem)
    assert max(solution.residuals.values()) <= ROUNDING
    assert solution.bound <= solution.value
