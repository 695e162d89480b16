"""Seeded random instances of the response problem: every utility, notion and distance, ties and zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.families.response import RandomizedResponse


def random_prior(rng: np.random.Generator, size: int) -> Any:
    """Return a prior: flat, skewed, with ties, with zeros, or a single certain answer."""
    kind = rng.integers(5)
    if kind == 0:
        return np.full(size, 1.0 / size)
    if kind == 1:
        raw = rng.integers(1, 4, size).astype(float)
    elif kind == 2:
        raw = rng.integers(0, 3, size).astype(float)
        raw[rng.integers(size)] += 1.0
    else:
        raw = rng.gamma(0.4 if kind == 3 else 2.0, size=size) + 1e-12
    return raw / raw.sum()


def random_instance(seed: int, most: int = 8) -> RandomizedResponse:
    """Return the instance of this seed, n = 2 .. most, with every feature now and then."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, most + 1))
    epsilon = float(
        rng.choice([0.0, math.log(2), math.log(3), rng.uniform(0.01, 1.0), rng.uniform(1.0, 5.0)])
    )
    parameters: dict[str, Any] = {"prior": random_prior(rng, size), "epsilon": epsilon}
    utility = rng.integers(6)
    if utility == 1:
        parameters["utility"] = "absolute-loss"
    elif utility == 2:
        parameters["utility"] = "squared-loss"
    elif utility == 3:
        parameters["utility"] = rng.normal(size=(size, int(rng.integers(1, size + (3 if size != 4 else 1)))))
    elif utility == 4:
        parameters["utility"] = "mutual-information"
    feature = rng.integers(4)
    if feature == 1:
        parameters["delta"] = float(rng.choice([0.01, 0.1, rng.uniform(0.0, 0.9)]))
        parameters["notion"] = str(rng.choice(["ldp", "entry-wise"]))
    elif feature == 2:
        distance = rng.integers(3)
        if distance == 0:
            parameters["distance"] = "line"
        elif distance == 1:
            parameters["distance"] = rng.integers(0, 4, size=(size, 2)).astype(float)
        else:
            steps = rng.uniform(0.2, 2.0, size=(size, size))
            parameters["distance"] = np.triu(steps, 1) + np.triu(steps, 1).T
        if size == 2 and distance == 1:  # two points must not look like a matrix
            parameters["distance"] = np.array([[0.0, 0.0], [1.0, 2.0]])
    if utility == 4 and feature in (1, 2) and size > 2:
        parameters["utility"] = "truth"  # no method is left for mutual information then
    return RandomizedResponse(**parameters)
