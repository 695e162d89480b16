"""What one question tells at each epsilon of a grid, when it is answered alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.mechanisms.mean.discrete import least_variances
from mechdesign.mechanisms.survey.questions import Questions
from mechdesign.problems.survey.design.information import Ask, best_effective, effective, single
from mechdesign.problems.survey.design.targets import SurveyTarget

Array = NDArray[np.float64]

STEPS = 200
"""Parts of epsilon in which single answers take their budgets."""


@dataclass(frozen=True)
class Menu:
    """The information of one answer to each question, for each budget.

    Attributes
    ----------
    budgets : (G + 1,) array
        0 to epsilon in equal steps.
    told : (m, G + 1) array
        Of the target that is the question alone; never decreasing.
    used : (m, G + 1) int array
        The step at which it is attained.
    """

    budgets: Array
    told: Array
    used: NDArray[np.int64]

    def ask(self, questions: Questions, place: int, step: int) -> Ask:
        """Return the part that answers one question with this budget."""
        return single(questions, place, float(self.budgets[self.used[place, step]]))


def menu_of(
    questions: Questions, targets: Sequence[SurveyTarget], epsilon: float, steps: int = STEPS
) -> Menu:
    """Return the menu of all questions."""
    budgets = epsilon * np.arange(steps + 1) / steps
    budgets[-1] = epsilon
    rows: dict[tuple[int, float], Array] = {}
    noise: Array | None = None
    for question, target in zip(questions.all, targets, strict=False):
        key = (target.cells, target.spread)
        if key in rows:
            continue
        if question.is_mean:
            noise = least_variances(budgets[1:]) if noise is None else noise
            bit = np.array([float(effective(float(e), 2, 1)) for e in budgets[1:]])
            row = np.maximum(1.0 / (noise + target.spread), bit)
        else:
            row = np.array([best_effective(float(e), target.cells) for e in budgets[1:]]) / target.spread
        rows[key] = np.concatenate([[0.0], row])
    raw = np.array([rows[(target.cells, target.spread)] for target in targets[: len(questions)]])
    best = np.maximum.accumulate(raw, axis=1)
    places = np.where(raw >= best, np.arange(steps + 1), 0)
    return Menu(budgets, best, np.maximum.accumulate(places, axis=1))
