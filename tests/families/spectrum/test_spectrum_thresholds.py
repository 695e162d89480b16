"""Cliques alone: their rows hold exactly, and their bound is never below what an exact search finds."""

import functools
import math
import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.spectrum import clique_bound as thresholds
from mechdesign.families.spectrum.channel import scattered_users
from mechdesign.families.spectrum.clique_bound import Cliques, Thresholds, quick, rest_of
from mechdesign.families.spectrum.interval_bound import Crowd
from mechdesign.families.spectrum.local_search import Greedy, RadiiAtLevel
from tests.support.spectrum import brute_force, random_channel


def test_what_is_left_of_a_margin_makes_it_up_in_exact_numbers_and_no_more():
    rng = np.random.default_rng(0)
    margins = rng.uniform(0.0, 10.0, size=4000)
    taken = (
        margins * rng.choice([rng.uniform(), 1e-9, 1.0, 1.5, 1e-17], size=4000) * rng.uniform(0.3, 1.0, 4000)
    )
    found = rest_of(margins, taken)
    for margin, part, rest in zip(margins.tolist(), taken.tolist(), found.tolist(), strict=True):
        assert Fraction(rest) + Fraction(part) >= Fraction(margin)
        assert Fraction(math.nextafter(rest, -math.inf)) + Fraction(part) < Fraction(margin)
    assert rest_of(np.array([np.inf]), np.array([1.0])).tolist() == [np.inf]


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_any_two_thresholds_of_a_row_make_up_the_margin_exactly(seed, occupied):
    channel = random_channel(seed, 9, occupied, side=9.0).channel
    if occupied and channel.most <= 0:
        return
    crowd, rng = Crowd(channel), np.random.default_rng(seed)
    cliques = Cliques(crowd)
    live = np.flatnonzero(crowd.caps > 0)
    for _ in range(20):
        alpha = np.full(len(crowd.caps), np.inf)
        for user in rng.permutation(live).tolist():
            low = rng.uniform(0.0, 1.0) * crowd.caps[user]
            if all(low + alpha[other] >= crowd.margins[user, other] for other in np.flatnonzero(alpha < 1e9)):
                alpha[user] = low
        before = alpha.copy()
        lowered = cliques.lowered(alpha)
        members = np.flatnonzero(np.isfinite(lowered))
        for one, other in combinations(members.tolist(), 2):
            total = Fraction(float(lowered[one])) + Fraction(float(lowered[other]))
            assert total >= Fraction(float(crowd.margins[one, other]))
        assert (lowered >= 0.0).all()
        assert (lowered <= before + 1e-12).all()


def represented(program, radii, level):
    """Return the weights of the columns for an allocation, None where a column that it needs is gone."""
    weights, users = np.zeros(len(program.users)), program.users
    places = [*enumerate(radii.tolist()), (program.crowd.owner, level)]
    for user, radius in places:
        if radius <= 0.0:
            continue
        at = np.flatnonzero((users == user) & (program.low < radius) & (radius <= program.high))
        if len(at) != 1:
            return None
        if user == program.crowd.owner:
            weights[at] = 1.0
            continue
        ends = np.array([radius, program.low[at[0]], program.high[at[0]]])
        paid, before, after = program.crowd.paid(np.full(3, user), ends)
        weights[at] += (paid - before) / (after - before)
        below = np.flatnonzero((users == user) & (program.high == program.low[at[0]]))
        if program.low[at[0]] > 0.0:
            if len(below) != 1:
                return None
            weights[below] += 1.0 - (paid - before) / (after - before)
    return weights


@functools.cache
def optimum_of(seed, occupied):
    """Return a map of six users and its optimum."""
    problem = random_channel(7000 + seed, 6, occupied, side=7.0 + seed % 5)
    return problem, md.solve(problem, "enumeration")


def program_of(channel, value, gap, level=0.0):
    """Return the program with a cutoff from a value."""
    return Thresholds(channel, RadiiAtLevel(np.zeros(channel.size), level, value), gap)


