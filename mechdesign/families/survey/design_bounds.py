"""What no mechanism of this epsilon can beat, however its reports look: the bounds of ``survey-limit``."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.survey.design_setting import SurveySetting
from mechdesign.families.survey.limit import Effects, effects_of
from mechdesign.families.survey.limit_bounds import (
    bound_from,
    entropy_bound,
    factors,
    information_bound,
    prices,
)
from mechdesign.families.survey.limit_methods import SetClasses, best, classes_of

Array = NDArray[np.float64]

MOST_PLACES = 8
"""Questions of a requested table whose components are listed."""


MOST_ANSWERS = 16
"""Answers in all up to which every set of them is gone through: a few tenths of a second."""

TOTAL, SETS, ENTROPY = "total information", "all sets of answers", "entropy of sets"
"""Where bounds come from: corollary 8, theorem 7 and corollary 10 of docs/families/survey_limit.md."""


def bounds_for_any(setting: SurveySetting, information: Array | None = None) -> dict[str, float]:
    """Return lower bounds of the mean error of every epsilon-private mechanism at even answers.

    The total information always bounds; all sets of answers where they are few, also with cross tables; the
    entropy of sets where only questions are requested. None where a number, group means or cumulative shares
    are wanted, or other than even answers are planned: the bounds are for tables at even answers.

    Parameters
    ----------
    setting : SurveySetting
    information : (m,) array, optional
        What a report of a mixture tells of each target, for the bound by entropy, which takes a second;
        without it that bound is left out.

    Returns
    -------
    dict
        Bounds by where they come from.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question, Questions
    >>> from mechdesign.families.survey.design_setting import targets_of
    >>> asked = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(asked, [{"name": "a"}, {"name": "b"}], [], [])
    >>> found = bounds_for_any(SurveySetting(asked, targets, 1.0), np.array([0.2, 0.2]))
    >>> {source: round(bound, 3) for source, bound in found.items()}  # one question a user has 9.3654
    {'total information': 7.365, 'all sets of answers': 9.365, 'entropy of sets': 7.949}
    """
    effects = _effects(setting)
    if effects is None:
        return {}
    result = {TOTAL: information_bound(effects, setting.epsilon)}
    if math.prod(effects.sizes) <= MOST_ANSWERS:
        result[SETS] = _all_sets(effects, setting.epsilon)
    if information is not None and effects.singles:
        shares = information * np.array([target.spread for target in setting.targets])
        told = np.array([np.mean([shares[part[0]] for part in kind]) for kind in effects.members])
        result[ENTROPY] = entropy_bound(effects, setting.epsilon, told)
    return result


def _effects(setting: SurveySetting) -> Effects | None:
    """Return the parts of the requested tables; None where the bounds do not hold or would be too many."""
    targets = setting.targets
    if any(target.is_mean or target.wanted.number is not None or not target.is_even for target in targets):
        return None
    if any(target.cumulative for target in targets):
        return None
    if max(len(target.wanted.places) for target in targets) > MOST_PLACES:
        return None
    wanted: dict[tuple[int, ...], Fraction] = {}
    for target, weight in zip(targets, setting.each_weight.tolist(), strict=True):
        places = target.wanted.places
        wanted[places] = wanted.get(places, Fraction(0)) + Fraction(weight)
    return effects_of(setting.questions.sizes, wanted)


@lru_cache(maxsize=8)
def _classes(effects: Effects) -> SetClasses:
    return classes_of(effects)


def _all_sets(effects: Effects, epsilon: float) -> float:
    """Return the bound of the best mixture of all sets of answers (theorem 7), proven in rationals."""
    classes = _classes(effects)
    table = classes.information(effects, epsilon)
    used, shares = best(effects, table)
    given = factors((1.0 / (shares @ table[used])).tolist())
    return bound_from(effects, given, classes.most(effects, epsilon, prices(effects, given)))
