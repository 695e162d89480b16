"""Drawing the reports of a k-ary response, in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mechdesign.collect.labels import Codes
from mechdesign.exact.randomness import BitSource

if TYPE_CHECKING:
    from mechdesign.collect.kary import KaryResponse

BLOCK = 1 << 14
"""Reports that are drawn at a time: they stay in the processor's cache."""


def draw_reports(mechanism: KaryResponse, codes: Codes, source: BitSource) -> Codes:
    """Return the number of a report for the number of each answer; one integer of the source each."""
    reports = np.empty(len(codes), dtype=np.int64)
    draw = _among_all if mechanism._kept_in_order and mechanism.weights.low else _among_kept
    for start in range(0, len(codes), BLOCK):
        part = codes[start : start + BLOCK]
        reports[start : start + BLOCK] = draw(mechanism, part, source.integers(len(part)))
    return reports


def _among_all(mechanism: KaryResponse, codes: Codes, drawn: Codes) -> Codes:
    """Return reports where every answer is kept: the answer itself below the end of its weights."""
    weights = mechanism.weights
    beyond = drawn - (weights.own + weights.high - weights.low)
    others = (beyond.view(np.uint64) // np.uint64(weights.low)).view(np.int64)
    kept = beyond >> 63  # all bits where the answer is kept, none elsewhere: a choice without branches
    reports = codes ^ others
    reports &= kept
    reports ^= others
    return reports


def _among_kept(mechanism: KaryResponse, codes: Codes, drawn: Codes) -> Codes:
    """Return reports where some answers are kept, or none has a weight of its own."""
    weights, kept = mechanism.weights, mechanism.kept
    end = weights.own + weights.high - weights.low
    delegates = np.where(mechanism.is_kept[codes], codes, kept[0])
    others = kept[np.maximum(drawn - end, 0) // weights.low] if weights.low else delegates
    reports: Codes = np.where(drawn < weights.own, codes, np.where(drawn < end, delegates, others))
    return reports
