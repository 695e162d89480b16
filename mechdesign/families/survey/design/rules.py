"""What is usual without optimisation: everything evenly, one question drawn at random, the rule by 2.5."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mechdesign.families.survey.design.generation import Column
from mechdesign.families.survey.design.information import single
from mechdesign.families.survey.design.setting import SurveySetting


def asked_evenly(setting: SurveySetting, count: int) -> tuple[list[Column], list[float]]:
    """Return designs of ``count`` questions each that ask all questions equally often, with even budgets.

    Windows of neighboring questions, one after the other around the circle, each with the same share.
    """
    total = len(setting.questions)
    windows = total // math.gcd(total, count)
    columns = []
    for number in range(windows):
        places = sorted((number * count + step) % total for step in range(count))
        columns.append(tuple(single(setting.questions, place, setting.epsilon / count) for place in places))
    return columns, [1.0 / windows] * windows


def rule_count(setting: SurveySetting) -> int:
    """Return k = max(1, min(d, floor(epsilon / 2.5))) (Wang et al. 2019, section 4.2).

    Examples
    --------
    >>> [max(1, min(5, math.floor(epsilon / 2.5))) for epsilon in (1.0, 5.0, 8.0, 50.0)]
    [1, 2, 3, 5]
    """
    return max(1, min(len(setting.questions), math.floor(setting.epsilon / 2.5)))


def every_question(setting: SurveySetting) -> int:
    """Return the number of questions."""
    return len(setting.questions)


def single_question(setting: SurveySetting) -> int:
    """Return one."""
    return 1


RULES: Sequence[tuple[str, Callable[[SurveySetting], int], str]] = (
    ("even", every_question, "every question of every user, with epsilon divided evenly"),
    ("sampled", single_question, "one question of each user, drawn evenly, with all of epsilon"),
    ("rule", rule_count, "max(1, min(d, floor(epsilon / 2.5))) questions of each user (Wang et al. 2019)"),
)
