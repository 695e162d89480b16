"""Distinct (distance, weight, weight) triples: what exact integer comparisons are made on, once each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.numbers import doubles, wholes

Weights = NDArray[np.int64]
Floats = NDArray[np.float64]
Index = NDArray[np.int64]

BATCH = 1 << 20
"""Entries that are looked at together."""


def batches(count: int, width: int) -> Iterator[slice]:
    """Yield slices of ``count`` rows of this width; each slice has about BATCH entries."""
    size = max(1, BATCH // width)
    for start in range(0, count, size):
        yield slice(start, start + size)


def ranked(weights: Weights) -> tuple[Weights, Weights]:
    """Return the distinct weights, rising, and the number of every weight among them."""
    weights = wholes("channel", weights, 2)
    values, codes = np.unique(weights, return_inverse=True)
    return values, codes.reshape(weights.shape).astype(np.int64)


class Triples:
    """A growing set of (d(x, x'), w_xy, w_x'y).

    Weights and distances are numbered by rank; a triple is one integer as long as 63 bits hold it.

    Parameters
    ----------
    values, codes : int64 arrays
        Those of :func:`ranked`.
    """

    def __init__(self, values: Weights, codes: Weights) -> None:
        self.values, self.codes = wholes("values", values, 1), wholes("codes", codes, 2)
        self.parts: list[tuple[Floats, Index]] = []

    def add(self, separations: Floats, inputs: Index, others: Index, reports: Index) -> None:
        """Add the triples of these entries."""
        apart = doubles("distance", separations, 1)
        first, second, columns = (wholes("index", index, 1) for index in (inputs, others, reports))
        ratios = self.codes[first, columns] * len(self.values) + self.codes[second, columns]
        self.parts.append(_distinct(apart, ratios))

    def by_distance(self) -> Iterator[tuple[float, list[int], list[int]]]:
        """Yield every distance with the distinct pairs of weights at it, as two lists."""
        if not self.parts:
            return
        separations, ratios = _distinct(*(np.concatenate(side) for side in zip(*self.parts, strict=True)))
        highs = self.values[ratios // len(self.values)].tolist()
        lows = self.values[ratios % len(self.values)].tolist()
        starts = np.flatnonzero(np.diff(separations, prepend=-1.0))
        ends = [*starts[1:].tolist(), len(separations)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            yield float(separations[start]), highs[start:end], lows[start:end]


def _distinct(separations: Floats, ratios: Index) -> tuple[Floats, Index]:
    """Return the distinct pairs, sorted by separation."""
    steps, ranks = np.unique(separations, return_inverse=True)
    most = int(ratios.max(initial=0)) + 1
    if most * len(steps) < 1 << 63:
        keys = np.unique(ranks * most + ratios)
        return steps[keys // most], keys % most
    order = np.lexsort((ratios, ranks))
    ranks, ratios = ranks[order], ratios[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(ranks) != 0) | (np.diff(ratios) != 0)
    return steps[ranks[new]], ratios[new]
