"""What no mechanism of this epsilon can beat, however its reports look (corollary 8 of the family)."""

from __future__ import annotations

import math
from itertools import combinations

from mechdesign.problems.survey.design.setting import SurveySetting

MOST_PLACES = 16
"""Questions of a wanted table whose components are listed."""


def bound_for_any(setting: SurveySetting) -> float | None:
    """Return a lower bound of the mean error of every epsilon-private mechanism at even answers.

    (sum_S sqrt(W_S dim_S))^2 / sinh(epsilon / 2)^2 over the components S of the wanted tables, and never less
    than the error of answers in clear. None where a number or group means are wanted: the bound is for
    tables.

    Examples
    --------
    >>> from mechdesign.mechanisms.survey.questions import Question, Questions
    >>> from mechdesign.problems.survey.design.targets import targets_of
    >>> asked = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(asked, [{"name": "a"}, {"name": "b"}], [], [])
    >>> round(bound_for_any(SurveySetting(asked, targets, 1.0)), 4)  # 4 (1/2) / sinh(1/2)^2 ...
    7.3654
    """
    if any(target.is_mean or target.wanted.number is not None for target in setting.targets):
        return None
    weights: dict[tuple[int, ...], float] = {}
    for target, weight in zip(setting.targets, setting.each_weight.tolist(), strict=True):
        places = target.wanted.places
        if len(places) > MOST_PLACES:
            return None
        for size in range(1, len(places) + 1):
            for component in combinations(places, size):
                weights[component] = weights.get(component, 0.0) + weight / target.cells
    total, clear = 0.0, 0.0
    for component, weight in weights.items():
        dimension = math.prod(setting.questions[place].size - 1 for place in component)
        total += dimension * math.sqrt(weight)
        clear += dimension * weight
    return max(total**2 / math.sinh(setting.epsilon / 2.0) ** 2, clear)
