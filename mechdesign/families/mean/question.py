"""Numbers as questions of a survey that are asked for their mean: the kinds ``number`` and ``piecewise``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mechdesign.collect.codec import Array
from mechdesign.families.mean.discrete import (
    DiscretePiecewise,
    best_shape,
    least_variances,
    worst_variances,
)
from mechdesign.families.mean.grid import GridMean
from mechdesign.families.mean.optimal_channel import (
    best_channel,
    ladder,
    variance_slope,
    worst_variance_of,
)
from mechdesign.primitives.combine import QuestionForm, QuestionKind


class NumberKind(QuestionKind):
    """The channel with the least worst variance, solved for its epsilon.

    Examples
    --------
    >>> kind = NumberKind()
    >>> round(kind.variance(2, 1.0), 3), round(kind.slope(2, 1.0), 1)
    (3.992, -8.1)
    """

    question_kind: ClassVar[str] = "number"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> GridMean | None:
        assert form.domain is not None
        return best_channel(epsilon, form.domain.low, form.domain.high, min(epsilon, promised))

    def variance(self, size: int, epsilon: float) -> float:
        return worst_variance_of(epsilon)

    def slope(self, size: int, epsilon: float) -> float:
        return variance_slope(epsilon)

    def solved(self, size: int) -> tuple[Array, Array]:
        return ladder().epsilons, ladder().variances


class PiecewiseKind(QuestionKind):
    """The best piecewise mechanism on a grid.

    Examples
    --------
    >>> round(PiecewiseKind().variance(2, 1.0), 3)
    4.683
    """

    question_kind: ClassVar[str] = "piecewise"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> GridMean:
        assert form.domain is not None
        return DiscretePiecewise(promised, form.domain.low, form.domain.high)

    def variance(self, size: int, epsilon: float) -> float:
        return best_shape(epsilon)[0]

    def variances(self, size: int, epsilons: Array) -> Array:
        """Return the variances outside the ladder of solved channels; infinite on it.

        Below the ladder the best mechanism has two cells (its least epsilon is tested).
        """
        rungs = ladder().epsilons
        result = np.full(len(epsilons), np.inf)
        small, large = (epsilons > 0.0) & (epsilons < rungs[0]), epsilons > rungs[-1]
        if small.any():
            result[small] = worst_variances(epsilons[small], 2)[0]
        if large.any():
            result[large] = least_variances(epsilons[large])
        return result
