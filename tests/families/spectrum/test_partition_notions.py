"""A known prior and (epsilon, delta): programs written down here, all sets of outputs, windows of noise."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.families.spectrum.partition_methods import half_window, least_window
from tests.support.partitions import grid, line, served_less


def by_definition(problem):
    """Return the optimum of "cap" or "slack" from a program over all K(Q | x) and slacks, zeros included."""
    sets, size = problem.family, problem.size
    m = len(sets)
    cost = np.outer(problem.masses, [served_less(problem, row) for row in sets]).ravel()
    limits = [(0, 1) if sets[q, x] else (0, 0) for x in range(size) for q in range(m)]
    equal = np.kron(np.eye(size), np.ones(m))
    upper, right = [], []
    pairs = [] if problem.notion == "cap" else problem.pairs.tolist()
    total = size * m * (1 + 0) + len(pairs) * m
    if problem.notion == "cap":
        for x in range(size):
            for q in range(m):
                row = np.zeros((size, m))
                row[:, q] -= problem.cap * problem.masses
                row[x, q] += problem.masses[x]
                upper.append(row.ravel())
                right.append(0.0)
    for number, (x, y) in enumerate(pairs):
        for q in range(m):
            row = np.zeros(total)
            row[x * m + q], row[y * m + q] = 1.0, -math.exp(problem.epsilon)
            row[size * m + number * m + q] = -1.0
            upper.append(row)
            right.append(0.0)
        row = np.zeros(total)
        row[size * m + number * m :][:m] = 1.0
        upper.append(row)
        right.append(problem.delta)
    extra = total - size * m
    limits += [(0, 1)] * extra
    equal = np.hstack([equal, np.zeros((size, extra))])
    cost = np.concatenate([cost, np.zeros(extra)])
    answer = linprog(cost, np.array(upper), right, equal, np.ones(size), limits, method="highs-ipm")
    assert answer.status == 0
    return answer.fun


@pytest.mark.parametrize(
    "problem",
    [
        line(0, 7, notion="cap", cap=0.4),
        line(1, 6, notion="cap", cap=0.5, count=2),
        grid(2, 2, 3, notion="cap", cap=0.5),
        line(3, 6, notion="slack", epsilon=1.0, delta=0.2),
        line(4, 5, notion="slack", epsilon=0.0, delta=0.3, distance=2),
        grid(5, 2, 3, notion="slack", epsilon=0.5, delta=0.1),
    ],
    ids=lambda problem: f"{problem.notion} {problem.shape}",
)
def test_the_linear_programs_are_those_of_the_definitions(problem):
    comparison = md.compare(problem)
    assert comparison.agree
    best = comparison.runs[0]
    assert best.method == "linear-program"
    assert best.status == "optimal"
    assert best.value == pytest.approx(by_definition(problem), abs=1e-6)
    assert all(not run.broken for run in comparison.runs)


def test_slack_is_what_the_worst_set_of_outputs_shows():
    problem = line(6, 5, notion="slack", epsilon=0.7, delta=0.15, distance=2)
    channel = md.solve(problem).variables["channel"]
    worst = 0.0
    for x, y in problem.pairs.tolist():
        for number in range(1 << channel.shape[1]):
            chosen = (number >> np.arange(channel.shape[1])) & 1
            worst = max(worst, float(chosen @ (channel[x] - math.exp(0.7) * channel[y])))
    assert worst == pytest.approx(0.15, abs=1e-9)
    assert problem.broken(np.ones((1, 5), dtype=bool), np.ones((5, 1))) == 0.0


@pytest.mark.parametrize(("epsilon", "delta", "distance"), [(10.0, 0.01, 3), (5.0, 1e-8, 1), (5.0, 0.01, 3)])
def test_a_large_factor_does_not_magnify_what_the_solver_leaves(epsilon, delta, distance):
    comparison = md.compare(line(1, 8, notion="slack", epsilon=epsilon, delta=delta, distance=distance))
    assert comparison.agree
    assert comparison.runs[0].status == "optimal"
    assert not any(run.broken for run in comparison.runs)


def test_a_delta_that_no_solver_tells_from_0_is_left_to_the_formula():
    solution = md.solve(line(1, 8, notion="slack", epsilon=5.0, delta=1e-9))
    assert (solution.method, solution.status) == ("truncated-laplace", "feasible")
    assert not solution.broken


def test_without_delta_nothing_but_the_whole_map_is_told():
    for epsilon in (0.0, 1.0, 9.0):
        solution = md.solve(line(7, 6, notion="slack", epsilon=epsilon, delta=0.0))
        assert solution.variables["sets"].tolist() == [[True] * 6]
        assert solution.value == solution.bound + solution.gap == 5.0
    nearly = line(7, 6, notion="slack", epsilon=1.0, delta=1e-4)
    assert by_definition(nearly) == pytest.approx(5.0, abs=0.01)


@pytest.mark.parametrize(
    ("epsilon", "delta", "distance", "channels"), [(1.0, 0.1, 1, 14), (0.0, 0.2, 2, 10), (2.0, 0.05, 3, 14)]
)
def test_truncated_noise_keeps_its_promise_and_is_not_below_the_bound(epsilon, delta, distance, channels):
    problem = line(8, channels, notion="slack", epsilon=epsilon, delta=delta, distance=distance)
    comparison = md.compare(problem)
    assert comparison.agree
    noise = next(run for run in comparison.runs if run.method == "truncated-laplace")
    assert max(noise.residuals.values()) <= 1e-12
    assert noise.value >= comparison.best_bound


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (0.3, 0.05), (2.0, 0.2), (0.0, 0.11)])
def test_the_window_of_every_invariant_law_is_longer_than_the_bound(epsilon, delta):
    """The least slack of a law on a window of the bound's length, in quarters of D, is above delta."""
    steps = 4
    size = round(least_window(epsilon, delta, 1.0) * steps)
    assert size / steps < 2 * half_window(epsilon, delta, 1.0)

    def least_slack(size):
        rows, right = [], []
        for point in range(size + steps):  # law(point) - e^eps law(point - D) <= slack(point)
            row = np.zeros(2 * size + steps + 1)
            if point < size:
                row[point] = 1.0
            if point >= steps:
                row[point - steps] = -math.exp(epsilon)
            row[size + point] = -1.0
            rows.append(row)
            right.append(0.0)
        for place, flipped in enumerate(rows[:]):  # and the other way round
            back = flipped.copy()
            back[:size] = back[:size][::-1]
            back[size : 2 * size + steps] = 0.0
            rows.append(np.concatenate([back, np.zeros(size + steps)]))
            rows[place] = np.concatenate([flipped, np.zeros(size + steps)])
            rows[-1][2 * size + steps + 1 + place] = -1.0
            right.append(0.0)
        for start in (size, 2 * size + steps + 1):
            total = np.zeros(3 * size + 2 * steps + 1)
            total[start : start + size + steps] = 1.0
            total[2 * size + steps] = -1.0
            rows.append(total)
            right.append(0.0)
        cost = np.zeros(3 * size + 2 * steps + 1)
        cost[2 * size + steps] = 1.0
        law = np.zeros((1, len(cost)))
        law[0, :size] = 1.0
        return linprog(cost, np.array(rows), right, law, [1.0]).fun

    assert least_slack(size) > delta
    assert least_slack(math.ceil(2 * half_window(epsilon, delta, 1.0) * steps) + steps) <= delta


def test_half_a_window_leaves_delta_outside():
    for epsilon, delta in ((1.0, 0.1), (0.2, 0.01), (3.0, 0.3)):
        half = half_window(epsilon, delta, 2.0)
        rate = epsilon / 2.0
        tail = math.exp(-rate * (half - 2.0)) - math.exp(-rate * half)
        assert tail / (2 * (1 - math.exp(-rate * half))) == pytest.approx(delta, rel=1e-12)
