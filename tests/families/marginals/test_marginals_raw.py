"""Scores of sums of cells against enumeration, coverage of raw intervals, predicted and measured errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from mechdesign.exact.randomness import TOTAL
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.marginal_table import score_moments
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.best import KINDS
from mechdesign.families.marginals.papers.rivals import make_consistent
from mechdesign.families.marginals.views import effect_variance
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.kary_channel import KaryChannel
from tests.support.statistics import binomial_limits, ends_are_where_the_reach_ends, reaches, surveys

REPETITIONS = 60
ENOUGH = binomial_limits(REPETITIONS, 0.93, 2e-5)[0]
"""As many hits as a count with chance 0.93 has at least, with error 1e-5."""

CELLS = 5


def supported_sets(oracle, own: int) -> dict[tuple[int, ...], Fraction]:
    """Return the chance of every set of supported cells for a user in the cell ``own``."""
    if isinstance(oracle, KaryResponse):
        high, low = oracle.weights.own + oracle.weights.high, oracle.weights.low
        return {(cell,): Fraction(high if cell == own else low, TOTAL) for cell in range(CELLS)}
    if isinstance(oracle, SubsetSelection):
        include, size = Fraction(oracle.include, TOTAL), oracle.size
        inside, outside = comb(CELLS - 1, size - 1), comb(CELLS - 1, size)
        return {
            chosen: include / inside if own in chosen else (1 - include) / outside
            for chosen in combinations(range(CELLS), size)
        }
    found = {}
    for bits in product((0, 1), repeat=CELLS):
        chance = Fraction(1)
        for cell, bit in enumerate(bits):
            one = Fraction(oracle.keep if cell == own else oracle.add, TOTAL)
            chance *= one if bit else 1 - one
        found[tuple(cell for cell, bit in enumerate(bits) if bit)] = chance
    return found


ORACLES = {
    "kary": KaryResponse.from_channel(KaryChannel(CELLS, np.arange(CELLS), 1.0)),
    "optimised": UnaryEncoding.optimised(CELLS, 1.0),
    "symmetric": UnaryEncoding.symmetric(CELLS, 2.0),
    "two": SubsetSelection.of(CELLS, 1.0, 2),
    "three": SubsetSelection.of(CELLS, 0.5, 3),
}


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
def test_the_variance_of_effects_is_variance_less_covariance(oracle):
    """Of the scores of two cells, over all reports of users spread evenly; as fractions until the end."""
    own, other = oracle.support_shares()
    square = mixed = Fraction(0)
    for user in range(CELLS):
        for chosen, chance in supported_sets(oracle, user).items():
            first, second = (((cell in chosen) - other) / (own - other) for cell in (0, 1))
            square += chance * first**2 / CELLS
            mixed += chance * first * second / CELLS
    assert effect_variance(oracle) == pytest.approx(float(square - mixed), rel=1e-12)


@pytest.mark.parametrize("summed", [1, 2, 4])
@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
def test_moments_of_sums_are_those_of_all_reports(oracle, summed):
    """Equal to the last bit: both are fractions, rounded once."""
    own, other = oracle.support_shares()
    for user, found in zip((0, CELLS - 1), score_moments(oracle, summed), strict=True):
        moments = []
        for power in (1, 2, 3, 4):
            terms = [
                chance * ((sum(cell < summed for cell in chosen) - summed * other) / (own - other)) ** power
                for chosen, chance in supported_sets(oracle, user).items()
            ]
            moments.append(sum(terms))
        assert moments[0] == (1 if user < summed else 0)
        assert found.tolist() == [float(moment) for moment in moments[1:]]


def releases():
    """Return releases whose marginal (0,) is a view, a sum of one view, and an average of several."""
    yield "view", MarginalRelease.of([3, 2, 2], [(0,), (1, 2)], 2.0)
    yield "sum", MarginalRelease.of([3, 2, 2], [(0, 1), (1, 2)], 2.0, kinds=["unary-encoding"])
    yield "subset", MarginalRelease.of([3, 4, 2], [(0, 1), (1, 2)], 0.7, kinds=["subset-selection"])
    yield "average", MarginalRelease.of([3, 2, 2], [(0, 1), (0, 2), (1, 2)], 3.0, shares=[1, 4, 1])
    for kind, oracle in (("hashing", LocalHashing.of(6, 1.0, 3)), ("hadamard", HadamardResponse.of(6, 1.0))):
        alone = UnaryEncoding.optimised(3, 1.0)
        yield kind, MarginalRelease(Attributes([3, 2]), [(0, 1), (0,)], [oracle, alone])


RELEASES = dict(releases())


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("users", [400])
@pytest.mark.parametrize("name", RELEASES)
def test_raw_intervals_cover(name, users, population):
    """95 % intervals of a share that is 0, rare and common, each in 60 repetitions with a fixed seed.

    In a few of them their ends are searched for, and are where the test of a hypothesis changes its answer.
    """
    release = RELEASES[name]
    rng = np.random.default_rng(17)
    shares, hits = np.array([0.9, 0.1, 0.0]), np.zeros(3, dtype=int)
    fixed = np.repeat(np.arange(3), (shares * users).astype(int))
    answers = rng.integers(0, release.attributes.sizes, (REPETITIONS, users, len(release.attributes.sizes)))
    answers[..., 0] = rng.choice(3, (REPETITIONS, users), p=shares) if population else fixed
    for repetition, reports in enumerate(surveys(release, answers, rng)):
        found = release.estimate(reports, population).marginal([0], raw=True).cells
        hits += reaches(found, shares, 0.95)
        assert repetition % 20 or ends_are_where_the_reach_ends(found, 0.95)
    assert (hits >= ENOUGH).all(), hits


def test_a_single_view_has_the_intervals_of_its_oracle():
    """One view, no sum: the numbers must be those that the oracle's own server gives."""
    release = MarginalRelease.of([4], [(0,)], 1.0, kinds=["unary-encoding"])
    reports = release.randomize(np.repeat(np.arange(4), 200)[:, None], rng=1)
    oracle = release.oracles[0]
    alone = oracle.estimate(np.ascontiguousarray(reports["report"]))
    raw = release.estimate(reports).marginal([0], raw=True)
    assert raw.value == pytest.approx(alone.value, rel=1e-12)
    assert raw.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    for one, other in zip(raw.interval(0.99), alone.interval(0.99), strict=True):
        assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_predicted_error_is_the_measured_one(kind):
    """Even data, 80 repetitions: the mean squared error of the best linear unbiased tables, within 4
    standard errors of the prediction; that of the penalized ones is no larger."""
    release = MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2)], 1.5, kinds=[kind])
    rng, users, sizes = np.random.default_rng(3), 3000, [2, 3, 2]
    linear, penalized, predicted, runs = [], [], 0.0, 80
    for _ in range(runs):
        data = np.stack([rng.integers(0, size, users) for size in sizes], axis=1)
        found = release.estimate(release.randomize(data, rng=rng), population=True)
        tables = make_consistent(found.views, found.unbiased, sizes, found.precision.tolist(), 1.0)
        linear.append(float(((tables[0] - 1 / 6) ** 2).sum()))
        estimate = found.marginal([0, 1])
        predicted += estimate.unpenalized_error**2 * 6 / runs
        penalized.append(float(((estimate.value - 1 / 6) ** 2).sum()))
    error = np.std(linear) / runs**0.5
    assert abs(np.mean(linear) - predicted) <= 4 * error
    assert np.mean(penalized) <= predicted + 4 * error
    assert release.predicted_error([0, 1], users) ** 2 * 6 == pytest.approx(predicted, rel=0.02)


