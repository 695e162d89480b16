"""The part of a survey that reports one ordered question for its cumulative shares: a channel of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.estimate import project_to_simplex
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import BitSource
from mechdesign.families.survey.combined_estimates import Evidence
from mechdesign.families.survey.parts import Answers, Array, SurveyPart, places_of, whole_numbers
from mechdesign.families.survey.questions import Questions
from mechdesign.families.workload.named import prefix_rows
from mechdesign.families.workload.patterns import ChannelValue
from mechdesign.families.workload.release import WorkloadRelease

Cells = NDArray[np.bool_]


class OrderedPart(SurveyPart):
    """An ordered question, reported by the channel of patterns that is best for its cumulative shares.

    Parameters
    ----------
    questions : Questions
    place : int
    mechanism : WorkloadRelease
        For the workload ``prefix`` of as many types as the question has categories.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question
    >>> from mechdesign.families.workload.prefix import best_prefix_channel
    >>> asked = Questions([Question("health", "ordered", ("bad", "fair", "good"), cumulative=True)])
    >>> part = OrderedPart(asked, 0, best_prefix_channel(3, 1.0))
    >>> part.audit().holds, round(part.noise(True, np.full(3, 1 / 3)), 3)
    (True, 2.907)
    """

    kind: ClassVar[str] = "ordered"

    def __init__(self, questions: Questions, place: int, mechanism: WorkloadRelease) -> None:
        self.places = places_of(questions, [place])
        question, queries = questions[place], mechanism.workload
        if not question.is_ordered:
            raise ParameterError("designs", f"question '{question.name}' has no order")
        named = queries.named and queries.given["name"] in ("prefix", "likert") and queries.weights is None
        if not named or queries.size != question.size or not isinstance(mechanism.value, ChannelValue):
            raise ParameterError("designs", f"queries other than those of question '{question.name}'")
        self.sizes = (question.size,)
        self.mechanism = self.release = mechanism

    def draw(self, questions: Questions, answers: Answers, source: BitSource) -> list[str]:
        """Return the number of a pattern for the answer of each user."""
        texts: list[str] = self.release.draw(answers[self.places[0]], source).astype(str).tolist()
        return texts

    def read(self, texts: NDArray[np.str_]) -> Codes:
        """Return reports from their texts."""
        return self.release.read(whole_numbers(texts))

    def noise(self, cumulative: bool, shares: Array) -> float:
        """Return the variance of one report, summed over the cumulative shares or over the categories.

        Parameters
        ----------
        cumulative : bool
        shares : (k,) array
            The shares of the categories for which it is expected.
        """
        return float(shares @ (self._cumulative if cumulative else self._single))

    @property
    def channel(self) -> ChannelValue:
        """The channel in floating point, with its best estimator."""
        result = self.release.value
        assert isinstance(result, ChannelValue)  # checked at the start
        return result

    @cached_property
    def _cumulative(self) -> Array:
        return np.asarray(self.channel.query_errors(prefix_rows(self.sizes[0])).sum(axis=1))

    @cached_property
    def _single(self) -> Array:
        return np.asarray(self.channel.query_errors(np.eye(self.sizes[0])).sum(axis=1))

    def evidence(self, counts: Codes, cells: Cells, information: float) -> Evidence:
        """Return the information about the shares of several sets of categories in the reports.

        The moments of a score depend on the category; those of users in a set, and of the others, are
        averages at the estimated shares.

        Parameters
        ----------
        counts : (reports,) int array
        cells : (n, k) array of bool
        information : float
            What one report was planned to tell.
        """
        users, value = int(counts.sum()), self.channel
        shares = value.shares_from(counts)
        scores = cells.astype(np.float64) @ value.solver
        moments = [scores**power @ value.channel for power in (2, 3, 4)]
        likely = (project_to_simplex(shares) * users + 1.0) / (users + len(shares))
        own, other = (_averaged(moments, side * likely) for side in (cells, ~cells))
        return Evidence(users, cells @ shares, own, other, np.zeros(len(cells)), information)


def _averaged(moments: Sequence[Array], weights: Array) -> Array:
    """Return the averages of moments (n, k) at weights (n, k), one row each."""
    total = weights.sum(axis=1)
    return np.stack([(moment * weights).sum(axis=1) / total for moment in moments])