@pytest.mark.parametrize("part", [0.5, 0.97])
@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_stays_within_the_program_as_columns_are_closed_and_merged(
    seed, occupied, part, monkeypatch
):
    """The cutoff is below the optimum: nothing that the optimum needs may go."""
    monkeypatch.setattr(thresholds, "POOR", -1.0)  # merge whatever is idle
    monkeypatch.setattr(thresholds, "BLOCKS", 1)
    problem, exact = optimum_of(seed, occupied)
    if not exact.found:
        return
    radii, level = np.array(exact.variables["radii"]), float(exact.variables["privacy"])
    value = exact.value - (1.0 - part) * abs(exact.value) - 1e-6
    program = program_of(problem.channel, value, 0.0, level)
    for _ in range(7):
        program.tighten(math.inf)
        weights = represented(program, radii, level)
        assert weights is not None
        represented_value = float(weights @ program.paid)
        assert represented_value >= exact.value - 1e-9 * abs(exact.value)  # L counts as its interval's end
        assert occupied or represented_value == pytest.approx(exact.value, rel=1e-9)
        assert (program._matrix() @ weights).max() <= 1.0 + 1e-9
        assert program.total >= exact.value - 1e-9 * abs(exact.value)
        assert program.proven >= exact.value - 1e-9 * abs(exact.value)


def test_a_column_above_one_that_was_closed_is_not_merged_with_the_next():
    """Radii in the merged interval would be mixtures with the end of a column that is gone."""
    program = program_of(random_channel(1, 3, occupied=False, side=9.0).channel, 0.0, 0.0)
    places = np.flatnonzero(program.users == 1)
    assert len(places) > 4
    ends = program.high[places]
    keep = np.ones(len(program.users), dtype=bool)
    keep[places[0]] = False  # the lowest one, so that the next one neither begins at 0 nor has one below
    program._keep(keep)
    program.left[:], program.idle[:] = -1e6, 100
    program._merge()
    mine = np.flatnonzero(program.users == 1)
    assert ends[1] in program.high[mine]
    assert ends[2] not in program.high[mine]  # merged with the fourth: it has one below
    others = np.flatnonzero(program.users == 0)
    assert program.low[others[0]] == 0.0
    assert len(others) < len(places)


def test_what_is_closed_is_poor_together_with_its_neighbors_and_above_0():
    program = program_of(random_channel(1, 3, occupied=False, side=9.0).channel, 0.0, 0.0)
    program.total, program.cutoff, program.bound = 1.0, 1.0, 0.5
    assert program.proven == 0.5
    first = np.flatnonzero(program.users == 1)
    program.left[:] = 0.0
    program.left[first[[1, 3, 4, 5]]] = -1.0  # one alone, and the three at the top
    ends = program.high[first]
    program._close()
    mine = program.high[program.users == 1]
    assert program.closed
    assert program.proven == 1.0  # what was closed may reach the cutoff
    assert [end in mine for end in ends] == [True, True, True, True, False, False]
    program.left[:] = -1.0
    program._close()
    assert (program.low[np.unique(program.users, return_index=True)[1]] == 0.0).all()  # the lowest stay
    assert len(program.users) == 3


def test_a_poor_column_stays_where_the_interval_above_it_may_hold_something():
    program = program_of(random_channel(1, 3, occupied=False, side=9.0).channel, 0.0, 0.0)
    program.total, program.cutoff = 1.0, 1.0
    mine = np.flatnonzero(program.users == 1)
    program.left[:] = 0.0
    program.left[mine[[1, 2]]] = -1.0  # radii above the second are mixtures with a good end
    program._close()
    assert (program.users == 1).sum() == len(mine)
    assert not program.closed


