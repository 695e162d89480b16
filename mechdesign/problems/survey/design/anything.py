"""What no mechanism of this epsilon can beat, however its reports look: the bounds of ``survey-limit``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.problems.survey.design.setting import SurveySetting
from mechdesign.problems.survey.limit.effects import effects_of
from mechdesign.problems.survey.limit.product_sets import bounds_of
from mechdesign.problems.survey.limit.proofs import information_bound

Array = NDArray[np.float64]

MOST_PLACES = 8
"""Questions of a wanted table whose components are listed."""


def bound_for_any(setting: SurveySetting, information: Array | None = None) -> float | None:
    """Return a lower bound of the mean error of every epsilon-private mechanism at even answers.

    By the total information and, for questions alone, by the entropy of sets at the prices of a mixture. None
    where a number or group means are wanted: the bounds are for tables.

    Parameters
    ----------
    setting : SurveySetting
    information : (m,) array, optional
        What a report of a mixture tells of each target, for the bound by entropy, which takes a second;
        without it only the total information counts.

    Examples
    --------
    >>> from mechdesign.mechanisms.survey.questions import Question, Questions
    >>> from mechdesign.problems.survey.design.targets import targets_of
    >>> asked = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(asked, [{"name": "a"}, {"name": "b"}], [], [])
    >>> found = bound_for_any(SurveySetting(asked, targets, 1.0), np.array([0.2, 0.2]))
    >>> found >= 7.365376  # (2 sqrt(1/2))^2 / sinh(1/2)^2 ..., and one question a user has 9.3654
    True
    """
    targets = setting.targets
    if any(target.is_mean or target.wanted.number is not None for target in targets):
        return None
    if max(len(target.wanted.places) for target in targets) > MOST_PLACES:
        return None
    wanted: dict[tuple[int, ...], Fraction] = {}
    for target, weight in zip(targets, setting.each_weight.tolist(), strict=True):
        places = target.wanted.places
        wanted[places] = wanted.get(places, Fraction(0)) + Fraction(weight)
    effects = effects_of(setting.questions.sizes, wanted)
    if information is None:
        return information_bound(effects, setting.epsilon)
    shares = information * np.array([target.spread for target in targets])
    told = np.array([np.mean([shares[part[0]] for part in kind]) for kind in effects.members])
    return max(bounds_of(effects, setting.epsilon, told).values())
