"""Products of few sets are listed: the same ones as the knapsack on its grid finds, to the last bit."""

from __future__ import annotations

import math

import numpy as np

from mechdesign.families.survey import design_bundles as bundles


def test_the_list_has_what_the_knapsack_finds():
    """Also with equal prices, of which the knapsack takes one, with prices of 0, and beyond the grid."""
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(200):
        count = int(rng.integers(1, 7))
        sizes = tuple(rng.integers(2, 7, count).tolist())
        prices = rng.choice([0.0, 1.0, 2.0, 3.7, *rng.random(2)], count)
        places = tuple(np.flatnonzero(prices > 0.0).tolist())
        if math.prod(sizes[place] for place in places) > 4096:
            continue
        compared += 1
        options = (
            float(rng.choice([0.1, 1.0, 4.0, 8.0])),
            int(rng.choice([50, 4000])),
            int(rng.choice([1, 3])),
        )
        listed = bundles._listed_peaks(sizes, places, prices, *options)
        knapsack = bundles._grid_peaks(sizes, places, prices, *options)
        assert listed == knapsack
        assert [list(sets) for sets in listed[1]] == [list(sets) for sets in knapsack[1]]
    assert compared > 150


def test_the_best_product_is_that_of_all():
    sizes, prices, epsilon = (3, 5, 2, 4), np.array([1.0, 3.0, 0.7, 2.0]), 2.0
    found, bound = bundles.best_bundles(sizes, prices, epsilon, 400_000)
    choices = np.stack(np.meshgrid(*[range(size) for size in sizes], indexing="ij"), -1).reshape(-1, 4)
    every = [{place: size for place, size in enumerate(row) if size} for row in choices.tolist()]
    best = max(bundles.bundle_price(sizes, prices, epsilon, sets) for sets in every if sets)
    assert found[0].price == best
    assert best <= bound <= best * (1.0 + 1e-4)
