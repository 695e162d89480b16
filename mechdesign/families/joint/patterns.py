"""The server of one-hot reports: how many users sent each pattern of bits, mergeable in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.counts import require_users
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError
from mechdesign.exact.draw.packed import Packed, as_texts, read_sets, width
from mechdesign.exact.numbers import plain
from mechdesign.families.joint.estimate import JointEstimate
from mechdesign.families.joint.layout import grouped

if TYPE_CHECKING:
    from mechdesign.families.joint.response import JointResponse

Codes = NDArray[np.int64]

PIECES = 32
"""Blocks of reports that are kept apart before they are counted together."""


class PatternCounts(Server["JointResponse"]):
    """Counts of patterns: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 3], 4.0, redraw=0.2, keep=0.75, add=0.25)
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2]] * 30, rng=1)); there.update(["x88", "x88"])
    >>> here.merge(there); here.users
    32
    """

    def __init__(self, mechanism: JointResponse) -> None:
        super().__init__(mechanism)
        self.users = 0
        self._parts: list[tuple[Packed, Codes]] = []

    def _count(self, reports: Any) -> None:
        """Count reports; nothing is counted when one of them is impossible."""
        packed = read_sets(reports, self.mechanism.bits)
        self._add(*grouped(packed, np.ones(len(packed), dtype=np.int64)))

    def _add(self, patterns: Packed, counts: Codes) -> None:
        users = self.users + int(counts.sum())
        require_users(users)
        if len(counts):
            self._parts.append((patterns, counts))
        self.users = users
        if len(self._parts) > PIECES:
            self._parts = [self.patterns()]

    def patterns(self) -> tuple[Packed, Codes]:
        """Return the different patterns as packed bits, and how many users sent each."""
        if not self._parts:
            return np.zeros((0, width(self.mechanism.bits)), dtype=np.uint8), np.zeros(0, dtype=np.int64)
        if len(self._parts) > 1:
            rows, counts = zip(*self._parts, strict=True)
            self._parts = [grouped(np.concatenate(rows), np.concatenate(counts))]
        return self._parts[0]

    def _merge(self, other: Self) -> None:
        self._add(*other.patterns())

    def estimate(self, population: bool = False, **options: Any) -> JointEstimate:
        """Return the estimate from all counted reports; ``options`` are its estimator, penalty, reference."""
        self.require_some()
        return JointEstimate(self.mechanism, *self.patterns(), population, **options)

    def _written(self) -> dict[str, Any]:
        patterns, counts = self.patterns()
        return {
            "patterns": as_texts(patterns).tolist(),
            "counts": counts.tolist(),
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        texts, given = document.get("patterns"), document.get("counts")
        if not isinstance(texts, list) or not isinstance(given, list) or len(texts) != len(given):
            raise DataError("aggregator", "the counts are damaged: not one for each pattern", "count again")
        counts = [plain(count) for count in given]
        whole = [count for count in counts if isinstance(count, int) and 0 < count < 1 << 62]
        if len(whole) < len(counts):
            raise DataError("aggregator", "the counts are damaged: not integers above 0", "count again")
        require_users(sum(whole))
        packed = read_sets(np.array(texts, dtype=object), self.mechanism.bits)
        self._add(*grouped(packed, np.array(whole, dtype=np.int64)))
