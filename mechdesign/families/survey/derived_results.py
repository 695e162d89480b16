"""Results that follow from the shares of a table: row percentages, valid shares, means of ratings, quantiles.

All are means of a score in a group; their limits are those of :mod:`mechdesign.families.survey.group_scores`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import FrequencyEstimate, MeanEstimate
from mechdesign.collect.intervals import ScalarLimits, quantile_ends, tail_of
from mechdesign.collect.scores import few_users
from mechdesign.core.errors import counted
from mechdesign.data.tidy import Quantiles
from mechdesign.families.survey.group_scores import (
    CellScores,
    Groups,
    GroupScoreLimits,
    PossibleLimits,
    listed_groups,
    share_groups,
)
from mechdesign.families.survey.questions import Question
from mechdesign.families.survey.results import Axes

Array = NDArray[np.float64]

QUARTERS = (0.25, 0.5, 0.75)

MOST_CELLS = 1024
"""Cells of a cross table up to which its percentages of rows and columns are estimated."""

MOST_CATEGORIES = 1024
"""Categories of a question up to which shares of those who answered are estimated."""


def answered_shares(
    question: Question, parts: Sequence[CellScores], sample: int | None
) -> FrequencyEstimate | None:
    """Return the shares of those who answered; None where a question cannot be skipped."""
    if not question.skip or question.size > MOST_CATEGORIES:
        return None
    count = question.size - 1
    one = np.eye(count, question.size, dtype=bool)
    scores = listed_groups(question.size, one, np.arange(question.size) < count)
    return _shares(scores, parts, sample, question.categories[:count])


ANSWERED = "answered"


def response_shares(question: Question, parts: Sequence[CellScores]) -> FrequencyEstimate:
    """Return the shares of the population that answers a question, and that does not."""
    skips = np.arange(question.size) == question.size - 1
    groups = listed_groups(question.size, [~skips, skips], np.ones(question.size, dtype=bool))
    return _shares(groups, parts, None, (ANSWERED, question.categories[-1]))


def rating_mean(question: Question, parts: Sequence[CellScores], sample: int | None) -> MeanEstimate | None:
    """Return the mean of a rating among those who answered; None where the categories have no scores."""
    scores = question.category_scores
    if not scores:
        return None
    padded = [*scores, 0.0] if question.skip else list(scores)
    groups = listed_groups(question.size, [padded], np.arange(question.size) < len(scores))
    limits, value, notes = _estimated(groups, parts, sample, [question.name])
    reports = sum(part.users for part in parts)
    error = float(_errors(limits)[0])
    ends = min(scores), max(scores)
    return MeanEstimate(float(value[0]), error, reports, sample is None, ScalarLimits(limits), notes, ends)


def answered_quantiles(
    question: Question,
    parts: Sequence[CellScores],
    sample: int | None,
    levels: Sequence[float] = QUARTERS,
) -> Quantiles:
    """Return the categories of quantiles among those who answered, with intervals by inverted tests.

    The estimate is made increasing first; the intervals are those of :func:`quantile_ends`.
    """
    count = question.size - 1 - question.skip
    names = question.categories[: count + 1]
    below = np.tri(count, question.size, dtype=bool)
    groups = listed_groups(question.size, below, np.arange(question.size) <= count)
    limits, value, _ = _estimated(groups, parts, sample, names[:count])
    increasing = np.append(np.maximum.accumulate(value), np.inf)
    category = tuple(names[int(np.argmax(increasing >= level))] for level in levels)
    ends = [quantile_ends(value, limits, level, tail_of(0.95)) for level in levels]
    early, late = (tuple(names[place] for place in places) for places in zip(*ends, strict=True))
    return Quantiles(tuple(levels), category, early, late, question.skip)


def group_shares(
    axes: Axes, questions: Sequence[Question], parts: Sequence[CellScores], sample: int | None, axis: int
) -> FrequencyEstimate | None:
    """Return the shares of the categories of one question within each combination of the others.

    Those who did not answer one of the questions are left out.

    Parameters
    ----------
    axes : sequence
        The questions of the table with their categories.
    questions : sequence of Question
        The same questions.
    parts : sequence of CellScores
    sample : int or None
    axis : int
        The place of the question whose shares are estimated.
    """
    shape = tuple(len(names) for _, names in axes)
    if math.prod(shape) > MOST_CELLS:
        return None
    codes = np.indices(shape).reshape(len(shape), -1)
    answered = np.ones(codes.shape[1], dtype=bool)
    for code, question in zip(codes, questions, strict=True):
        answered &= code < question.size - question.skip
    cells = np.flatnonzero(answered)
    others = [place for place in range(len(shape)) if place != axis]
    same = (codes[others][:, cells, None] == codes[others][:, None, :]).all(axis=0)
    groups = share_groups(np.eye(codes.shape[1], dtype=bool)[cells], same & answered)
    labels = [
        (", ".join(axes[place][1][codes[place, cell]] for place in others), axes[axis][1][codes[axis, cell]])
        for cell in cells
    ]
    order = sorted(
        range(len(cells)), key=lambda number: tuple(codes[[*others, axis], cells[number]].tolist())
    )
    names = tuple(f"of {labels[number][0]}: {labels[number][1]}" for number in order)
    return _shares(groups.at(np.array(order)), parts, sample, names)


def group_names(axes: Axes, questions: Sequence[Question], axis: int) -> tuple[list[str], list[str]]:
    """Return the names of the groups and of the categories of :func:`group_shares`, in their order."""
    lists = [
        names[: question.size - question.skip] for (_, names), question in zip(axes, questions, strict=True)
    ]
    others = [names for place, names in enumerate(lists) if place != axis]
    return [", ".join(labels) for labels in product(*others)], list(lists[axis])


def _shares(
    groups: Groups, parts: Sequence[CellScores], sample: int | None, names: Sequence[str]
) -> FrequencyEstimate:
    limits, value, notes = _estimated(groups, parts, sample, names)
    users = sum(part.users for part in parts)
    errors = _errors(limits)
    return FrequencyEstimate(value, errors, users, tuple(names), sample is None, None, limits, notes)


def _estimated(
    groups: Groups, parts: Sequence[CellScores], sample: int | None, names: Sequence[str]
) -> tuple[PossibleLimits, Array, tuple[str, ...]]:
    """Return the limits, the estimates, and notes about groups that are too small."""
    limits = GroupScoreLimits(groups, parts, sample)
    large = limits.is_large
    low, high = groups.ends
    value: Array = np.where(large, limits.value, (low + high) / 2.0)
    notes = few_users(sum(part.users for part in parts))
    if not large.all():
        small = [names[place] for place in np.flatnonzero(~large).tolist()]
        listed = ", ".join(f"'{name}'" for name in small[:3]) + (", ..." if len(small) > 3 else "")
        what = f"too few users for {counted(len(small), 'percentage')}" if len(names) > 1 else "too few users"
        notes += (f"{what} ({listed}): the interval is all that is possible",)
    return PossibleLimits(limits, value), value, notes


def _errors(limits: PossibleLimits) -> Array:
    """Return standard errors; half of what is possible for groups that are too small."""
    low, high = limits.limits.groups.ends
    errors: Array = np.where(limits.limits.is_large, limits.limits.standard_error(), (high - low) / 2.0)
    return errors
