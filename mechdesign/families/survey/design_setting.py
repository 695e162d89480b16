"""The survey as its optimization sees it: questions, targets, epsilon, and which questions are alike.

Its menu is what one question tells at each epsilon of a grid, when it is answered alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.mean.discrete import least_variances, worst_variances
from mechdesign.families.mean.optimal_channel import ladder
from mechdesign.families.survey.design_information import (
    PLANNED,
    Ask,
    SurveyTarget,
    best_effective,
    effective,
    noise,
    ordered_noise,
    told,
)
from mechdesign.families.survey.questions import Questions
from mechdesign.families.workload.prefix import prefix_ladder

Array = NDArray[np.float64]

STEPS = 200
"""Parts of epsilon in which single answers take their budgets."""

NUMBER_KINDS = ("number", "piecewise", "cells")


@dataclass(frozen=True)
class Menu:
    """The information of one answer to each question, for each budget.

    A number takes the best channel with all of epsilon, or with the largest epsilon of the ladder of solved
    channels that its budget allows; outside the ladder the best piecewise mechanism, or a bit. In the same
    way a question that is wanted for its cumulative shares takes the best channel for these, or the best
    frequency oracle where that tells more.

    Attributes
    ----------
    budgets : (G + 1,) array
        0 to epsilon in equal steps.
    told : (m, G + 1) array
        Of the target that is the question alone; never decreasing.
    asks : tuple of tuple of Ask
        The parts that attain it: of each question, for each budget. Their places are not set.
    """

    budgets: Array
    told: Array
    asks: tuple[tuple[Ask, ...], ...]

    def ask(self, place: int, step: int) -> Ask:
        """Return the part that answers one question with this budget."""
        return replace(self.asks[place][step], places=(place,))


def menu_of(
    questions: Questions,
    targets: Sequence[SurveyTarget],
    epsilon: float,
    steps: int = STEPS,
    planned: bool = False,
) -> Menu:
    """Return the menu of all questions; ``planned`` as in the setting."""
    budgets = epsilon * np.arange(steps + 1) / steps
    budgets[-1] = epsilon
    rows: dict[tuple[int, float, bool], tuple[Array, tuple[Ask, ...]]] = {}
    keys = [(target.cells, target.spread, target.cumulative) for target in targets[: len(questions)]]
    for question, target, key in zip(questions.all, targets, keys, strict=False):
        if key not in rows:
            rows[key] = (
                _number_row(budgets, target, planned) if question.is_mean else _table_row(budgets, target)
            )
    return Menu(budgets, np.array([rows[key][0] for key in keys]), tuple(rows[key][1] for key in keys))


def _table_row(budgets: Array, target: SurveyTarget) -> tuple[Array, tuple[Ask, ...]]:
    told = np.array([target.of_share(best_effective(float(epsilon), target.cells)) for epsilon in budgets])
    asks = [Ask("table", (), float(epsilon)) for epsilon in budgets]
    if target.cumulative:
        at = _rungs(budgets, target.cells)
        ordered = np.array([1.0 / (ordered_noise(target.cells, epsilon) + target.spread) for epsilon in at])
        for step in np.flatnonzero(ordered > told).tolist():
            asks[step] = Ask("ordered", (), at[step])
        told = np.maximum(told, ordered)
    return _increasing(told, asks)


def _rungs(budgets: Array, size: int) -> list[float]:
    """Return the epsilons of the ladder of cumulative shares that budgets allow, and the last budget."""
    known = prefix_ladder()
    places = [known.below(float(epsilon)) for epsilon in budgets]
    last = float(budgets[-1])
    inside = known.has(size, float(known.epsilons[0]))
    return [float(known.epsilons[place]) if place >= 0 and inside else 0.0 for place in places[:-1]] + [last]


def _number_row(budgets: Array, target: SurveyTarget, planned: bool) -> tuple[Array, tuple[Ask, ...]]:
    """Return the best of the channels of the ladder, piecewise mechanisms on grids, and bits."""
    known = ladder()
    places = [known.below(float(epsilon)) for epsilon in budgets]
    at = [float(known.epsilons[place]) if place >= 0 else 0.0 for place in places]
    at[-1] = float(budgets[-1])
    inside = known.epsilons[0] <= at[-1] <= known.epsilons[-1]
    last = PLANNED if planned and inside else "number"
    channel = [noise("number", epsilon) for epsilon in at[:-1]] + [noise(last, at[-1])]
    piecewise = _piecewise(budgets, float(known.epsilons[0]), float(known.epsilons[-1]))
    bits = [float(effective(float(epsilon), 2, 1)) for epsilon in budgets]
    told = np.stack([1.0 / (np.array(channel) + target.spread), 1.0 / (piecewise + target.spread), bits])
    kinds = told.argmax(axis=0)
    asks = [
        Ask(NUMBER_KINDS[kind], (), at[step] if kind == 0 else float(budgets[step]))
        for step, kind in enumerate(kinds.tolist())
    ]
    if kinds[-1] == 0:
        asks[-1] = Ask(last, (), at[-1])
    return _increasing(told.max(axis=0), asks)


def _piecewise(budgets: Array, first: float, last: float) -> Array:
    """Return the variances of the best piecewise mechanisms outside the ladder; infinite on it.

    Below the ladder the best one has two cells (its least epsilon is tested).
    """
    result = np.full(len(budgets), np.inf)
    small, large = (budgets > 0.0) & (budgets < first), budgets > last
    if small.any():
        result[small] = worst_variances(budgets[small], 2)[0]
    if large.any():
        result[large] = least_variances(budgets[large])
    return result


def _increasing(told: Array, asks: Sequence[Ask]) -> tuple[Array, tuple[Ask, ...]]:
    """Return the same with parts of a smaller budget where they tell more."""
    best = np.maximum.accumulate(told)
    places = np.maximum.accumulate(np.where(told >= best, np.arange(len(told)), 0))
    return best, tuple(asks[place] for place in places.tolist())


@dataclass(frozen=True, eq=False)
class SurveySetting:
    """Questions and requests of a survey, under one epsilon.

    Attributes
    ----------
    questions : Questions
    targets : tuple of SurveyTarget
        First every question alone.
    epsilon : float
    by_errors : bool
        Whether wanted standard errors decide, not the mean error.
    planned : bool
        Whether a number that takes all of epsilon has about the variance of its channel, which is not solved.
    """

    questions: Questions
    targets: tuple[SurveyTarget, ...]
    epsilon: float
    by_errors: bool = False
    planned: bool = False

    @cached_property
    def menu(self) -> Menu:
        """Information of single answers at each budget."""
        return menu_of(self.questions, self.targets, self.epsilon, STEPS, self.planned)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Targets that are alike; with cross tables or group means each is a group of its own."""
        if len(self.targets) > len(self.questions):
            return tuple((place,) for place in range(len(self.targets)))
        found: dict[tuple[object, ...], list[int]] = {}
        for place, target in enumerate(self.targets):
            needed = None if target.error is None else target.unit / target.error**2
            key = (target.cells, target.spread, target.importance, needed, target.cumulative)
            found.setdefault(key, []).append(place)
        return tuple(tuple(members) for members in found.values())

    @cached_property
    def each_weight(self) -> Array:
        """The weight of each target: its importance over its variance in clear, all adding up to 1."""
        importance = np.array([target.importance for target in self.targets])
        spread = np.array([target.spread for target in self.targets])
        weights: Array = importance / importance.sum() / spread
        return weights

    @cached_property
    def weights(self) -> Array:
        """The weights of the groups."""
        return np.array([self.each_weight[list(group)].sum() for group in self.groups])

    @cached_property
    def each_needed(self) -> Array:
        """Total information that each target needs for its requested error; 0 where none is requested."""
        return np.array(
            [0.0 if target.error is None else target.unit / target.error**2 for target in self.targets]
        )

    @cached_property
    def needed(self) -> Array | None:
        """The same for the groups; None where the mean error decides."""
        if not self.by_errors:
            return None
        return np.array([self.each_needed[group[0]] for group in self.groups])

    def told(self, column: Sequence[Ask]) -> Array:
        """Return the information of one report of a design about each target."""
        return told(self.questions, self.targets, column)

    def grouped(self, column: Sequence[Ask]) -> Array:
        """Return the information of it and its rotations about each group: the mean over the members."""
        each = self.told(column)
        return np.array([each[list(group)].mean() for group in self.groups])

    def spread_over(self, prices: Array) -> Array:
        """Return the prices of the targets from those of the groups: an even part for each member."""
        result = np.zeros(len(self.targets))
        for price, group in zip(prices, self.groups, strict=True):
            result[list(group)] = price / len(group)
        return result
