"""Where groups of numbers are taken together: against plain double sums with none, for thousands of users.

The reference sums have errors of about 10^-12 of their own; the slack of 10^-9 is for these.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from mechdesign.audit.mass import binomial_window
from mechdesign.exact.randomness import exp_upper
from mechdesign.families.shuffle.judge import ShuffleAttack, kary_attacks
from mechdesign.families.shuffle.kary_divergence import (
    BinaryDivergence,
    Composition,
    LatticeDivergence,
    kary_atoms,
)
from mechdesign.families.shuffle.papers.theorems import clones_law
from mechdesign.families.shuffle.sum_divergence import Divergence, groups, kary_law

SLACK = 1e-9


def excess(trials: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return E(N - t)_+ for N ~ Bin(trials, 1/2) and thresholds above 0."""
    least = np.floor(threshold) + 1.0
    upper = stats.binom.sf(least - 1.0, trials, 0.5)
    part = 0.5 * trials * stats.binom.sf(least - 2.0, np.maximum(trials - 1.0, 0.0), 0.5)
    return np.maximum(np.where(trials > 0, part, 0.0) - threshold * upper, 0.0)


def blanket(users: int, local: float, central: float, size: int) -> float:
    """Return the blanket of k-ary response, every number of pairs and of neutral reports for itself."""
    grown, e = math.exp(local), math.exp(central)
    share = 1.0 / (grown + size - 1.0)
    mean, reach = 2.0 * share * users, 10.0 * math.sqrt(2.0 * share * users)
    total = 0.0
    for pairs in range(max(0, int(mean - reach)), min(users, int(mean + reach)) + 1):
        others = users - pairs
        chance = (size - 2) * share / (1.0 - 2.0 * share)
        if size == 2:
            rest, mass = np.zeros(1), np.ones(1)
        else:
            spread = 10 * math.sqrt(others * chance * (1 - chance))
            rest = np.arange(max(0, int(others * chance - spread)), int(others * chance + spread) + 1.0)
            mass = stats.binom.pmf(rest, others, chance)
        step = (grown - 1.0) * (1.0 + e)
        threshold = ((grown * e - 1.0) * pairs + (e - 1.0) * rest) / step
        inner = excess(np.full(len(rest), float(pairs)), threshold)
        total += stats.binom.pmf(pairs, users, 2.0 * share) * float((mass * inner).sum()) * step
    return total / users


@pytest.mark.parametrize(
    ("users", "local", "central", "size"),
    [
        (3000, 1.0, 0.05, 2),
        (3000, 1.0, 0.08, 2),
        (5000, 3.0, 0.4, 2),
        (2000, 2.0, 0.2, 3),
        (2500, 1.5, 0.08, 8),
    ],
)
def test_groups_lose_little_and_never_too_much(users, local, central, size):
    plain = blanket(users, local, central, size)
    assert 1e-9 < plain < 1e-1
    for delta in (plain, 1e-3 * plain):
        bound = Divergence(users, kary_law(local, size), delta)(central)
        assert plain * (1.0 - SLACK) <= bound <= 1.05 * plain
        lattice = LatticeDivergence(users, kary_atoms(exp_upper(local), size), delta)(central)
        assert plain * (1.0 - SLACK) <= lattice <= 1.02 * plain


def test_clones_are_a_blanket_with_other_weights():
    """Theorem 3.2 of 2021 in its own words: counts of two kinds, victims exchanged."""
    users, local, central = 400, 1.5, 0.25
    e, heads = math.exp(central), math.exp(local) / (math.exp(local) + 1.0)
    total = 0.0
    for pairs in range(users):
        weight = stats.binom.pmf(pairs, users - 1, math.exp(-local))
        one = np.concatenate([[0.0], stats.binom.pmf(np.arange(pairs + 1), pairs, 0.5)])
        two = np.append(stats.binom.pmf(np.arange(pairs + 1), pairs, 0.5), 0.0)
        first, second = heads * one + (1 - heads) * two, heads * two + (1 - heads) * one
        total += weight * float(np.maximum(first - e * second, 0.0).sum())
    bound = Divergence(users, clones_law(local), total)(central)
    assert total * (1.0 - SLACK) <= bound <= 1.02 * total


@pytest.mark.parametrize(("users", "local", "central"), [(600, 1.0, 0.2), (600, 3.0, 1.0), (300, 0.3, 0.06)])
def test_binary_data_one_by_one(users, local, central):
    """Every number of ones among the others is convolved for itself; the ranges lose below 15 % of delta."""
    odds, e = math.exp(-local), math.exp(central)
    chance = odds / (1.0 + odds)
    worst = 0.0
    for ones in range(users):
        law = np.convolve(
            stats.binom.pmf(np.arange(ones + 1), ones, 1.0 - chance),
            stats.binom.pmf(np.arange(users - ones), users - 1 - ones, chance),
        )
        here, next_to = np.append(law, 0.0), np.concatenate([[0.0], law])
        first, second = (1 - chance) * next_to + chance * here, chance * next_to + (1 - chance) * here
        exact = float(np.maximum(first - e * second, 0.0).sum())
        single = Composition(ones, users - 1 - ones, local, exact)(central)
        assert exact * (1.0 - SLACK) <= single <= exact * (1.0 + 1e-6)
        worst = max(worst, exact)
    bound = BinaryDivergence(users, local, worst)(central)
    assert worst * (1.0 - SLACK) <= bound <= 1.15 * worst


def test_the_attack_with_groups_stays_below_and_near():
    users, local, central, size = 3000, 2.0, 0.15, 4
    grown, e = math.exp(local), math.exp(central)
    share = 1.0 / (grown + size - 1.0)
    value = -(e - 1.0) * (size - 2) * share / (1.0 - 2.0 * share)
    total = 0.0
    for pairs in range(users + 1):
        weight = stats.binom.pmf(pairs, users, 2.0 * share)
        if weight < 1e-25:
            continue
        step = (grown - 1.0) * (1.0 + e)
        threshold = ((grown * e - 1.0) * pairs - value * (users - pairs)) / step
        total += weight * step * float(excess(np.array([float(pairs)]), np.array([threshold]))[0])
    exact = total / users
    attack = ShuffleAttack(users, kary_attacks(local, size)[-1], exact)(central)
    assert 0.97 * exact <= attack <= exact * (1.0 + SLACK)


def test_groups_keep_mass_and_mean():
    window = binomial_window(100_000, 0.25, 1e-12)
    found = groups(window, 8.0)
    assert found[0][0] == window.first
    assert found[-1][1] == window.last
    assert all(after[0] == before[1] + 1 for before, after in pairwise(found))
    assert math.fsum(share for *_, share, _ in found) == pytest.approx(1.0, abs=1e-12)
    mean = math.fsum(share * (low + part * (high - low)) for low, high, share, part in found)
    assert mean == pytest.approx(20_000.0, rel=1e-12)
    assert len(found) < 100
