"""Cycles and cubes of types: base sets with their translates against written-out channels; stated bounds."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.workload.pattern_sets import Symmetric
from mechdesign.families.workload.patterns import ChannelValue
from mechdesign.families.workload.query_outcomes import trace_bound

HOURS = {"name": "cyclic-ranges", "size": 24}
BITS = {"name": "marginals", "sizes": [2, 2, 2, 2, 2, 2], "order": 3}


def test_the_closed_form_of_cyclic_ranges_is_attained_and_proven():
    solution = md.solve(md.LinearQueries(workload={"name": "cyclic-ranges", "size": 64}, epsilon=1.0))
    assert solution.method == "symmetric"
    assert solution.value == pytest.approx(55433.12113691, rel=1e-6)
    assert solution.bound == pytest.approx(55433.12113691, rel=1e-8)
    assert solution.bound <= 55433.121136912


@pytest.mark.parametrize(
    ("epsilon", "stated", "left"), [(1.0, 2172.648, 0.005), (2.0, 413.393, 0.002), (4.0, 46.8919, 0.002)]
)
def test_three_way_marginals_of_six_bits(epsilon, stated, left):
    solution = md.solve(md.LinearQueries(workload=BITS, epsilon=epsilon), "symmetric")
    assert stated * (1.0 - 1e-3) <= solution.bound <= stated * (1.0 + 1e-6)
    assert solution.value <= solution.bound * (1.0 + left)
    assert solution.notes["base_sets"] <= 43  # 41 characters, their sum, and single types


def test_a_histogram_is_answered_best_by_subset_selection():
    """The trace bound is the error of subset selection with the best size."""
    problem = md.LinearQueries(workload={"name": "histogram", "size": 64}, epsilon=1.0)
    assert problem.proven(trace_bound(problem)) == pytest.approx(227.41659226, rel=1e-8)
    small = md.LinearQueries(workload={"name": "histogram", "size": 7}, epsilon=1.0)
    assert md.solve(small).value == pytest.approx(problem_trace(small), rel=1e-8)


def problem_trace(problem: md.LinearQueries) -> float:
    return problem.proven(trace_bound(problem))


@pytest.mark.parametrize("workload", [HOURS, {"name": "marginals", "sizes": [2] * 4, "order": 2}])
def test_translates_are_what_their_written_out_channel_is(workload):
    problem = md.LinearQueries(workload=workload, epsilon=1.0)
    mechanism = md.solve(problem, "symmetric").mechanism()
    size = problem.queries.size
    rows = np.array([mechanism.weights.row(kind) for kind in range(size)])
    assert [sum(row) for row in rows.tolist()] == [TOTAL] * size
    dense = ChannelValue(rows.T / TOTAL, problem.shares)
    assert mechanism.average_error == pytest.approx(dense.average(problem.centered), rel=1e-7)
    some = problem.queries.rows[::7]
    assert np.allclose(mechanism.value.query_errors(some), dense.query_errors(some), rtol=1e-6)
    counts = np.random.default_rng(1).integers(0, 9, size=mechanism.counters)
    asked = problem.queries.rows @ mechanism.value.shares_from(counts)
    if np.linalg.matrix_rank(problem.queries.gram) == size:
        assert np.allclose(asked, problem.queries.rows @ dense.shares_from(counts), atol=1e-6)
    typed = mechanism.value.query_errors(np.eye(size))
    assert np.allclose(typed, np.roll(typed, 1, axis=(0, 1)) if workload is HOURS else typed, rtol=1e-6)


def test_what_is_drawn_are_the_reports_of_the_row():
    """The integers of an even grid give each report as often as its weight says, one up or down."""
    mechanism = md.solve(md.LinearQueries(workload=HOURS, epsilon=1.0), "symmetric").mechanism()
    grid = (np.arange(1 << 17, dtype=np.int64) << 45) + (1 << 44)
    for kind in (0, 5, 23):
        found = mechanism.weights.draw(np.full(len(grid), kind), grid)
        share = np.bincount(found, minlength=mechanism.counters) / len(grid)
        assert np.abs(share - mechanism.weights.row(kind) / TOTAL).max() < 1.0 / len(grid) + 1e-12


def test_a_file_of_translates_is_read_again(tmp_path):
    mechanism = md.solve(md.LinearQueries(workload=HOURS, epsilon=1.0), "symmetric").mechanism()
    mechanism.save(tmp_path / "m.json")
    again = md.load_mechanism(tmp_path / "m.json")
    assert again == mechanism
    answers = np.arange(500) % 24
    assert again.randomize(answers, rng=1).tolist() == mechanism.randomize(answers, rng=1).tolist()


def test_the_gradient_of_the_dual_is_its_slope():
    work = Symmetric(md.LinearQueries(workload=HOURS, epsilon=2.0))
    work.raised = work.levels
    point = np.full(12, 1e-3)
    _, slope = work._lowered(point)
    step = 1e-6
    measured = [
        (work._lowered(point + step * axis)[0] - work._lowered(point - step * axis)[0]) / (2 * step)
        for axis in np.eye(12)
    ]
    assert slope == pytest.approx(measured, rel=1e-4, abs=1e-6)


def test_a_trace_bound_with_too_long_directions_proves_no_more():
    problem = md.LinearQueries(workload=HOURS, epsilon=1.0)
    bound = trace_bound(problem)
    longer = type(bound)(bound.directions * 2.0)
    assert problem.proven(longer) <= problem.proven(bound) * (1.0 + 1e-9)
