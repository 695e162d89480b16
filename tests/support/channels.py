"""Random integer channels, dense copies of structured ones, and sources of chosen integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mechdesign.exact.randomness import TOTAL
from mechdesign.primitives.kary import KaryWeights

Weights = NDArray[np.int64]


@st.composite
def integer_rows(draw: st.DrawFn, reports: int) -> list[int]:
    """Draw one row of weights that sums to 2**62, with zeros, ones and ties among them."""
    special = st.sampled_from([0, 1, 2, TOTAL // 4, TOTAL // reports])
    parts = draw(
        st.lists(st.one_of(special, st.integers(0, TOTAL)), min_size=reports - 1, max_size=reports - 1)
    )
    row, left = [], TOTAL
    for part in parts:
        row.append(min(part, left))
        left -= row[-1]
    row.append(left)
    return draw(st.permutations(row))


@st.composite
def integer_channels(draw: st.DrawFn, most_inputs: int = 4, most_reports: int = 4) -> Weights:
    """Draw a channel of 62-bit weights; rows are often near each other, so that ratios are moderate."""
    inputs, reports = draw(st.integers(2, most_inputs)), draw(st.integers(1, most_reports))
    first = draw(integer_rows(reports))
    rows = [first]
    for _ in range(inputs - 1):
        row = list(draw(st.sampled_from(rows))) if draw(st.booleans()) else draw(integer_rows(reports))
        giver, taker = draw(st.integers(0, reports - 1)), draw(st.integers(0, reports - 1))
        moved = draw(st.sampled_from([0, 1, row[giver] // 2, row[giver] // 3, row[giver]]))
        moved = min(moved, row[giver])
        row[giver] -= moved
        row[taker] += moved
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def dense_weights(weights: KaryWeights, kept: Sequence[int]) -> Weights:
    """Return the whole integer matrix of a k-ary response, entry by entry from its definition."""
    matrix = np.zeros((weights.size, weights.size), dtype=np.int64)
    for answer in range(weights.size):
        delegate = answer if answer in kept else kept[0]
        for report in kept:
            matrix[answer, report] += weights.high if report == delegate else weights.low
        matrix[answer, answer] += weights.own
    return matrix


class ChosenIntegers:
    """A source of randomness that hands out the given integers, for tests of the search."""

    def __init__(self, values: Sequence[int]) -> None:
        self.values = list(values)

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return the next ``count`` of the chosen integers."""
        taken, self.values = self.values[:count], self.values[count:]
        return np.array(taken, dtype=np.int64)
