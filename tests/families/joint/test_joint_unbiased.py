"""Unbiased joint shares against all reports: means, variances of every cell, and their sum over cells."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.one_hot import BitNoise, attribute_bits, products, single_spreads

SIZES = ([2], [3], [2, 2], [2, 3])


def all_reports(mechanism: JointResponse, cell: tuple[int, ...]) -> tuple[np.ndarray, list[Fraction]]:
    """Return every report and its chance for a user in a cell, as fractions of the weights."""
    flip, keep, add = (Fraction(w, TOTAL) for w in (
        mechanism.weights.flip, mechanism.weights.keep, mechanism.weights.add
    ))  # fmt: skip
    rows, chances = list(product((0, 1), repeat=mechanism.bits)), []
    truth = [int(value == own) for size, own in zip(mechanism.attributes.sizes, cell, strict=True)
             for value in range(size)]  # fmt: skip
    for bits in rows:
        chance = Fraction(1)
        for true, bit in zip(truth, bits, strict=True):
            kept = 1 - flip if true else flip
            one = kept * keep + (1 - kept) * add
            chance *= one if bit else 1 - one
        chances.append(chance)
    return np.array(rows, dtype=np.uint8), chances


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_means_and_variances_are_those_of_all_reports(sizes):
    mechanism = JointResponse.of(sizes, 20.0, redraw=0.25, keep=0.75, add=0.125)
    own, other = (float(share) for share in mechanism.shares)
    cells, totals = list(product(*map(range, sizes))), []
    for place, cell in enumerate(cells):
        rows, chances = all_reports(mechanism, cell)
        weights = np.array([float(chance) for chance in chances])
        assert sum(chances) == 1
        scores = products(rows, attribute_bits(sizes, BitNoise(own, other)))
        mean = weights @ scores
        assert mean == pytest.approx(np.eye(len(cells))[place], abs=1e-12)
        assert scores.sum(axis=1) == pytest.approx(1.0)  # every report's products sum to one
        variances = weights @ scores**2 - mean**2
        totals.append(variances.sum())
        for target, found in zip(cells, variances, strict=True):
            expected, hit = 1.0, 1.0
            for size, mine, wanted in zip(sizes, cell, target, strict=True):
                inside, outside = single_spreads(*mechanism.spreads, size)
                expected *= inside + 1.0 if mine == wanted else outside
                hit *= mine == wanted
            assert found == pytest.approx(expected - hit, rel=1e-9)
    assert totals == pytest.approx([mechanism.joint_variance()] * len(cells), rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_sum_to_one_leaves_one_less_of_k_parts_of_the_variance(size):
    mechanism = JointResponse.of([size], 20.0, redraw=0.25, keep=0.75, add=0.125)
    plain = mechanism.spreads[0] + (size - 1) * mechanism.spreads[1]
    assert mechanism.joint_variance() == pytest.approx((1.0 - 1.0 / size) * plain, rel=1e-12)


def test_linked_means_sum_to_one_and_stay_unbiased():
    """Two reports of every user: the products of means, over all pairs of reports of one binary attribute."""
    mechanism = JointResponse.of([2], 20.0, redraw=0.25, keep=0.75, add=0.25, reports_per_user=2)
    flip, keep, add = (w / TOTAL for w in (
        mechanism.weights.flip, mechanism.weights.keep, mechanism.weights.add
    ))  # fmt: skip
    own, other = (float(share) for share in mechanism.shares)
    total = np.zeros(2)
    for kept in product((0, 1), repeat=2):
        start = math.prod(1.0 - flip if bit == true else flip for bit, true in zip(kept, (1, 0), strict=True))
        for ones in product((0, 1), repeat=4):
            chance = start
            for place, bit in enumerate(ones):
                share = keep if kept[place % 2] else add
                chance *= share if bit else 1.0 - share
            means = np.array([[ones[0] + ones[2], ones[1] + ones[3]]]) / 2.0
            total += chance * products(means, attribute_bits([2], BitNoise(own, other)))[0]
    assert total == pytest.approx([1.0, 0.0], abs=1e-12)
