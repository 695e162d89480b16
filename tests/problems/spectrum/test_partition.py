"""Partitions and lotteries of cloaks against complete enumeration and programs that are written down here."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.problems.spectrum.partition.priors import counts, dirichlet, uniform
from mechdesign.problems.spectrum.partition.search import Search
from mechdesign.problems.spectrum.partition.truncated_laplace import half_window, least_window


def line(seed, size=9, **changes):
    return md.SpectrumPartition(dirichlet(size, seed, 2.0), **changes)


def grid(seed, rows=3, columns=4, **changes):
    return md.SpectrumPartition(dirichlet(rows * columns, seed, 2.0, columns), **changes)


def served_less(problem, members):
    """Return the loss of a set by counting lattice places one by one."""
    rows, columns = problem.shape
    own = [divmod(place, columns) for place in np.flatnonzero(members).tolist()]
    far = math.floor(problem.reach)
    flat = problem.on_line
    near = [
        (a, b)
        for a in ([0] if flat and rows == 1 else range(-far, far + 1))
        for b in range(-far, far + 1)
        if a * a + b * b <= problem.reach**2
    ]
    return len({(y + a, x + b) for y, x in own for a, b in near}) - len(near)


def fits(problem, members):
    prior, inside = problem.masses, np.flatnonzero(members)
    mass = math.fsum(prior[inside].tolist())
    likely = problem.notion in ("partition", "cloak") and prior[inside].max() > problem.cap * mass + 1e-12
    return mass >= problem.least - 1e-12 and len(inside) >= problem.count and not likely


# Sets and losses


@pytest.mark.parametrize("reach", [0.0, 1.0, 1.5, 2.0, 3.2])
def test_the_losses_are_counts_of_places(reach):
    for problem in (line(1, 6, reach=reach), grid(2, reach=reach)):
        counted = [served_less(problem, row) for row in problem.family]
        assert problem.losses.tolist() == counted
        assert problem.on_line is False or counted == (problem.family.sum(axis=1) - 1).tolist()


def test_the_family_of_a_grid_has_rectangles_and_discs_once_each():
    sets = {row.tobytes() for row in grid(0).family}
    assert len(sets) == len(grid(0).family)
    assert len(line(0, 7).family) == 28
    cross = np.zeros((3, 4), dtype=bool)
    cross[1, :3] = cross[:, 1] = True  # a disc of radius 1
    corner = np.zeros((3, 4), dtype=bool)
    corner[0, :2] = corner[:2, 0] = True  # a disc that is cut by the map
    ell = np.zeros((3, 4), dtype=bool)
    ell[0, :3] = ell[:3, 0] = True
    assert [part.ravel().tobytes() in sets for part in (cross, corner, ell)] == [True, True, False]


# A line


def enumerated(problem):
    """Return the least cost of all partitions of a line, in fractions."""
    best, prior = None, [Fraction(mass) for mass in problem.masses.tolist()]
    for number in range(problem.size):
        for cuts in combinations(range(1, problem.size), number):
            cells = list(pairwise([0, *cuts, problem.size]))
            rows = [np.isin(np.arange(problem.size), range(i, j)) for i, j in cells]
            if all(fits(problem, row) for row in rows):
                cost = sum(sum(prior[i:j]) * (j - i - 1) for i, j in cells)
                best = cost if best is None else min(best, cost)
    return best


LIMITS = ({"cap": 0.4}, {"least": 0.3}, {"count": 3}, {"cap": 0.6, "least": 0.2, "count": 2})


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("seed", range(3))
def test_the_dynamic_program_is_the_best_of_all_partitions_and_of_all_lotteries(seed, limits):
    problem = line(seed, **limits)
    comparison = md.compare(problem)
    assert comparison.agree
    assert {run.method for run in comparison.runs} == {"dynamic-program", "search", "linear-program", "milp"}
    assert all(run.status == "optimal" and not run.broken for run in comparison.runs)
    assert comparison.runs[0].value == pytest.approx(float(enumerated(problem)), rel=1e-14)
    lotteries = md.compare(replace(problem, notion="cloak"))
    assert lotteries.agree
    assert lotteries.runs[0].value == comparison.runs[0].value


def test_places_that_no_cell_can_end_at_do_not_disturb_the_prices():
    problem = md.SpectrumPartition([0.05, 0.05, 0.8, 0.05, 0.05], least=0.5)
    assert md.compare(problem).agree
    assert md.solve(problem).variables["sets"].tolist() == [[True] * 5]
    certain = md.SpectrumPartition([0.0, 1.0, 0.0, 0.0], count=2)
    assert md.compare(certain).agree
    assert md.solve(certain).value == 1.0


# A grid


def covers(problem, rows, open_places):
    """Yield the costs of all partitions of a grid."""
    if not open_places.any():
        yield 0.0
        return
    place = int(open_places.argmax())
    for row, cost in rows:
        if row[place] and not (row & ~open_places).any():
            for rest in covers(problem, rows, open_places & ~row):
                yield cost + rest


@pytest.mark.parametrize("limits", [{"least": 0.25}, {"cap": 0.5, "reach": 2.0}, {"count": 4, "reach": 1.5}])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_partition_of_a_grid(seed, limits):
    problem = grid(seed, **limits)
    rows = [
        (row, math.fsum(problem.masses[row].tolist()) * served_less(problem, row))
        for row in problem.family
        if fits(problem, row)
    ]
    best = min(covers(problem, rows, np.ones(problem.size, dtype=bool)))
    comparison = md.compare(problem)
    assert comparison.agree
    assert comparison.runs[0].method == "search"
    assert comparison.runs[0].status == "optimal"
    assert comparison.runs[0].value == pytest.approx(best, rel=1e-12)
    assert {run.method for run in comparison.runs} == {"search", "milp"}
    lottery = md.compare(replace(problem, notion="cloak"))
    assert lottery.agree
    costs = np.array([cost for _, cost in rows])
    own = linprog(costs, A_eq=np.array([row for row, _ in rows]).T.astype(float), b_eq=np.ones(problem.size))
    assert lottery.runs[0].value == pytest.approx(own.fun, rel=1e-8)
    assert lottery.runs[0].value <= best * (1 + 1e-12)


def test_a_lottery_can_be_better_than_every_partition_of_a_grid():
    problem = md.SpectrumPartition(uniform(16, columns=4), count=6)
    best, lottery = md.solve(problem), md.solve(replace(problem, notion="cloak"))
    assert (best.value, best.bound) == pytest.approx((15.0, 15.0))  # two halves; the lottery draws 2 by 3
    assert lottery.value == pytest.approx(11.0)
    assert len(lottery.variables["sets"]) > len(best.variables["sets"])


def test_a_search_that_is_stopped_proves_what_it_has_seen(monkeypatch):
    monkeypatch.setattr("mechdesign.problems.spectrum.partition.search.NODES", 1)
    problem = grid(4, 4, 4, least=0.2)
    stopped = md.solve(problem, "search")
    monkeypatch.undo()
    best = md.solve(problem, "search")
    assert stopped.status == "feasible"
    assert stopped.bound <= best.value <= stopped.value
    assert not stopped.broken


def test_the_search_keeps_equal_partitions_apart_from_better_ones():
    members = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    search = Search(members[[0, 1, 2]], [1, 1, 3], 10)
    search.run()
    assert (search.best, search.limit) == ((0, 1), 2)


# A known prior, and (epsilon, delta)


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


def test_without_delta_nothing_but_the_whole_map_is_told():
    for epsilon in (0.0, 1.0, 20.0):
        solution = md.solve(line(7, 6, notion="slack", epsilon=epsilon, delta=0.0))
        assert solution.variables["sets"].tolist() == [[True] * 6]


@pytest.mark.parametrize(("epsilon", "delta", "distance"), [(1.0, 0.1, 1), (0.0, 0.2, 2), (2.0, 0.05, 3)])
def test_truncated_noise_keeps_its_promise_and_is_not_below_the_bound(epsilon, delta, distance):
    problem = line(8, 14, notion="slack", epsilon=epsilon, delta=delta, distance=distance)
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


# Certificates and bad input


def test_broken_promises_are_seen():
    problem = line(0, 4, least=0.1)
    solution = md.solve(problem)
    halves = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    good = halves.T.astype(float)
    assert max(problem.residuals({"sets": halves, "channel": good}).values()) == 0.0
    for change, key in (
        ((0, 0, 0.5), "rows"),
        ((0, 1, 0.1), "outside"),
        ((0, 0, 0.999), "partition"),
        ((0, 0, -0.1), "range"),
    ):
        worse = good.copy()
        worse[change[0], change[1]] = change[2]
        assert problem.residuals({"sets": halves, "channel": worse})[key] > 0
    apart = np.array([[1, 0, 1, 0], [0, 1, 0, 1]], dtype=bool)
    unfair = replace(solution, variables={"sets": apart, "channel": apart.T.astype(float)})
    assert [item.property for item in unfair.certificates if not item.holds] == ["partition"]
    worse = replace(solution, variables={"sets": halves, "channel": 0.9 * good})
    assert [item.property for item in worse.certificates if not item.holds] == ["partition"]
    uneven = {"sets": halves, "channel": good * np.array([1, 0.5, 1, 1])[:, None]}
    assert replace(problem, notion="cloak").residuals(uneven)["cloak"] == 0.5
    capped = replace(problem, notion="cap", cap=0.3, least=0.0)
    assert capped.residuals({"sets": halves, "channel": good})["cap"] > 0


def test_where_not_even_the_whole_map_is_a_cloak_it_is_infeasible():
    few = md.solve(line(0, 4, count=5))
    assert (few.status, few.message) == (
        "infeasible",
        "no set has 5 places: the map has 4; reduce count",
    )
    likely = md.compare(md.SpectrumPartition([0.5, 0.3, 0.2], cap=0.4))
    assert likely.agree
    assert {run.status for run in likely.runs} == {"infeasible"}
    assert "place 0 has the prior probability 0.5, above cap 0.4" in likely.runs[0].message


def test_it_is_not_a_mechanism():
    with pytest.raises(MethodError, match="has no mechanism to run"):
        md.solve(line(0, 4)).mechanism()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"prior": [0.5, 0.4]}, "prior: sums to 0.9, not 1; divide by the sum"),
        ({"prior": [[0.5, 0.4], [0.0, 0.0]]}, "prior: sums to 0.9, not 1"),
        ({"prior": []}, "prior: is empty"),
        ({"prior": [[]]}, "prior: is empty"),
        ({"prior": [[0.5], [0.25, 0.25]]}, "prior: expected a matrix"),
        ({"prior": 1.0}, "prior: expected a list"),
        ({"prior": np.full(500, 1 / 500)}, "500 places are more than 400; merge neighboring places"),
        ({"prior": np.full((13, 13), 1 / 169)}, "169 places are more than 144"),
        ({"least": 1.5}, r"least: 1.5 is outside \[0, 1\]"),
        ({"cap": 0.0}, r"cap: 0 is outside \(0, 1\]"),
        ({"count": 0}, "count: 0 is not at least 1"),
        ({"reach": -1.0}, "reach: -1 is outside"),
        ({"notion": "cloack"}, "did you mean 'cloak'"),
        ({"epsilon": 1.0}, "epsilon: is for notion 'slack'"),
        ({"notion": "slack", "epsilon": 1.0}, "delta: is missing; notion 'slack' needs epsilon and delta"),
    ],
)
def test_bad_input_is_refused_in_one_line(changes, text):
    with pytest.raises(ParameterError, match=text) as caught:
        md.SpectrumPartition(**{"prior": [0.5, 0.5], **changes})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (uniform, (6, 4), "4 columns do not divide 6 places"),
        (counts, ([0, 0],), "are all 0"),
        (counts, ([1, -1],), "entry 1 is negative"),
        (uniform, (0,), "prior.size: 0 is not from 1"),
    ],
)
def test_bad_priors_are_refused(function, arguments, text):
    with pytest.raises(ParameterError, match=text):
        function(*arguments)
