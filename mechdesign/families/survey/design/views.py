"""Joint reports of whole tables: the candidates that a survey with cross tables or group means adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from mechdesign.families.survey.design.information import Ask
from mechdesign.families.survey.design.targets import SurveyTarget
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.wanted import MOST_CELLS

MOST_SETS = 4096
"""Sets of questions that are listed; with more only those that requested tables make up."""


def views_of(questions: Questions, targets: Sequence[SurveyTarget], epsilon: float) -> list[tuple[Ask, ...]]:
    """Return joint reports of whole tables: of all sets of questions, or of what requested tables make up.

    Each is a design of its own, by the best frequency oracle; where group means are wanted also by k-ary
    response, whose reports they need.
    """
    joint = [target.wanted.places for target in targets if len(target.wanted.places) > 1]
    if not joint:
        return []
    means = any(target.wanted.number is not None for target in targets)
    count = len(questions)
    if 2**count <= MOST_SETS:
        sets = {
            places
            for size in range(2, count + 1)
            for places in combinations(range(count), size)
            if _cells(questions, places) <= MOST_CELLS
        }
    else:
        sets = _unions(questions, joint)
    found: list[tuple[Ask, ...]] = []
    for places in sorted(sets):
        found.append((Ask("table", places, epsilon),))
        if means:
            found.append((Ask("cells", places, epsilon),))
    return found


def _unions(questions: Questions, joint: Sequence[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the wanted tables, with one more question, and unions of two, where they are not too large."""
    found = set(joint)
    found |= {tuple(sorted({*one, place})) for one in joint for place in range(len(questions))}
    found |= {tuple(sorted({*one, *other})) for one, other in combinations(joint, 2)}
    fitting = sorted(
        (places for places in found if _cells(questions, places) <= MOST_CELLS),
        key=lambda places: (places not in joint, _cells(questions, places)),
    )
    return set(fitting[: max(MOST_SETS, len(joint))])


def _cells(questions: Questions, places: Sequence[int]) -> int:
    return math.prod(questions[place].size for place in places)
