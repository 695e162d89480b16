"""Ordered questions of a survey that are asked for their cumulative shares: the kind ``ordered``."""

from __future__ import annotations

import math
from typing import ClassVar

from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.prefix import best_prefix_channel, error_slope, prefix_ladder
from mechdesign.families.workload.release import WorkloadRelease
from mechdesign.primitives.combine import QuestionForm, QuestionKind


class OrderedKind(QuestionKind):
    """The channel of patterns with the least error of the cumulative shares, solved for its epsilon.

    Examples
    --------
    >>> kind = OrderedKind()
    >>> round(kind.variance(5, 1.0), 3), kind.slope(5, 1.0) < 0.0, kind.variance(5, 0.0)
    (9.645, True, inf)
    """

    question_kind: ClassVar[str] = "ordered"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> WorkloadRelease | None:
        return best_prefix_channel(form.sizes[0], epsilon, min(epsilon, promised))

    def variance(self, size: int, epsilon: float) -> float:
        """Return the variance of one report, summed over the cumulative shares, at even answers.

        Infinite where no channel is known.
        """
        known = prefix_ladder()
        if not known.has(size, epsilon):
            return math.inf
        place = known.below(epsilon)
        if float(known.epsilons[place]) == epsilon:
            return known.error(size, place)
        channel = best_prefix_channel(size, epsilon)
        return math.inf if channel is None else channel.average_error

    def slope(self, size: int, epsilon: float) -> float:
        return error_slope(size, epsilon)

    def solved(self, size: int) -> tuple[Array, Array]:
        known = prefix_ladder()
        if not known.has(size, float(known.epsilons[0])):
            return super().solved(size)
        return known.epsilons, known.errors[size - int(known.sizes[0])]
