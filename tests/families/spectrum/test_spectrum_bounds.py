"""Bounds of crowded channels: prices hold for every allocation, and what is cut short is still bounded."""

import math
from itertools import product

import numpy as np
import pytest

from mechdesign.families.spectrum.allocation import best_radii, bound_of_many, users_of_channel
from mechdesign.families.spectrum.local_search import Greedy
from mechdesign.families.spectrum.vertices import (
    FULL,
    OUT,
    Conflicts,
    VertexSearch,
    best_share,
    prices_of,
    resolved,
    rows_of,
    static_bounds,
)
from tests.support.spectrum import brute_force, random_channel


def random_allocations(channel, rng, count):
    """Yield radii that keep all pairs, many of them at their limits."""
    greedy = Greedy(channel)
    for _ in range(count):
        radii = greedy.filled(rng.permutation(channel.size).tolist(), 0.0)
        yield radii * rng.choice([1.0, 1.0, rng.uniform()])


@pytest.mark.parametrize("seed", range(25))
def test_prices_and_groups_bound_every_allocation(seed):
    channel = random_channel(seed, 9, occupied=False, side=12.0).channel
    caps = channel.radius.tolist()
    users = users_of_channel(channel, range(channel.size), caps)
    conflicts = Conflicts.of(users.margins, caps)
    rows = rows_of(users.revenue, conflicts, caps, lambda members: best_share(users, members, caps))
    prices = prices_of(rows, [users.revenue(user, cap) for user, cap in enumerate(caps)])
    assert prices is not None
    _, groups = static_bounds(users.revenue, conflicts, caps)
    rng = np.random.default_rng(seed)
    for radii in random_allocations(channel, rng, 60):
        paid = channel.revenue(radii)
        assert all(sum(part * paid[user] for user, part in row.items()) <= limit for row, limit in rows)
        assert paid.sum() <= (prices.total + paid @ np.array(prices.left)) * (1 + 1e-9)
        assert paid.sum() <= sum(bounds[0] for _, bounds in groups) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("occupied", [True, False])
def test_brute_force_with_five_users_finds_nothing_better(seed, occupied):
    import mechdesign as md

    problem = random_channel(500 + seed, 5, occupied, side=14.0)
    best = md.solve(problem, "enumeration")
    if best.found:
        assert best.status == "optimal"
        assert brute_force(problem, 60) <= best.bound


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_finds_the_best_of_all_vertices(seed):
    """Beside it every list of choices is tried, each user's being out, full or tight with any other one."""
    channel = random_channel(300 + seed, 4, occupied=False, side=9.0).channel
    users = users_of_channel(channel, range(4), channel.radius.tolist())

    def paid(choices):
        made = resolved(choices, users.radius, users.reach, lambda i, j: users.margins[i][j], float)
        if made is None:
            return 0.0
        radii = np.array([alpha for alpha, _ in made])
        together = radii[:, None] + radii <= np.array(users.margins) + 1e-9
        served = radii > 0
        fits = (radii <= channel.radius + 1e-9).all() and together[np.ix_(served, served)].all()
        return float(channel.revenue(radii).sum()) if fits and (radii >= -1e-9).all() else 0.0

    every = product(*([OUT, FULL, *(other for other in range(4) if other != user)] for user in range(4)))
    wanted = max(paid(choices) for choices in every)
    seen = []

    def leaf(choices):
        seen.append(tuple(choices))
        return max(map(paid, seen))

    search = VertexSearch(users, 0.0, 0.0, 0.0, leaf, 0.0, 100_000)
    search.run()
    assert search.best == pytest.approx(wanted, rel=1e-9)
    assert len(set(seen)) == len(seen)
    assert search.cut == -math.inf


@pytest.mark.parametrize("nodes", [0, 1, 10, 100_000])
def test_a_search_that_is_cut_short_still_bounds(nodes):
    channel = random_channel(7, 8, occupied=False, side=9.0).channel
    radii, bound = best_radii(channel, channel.radius, nodes)
    _, exact = best_radii(channel, channel.radius)
    assert channel.revenue(radii).sum() <= exact * (1 + 1e-9) <= bound * (1 + 2e-9)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_intervals_of_the_widening_bound_the_exact_optimum(seed):
    import mechdesign as md

    problem = random_channel(seed, 5, side=14.0)
    exact = md.solve(problem, "enumeration")
    assert exact.found
    start = Greedy(problem.channel).best()
    bound, best = bound_of_many(problem.channel, start, 1e-3 * problem.objective_scale(), parts=300)
    assert best.value <= exact.bound
    assert exact.value <= bound <= exact.value + 2e-3 * problem.objective_scale()
