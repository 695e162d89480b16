"""The reconstruction of the square wave: transition matrix, likelihood, distance to the truth."""

import math

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.mean import Duchi, SquareWave
from mechdesign.families.mean.wave import BUCKETS, reconstruct, smoothed


def test_transition_is_the_integral_of_the_density():
    mechanism = SquareWave(1.5, 0.0, 1.0)
    matrix = mechanism.transition(16)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(16), rel=1e-12)
    edges = np.linspace(-mechanism.halfwidth, 1 + mechanism.halfwidth, BUCKETS + 1)
    fine = (np.arange(4000) + 0.5) / 4000
    for column in (0, 7, 15):
        u = (column + 0.5) / 16
        for row in (0, 60, 128, 255):
            places = edges[row] + fine * (edges[row + 1] - edges[row])
            density = np.exp(mechanism.log_density(np.array(u), places))
            integral = density.mean() * (edges[row + 1] - edges[row])
            assert matrix[row, column] == pytest.approx(integral, rel=2e-3)


def test_every_step_of_em_raises_the_likelihood():
    mechanism = SquareWave(1.0, 0.0, 1.0)
    matrix = mechanism.transition(32)
    counts = np.random.default_rng(1).multinomial(10_000, matrix @ np.full(32, 1 / 32)).astype(float)
    likelihoods = []
    for steps in (2, 5, 20, 100):
        probability = np.full(32, 1 / 32)
        for _ in range(steps):
            probability = probability * (matrix.T @ (counts / counts.sum() / (matrix @ probability)))
        likelihoods.append(counts @ np.log(matrix @ probability))
    assert (np.diff(likelihoods) > 0).all()
    found, _, done = reconstruct(matrix, counts, False, 1e-3)
    assert done
    assert found.sum() == pytest.approx(1.0)
    assert counts @ np.log(matrix @ found) > likelihoods[0]


def test_smoothing_keeps_the_mass_and_a_constant():
    assert smoothed(np.full(8, 0.125)) == pytest.approx(np.full(8, 0.125))
    assert smoothed(np.eye(8)[3]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["ems", "em"])
def test_distribution_comes_near_the_truth(method):
    """A smooth truth and 200 000 users: the largest error of the distribution function stays below 2 %."""
    values = np.random.default_rng(0).beta(5, 2, 200_000)
    mechanism = SquareWave(2.0, 0.0, 1.0)
    found = mechanism.distribution(mechanism.randomize(values, rng=1), 64, method)
    assert found.converged
    truth = np.histogram(values, bins=64, range=(0, 1))[0] / len(values)
    assert np.abs(np.cumsum(found.probability - truth)).max() < 0.02
    assert abs(found.mean - values.mean()) < 0.01
    assert found.quantile(0.5) == pytest.approx(np.median(values), abs=0.03)


def test_plain_average_of_reports_is_biased_and_the_estimate_is_not():
    values = np.full(100_000, 0.9)
    mechanism = SquareWave(1.0, 0.0, 1.0)
    reports = mechanism.randomize(values, rng=2)
    assert abs(reports.mean() - 0.9) > 0.1
    found = mechanism.estimate(reports)
    assert abs(found.value - 0.9) < 4 * found.standard_error


def test_distribution_from_merged_sums_is_that_of_all_reports():
    mechanism = SquareWave(1.0, 10.0, 20.0)
    reports = mechanism.randomize(np.random.default_rng(0).uniform(10, 20, 5000), rng=3)
    first, second = mechanism.aggregator(), mechanism.aggregator()
    first.update(reports[:1000])
    second.update(reports[1000:])
    first.merge(second)
    assert (mechanism.distribution(first).probability == mechanism.distribution(reports).probability).all()


def test_impossible_requests_are_refused():
    mechanism = SquareWave(1.0)
    with pytest.raises(ParameterError, match="method"):
        mechanism.distribution([0.1], method="mle")
    with pytest.raises(ParameterError, match="buckets"):
        mechanism.distribution([0.1], buckets=1)
    with pytest.raises(DataError, match="at least one report"):
        mechanism.distribution([])
    with pytest.raises(DataError, match="square-wave"):
        mechanism.distribution(Duchi(1.0).aggregator())
    with pytest.raises(DataError, match="row 1"):
        mechanism.distribution([math.nan])