@pytest.mark.parametrize("occupied", [True, False])
def test_the_bound_is_above_the_dual_value_in_exact_numbers_with_negative_prices_cut_off(occupied):
    program = program_of(optimum_of(4, occupied)[0].channel, 0.0, 0.0)
    for _ in range(3):
        program.tighten(math.inf)
    matrix, rng, count = program._matrix().tocsr(), np.random.default_rng(0), len(program.served)
    dense = matrix[count:].toarray().astype(bool)
    for _ in range(6):
        prices = rng.normal(size=matrix.shape[0])
        program._take(matrix, prices)
        exact = [Fraction(max(price, 0.0)) for price in prices[count:].tolist()]
        total = sum(exact, Fraction(0))
        for user in program.served.tolist():
            gains = [
                Fraction(float(program.paid[at]))
                - sum((exact[row] for row in np.flatnonzero(dense[:, at])), Fraction(0))
                for at in np.flatnonzero(program.users == user)
            ]
            total += max(gains) if user == program.crowd.owner else max(*gains, Fraction(0))
        assert Fraction(program.total) >= total
        assert program.total == pytest.approx(float(total), rel=1e-6)


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_brute_force_finds_nothing_above_the_bound_and_idle_gaps_close(seed, occupied):
    problem = random_channel(seed, 2 + seed % 4, occupied, side=7.0 + seed % 5)
    channel = problem.channel
    if occupied and channel.most <= 0:
        return
    best, start = brute_force(problem, 60), quick(channel)
    program = Thresholds(channel, start, 0.01)
    for _ in range(10 if occupied else 60):
        if program.bound <= program.cutoff:
            break
        program.tighten(math.inf)
    assert best <= program.proven + 2.0 * channel.rounding
    program.finish(10.0)
    assert best <= program.proven + 2.0 * channel.rounding
    if not occupied:
        assert program.proven <= 1.02 * best


def test_a_crowded_map_in_a_few_rounds():
    users = scattered_users(34.0, 60, 1, radius=5.0, privacy=0.5, seed=1)  # as dense as 200 in 62 by 62
    channel = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users).channel
    best = quick(channel)
    program, bounds = Thresholds(channel, best, 0.005), []
    for _ in range(14):
        program.tighten(math.inf)
        bounds.append(program.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert best.value <= program.proven <= 1.05 * best.value
    before = program.bound
    program.finish(30.0)
    assert best.value <= program.bound < before  # better multipliers of the same program
    order, level = program.suggestion()
    assert level == 0.0
    filled = Greedy(channel).filled(order, 0.0)
    assert 0.5 * best.value <= channel.utility(filled, 0.0) <= program.proven


def test_no_time_at_all_leaves_the_bound_that_there_is():
    users = scattered_users(34.0, 60, 1, radius=5.0, privacy=0.5, seed=1)
    channel = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users).channel
    program = Thresholds(channel, quick(channel, time.monotonic()), 0.005)
    program.tighten(0.0)
    bound = program.bound
    program.finish(0.0)
    assert program.bound <= bound


HOSTILE = {
    "random": lambda rng, count: rng.normal(size=count),
    "negative": lambda rng, count: -rng.uniform(size=count) * 1e3,
    "huge": lambda rng, count: rng.uniform(size=count) * 1e300,
    "beyond": lambda rng, count: np.full(count, 1e308),
    "infinite": lambda rng, count: np.where(rng.uniform(size=count) < 0.3, np.inf, 1.0),
    "none": lambda rng, count: np.where(rng.uniform(size=count) < 0.3, np.nan, 1.0),
    "small": lambda rng, count: rng.uniform(size=count) * 1e-9,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("occupied", [True, False])
def test_whatever_the_multipliers_are_the_bound_holds(occupied, kind, monkeypatch):
    """The cutoff is below the optimum; a solver may return anything."""
    problem, exact = optimum_of(4, occupied)
    program = program_of(problem.channel, 0.9 * exact.value, 0.0, float(exact.variables["privacy"] or 0.0))
    for _ in range(3):
        program.tighten(math.inf)
    rng = np.random.default_rng(0)
    for _ in range(5):
        matrix = program._matrix().tocsr()
        prices = HOSTILE[kind](rng, matrix.shape[0])
        monkeypatch.setattr(thresholds, "packed", lambda *_, found=prices: (program.values, found))
        program.finish(1.0)
        assert program.bound >= exact.value
        program._take(matrix, prices)
        assert program.bound >= exact.value
        program._close()
        program._merge()
        program._split()
        program.tighten(math.inf)
        assert program.bound >= exact.value
    monkeypatch.setattr(thresholds, "packed", lambda *_: None)
    program.finish(1.0)
    assert program.bound >= exact.value
