"""Limits of joint shares: their cumulants by enumeration, and coverage where reports are rare."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.intervals import tail_of
from mechdesign.families.joint.limits import BitMoments, ShareLimits
from tests.support.statistics import surveys

SIZES, OWN, OTHER = (2, 3), 0.7, 0.2


def score_moments(cell: tuple[int, ...], target: tuple[int, ...], given: int, theta: float) -> list[float]:
    """Return moments 1 to 4 of Y (Z - theta) of a user, over all reports."""
    moments = [0.0] * 4
    for bits in product((0, 1), repeat=sum(SIZES)):
        chance, factors, start = 1.0, [], 0
        for mine, wanted, size in zip(cell, target, SIZES, strict=True):
            group = bits[start : start + size]
            start += size
            for value, bit in enumerate(group):
                share = OWN if mine == value else OTHER
                chance *= share if bit else 1.0 - share
            debiased = [(bit - OTHER) / (OWN - OTHER) for bit in group]
            factors.append(debiased[wanted] - (sum(debiased) - 1.0) / size)
        inner = len(target) - given
        score = math.prod(factors[inner:]) * (math.prod(factors[:inner]) - theta)
        moments = [found + chance * score ** (order + 1) for order, found in enumerate(moments)]
    return moments


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("population", [False, True])
def test_cumulants_are_those_of_all_reports(given, population):
    rng, users = np.random.default_rng(1), 40
    likeliest = rng.dirichlet(np.ones(6)).reshape(SIZES)
    chances = np.array([[1 - OWN, OWN], [1 - OTHER, OTHER]])
    bits = [BitMoments.of(chances, OWN, OTHER, size) for size in SIZES]
    theta = rng.random(SIZES)
    limits = ShareLimits.of(theta, np.ones(SIZES), likeliest, given, bits, users, population)
    found = limits._cumulants(theta)
    smooth = (users * likeliest + 1 / 6) / (users + 1)
    for target in product(*map(range, SIZES)):
        share, inner = float(theta[target]), 2 - given
        weights = smooth.copy()
        here = [cell for cell in product(*map(range, SIZES)) if cell[inner:] == target[inner:]]
        match = [cell for cell in here if cell[:inner] == target[:inner]]
        rest = [cell for cell in here if cell not in match]
        mass = sum(smooth[cell] for cell in here)
        for cells, part in ((match, share), (rest, 1 - share)):
            total = sum(smooth[cell] for cell in cells)
            for cell in cells:
                weights[cell] *= mass * part / total
        second, third, fourth = 0.0, 0.0, 0.0
        raw = np.zeros(4)
        for cell in product(*map(range, SIZES)):
            one, two, three, four = score_moments(cell, target, given, share)
            raw += weights[cell] * np.array([one, two, three, four])
            spread = two - one**2
            second += weights[cell] * spread
            third += weights[cell] * (three - 3 * one * two + 2 * one**3)
            central = four - 4 * one * three + 6 * one**2 * two - 3 * one**4
            fourth += weights[cell] * (central - 3 * spread**2)
        assert raw[0] == pytest.approx(0.0, abs=1e-12)  # the hypothesis is what the score tests
        if population:
            second, third, fourth = raw[1], raw[2], raw[3] - 3 * raw[1] ** 2
            assert found[2][target] == pytest.approx(fourth, rel=1e-9, abs=1e-12)
        assert found[0][target] == pytest.approx(second, rel=1e-9)
        assert found[1][target] == pytest.approx(third, rel=1e-9, abs=1e-12)
        assert found[2][target] >= fourth - 1e-12  # users of a class count as alike: never less


@pytest.mark.parametrize(
    ("sizes", "epsilon", "users"), [([2, 3], 8.0, 100), ([2, 2, 2], 9.0, 200), ([2] * 4, 16.0, 300)]
)
def test_cells_that_nobody_has_are_covered_where_reports_are_rare(sizes, epsilon, users):
    """Everybody in one cell: squares of the observed products gave an error of 0 in up to 85 % of runs."""
    mechanism = md.solve(md.JointCollection(attributes=sizes, epsilon=epsilon)).mechanism()
    values, rng, repetitions = np.zeros((users, len(sizes)), dtype=int), np.random.default_rng(3), 100
    truth = np.zeros(sizes)
    truth[(0,) * len(sizes)] = 1.0
    misses = np.zeros(sizes)
    for reports in surveys(mechanism, [values] * repetitions, rng):
        table = mechanism.estimate(reports).marginal(range(len(sizes)))
        assert (table.standard_error > 0.0).all()
        misses += ~table.limits.reach(truth - table.unbiased, tail_of(0.95))
    assert misses.max() / repetitions < 0.05 + 4 * math.sqrt(0.05 * 0.95 / repetitions)


def test_intervals_have_ends_and_gaps_where_a_condition_is_too_rare():
    mechanism = md.solve(md.JointCollection(attributes=[2, 2], epsilon=8.0)).mechanism()
    estimate = mechanism.estimate(mechanism.randomize([[0, 0]] * 400 + [[1, 0]] * 200, rng=1))
    table = estimate.conditional([0], [1])
    low, high = table.interval()
    assert np.isnan(low[:, 1]).all()
    assert np.isnan(table.standard_error[:, 1]).all()
    assert (low[:, 0] < table.unbiased[:, 0]).all()
    assert (table.unbiased[:, 0] < high[:, 0]).all()
    narrow = table.interval(0.5)
    assert (narrow[0][:, 0] > low[:, 0]).all()
