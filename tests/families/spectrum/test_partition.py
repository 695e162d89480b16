"""Partitions and lotteries of cloaks against complete enumeration and programs that are written down here."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import attrs
import numpy as np
import pytest
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.values import changed
from mechdesign.families.spectrum.partition import counts, uniform
from mechdesign.families.spectrum.partition_methods import PartitionSearch
from tests.support.partitions import grid, line, served_less


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
    assert {run.method for run in comparison.runs} == {
        "dynamic-program",
        "search",
        "linear-program",
        "milp",
        "statement",
    }
    assert all(run.status == "optimal" and not run.broken for run in comparison.runs)
    assert comparison.runs[0].value == pytest.approx(float(enumerated(problem)), rel=1e-14)
    lotteries = md.compare(attrs.evolve(problem, notion="cloak"))
    assert lotteries.agree
    assert lotteries.runs[0].value == comparison.runs[0].value


def test_places_that_no_cell_can_end_at_do_not_disturb_the_prices():
    problem = md.SpectrumPartition(prior=[0.05, 0.05, 0.8, 0.05, 0.05], least=0.5)
    assert md.compare(problem).agree
    assert md.solve(problem).variables["sets"].tolist() == [[True] * 5]
    certain = md.SpectrumPartition(prior=[0.0, 1.0, 0.0, 0.0], count=2)
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
    assert {run.method for run in comparison.runs} == {"search", "milp", "statement"}
    lottery = md.compare(attrs.evolve(problem, notion="cloak"))
    assert lottery.agree
    costs = np.array([cost for _, cost in rows])
    own = linprog(costs, A_eq=np.array([row for row, _ in rows]).T.astype(float), b_eq=np.ones(problem.size))
    assert lottery.runs[0].value == pytest.approx(own.fun, rel=1e-8)
    assert lottery.runs[0].value <= best * (1 + 1e-12)


def test_a_lottery_can_be_better_than_every_partition_of_a_grid():
    problem = md.SpectrumPartition(prior=uniform(16, columns=4), count=6)
    best, lottery = md.solve(problem), md.solve(attrs.evolve(problem, notion="cloak"))
    assert (best.value, best.bound) == pytest.approx((15.0, 15.0))  # two halves; the lottery draws 2 by 3
    assert lottery.value == pytest.approx(11.0)
    assert len(lottery.variables["sets"]) > len(best.variables["sets"])


def test_a_search_that_is_stopped_proves_what_it_has_seen(monkeypatch):
    monkeypatch.setattr("mechdesign.families.spectrum.partition_methods.NODES", 1)
    problem = grid(4, 4, 4, least=0.2)
    stopped = md.solve(problem, "search")
    monkeypatch.undo()
    best = md.solve(problem, "search")
    assert stopped.status == "feasible"
    assert stopped.bound <= best.value <= stopped.value
    assert not stopped.broken


def test_the_search_keeps_equal_partitions_apart_from_better_ones():
    members = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    search = PartitionSearch(members[[0, 1, 2]], [1, 1, 3], 10)
    search.run()
    assert (search.best, search.limit) == ((0, 1), 2)


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
    unfair = changed(solution, variables={"sets": apart, "channel": apart.T.astype(float)})
    assert [item.property for item in unfair.certificates if not item.holds] == ["partition"]
    worse = changed(solution, variables={"sets": halves, "channel": 0.9 * good})
    assert [item.property for item in worse.certificates if not item.holds] == ["partition"]
    uneven = {"sets": halves, "channel": good * np.array([1, 0.5, 1, 1])[:, None]}
    assert attrs.evolve(problem, notion="cloak").residuals(uneven)["cloak"] == 0.5
    capped = attrs.evolve(problem, notion="cap", cap=0.3, least=0.0)
    assert capped.residuals({"sets": halves, "channel": good})["cap"] > 0


def test_where_not_even_the_whole_map_is_a_cloak_it_is_infeasible():
    few = md.solve(line(0, 4, count=5))
    assert (few.status, few.message) == (
        "infeasible",
        "no set has 5 places: the map has 4; reduce count",
    )
    likely = md.compare(md.SpectrumPartition(prior=[0.5, 0.3, 0.2], cap=0.4))
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