def test_several_views_are_more_precise_than_one():
    release = RELEASES["average"]
    data = np.zeros((3000, 3), dtype=int)
    raw = release.estimate(release.randomize(data, rng=2)).marginal([0], raw=True)
    assert raw.views == (0, 1)
    assert "unbiased, from 2 view(s)" in str(raw)
    assert raw.as_json()["shape"] == [3]


def test_views_are_weighed_by_precision_and_cells():
    release = MarginalRelease.of([3, 2, 4], [(0, 1), (0, 2)], 1.0, shares=[1, 2], kinds=["unary-encoding"])
    data = np.stack([np.arange(6000) % size for size in (3, 2, 4)], axis=1)
    found = release.estimate(release.randomize(data, rng=2))
    weights = np.array([found.precision[0] / 2, found.precision[1] / 4])
    parts = [table.sum(axis=1) for table in found.unbiased]
    expected = (weights[0] * parts[0] + weights[1] * parts[1]) / weights.sum()
    assert found.marginal([0], raw=True).value == pytest.approx(expected, rel=1e-12)


def test_bounded_intervals_say_so():
    release = RELEASES["hashing"]
    found = release.estimate(release.randomize(np.zeros((3000, 2), dtype=int), rng=2))
    assert "use a bound of the variance" in str(found.marginal([0], raw=True))
    assert "use a bound" not in str(found.marginal([0, 1], raw=True))
