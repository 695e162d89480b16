"""The ways to a margin: what could be dropped, how many people, which epsilon.

**To reach a margin** with all results: as many people as the least exact result takes; the least epsilon, by
a secant in logarithms, as the errors fall when epsilon rises; or fewer results. The sets to be dropped are
tried by their size, all sets of a size before the next one, so that the first ones that reach the margin are
the smallest. Drafts that differ in names alone are solved once. Where the time does not suffice, one result
after the other is dropped, those first that help most alone: then a smaller set was not ruled out.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from mechdesign.core.errors import MechDesignError
from mechdesign.serve.draft import HEAD, QUESTIONS, Document
from mechdesign.serve.planning import (
    JOINT,
    SurveyPlan,
    plan_of,
    plan_with,
    result_places,
    smallest_epsilon,
    with_stated_numbers,
    without,
)

SEARCH_SECONDS = 6.0
"""How long sets of results to be dropped are tried one by one."""

MOST_SETS = 6
"""Sets of one size that are listed."""


@dataclass(frozen=True)
class Drop:
    """What happens when some results are dropped.

    Attributes
    ----------
    places : tuple of str
        The questions and joint results that are dropped.
    points : float
        The largest margin of the rest, in points.
    reaches : bool
        Whether it is as small as requested.
    """

    places: tuple[str, ...]
    points: float
    reaches: bool


@dataclass(frozen=True)
class Ways:
    """The ways to a margin.

    Attributes
    ----------
    points : float
        The margin, in points.
    now : float
        The largest margin as it is.
    singles : tuple of Drop
        Each result dropped alone, those that help most first.
    sets : tuple of Drop
        The smallest sets that reach the margin, as far as they were found.
    is_smallest : bool
        Whether no smaller set reaches it: all were tried.
    people : int or None
        How many people reach it with all results.
    epsilon : float or None
        The epsilon that reaches it with all results, to 1%; None where none up to 50 does.
    """

    points: float
    now: float
    singles: tuple[Drop, ...]
    sets: tuple[Drop, ...]
    is_smallest: bool
    people: int | None
    epsilon: float | None

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return asdict(self)


def ways_to(document: Mapping[str, Any], points: float, seconds: float = SEARCH_SECONDS) -> Ways:
    """Return what takes the margins of all results to some points: dropping, people, or epsilon.

    Parameters
    ----------
    document : mapping
        A draft that can be built.
    points : float
        > 0.
    seconds : float
        For how long sets are tried one by one.

    Examples
    --------
    >>> questions = [{"name": name, "labels": ["no", "yes"]} for name in "abc"]
    >>> ways = ways_to({"survey": {"title": "T", "epsilon": 2.0, "users": 1000}, "questions": questions}, 6.0)
    >>> round(ways.now, 2), [drop.places for drop in ways.sets], ways.people, ways.epsilon
    (6.17, [('questions.0',), ('questions.1',), ('questions.2',)], 1059, 2.072)
    """
    plain = with_stated_numbers(document)
    search = _DropSearch(plain, points)
    plan = plan_of(plain)
    singles = sorted(
        (search.drop((place,)) for place in search.places if search.has_rest((place,))),
        key=lambda drop: drop.points,
    )
    sets: tuple[Drop, ...] = ()
    is_smallest = True
    if plan.least_exact > points:
        sets, is_smallest = search.smallest(singles, time.monotonic() + seconds)
    people, epsilon = _people_for(plain, plan, points), _epsilon_for(plain, plan, points)
    return Ways(points, plan.least_exact, tuple(singles), sets, is_smallest, people, epsilon)


class _DropSearch:
    """The sets of results of a draft that may be dropped, and the largest margin that each leaves."""

    def __init__(self, document: Document, points: float) -> None:
        self.document, self.points = document, points
        self.places = tuple(dict.fromkeys(result_places(document)))
        self.margins: dict[str, float] = {}

    def has_rest(self, places: Sequence[str]) -> bool:
        """Whether a question is left."""
        return sum(place.startswith(QUESTIONS) for place in places) < len(self.document[QUESTIONS])

    def drop(self, places: tuple[str, ...]) -> Drop:
        """Return what dropping some of them leaves."""
        rest = without(self.document, places)
        content = _content(rest)
        if content not in self.margins:
            try:
                self.margins[content] = plan_of(rest).least_exact
            except MechDesignError:
                self.margins[content] = math.inf
        margin = self.margins[content]
        return Drop(places, margin, margin <= self.points)

    def smallest(self, singles: Sequence[Drop], end: float) -> tuple[tuple[Drop, ...], bool]:
        """Return the smallest sets that reach the margin, and whether smaller ones were ruled out."""
        order = [drop.places[0] for drop in singles]  # those that help most alone come first
        for size in range(1, len(order) + 1):
            reached: list[Drop] = []
            for places in combinations(order, size):
                if time.monotonic() > end and size > 1:
                    return (tuple(reached), True) if reached else (self._one_by_one(order), False)
                if self.has_rest(places):
                    drop = self.drop(places)
                    reached += [drop] if drop.reaches else []
                if len(reached) == MOST_SETS:
                    break
            if reached:
                return tuple(reached), True
        return (), True

    def _one_by_one(self, order: Sequence[str]) -> tuple[Drop, ...]:
        """Return the set that grows, by those that help most alone first, until the margin is reached."""
        chosen: tuple[str, ...] = ()
        for place in order:
            if not self.has_rest((*chosen, place)):
                continue
            chosen = (*chosen, place)
            drop = self.drop(chosen)
            if drop.reaches:
                return (drop,)
        return ()


def _content(document: Mapping[str, Any]) -> str:
    """Return what the largest margin of a draft depends on: names only where joint results use them."""
    has_joint = any(document[HEAD].get(key) for key in JOINT)
    left_out = ("text", "hint", "ends") if has_joint else ("name", "text", "hint", "ends")
    rows = [
        json.dumps({key: value for key, value in item.items() if key not in left_out}, sort_keys=True)
        for item in document[QUESTIONS]
    ]
    joint = {key: document[HEAD].get(key) for key in JOINT}
    return json.dumps([sorted(rows), joint], sort_keys=True)


def _people_for(document: Mapping[str, Any], plan: SurveyPlan, points: float) -> int | None:
    """Return how many people take all margins to some points; None where none do."""
    if not math.isfinite(plan.least_exact):
        return None
    return _least(
        lambda users: _reaches(plan_with(document, users=users), points),
        max(1, math.floor(0.9 * plan.users * (plan.least_exact / points) ** 2)),
    )


def _least(enough: Callable[[int], bool], start: int) -> int | None:
    """Return the least number that is enough, from a guess on; None beyond what can be planned for."""
    high = start
    while not enough(high):
        high = high + max(1, high // 8)
        if high > 10**11:
            return None
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _epsilon_for(document: Mapping[str, Any], plan: SurveyPlan, points: float) -> float | None:
    """Return the epsilon that takes all margins to some points, to 1%; None where none up to 50 does."""

    def ratio(epsilon: float) -> float:
        tried = plan_with(document, epsilon=epsilon)
        return math.inf if tried is None else tried.least_exact / points

    return smallest_epsilon(ratio, plan.epsilon, 0.01)


def _reaches(plan: SurveyPlan | None, points: float) -> bool:
    return plan is not None and plan.least_exact <= points
