"""What is drawn is what is audited: of all 2**62 integers as many lead to a report as its weight says."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.collect.base import mechanism_types
from mechdesign.collect.collector import Collector
from mechdesign.collect.kernel import Kernel, Rows
from mechdesign.exact.randomness import TOTAL
from mechdesign.primitives.kary import KaryRows
from tests.meta.test_shown import MECHANISMS

GRID = 1 << 12
"""Integers at which a kernel is asked first; where neighbours have different reports the end is searched."""

KINDS = [kind for kind in sorted(MECHANISMS) if issubclass(mechanism_types()[kind], Collector)]


def measured(kernel: Kernel, code: int) -> np.ndarray:
    """Return how many of the integers lead to each report, found by halving alone."""

    def report_of(uniform: np.ndarray) -> np.ndarray:
        return kernel.draw(np.full(len(uniform), code), uniform)

    points = np.unique(np.append(np.arange(GRID, dtype=np.int64) * (TOTAL // GRID), TOTAL - 1))
    reports = report_of(points)
    changes = np.flatnonzero(reports[1:] != reports[:-1])
    low, high, first = points[changes], points[changes + 1], reports[changes]
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        same = report_of(middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    starts = np.concatenate([[0], high])
    lengths = np.diff(np.append(starts, TOTAL))
    weights = np.zeros(kernel.reports, dtype=np.int64)
    np.add.at(weights, report_of(starts), lengths)
    return weights


def check(kernel: Kernel, code: int) -> None:
    weights, row = measured(kernel, code), kernel.row(code)
    assert sum(row.tolist()) == TOTAL
    assert weights.tolist() == row.tolist()
    assert not row[~kernel.possible].any()


def test_the_types_with_a_kernel_are_known():
    assert KINDS == ["event-counts", "finite-channel", "kary-response", "linear-queries"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_of_a_mechanism_draws_its_own_weights(kind):
    mechanism = MECHANISMS[kind][0]()
    for code in range(mechanism.labels.size):
        check(mechanism.kernel, code)
    assert {mechanism.kernel.reports} == {mechanism.counters}


@pytest.mark.parametrize("own", [0, TOTAL // 8])
@pytest.mark.parametrize("likely", [[0, 1, 2, 3], [2, 0], [3]])
def test_the_rows_of_a_k_ary_response(own, likely):
    from mechdesign.primitives.kary import KaryWeights

    low = (TOTAL - own) // (len(likely) + 4)
    weights = KaryWeights(4, len(likely), own, TOTAL - own - (len(likely) - 1) * low, low)
    for code in range(4):
        check(KaryRows(weights, np.array(likely)), code)


def test_a_kernel_that_draws_other_weights_is_seen():
    class Shifted(Rows):
        def draw(self, codes, uniform):
            return super().draw(codes, np.minimum(uniform + 1, TOTAL - 1))

    rows = np.array([[TOTAL // 4, TOTAL - TOTAL // 4]])
    check(Rows(rows), 0)
    assert measured(Shifted(rows), 0).tolist() == [TOTAL // 4 - 1, TOTAL - TOTAL // 4 + 1]
