"""Rows of crowding hold for every allocation; what they prove is above everything brute force finds."""

import time

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.spectrum import clique_bound as many
from mechdesign.families.spectrum.channel import scattered_owner, scattered_users
from mechdesign.families.spectrum.clique_bound import bounded
from mechdesign.families.spectrum.interval_bound import SIMPLEX, Crowd, CuttingPlanes
from mechdesign.families.spectrum.local_search import Greedy, RadiiAtLevel, annealed
from tests.support.spectrum import brute_force, random_channel


def columns_of(crowd, rng):
    """Return random intervals of all radii, and of L: users, low and high ends."""
    users, low, high = [], [], []
    for user, cap in enumerate(crowd.caps.tolist()):
        if cap > 0:
            inner = np.sort(rng.uniform(0.0 if user < crowd.owner else 1e-3, cap, size=rng.integers(1, 6)))
            ends = [0.0 if user < crowd.owner else 1e-3, *inner.tolist(), cap]
            users += [user] * (len(ends) - 1)
            low += ends[:-1]
            high += ends[1:]
    return np.array(users), np.array(low), np.array(high)


def mixture(crowd, columns, radii, level):
    """Return the weights of the columns for an allocation: a revenue is a mixture of two ends."""
    users, _, high = columns
    weights = np.zeros(len(users))
    for place, (user, least, most) in enumerate(zip(*columns, strict=True)):
        if user == crowd.owner:
            weights[place] = float(least < level <= most)
        elif least < radii[user] <= most:
            paid, before, after = crowd.paid(np.full(3, user), np.array([radii[user], least, most]))
            weights[place] = (paid - before) / (after - before)
            below = np.flatnonzero((users == user) & (high == least))
            weights[below] = 1.0 - weights[place]
    return weights


def random_rows(crowd, columns, rng, count):
    """Yield rows of cliques and of ramps, from columns that are gathered at random."""
    users, low, high = columns
    apart = low[:, None] + low >= crowd.margins[np.ix_(users, users)]
    apart |= users[:, None] == users
    for _ in range(count):
        order = rng.permutation(len(users))
        members = []
        for place in order.tolist():
            if all(apart[place, other] for other in members):
                members.append(place)
        yield crowd.clique(users[members], low[members])
        first = order[0]
        user = users[first]
        if user == crowd.owner:
            continue
        start, base, slope = (found[0] for found in crowd.ramps(user, low[[first]], high[[first]]))
        members = []
        for place in order[1:].tolist():
            fits = users[place] != user and low[place] >= start[users[place]]
            if fits and all(apart[place, other] for other in members):
                members.append(place)
        if members:
            yield crowd.ramped(user, low[first], (start, base, slope), users[members], low[members])


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_no_allocation_breaks_a_row(seed, occupied):
    rng = np.random.default_rng(seed)
    channel = random_channel(seed, 7, occupied, side=11.0).channel
    if occupied and channel.most <= 0:
        return
    crowd, greedy = Crowd(channel), Greedy(channel)
    columns = columns_of(crowd, rng)
    paid = crowd.paid(columns[0], columns[2])
    rows = list(random_rows(crowd, columns, rng, 12))
    tightest = 0.0
    for _ in range(25):
        level = float(rng.uniform(0.01, 1.0) * channel.most) if occupied else 0.0
        shrunk = rng.choice([1.0, 1.0, rng.uniform()], size=channel.size)
        radii = greedy.filled(rng.permutation(channel.size).tolist(), level) * shrunk
        weights = mixture(crowd, columns, radii, level)
        users = columns[0] < crowd.owner
        assert weights[users] @ paid[users] == pytest.approx(channel.revenue(radii).sum(), rel=1e-9)
        for row in rows:
            total = float(weights @ crowd.entries(row, columns[0], columns[1], paid))
            assert total <= 1.0 + 2.0**-30
            tightest = max(tightest, total)
    assert tightest > 0.5


def leave_the_time_to_the_rounds(monkeypatch):
    """Do without the search of allocations, which a bound does not need and which takes most of the time."""
    monkeypatch.setattr(many, "annealed", lambda channel, start, *_, **__: start)
    monkeypatch.setattr(many, "SHARE", many.SHARE / 10.0)


@pytest.mark.parametrize("occupied", [True, False])
@pytest.mark.parametrize("seed", range(20))  # each number of users on each side
def test_brute_force_finds_nothing_above_the_bound(seed, occupied, monkeypatch):
    leave_the_time_to_the_rounds(monkeypatch)
    problem = random_channel(seed, 2 + seed % 4, occupied, side=7.0 + seed % 5)
    if occupied and problem.channel.most <= 0:
        return
    found = md.solve(problem, "cuts", gap=0.02, seconds=0.15 if occupied else 5.0)
    assert not found.broken
    assert all(value == 0.0 for value in found.residuals.values())
    best = brute_force(problem, 60)
    assert best <= found.bound
    if not occupied:
        assert found.bound - found.value <= 0.021 * found.value


