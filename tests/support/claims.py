"""Claims next to a given one: the same with a wrong value, and the same with the right one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from mechdesign.core.values import changed
from mechdesign.papers.claims import Claim
from mechdesign.papers.claims.claim import PLACES
from mechdesign.papers.claims.judge import Series, judge

MOST_ENTRIES = 6
"""Number of entries of a large list that are moved, one at a time, spread over it."""


def assert_can_fail(claim: Claim, found: Any) -> None:
    """See to it that the found value holds, one within the tolerance too, and one beyond it is refuted."""
    assert judge(claim, found) in ("holds", "refuted")
    if isinstance(found, Series):
        _assert_trend_can_fail(claim, found)
        return
    right = np.asarray(found).tolist()
    assert judge(changed(claim, value=right), found) == "holds", "the found value in place of the stated one"
    for wrong in _beyond(claim, right):
        assert judge(changed(claim, value=wrong), found) == "refuted", wrong
    for near in _within(claim, right):
        assert judge(changed(claim, value=near), found) == "holds", near


def _assert_trend_can_fail(claim: Claim, found: Series) -> None:
    top = max(range(len(found.numbers)), key=lambda number: found.numbers[number])
    place = changed(claim, relation="largest-at", value=found.points[top], tolerance=0.0)
    if found.numbers.count(found.numbers[top]) == 1:  # of equal largest ones none is the largest
        assert judge(place, found) == "holds", "the largest is where it was found"
        assert {judge(changed(place, value=point), found) for point in found.points} == {"holds", "refuted"}
    if claim.relation in PLACES:
        others = [judge(changed(claim, value=point), found) for point in found.points]
        assert others.count("holds") <= 1
        return
    verdict = judge(claim, found)
    mirrored = replace(found, numbers=tuple(-number for number in found.numbers))
    flat = replace(found, numbers=(1.0,) * len(found.numbers))
    if verdict == "holds":
        assert judge(claim, mirrored) == "refuted"
    if not claim.relation.startswith("non-"):
        assert judge(claim, flat) == "refuted"


def _beyond(claim: Claim, right: Any) -> Iterator[Any]:
    """Yield values that must be refuted: one entry moved just beyond the tolerance."""
    signs = {"<=": (-1.0,), ">=": (1.0,)}.get(claim.relation, (-1.0, 1.0))
    for place, entry in _places(right):
        if isinstance(entry, bool):
            yield _with(right, place, not entry)
        elif isinstance(entry, str):
            yield _with(right, place, "failed" if entry != "failed" else "optimal")
        elif math.isinf(entry):
            yield _with(right, place, 0.0)
        else:
            # |found - stated| > r |stated| wants a step of more than r |found| / (1 - r) away from zero.
            slack = claim.tolerance or claim.relative_tolerance * abs(entry) / (1 - claim.relative_tolerance)
            step = slack * (1 + 1e-6) + 4 * float(np.spacing(max(abs(entry), slack)))
            yield from (_with(right, place, entry + sign * step) for sign in signs)


def _within(claim: Claim, right: Any) -> Iterator[Any]:
    """Yield values that must hold: one entry moved by half the tolerance."""
    for (place, entry), sign in product(_places(right), (-1.0, 1.0)):
        if not isinstance(entry, (bool, str)) and math.isfinite(entry):
            slack = claim.tolerance or claim.relative_tolerance * abs(entry) / (1 + claim.relative_tolerance)
            yield _with(right, place, entry + sign * slack / 2)


def _places(value: Any) -> list[tuple[tuple[int, ...], Any]]:
    if not isinstance(value, list):
        return [((), value)]
    array = np.asarray(value, dtype=object)
    places = list(np.ndindex(array.shape))
    return [(place, array[place]) for place in places[:: max(1, len(places) // MOST_ENTRIES)]]


def _with(value: Any, place: tuple[int, ...], entry: Any) -> Any:
    if not place:
        return entry
    array = np.asarray(value, dtype=object)
    array[place] = entry
    return array.tolist()
