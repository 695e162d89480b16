"""Changes between two waves, of other people or of the same ones: estimates, intervals, p-values.

Of independent people the change is the difference of two groups. Where a public column says who is who, its
variance is V_1 + V_2 - 2 C, with C the covariance of the two means
(:func:`~mechdesign.analysis.asking.panel_covariance`). Its limits are those of
MOVER with the correlation r = C / sqrt(V_1 V_2):

    low = d - sqrt(u_1^2 + l_2^2 - 2 r u_1 l_2), high = d + sqrt(l_1^2 + u_2^2 - 2 r l_1 u_2)

for d = second - first and the distances l down and u up of the waves' own limits (Zou 2007, Psychological
Methods 12; r = 0 is Newcombe's method 10). r is cut off at -1 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.asking import ReportTable, panel_covariance
from mechdesign.analysis.groups import GroupEstimate, SomeLimits, question_estimate
from mechdesign.analysis.regression import FEW
from mechdesign.analysis.student import CorrelatedLimits, NotedEstimate, holm, p_value
from mechdesign.collect.intervals import Limits
from mechdesign.core.errors import ParameterError, counted
from mechdesign.show.figure import Figure
from mechdesign.show.panels import interval_figures

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class WaveChanges(NotedEstimate):
    """Changes of shares, or of a mean: second wave less first.

    Attributes
    ----------
    value, standard_error : (k,) array
    users : int
        Reports of both waves.
    categories : tuple of str
    before, after : tuple of float
        The estimates of the waves.
    p_values : tuple of float
        By the same limits, corrected by Holm's rule over all rows.
    pairs : int
        People who answered both; 0 where waves are independent or nobody knows.
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "categories"
    estimated: ClassVar[str] = "change"

    categories: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    p_values: tuple[float, ...]
    pairs: int = 0
    population: bool = True
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.categories

    def _beside(self) -> Mapping[str, Any]:
        texts = {
            "first": tuple(f"{value:.4g}" for value in self.before),
            "second": tuple(f"{value:.4g}" for value in self.after),
        }
        return {**texts, "p": tuple(f"{value:.3g}" for value in self.p_values)}

    def _about(self) -> Mapping[str, Any]:
        return {
            "categories": list(self.categories),
            "first": list(self.before),
            "second": list(self.after),
            "p_values": list(self.p_values),
            "pairs": self.pairs,
            "correction": "Holm",
        }

    @property
    def is_share(self) -> bool:
        """Whether the changes are those of shares of answers."""
        return self.categories != ("mean",)

    def figures(self) -> list[Figure]:
        """Return the changes with their intervals."""
        title = f"Changes between two waves, {counted(self.users, 'report')}"
        return interval_figures(
            title, self.categories, self.value, self.interval(), "answer", "change", bars=False
        )


def wave_changes(
    first: ReportTable, second: ReportTable, question: str = "", identifier: str | None = None
) -> WaveChanges:
    """Return the changes of an answer between two waves.

    Parameters
    ----------
    first, second : ReportTable
        The mechanisms may differ, the categories may not.
    question : str, optional
        Of a survey.
    identifier : str, optional
        The public column that says who sent a report: then the covariance of those who answered both is
        taken into account. Without it waves count as independent, which of the same people makes the interval
        of a stable answer's change too wide.

    Examples
    --------
    >>> from mechdesign.analysis.asking import answers_of
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 3.0, labels=["no", "yes"])
    >>> people = np.arange(4000.0)
    >>> waves = [
    ...     answers_of(mechanism, mechanism.randomize(answers, rng=seed), {"person": people})
    ...     for seed, answers in ((1, ["no", "yes"] * 2000), (2, ["yes"] * 400 + ["no", "yes"] * 1800))
    ... ]
    >>> linked, apart = wave_changes(*waves, identifier="person"), wave_changes(*waves)
    >>> linked.pairs, bool((linked.standard_error < apart.standard_error).all())
    (4000, True)
    """
    tables = (first, second)
    scores = [table.question(question) for table in tables]
    if scores[0].names != scores[1].names:
        raise ParameterError(
            "waves", "the question has other categories in the second wave", "compare waves of one question"
        )
    names = ("first", "second")
    waves = [
        question_estimate(table, one, name, True)
        for table, one, name in zip(tables, scores, names, strict=True)
    ]
    size = len(waves[0].value)
    rows = slice(1, 2) if size == 2 else slice(None)  # of two categories one says all
    covariance, pairs = np.zeros(size), 0
    if identifier is not None:
        table, pairs = panel_covariance(first, second, question, identifier)
        covariance = np.diag(table)
    errors = [wave.standard_error for wave in waves]
    correlation = np.clip(covariance / np.maximum(errors[0] * errors[1], 1e-300), -1.0, 1.0)
    limits = SomeLimits(CorrelatedLimits(waves[1].limits, waves[0].limits, correlation), rows)
    change = (waves[1].value - waves[0].value)[rows]
    error = np.sqrt(np.maximum(errors[0] ** 2 + errors[1] ** 2 - 2.0 * covariance, 0.0))[rows]
    corrected = holm(p_value(limits, change).tolist())
    return WaveChanges(
        change,
        error,
        sum(wave.reports for wave in waves),
        waves[0].categories[rows],
        tuple(waves[0].value[rows].tolist()),
        tuple(waves[1].value[rows].tolist()),
        tuple(corrected),
        pairs,
        limits=limits,
        notes=_notes(waves, identifier, pairs, len(corrected)),
    )


def _notes(waves: Sequence[GroupEstimate], identifier: str | None, pairs: int, rows: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    if rows > 1:
        notes = (f"p-values hold together for all {counted(rows, 'row')} (Holm)",)
    if identifier is None:
        notes += ("waves count as independent; of the same people, name the column that tells who is who",)
    else:
        notes += (f"{counted(pairs, 'user')} answered both waves",)
    few = [wave.name for wave in waves if wave.reports < FEW]
    if few:
        notes += (f"fewer than {FEW} reports in the {' and the '.join(few)} wave: intervals are rough",)
    return notes
