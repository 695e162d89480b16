"""What epsilon and wanted errors are worth in a survey, from the prices that prove the bound.

**Statement.** Let designs c have the shares q_c and tell z_cj(eps) of result j, I_j = sum_c q_c z_cj. With
the shares, the parts of epsilon that each design takes, and the dual numbers p_j kept, the value moves with
epsilon as

    goal "mean":   V = sum_j w_j / I_j           goal "users":   V = 1 / sum_j p_j I_j,   sum_j p_j I_j = 1/V,

and for goal "worst" as the root of the users that are needed over the planned ones.

*Proof sketch.* The shares are the variables of a convex program whose set does not depend on epsilon, and
the budgets of a design are a maximum of its price p.z over the divisions of epsilon. At the optimum a small
change of either moves the value by nothing (envelope theorem), so budgets that stay in proportion give the
derivative. For "users" the least of I_j / n_j is maximised; p_j are the multipliers of I_j >= t n_j, and t
is stationary.

What a single question tells is a formula, or the variance of a solved channel: its derivative comes from
the multipliers of that channel. Beside others a number or an ordered question takes its channel from a
ladder of epsilons. The jumps from rung to rung are left out: the channel moves along as if it were solved
at its budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.problem import Problem
from mechdesign.core.sensitivity import Binding
from mechdesign.families.mean.optimal_channel import variance_slope
from mechdesign.families.survey.design import SurveyDesign
from mechdesign.families.survey.design_mixtures import Column
from mechdesign.families.survey.design_setting import Ask, SurveySetting, noise, ordered_noise, told
from mechdesign.families.workload.prefix import error_slope

Array = NDArray[np.float64]

STEP = 1e-4
"""By what part epsilon is moved for the users needed, where the least epsilon is wanted."""


@dataclass(frozen=True, eq=False)
class SurveyPrices:
    """The designs of a solution with their shares, and the dual numbers of the information.

    Parameters
    ----------
    problem : SurveyDesign
    setting : SurveySetting
        At the epsilon of the designs.
    columns : sequence of tuple of Ask
    shares : (C,) array
    prices : (m,) array
        p, of each result.
    """

    problem: SurveyDesign
    setting: SurveySetting
    columns: Sequence[Column]
    shares: Array
    prices: Array

    def lagrangian(self, problem: Problem[Any]) -> float | None:
        """Return the value with the same shares and dual numbers at another epsilon; None for other goals."""
        assert isinstance(problem, SurveyDesign)
        if problem.targets != self.problem.targets or problem.goal != self.problem.goal:
            return None
        if problem.goal == "epsilon":
            return self.setting.epsilon  # the largest that may be does not bind
        if problem.goal == "mean":
            return float((self.setting.each_weight / self._information(problem.epsilon)).sum())
        needed = self._needed(problem.epsilon)
        return needed if problem.goal == "users" else math.sqrt(needed / problem.users)

    def binding(self) -> Sequence[Binding]:
        """Return the prices of the requested standard errors that bind."""
        goal = self.problem.goal
        if goal == "mean":
            return []
        epsilon, users = self.setting.epsilon, self._needed(self.setting.epsilon)
        worth = 2.0 * users  # per part by which an error is relaxed
        if goal == "worst":
            worth = math.sqrt(users / self.problem.users)
        elif goal == "epsilon":
            step = STEP * epsilon
            worth /= (self._needed(epsilon - step) - self._needed(epsilon + step)) / (2.0 * step)
        parts = self.prices * self.setting.each_needed
        parts = parts / parts.sum()
        return [
            Binding(f"error of {target.name}", worth * float(part) / target.error, 1, "standard error")
            for target, part in zip(self.problem.targets, parts, strict=True)
            if target.error is not None
        ]

    def _needed(self, epsilon: float) -> float:
        return 1.0 / float(self.prices @ self._information(epsilon))

    def _information(self, epsilon: float) -> Array:
        """Return a report's information on each target, budgets in the same proportion of another epsilon."""
        factor = epsilon / self.setting.epsilon
        asks = list(dict.fromkeys(ask for column in self.columns for ask in column))
        each = {ask: self._told(ask, factor) for ask in asks}
        result: Array = self.shares @ np.array([sum(each[ask] for ask in column) for column in self.columns])
        return result

    def _told(self, ask: Ask, factor: float) -> Array:
        """Return the information of a part on each target with a multiple of its epsilon."""
        questions, targets = self.setting.questions, self.setting.targets
        if ask.kind not in ("number", "ordered"):
            return told(questions, targets, [replace(ask, epsilon=factor * ask.epsilon)])
        if ask.kind == "number":
            variance, slope = noise("number", ask.epsilon), variance_slope(ask.epsilon)
        else:
            size = questions[ask.places[0]].size
            variance, slope = ordered_noise(size, ask.epsilon), error_slope(size, ask.epsilon)
        moved = variance + slope * (factor - 1.0) * ask.epsilon
        own = [target.wanted.places == ask.places for target in targets]
        spread = np.array([target.spread for target in targets])
        return np.where(own, 1.0 / (moved + spread), 0.0)