@pytest.mark.parametrize("seed", range(5000, 5016))
def test_values_and_bounds_enclose_the_exact_optimum(seed, monkeypatch):
    problem = random_channel(seed, 5 + seed % 3, occupied=seed % 2 == 0, side=6.0 + seed % 9)
    exact = md.solve(problem, "enumeration")
    if not exact.found:
        return
    listed = md.solve(problem, "greedy")
    leave_the_time_to_the_rounds(monkeypatch)
    found = md.solve(problem, "cuts", seconds=0.2)
    assert not found.broken
    assert max(found.value, listed.value) <= exact.bound
    assert exact.value <= found.bound


def test_a_crowded_map_solved_from_its_inside():
    users = scattered_users(34.0, 60, 1, radius=5.0, privacy=0.5, seed=1)  # as dense as 200 in 62 by 62
    channel = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users).channel
    best = annealed(channel, Greedy(channel).best(), 8000)
    planes, bounds = CuttingPlanes(channel, best, 0.005), []
    while len(planes.users) <= SIMPLEX + 200:
        planes.tighten(time.monotonic() + 100.0)
        planes.refine(best, best)
        bounds.append(planes.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert best.value <= planes.proven
    assert bounds[-1] <= 1.1 * best.value


@pytest.mark.parametrize("seed", range(8))
def test_a_bound_that_stops_early_and_one_without_a_gap_are_above_the_optimum(seed, monkeypatch):
    leave_the_time_to_the_rounds(monkeypatch)
    problem = random_channel(2000 + seed, 3, occupied=seed % 2 == 0, side=9.0)
    exact = md.solve(problem, "enumeration")
    if not exact.found:
        return
    for gap, seconds in ((0.3, 0.5), (0.0, 0.15), (0.005, 0.0)):
        found = bounded(problem.channel, gap, seconds)
        assert found.best.value <= exact.bound
        assert exact.value <= found.bound
    start = RadiiAtLevel(np.zeros(3), problem.channel.most if seed % 2 == 0 else 0.0, 0.1 * exact.value)
    planes = CuttingPlanes(problem.channel, start, 0.01)  # the cutoff is far below the optimum
    for _ in range(12):
        planes.tighten(time.monotonic() + 5.0)
        planes.refine(start, start)
    assert planes.proven >= exact.value - 1e-9 * abs(exact.value)


@pytest.mark.parametrize("occupied", [True, False])
def test_sixty_users_get_a_proven_gap_of_half_a_percent(occupied):
    secondary = scattered_users(75.0, 60, 1, radius=5.0, privacy=0.5, seed=3)
    primary = scattered_owner(75.0, 60, 1, seed=3) if occupied else None
    problem = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=secondary, primary=primary)
    solution = md.solve(problem)
    assert solution.method == "cuts"
    revenue = problem.channel.revenue(solution.variables["radii"]).sum()
    assert solution.bound - solution.value <= 0.0051 * revenue
    assert not solution.broken
    quick = md.solve(problem, "greedy").value
    assert Greedy(problem.channel).best().value <= quick <= solution.value


def test_the_time_is_kept_and_a_bound_is_there_in_any_case():
    secondary = scattered_users(20.0, 120, 1, radius=5.0, privacy=0.5, seed=1)
    problem = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=secondary)
    problem.channel.margins.sum()
    solution = md.solve(problem, "cuts", seconds=4.0)
    assert solution.seconds < 10.0  # the limit, and as much again and a half for a busy machine
    assert solution.status == "feasible"
    assert solution.value < solution.bound < problem.objective_scale()


def test_annealing_keeps_every_limit_and_is_repeatable():
    for seed in range(20):
        problem = random_channel(seed, 12, occupied=seed % 2 == 0, side=14.0)
        channel = problem.channel
        if problem.owner is not None and channel.most <= 0:
            continue
        start = Greedy(channel).best(moves=0)
        found, again = (annealed(channel, start, steps=150) for _ in range(2))
        assert (found.radii == again.radii).all()
        assert found.value >= start.value - 1e-9 * abs(start.value)
        residuals = problem.residuals({"radii": found.radii, "privacy": found.level})
        assert max(residuals.values()) <= 1e-12 * max(1.0, float(channel.radius.max()))


def test_annealing_that_the_clock_ends_has_cooled():
    users = scattered_users(34.0, 60, 1, radius=5.0, privacy=0.5, seed=1)
    channel = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users).channel
    start = Greedy(channel).best(moves=0)
    for steps in (10**6, 100):
        began = time.monotonic()
        found = annealed(channel, start, steps, until=began + 0.5)
        assert found.value >= start.value
        assert found.value == channel.utility(found.radii, 0.0)
    assert annealed(channel, start, 10**6, until=0.0).value == start.value  # no time at all


def test_nonsense_options_are_refused():
    problem = random_channel(0, 3)
    for options in ({"gap": -0.1}, {"gap": float("nan")}, {"seconds": -1.0}):
        with pytest.raises(md.MechDesignError):
            md.solve(problem, "cuts", **options)


def test_rounds_that_no_longer_help_are_not_waited_for():
    problem = md.load_model("spectrum/occupied_apart").problem
    found = md.solve(problem, "cuts")  # its rows mix values of L: the gap stays at a tenth of the value
    best = md.solve(problem, "piecewise")
    assert found.notes["rounds"] < 200
    assert found.bound is not None
    assert found.value <= best.value <= found.bound
