"""Sums of flipped one-hot vectors: bounds of delta against every data set of a few users."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mechdesign.families.deployed import histogram
from mechdesign.families.deployed.histogram import attacked_delta, flipped_delta


def law(ones: int, zeros: int, flip: float) -> np.ndarray[Any, Any]:
    """Return the law of the noisy ones of users with and without the coordinate, bit by bit."""
    found = np.ones(1)
    for share in [1 - flip] * ones + [flip] * zeros:
        found = np.convolve(found, [1 - share, share])
    return found


def worst_delta(users: int, local_epsilon: float, epsilon: float) -> float:
    """Return the exact delta, the largest over all data of the others."""
    flip = 1 / (math.exp(local_epsilon) + 1)
    worst = 0.0
    for here in range(users):
        for there in range(users - here):
            counts = [
                (
                    law(here + own, users - here - own, flip),
                    law(there + 1 - own, users - 1 - there + own, flip),
                )
                for own in (1, 0)
            ]
            (first, second), (third, fourth) = counts
            gain = np.outer(first, second) - math.exp(epsilon) * np.outer(third, fourth)
            worst = max(worst, float(np.maximum(gain, 0).sum()))
    return worst


@pytest.mark.parametrize(
    ("users", "local", "epsilon"),
    [(2, 1.0, 0.5), (5, 2.0, 1.0), (12, 1.5, 0.5), (12, 3.0, 2.0), (20, 1.0, 0.1)],
)
def test_the_bounds_enclose_the_worst_data(users: int, local: float, epsilon: float) -> None:
    exact = worst_delta(users, local, epsilon)
    assert attacked_delta(users, local, epsilon) <= exact * (1 + 1e-9)
    assert exact <= flipped_delta(users, local, epsilon)
    assert flipped_delta(users, local, epsilon) <= 1.5 * exact + 1e-9


def test_the_attack_is_exact_for_its_data() -> None:
    flip = 1 / (math.exp(2.0) + 1)
    here, there = law(10, 0, flip), law(0, 10, flip)
    gone, come = law(9, 1, flip), law(1, 9, flip)
    exact = np.maximum(np.outer(here, there) - math.exp(0.3) * np.outer(gone, come), 0).sum()
    assert attacked_delta(10, 2.0, 0.3) == pytest.approx(float(exact), rel=1e-9)


def test_fewer_blocks_only_weaken_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = flipped_delta(2000, 4.0, 0.8)
    monkeypatch.setattr(histogram, "BLOCKS", 8)
    assert fine <= flipped_delta(2000, 4.0, 0.8) * (1 + 1e-9)


def test_less_noise_is_less_private() -> None:
    found = [flipped_delta(5000, local, 0.5) for local in (2.0, 3.0, 4.0, 5.0)]
    assert found == sorted(found)


@pytest.mark.parametrize("users", [2, 40, 256, 257, 3000])
def test_the_ends_of_the_data_are_never_above_all_data(users: int) -> None:
    for local in (0.5, 3.0, 7.0):
        assert flipped_delta(users, local, 0.4, at_ends=True) <= flipped_delta(users, local, 0.4) * (1 + 1e-9)


def test_a_search_whose_ends_are_not_the_worst_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = histogram.DeployedHistogram(users=60, epsilon=1.0, delta=1e-4)
    least = histogram.all_data(problem).variables["local_epsilon"]
    whole = histogram.flipped_delta
    monkeypatch.setattr(
        histogram, "flipped_delta", lambda *setting: 0.0 if len(setting) > 3 else whole(*setting)
    )
    assert histogram.all_data(problem).variables["local_epsilon"] == least
