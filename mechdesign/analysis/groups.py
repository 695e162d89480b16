"""Groups by a public column: shares and means of each with intervals, differences, a joint correction.

Without weights each group's estimate is that of its reports alone, with the mechanism's own intervals. The
difference of two groups has the limits of :class:`~mechdesign.analysis.student.DifferenceLimits`; the
p-values of several pairs are corrected by Holm's rule. Groups are read as draws from a population.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.asking import ReportTable, column_codes, weights_of
from mechdesign.analysis.regression import FEW
from mechdesign.analysis.report_scores import ReportScores
from mechdesign.analysis.student import DifferenceLimits, NotedEstimate, holm, p_value
from mechdesign.analysis.weights import OF_ANSWERED_NOTE, raked, weighted_estimate
from mechdesign.collect.estimate import AttributeMeans
from mechdesign.collect.intervals import Limits, NormalLimits
from mechdesign.core.errors import EstimationError, ParameterError, counted, named_option
from mechdesign.show.panels import ANYTHING, SHARE, interval_figures

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

MOST_GROUPS = 100
"""More groups are refused: a column of so many values is no column of groups."""


@dataclass(frozen=True, eq=False)
class StackedLimits(Limits):
    """The limits of several estimates, one after the other."""

    parts: Sequence[Limits]

    def distances(self, tail: float) -> tuple[Array, Array]:
        pairs = [part.distances(tail) for part in self.parts]
        down, up = (np.concatenate([np.atleast_1d(pair[side]) for pair in pairs]) for side in (0, 1))
        return down, up


@dataclass(frozen=True, repr=False)
class GroupEstimates(NotedEstimate):
    """Estimates for each group: one row a group and category.

    Attributes
    ----------
    value, standard_error : (m,) array
    users : int
        All reports.
    column : str
        The public column.
    groups, categories : tuple of str
        Of each row.
    reports : tuple of int
        On which each row rests.
    """

    thing: ClassVar[str] = "group"
    things: ClassVar[str] = "groups"

    column: str
    groups: tuple[str, ...]
    categories: tuple[str, ...]
    reports: tuple[int, ...]
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.groups

    def _beside(self) -> Mapping[str, Any]:
        return {"category": self.categories, "reports": self.reports}

    @property
    def is_share(self) -> bool:
        """Whether the estimates are shares of answers, not means of numbers."""
        return "mean" not in self.categories

    def figures(self) -> list[Figure]:
        """Return the estimates of all groups, a picture for each category."""
        low, high = self.interval()
        pictures = []
        for category in dict.fromkeys(self.categories):
            rows = [place for place, name in enumerate(self.categories) if name == category]
            names = [self.groups[place] for place in rows]
            ends = (low[rows], high[rows])
            possible = SHARE if len(set(self.categories)) > 1 else ANYTHING
            pictures += interval_figures(
                f"{category} by {self.column}", names, self.value[rows], ends, self.column, "estimate",
                possible=possible, bars=possible is SHARE,
            )  # fmt: skip
        return pictures

    def _about(self) -> Mapping[str, Any]:
        return {
            "column": self.column,
            "groups": list(self.groups),
            "categories": list(self.categories),
            "reports": list(self.reports),
        }


@dataclass(frozen=True, repr=False)
class Differences(NotedEstimate):
    """Differences between groups, one row a pair and category.

    Attributes
    ----------
    value, standard_error : (m,) array
        First group less second.
    pairs : tuple of str
    categories : tuple of str
    p_values : tuple of float
        By the same limits; corrected by Holm's rule over all rows.
    """

    thing: ClassVar[str] = "difference"
    things: ClassVar[str] = "differences"

    pairs: tuple[str, ...]
    categories: tuple[str, ...]
    p_values: tuple[float, ...]
    population: bool = True
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.pairs

    def _beside(self) -> Mapping[str, Any]:
        return {"category": self.categories, "p": tuple(f"{value:.3g}" for value in self.p_values)}

    @property
    def is_share(self) -> bool:
        """Whether the differences are those of shares of answers."""
        return "mean" not in self.categories

    def figures(self) -> list[Figure]:
        """Return the differences with their intervals."""
        names = [f"{pair}: {name}" for pair, name in zip(self.pairs, self.categories, strict=True)]
        title = "Differences between groups"
        return interval_figures(title, names, self.value, self.interval(), "groups", "difference", bars=False)

    def _about(self) -> Mapping[str, Any]:
        return {
            "differences": list(self.pairs),
            "categories": list(self.categories),
            "p_values": list(self.p_values),
            "correction": "Holm",
        }


@dataclass(frozen=True, eq=False)
class GroupEstimate:
    """The estimates of one group: names of its rows, what is estimated, and its limits."""

    name: str
    categories: tuple[str, ...]
    value: Array
    standard_error: Array
    reports: int
    limits: Limits


def by_group(
    answers: ReportTable,
    column: str,
    question: str = "",
    weights: str | None = None,
    margins: Mapping[str, Mapping[str, float]] | None = None,
    strata: str | None = None,
    cluster: str | None = None,
    population: bool = False,
) -> tuple[GroupEstimates, Differences | None]:
    """Return the estimates of each group, and the differences of all pairs of groups.

    Parameters
    ----------
    answers : ReportTable
    column : str
        The public column that makes the groups.
    question : str, optional
        Of a survey.
    weights, strata, cluster : str, optional
        Public columns.
    margins : mapping, optional
        Sizes of the values of public columns in the population, which the weights are made to meet.
    population : bool
        Whether the shares are those of the population the users were drawn from; weighted ones and
        differences always are.

    Examples
    --------
    >>> from mechdesign.analysis.asking import answers_of
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 2.0, labels=["no", "yes"])
    >>> reports = mechanism.randomize(["no"] * 4000 + ["yes"] * 1000 + ["no"] * 5000, rng=1)
    >>> answers = answers_of(mechanism, reports, {"ward": ["a"] * 5000 + ["b"] * 5000})
    >>> table, differences = by_group(answers, "ward")
    >>> print(differences)
    10000 reports
    difference  category  p  ...
    """
    scores = answers.question(question)
    where = named_option("by")
    texts = answers.column(column, where).astype(str)
    names = sorted(set(texts.tolist()))
    if len(names) > MOST_GROUPS:
        raise ParameterError(
            where, f"'{column}' has {len(names)} values", f"name a column of at most {MOST_GROUPS}"
        )
    weight, known = weights_of(answers, weights), None
    if margins is not None:
        weight, known = raked(answers.public, margins, weight)
    plain = weight is None and strata is None and cluster is None
    stratum, clusters = column_codes(answers, strata, "strata"), column_codes(answers, cluster, "cluster")
    groups, draws = [], []
    for name in names:
        mask = texts == name
        if plain:
            groups.append(question_estimate(answers, scores, name, population, mask))
            own = groups[-1] if population else question_estimate(answers, scores, name, True, mask)
            draws.append(own)
            continue
        inside = np.where(mask, 1.0 if weight is None else weight, 0.0)
        result = weighted_estimate(scores, inside, stratum, clusters, known)
        assert result.limits is not None
        groups.append(
            GroupEstimate(
                name, result.categories, result.value, result.standard_error, result.users, result.limits
            )
        )
        draws.append(groups[-1])
    notes = () if scores.ends is None else (OF_ANSWERED_NOTE,)
    table = _table(answers, column, groups, population or not plain, notes)
    return table, _differences(answers, draws)


def question_estimate(
    answers: ReportTable,
    scores: ReportScores,
    name: str,
    population: bool,
    mask: NDArray[np.bool_] | None = None,
) -> GroupEstimate:
    """Return the mechanism's own estimate of a question, from all reports or those of a group.

    Raises
    ------
    EstimationError
        Where too few of them say anything.
    """
    from mechdesign.families.survey.results import SurveyResults

    inside = np.ones(len(scores), dtype=bool) if mask is None else mask
    if not (scores.information[inside] > 0.0).any():
        raise EstimationError(
            named_option("by"), f"no report of the group '{name}' says anything", "join it with another"
        )
    reports = int((scores.information[inside] > 0.0).sum())
    estimate = answers.mechanism.estimate(answers.reports[inside], population=population)
    if isinstance(estimate, SurveyResults):
        result = estimate.result(scores.question)
        estimate = result.estimate if scores.ends is None else result.mean
        if estimate is None:
            raise EstimationError(
                named_option("by"), f"too few answered in the group '{name}'", "join it with another"
            )
        reports = int(estimate.users)
    elif scores.question and isinstance(estimate, AttributeMeans):
        return _attribute(estimate, scores, name, reports)
    value, errors = np.atleast_1d(estimate.value), np.atleast_1d(estimate.standard_error)
    names = ("mean",) if scores.has_mean else scores.names
    if len(value) != len(names):
        raise EstimationError(
            named_option("by"), f"a {answers.mechanism.type} has no estimate of one question", "use scores"
        )
    limits = getattr(estimate, "limits", None) or NormalLimits(errors)
    return GroupEstimate(name, names, value, errors, reports, limits)


def _attribute(estimate: AttributeMeans, scores: ReportScores, name: str, reports: int) -> GroupEstimate:
    """Return the mean of one of several numbers."""
    place = estimate.names.index(scores.question)
    rows = slice(place, place + 1)
    limits = SomeLimits(estimate.limits or NormalLimits(estimate.standard_error), rows)
    return GroupEstimate(
        name, ("mean",), estimate.value[rows], estimate.standard_error[rows], reports, limits
    )


def _table(
    answers: ReportTable,
    column: str,
    groups: Sequence[GroupEstimate],
    population: bool,
    notes: tuple[str, ...],
) -> GroupEstimates:
    if len(groups) == 1:
        notes += (f"'{column}' has one value: there is nothing to compare",)
    few = [group.name for group in groups if group.reports < FEW]
    if few:
        notes += (f"fewer than {FEW} reports in {', '.join(few[:5])}: intervals are rough",)
    return GroupEstimates(
        np.concatenate([group.value for group in groups]),
        np.concatenate([group.standard_error for group in groups]),
        len(answers.reports),
        column,
        tuple(group.name for group in groups for _ in group.categories),
        tuple(category for group in groups for category in group.categories),
        tuple(group.reports for group in groups for _ in group.categories),
        population,
        StackedLimits([group.limits for group in groups]),
        notes,
    )


def _differences(answers: ReportTable, groups: Sequence[GroupEstimate]) -> Differences | None:
    if len(groups) < 2:
        return None
    pairs = list(combinations(groups, 2))
    binary = len(groups[0].categories) == 2
    rows = slice(1, 2) if binary else slice(None)  # of two categories one says all
    limits = [SomeLimits(DifferenceLimits(one.limits, two.limits), rows) for one, two in pairs]
    values = [(one.value - two.value)[rows] for one, two in pairs]
    chances = [p_value(limit, value) for limit, value in zip(limits, values, strict=True)]
    corrected = holm(np.concatenate(chances).tolist())
    names = groups[0].categories[rows]
    errors = [np.hypot(one.standard_error, two.standard_error)[rows] for one, two in pairs]
    return Differences(
        np.concatenate(values),
        np.concatenate(errors),
        len(answers.reports),
        tuple(f"{one.name} - {two.name}" for one, two in pairs for _ in names),
        tuple(name for _ in pairs for name in names),
        tuple(corrected),
        limits=StackedLimits(limits),
        notes=_joint_notes(groups, len(corrected)),
    )


def _joint_notes(groups: Sequence[GroupEstimate], rows: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if rows > 1:
        notes = (f"p-values hold together for all {counted(rows, 'row')} (Holm)",)
    few = [group.name for group in groups if group.reports < FEW]
    if few:
        notes += (f"fewer than {FEW} reports in {', '.join(few[:5])}: intervals and p-values are rough",)
    return notes


@dataclass(frozen=True, eq=False)
class SomeLimits(Limits):
    """The limits of some of several estimates."""

    limits: Limits
    rows: slice

    def distances(self, tail: float) -> tuple[Array, Array]:
        down, up = self.limits.distances(tail)
        return np.atleast_1d(down)[self.rows], np.atleast_1d(up)[self.rows]
