"""Planar Laplace noise cut off at a radius, as published: its radius, its witness, and that it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.location.papers.noise import TruncatedPlanarLaplace, audit_truncated

SMALL = 1.95 / math.sqrt(50_000)
"""Exceeded with probability 0.001 by the right distribution."""


def largest_step(sample: np.ndarray, cumulative) -> float:
    """The Kolmogorov-Smirnov distance."""
    ordered = np.sort(sample)
    expected, count = cumulative(ordered), len(ordered)
    steps = np.arange(count + 1) / count
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))


def test_truncated_noise_has_the_published_radius_and_is_refused():
    noise = TruncatedPlanarLaplace(1.0, 2.0)
    radius = np.hypot(*noise.randomize(np.zeros((50_000, 2)), rng=2).T)
    kept = 1 - 3 * math.exp(-2.0)
    assert largest_step(radius, lambda r: (1 - (1 + r) * np.exp(-r)) / kept) < SMALL
    assert abs(radius.mean() - noise.mean_distance) < 5 * 0.5 / math.sqrt(50_000)
    assert "FAILS (exact)" in str(noise.refusal())
    assert TruncatedPlanarLaplace(1e-3, 2.0).mean_distance == pytest.approx(4 / 3, abs=1e-3)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.7, 1e6])
def test_the_witness_against_truncated_noise_is_one(radius):
    audit = audit_truncated(1.0, radius)
    place, other, report = (np.array(audit.witness[name]) for name in ("place", "other", "report"))
    assert np.hypot(*(report - place)) < radius < np.hypot(*(report - other))
    assert not audit.holds
    assert audit.true_epsilon == math.inf
    assert "FAILS (exact)" in str(audit)


def test_other_noise_is_refused_by_its_name():
    problem = md.LocationNoise(epsilon=2.0, area=[0.0, 0.0, 4.0, 4.0])
    with pytest.raises(md.MechDesignError, match="no 'sharp'; use lattice, laplace or truncated"):
        problem.noise({"noise": "sharp"})
