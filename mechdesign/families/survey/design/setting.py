"""The survey as its optimisation sees it: questions, targets, epsilon, and which questions are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design.information import Ask, told
from mechdesign.families.survey.design.menu import STEPS, Menu, menu_of
from mechdesign.families.survey.design.targets import SurveyTarget
from mechdesign.families.survey.questions import Questions

Array = NDArray[np.float64]


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
        found = np.zeros(len(self.targets))
        for price, group in zip(prices, self.groups, strict=True):
            found[list(group)] = price / len(group)
        return found
