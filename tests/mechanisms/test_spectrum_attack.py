"""The attack on owners: exact without noise or with a common widening, an error that grows with L_p else."""

import numpy as np
import pytest

from mechdesign.core.errors import DataError
from mechdesign.mechanisms.spectrum import SpectrumDatabase
from mechdesign.mechanisms.spectrum.attack import attack_errors, locate


@pytest.mark.parametrize("seed", range(10))
def test_four_answers_without_noise_locate_the_owner(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-10, 10, size=(2, 5))
    owner, ring = rng.uniform(-3, 3, size=2), rng.uniform(0.1, 1.0)
    found = locate(x, y, np.hypot(x - owner[0], y - owner[1]) - ring)
    assert np.abs(found - [*owner, ring]).max() < 1e-6


def test_one_widening_for_all_queries_hides_nothing_of_the_place():
    rng = np.random.default_rng(1)
    assert attack_errors(2.0, rng, draw="none").max() < 1e-6
    assert attack_errors(2.0, rng, draw="common").max() < 1e-6


def test_with_a_draw_for_each_place_the_error_grows_with_the_level_and_falls_with_queries():
    levels = [0.1, 0.3, 1.0, 3.0]
    errors = [np.median(attack_errors(level, np.random.default_rng(2), repetitions=200)) for level in levels]
    assert errors == sorted(errors)
    assert errors[-1] > 5.0 * errors[0]
    many = np.median(attack_errors(1.0, np.random.default_rng(3), queries=200, repetitions=40))
    assert many < 0.5 * errors[2]


def test_the_database_itself_withstands_it_as_far_as_its_draws_go():
    """Users with a wish that is never granted in full learn the edge of the owner's circle."""
    base = SpectrumDatabase([{"name": "tv", "x": 1, "y": 2, "protection": 1}], 0.1, 2.0, budget=100.0)
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    x, y = 1.0 + 14.0 * np.cos(angles), 2.0 + 14.0 * np.sin(angles)
    radii = []
    for number, (east, north) in enumerate(zip(x, y, strict=True)):
        query = {"user": f"spy{number}", "channel": "tv", "x": east, "y": north, "radius": 20.0}
        radii.append(base.answer([{**query, "privacy": 0.5, "epsilon": 1.0}], rng=number)[0].radius)
    found = locate(x, y, np.array(radii) + 0.5)
    assert 1e-3 < np.hypot(found[0] - 1.0, found[1] - 2.0) < 14.0


def test_three_queries_are_too_few():
    with pytest.raises(DataError, match="ask from 4 places"):
        locate([0, 1, 2], [0, 1, 0], [1, 1, 1])
