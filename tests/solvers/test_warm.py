"""Series of linear programs: the same optima as from cold starts, in fewer steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import mechdesign as md
from mechdesign.catalog import load_model, run_sweep
from mechdesign.core.fields import replace_parameters
from mechdesign.families.mean import MeanChannel
from mechdesign.solvers import linear
from mechdesign.solvers.linear import LinearProgram, solve_linear
from mechdesign.solvers.sensitivity import current_starts, kept_starts

RNG = np.random.default_rng(0)
PRIOR, UTILITY = RNG.dirichlet(np.ones(12)), RNG.random((12, 12)) + np.eye(12)


def responses():
    values = np.linspace(1.0, 2.0, 5).tolist()
    return [md.RandomizedResponse(prior=PRIOR, epsilon=epsilon, utility=UTILITY) for epsilon in values]


def partitions():
    line = load_model("spectrum/line_slack").problem
    return [replace_parameters(line, {"epsilon": epsilon}) for epsilon in (0.9, 1.0, 1.1)]


def means():
    return [MeanChannel(epsilon=epsilon, inputs=7, outputs=21) for epsilon in (1.0, 1.2, 1.4)]


def solved(problems, method, store):
    """Return the solutions, and the steps of the simplex for each."""
    solutions, steps = [], []
    for problem in problems:
        with kept_starts(store() if callable(store) else store) as kept:
            solutions.append(md.solve(problem, method))
            steps.append(sum(item.iterations for item in kept.values()))
    return solutions, steps


@pytest.mark.parametrize(
    ("problems", "method", "accuracy"),
    [(responses, "lp", 1e-12), (partitions, "linear-program", 1e-12), (means, "lp", 1e-6)],
)
def test_warm_starts_reach_the_optima_of_cold_ones(problems, method, accuracy):
    given = problems()
    cold = [md.solve(problem, method) for problem in given]
    found, _ = solved(given, method, {})
    for one, other in zip(found, cold, strict=True):
        assert one.status == other.status == "optimal"
        assert one.value == pytest.approx(other.value, rel=accuracy)
        assert one.bound == pytest.approx(other.bound, rel=accuracy)
        assert all(certificate.holds for certificate in one.certificates)


@pytest.mark.parametrize(("problems", "method"), [(responses, "lp"), (partitions, "linear-program")])
def test_a_kept_basis_saves_most_steps(problems, method):
    _, kept = solved(problems(), method, {})
    _, anew = solved(problems(), method, dict)
    assert kept[0] == anew[0]
    assert sum(kept[1:]) < 0.5 * sum(anew[1:])


def test_rows_that_are_added_are_basic_and_fewer_rows_begin_anew(monkeypatch):
    seen = []
    original = linear._extended
    monkeypatch.setattr(linear, "_extended", lambda *given: seen.append(original(*given)) or seen[-1])
    store = {}
    problem = MeanChannel(epsilon=1.0, inputs=7, outputs=21)
    with kept_starts(store):
        md.solve(problem, "lp")  # adds cuts
        md.solve(problem, "lp")  # begins without them
    grown = [basis for basis in seen if basis is not None]
    assert grown
    assert any(basis is None for basis in seen)


def test_a_warm_sweep_has_the_values_of_a_cold_one_and_leaves_nothing_behind():
    model = load_model("spectrum/line_slack")
    cold = [row.solution.value for row in run_sweep(model, "linear-program")]
    rows = run_sweep(model, "linear-program", warm=True)
    values = []
    for row in rows:
        assert current_starts() is None
        values.append(row.solution.value)
    assert len(values) > 1
    assert values == pytest.approx(cold, rel=1e-12)


def test_an_infeasible_program_is_an_answer_and_the_next_one_begins_anew():
    def program(limit):
        none, one = csr_array((0, 1)), csr_array(np.ones((1, 1)))
        box = np.zeros(1), np.ones(1)
        return LinearProgram(np.ones(1), one, np.array([limit]), none, np.zeros(0), *box)

    with kept_starts({}) as store:
        assert solve_linear(program(0.5)).bound == pytest.approx(0.5)
        assert store
        assert solve_linear(program(-1.0)).status == "infeasible"
        assert not store
        assert solve_linear(program(0.25)).bound == pytest.approx(0.25)


def test_added_columns_continue_from_the_last_basis():
    """A transport of 8 by 8, 56 of its columns first: all of them start where these ended."""
    rng = np.random.default_rng(4)
    rows = np.vstack([np.kron(np.eye(8), np.ones(8)), np.kron(np.ones(8), np.eye(8))])
    order, gains = rng.permutation(64), rng.random(64)
    order = np.concatenate([np.arange(0, 64, 9), order[order % 9 > 0]])  # the diagonal first: feasible

    def program(count):
        places = order[:count]
        return LinearProgram(
            gains[places], csr_array((0, count)), np.zeros(0), csr_array(rows[:, places]), np.ones(16),
            np.zeros(count), np.ones(count),
        )  # fmt: skip

    steps = []
    for store in ({}, {}):
        if steps:  # the second time with what the half leaves
            with kept_starts(store):
                solve_linear(program(56))
        with kept_starts(store):
            found = solve_linear(program(64))
        assert found.bound == pytest.approx(gains[order] @ found.variables, rel=1e-9)
        steps.append(store[64, 16].iterations)
    assert steps[1] < steps[0] / 2, steps
