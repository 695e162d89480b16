"""Weighted shares and means of scores: design effect, strata, clusters, post-stratification and raking.

Weights depend on public columns only. With w the weight of a report (times its information), s its score:

    share      t = sum w s / sum w; the mean of a number that may be skipped: the quotient of two such sums
    variance   the sandwich of z = w (s - t) / sum w: sums by cluster, centred within strata, m/(m - 1) each
    calibrated z with the residual of s on the indicators of the margins in the place of s - t (GREG)
    finite     of N people: (1 - n/N) times this, and the noise of reports, sum w (s s' - diag s) / (N sum w)

What is public explains little of a private answer's report, so that calibration mends bias more than noise.
A correction for a finite population is made only where its size is given: who answers is then no longer drawn
from so many more, but what a report hides stays hidden. s s' - diag(s) estimates the covariance of that noise
without bias, since the answer's indicator e has e e' = diag(e). (Saerndal, Swensson, Wretman 1992, ch. 5 and
7; Deville, Saerndal 1992; Kish 1965 for the design effect; Arcos, Rueda, Singh 2015 for finite populations.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.regression import few_notes
from mechdesign.analysis.report_scores import ReportScores
from mechdesign.analysis.student import NotedEstimate, QuotientLimits, StudentLimits
from mechdesign.collect.intervals import Limits
from mechdesign.core.errors import DataError, EstimationError, ParameterError, named_option, suggestion
from mechdesign.show.panels import ANYTHING, SHARE

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

OF_ANSWERED_NOTE = "the mean is that of those who answered"
"""The note of results of a number that may be skipped."""

SMALL_GROUP = 4.0
"""A share of those who answered below SMALL_GROUP times its standard error has no meaningful mean."""

ROUNDS = 10_000
"""Rounds of raking at most."""

CLOSE = 1e-10
"""Raking ends when every margin is met within this part."""


@dataclass(frozen=True, repr=False)
class WeightedEstimate(NotedEstimate):
    """Weighted shares of the categories of an answer, or the weighted mean of a number.

    Attributes
    ----------
    value, standard_error : (k,) array
    users : int
        Reports that it rests on.
    categories : tuple of str
    covariance : (k, k) array
        Empty where there are very many categories.
    design_effect : float
        n sum w^2 / (sum w)^2: as if there were so many times fewer reports.
    """

    thing: ClassVar[str] = "category"
    things: ClassVar[str] = "categories"

    categories: tuple[str, ...]
    covariance: Array
    design_effect: float
    population: bool = True
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.categories

    def _about(self) -> Mapping[str, Any]:
        return {"categories": list(self.categories), "design_effect": self.design_effect}

    @property
    def is_share(self) -> bool:
        """Whether the estimates are shares of the categories, not a mean."""
        return len(self.value) > 1

    def figures(self) -> list[Figure]:
        """Return the weighted estimates with their intervals."""
        possible = SHARE if len(self.value) > 1 else ANYTHING
        title = f"Weighted estimates of {self.users} reports"
        return self._drawn(title, "answer", "estimate", possible=possible, bars=possible is SHARE)

    def __str__(self) -> str:
        return f"{super().__str__()}\ndesign effect {self.design_effect:.3g}"


def weighted_estimate(
    scores: ReportScores,
    weights: Array | None = None,
    strata: Numbers | None = None,
    clusters: Numbers | None = None,
    calibration: Array | None = None,
    population_size: int | None = None,
) -> WeightedEstimate:
    """Return weighted shares or the weighted mean.

    Parameters
    ----------
    scores : ReportScores
    weights : (n,) array, optional
    strata, clusters : (n,) int array, optional
        Numbers of the stratum and of the cluster of each report.
    calibration : (n, m) array, optional
        The indicators of the margins that the weights were made to meet.
    population_size : int, optional
        Of a finite population that the users were drawn from without replacement, evenly within strata.

    Examples
    --------
    >>> from mechdesign.analysis.report_scores import scores_of
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> (scores,) = scores_of(KaryResponse.of(2, 1.0), [0, 1, 1, 1] * 100)
    >>> result = weighted_estimate(scores, np.array([3.0, 1.0, 1.0, 1.0] * 100))
    >>> result.value.round(3), round(result.design_effect, 3)
    (array([0.5, 0.5]), 1.333)
    """
    informative = scores.information > 0.0
    weight = scores.information * (1.0 if weights is None else weights)
    weight = weight[informative]
    above, below = (array[informative] for array in scores.ratio())
    users = int((weight > 0.0).sum())
    if users < 2:
        raise EstimationError(
            named_option("weights"), "fewer than two reports have a weight above 0", "collect more"
        )
    total = float(weight.sum())
    if scores.is_large:
        finite = None if population_size is None else np.array([population_size])
        return _large_estimate(scores, weight, informative, (strata, clusters, calibration, finite))
    base = float(weight @ below) / total
    if scores.ends is not None:
        _require_answers(scores.question, weight * below / total, base)
    value = weight @ above / (total * base)
    rest = (above - below[:, None] * value) / base
    if calibration is not None:
        rest = _calibrated(rest, weight, calibration[informative])
    influence = rest * (weight / total)[:, None]
    covariance, freedom = _sandwich(
        influence, _some(strata, informative), _some(clusters, informative), weight
    )
    if population_size is not None:
        noise = _noise(scores, informative, weight)
        covariance = _finite(covariance, noise, users, population_size)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    effect = users * float(weight @ weight) / total**2
    limits: Limits = StudentLimits(errors, max(1.0, freedom))
    if scores.ends is not None:
        both = np.column_stack([above[:, 0], below])
        means = weight @ both / total
        parts = (both - means) * (weight / total)[:, None]
        if calibration is not None:
            parts = _calibrated(both - means, weight, calibration[informative]) * (weight / total)[:, None]
        spread, _ = _sandwich(parts, _some(strata, informative), _some(clusters, informative), weight)
        limits = QuotientLimits((float(means[0]), float(means[1])), spread, max(1.0, freedom))
    names = (scores.question or "mean",) if scores.has_mean else scores.names
    notes = few_notes(users) if scores.ends is None else (OF_ANSWERED_NOTE, *few_notes(users))
    return WeightedEstimate(value, errors, users, names, covariance, effect, limits=limits, notes=notes)


def _calibrated(rest: Array, weight: Array, known: Array) -> Array:
    """Return the residuals of a weighted regression on the indicators of the margins."""
    root = np.sqrt(weight)[:, None]
    slope, *_ = np.linalg.lstsq(root * known, root * rest, rcond=None)
    return np.asarray(rest - known @ slope)


def _noise(scores: ReportScores, informative: NDArray[np.bool_], weight: Array) -> Array:
    """Return the weighted mean of the covariance of reports given their answers."""
    if scores.has_mean:
        raise ParameterError(
            named_option("population_size"),
            "how much of a number's spread is noise is not known",
            "omit it: without it the error is larger, and on the safe side",
        )
    values = scores.values[informative]
    moments = (values * (weight / weight.sum())[:, None]).T @ values
    return np.asarray(moments - np.diag(weight @ values / weight.sum()))


def _finite(covariance: Array, noise: Array, users: int, size: int) -> Array:
    """Return the covariance of users out of a population of this size."""
    if size < users:
        raise ParameterError(
            named_option("population_size"), f"{size} people for {users} reports", "give the size of all"
        )
    return np.asarray((1.0 - users / size) * covariance + noise / size)


def _large_estimate(
    scores: ReportScores,
    weight: Array,
    informative: NDArray[np.bool_],
    design: tuple[NDArray[Any] | None, ...],
) -> WeightedEstimate:
    """Return weighted shares of very many categories: sums by support, without a table of scores.

    The variance of a share is sum w^2 (s - t)^2 n/(n - 1) / (sum w)^2, where s takes two values.
    """
    if any(part is not None for part in design) or scores.support is None:
        scores.require_table()
    assert scores.support is not None
    every = np.zeros(len(scores))
    every[informative] = weight
    total, users = float(weight.sum()), int((weight > 0.0).sum())
    value = scores.support.sums(every) / total
    square = scores.support.squares(every * every, value) / total**2
    errors = np.sqrt(square * users / (users - 1.0))
    effect = users * float(weight @ weight) / total**2
    limits = StudentLimits(errors, max(1.0, users / effect - 1.0))
    covariance = np.zeros((0, 0))
    return WeightedEstimate(
        value, errors, users, scores.names, covariance, effect, limits=limits, notes=few_notes(users)
    )


def _require_answers(question: str, terms: Array, share: float) -> None:
    """Raise EstimationError where so few answered that a mean of them means nothing."""
    error = float(np.sqrt(((terms - share / len(terms)) ** 2).sum()))
    if share <= SMALL_GROUP * error:
        raise EstimationError(
            f"question '{question}'", "too few have answered it for a mean of theirs", "collect more"
        )


def _some(values: Numbers | None, mask: NDArray[np.bool_]) -> Numbers | None:
    return None if values is None else values[mask]


def _sandwich(
    influence: Array, strata: Numbers | None, clusters: Numbers | None, weight: Array
) -> tuple[Array, float]:
    """Return the covariance of the sum of influences, and its degrees of freedom.

    Without clusters these are those of Kish: as many as reports of equal weight would be as good, less one
    for each stratum.
    """
    stratum = np.zeros(len(influence), dtype=np.int64) if strata is None else strata
    count = int(stratum.max()) + 1
    if clusters is None:
        parts, of_part = influence, stratum
        freedom = float(weight.sum()) ** 2 / float(weight @ weight) - count
    else:
        pairs, place = np.unique(np.stack([stratum, clusters], axis=1), axis=0, return_inverse=True)
        parts, of_part = np.zeros((len(pairs), influence.shape[1])), pairs[:, 0]
        np.add.at(parts, place.ravel(), influence)
        freedom = float(len(pairs) - count)
    covariance = np.zeros((influence.shape[1],) * 2)
    for number in range(count):
        rows = parts[of_part == number]
        if not len(rows):
            continue
        if len(rows) < 2:
            thing = "report" if clusters is None else "cluster"
            where = named_option("cluster" if strata is None else "strata")
            whole = "the sample" if strata is None else "a stratum"
            raise EstimationError(
                where, f"{whole} has one {thing}, which has no spread", "join it with another, or omit it"
            )
        centred = rows - rows.mean(axis=0)
        covariance += centred.T @ centred * (len(rows) / (len(rows) - 1.0))
    return covariance, freedom


Margins = Mapping[str, Mapping[str, float]]
"""For each public column the size, or the share, of each of its values in the population."""


def read_margins(margins: Any, where: str = named_option("margins")) -> dict[str, dict[str, float]]:
    """Return margins that were checked: sizes of at least 0 for every value, and the same sum each.

    Shares, percentages and counts may be mixed: each margin is divided by its sum. Counts have to agree.

    Examples
    --------
    >>> read_margins({"ward": {"a": 30, "b": 70}})
    {'ward': {'a': 0.3, 'b': 0.7}}
    """
    if not isinstance(margins, Mapping) or not margins:
        raise ParameterError(
            where, "expected sizes for the values of a column", '{"ward": {"a": 30, "b": 70}}'
        )
    result, totals = {}, {}
    for column, sizes in margins.items():
        if not isinstance(sizes, Mapping) or not sizes:
            raise ParameterError(where, f"'{column}' has no values", "give the size of each")
        numbers = {}
        for value, size in sizes.items():
            try:
                number = float(size)
            except (TypeError, ValueError):
                number = float("nan")
            if not 0.0 <= number < float("inf"):
                raise ParameterError(
                    where, f"{column} = {value}: {size!r} is no size", "give a number of at least 0"
                )
            numbers[str(value)] = number
        totals[column] = sum(numbers.values())
        if totals[column] <= 0.0:
            raise ParameterError(where, f"the sizes of '{column}' are all 0", "give some above 0")
        result[str(column)] = {value: number / totals[column] for value, number in numbers.items()}
    counts = {column: total for column, total in totals.items() if total > 1.5}
    if counts and max(counts.values()) > 1.01 * min(counts.values()) and not _are_percent(counts):
        sizes_text = ", ".join(f"{column}: {total:g}" for column, total in counts.items())
        raise ParameterError(
            where, f"the margins have different totals ({sizes_text})", "count the same population in each"
        )
    return result


def _are_percent(totals: Mapping[str, float]) -> bool:
    return any(abs(total - 100.0) < 0.5 for total in totals.values())


def raked(
    columns: Mapping[str, NDArray[Any]],
    margins: Margins,
    weights: Array | None = None,
    cap: float | None = None,
) -> tuple[Array, Array]:
    """Return weights that meet the margins, and the indicators of these, by iterative proportional fitting.

    Parameters
    ----------
    columns : mapping of arrays
        Public columns, one value a report.
    margins : mapping
    weights : (n,) array, optional
        To start from.
    cap : float, optional
        No weight is more than this many times the average: then margins may be missed, which is refused.

    Raises
    ------
    DataError
        For a value that the margins lack, or one of theirs that no report has.
    EstimationError
        Where no weights meet all margins.

    Examples
    --------
    >>> ward = np.array(["a", "a", "a", "b"], dtype=object)
    >>> weights, _ = raked({"ward": ward}, {"ward": {"a": 50, "b": 50}})
    >>> weights.round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    shares, weighted = read_margins(margins), "" if weights is None else " with a weight above 0"
    codes: list[tuple[Numbers, Array]] = []
    for column, sizes in shares.items():
        if column not in columns:
            raise ParameterError(
                named_option("margins"), f"no column '{column}'", suggestion(column, list(columns))
            )
        texts = np.array([_as_written(value) for value in columns[column].tolist()], dtype=object)
        values = sorted(sizes)
        known = {value: place for place, value in enumerate(values)}
        strange = next((text for text in texts.tolist() if text not in known), None)
        if strange is not None:
            raise DataError(
                f"column '{column}'", f"'{strange}' is not in the margins", suggestion(strange, values)
            )
        place = np.array([known[text] for text in texts.tolist()], dtype=np.int64)
        present = np.bincount(
            place, minlength=len(values), weights=None if weights is None else weights > 0.0
        )
        empty = [
            value
            for value, number in zip(values, present.tolist(), strict=True)
            if not number and sizes[value]
        ]
        if empty:
            raise DataError(
                f"column '{column}'",
                f"no report{weighted} has '{empty[0]}', of which the margins have some",
                "join it with another value in both",
            )
        codes.append((place, np.array([sizes[value] for value in values])))
    users = len(codes[0][0])
    result = np.ones(users) if weights is None else weights.astype(np.float64)
    result = _fitted(result * (users / result.sum()), codes, cap)
    indicators = np.column_stack(
        [
            np.eye(len(sizes))[place][:, : len(sizes) - (number > 0)]
            for number, (place, sizes) in enumerate(codes)
        ]
    )
    return result, indicators


def _as_written(value: Any) -> str:
    """Return a value as margins write it: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _fitted(weights: Array, codes: Sequence[tuple[Numbers, Array]], cap: float | None) -> Array:
    users = len(weights)
    for _ in range(ROUNDS):
        for place, sizes in codes:
            present = np.bincount(place, weights=weights, minlength=len(sizes))
            factor = np.divide(users * sizes, present, out=np.zeros_like(sizes), where=present > 0.0)
            weights = weights * factor[place]
        if cap is not None:
            weights = np.minimum(weights, cap)
        worst = max(
            float(np.abs(np.bincount(place, weights=weights, minlength=len(sizes)) / users - sizes).max())
            for place, sizes in codes
        )
        if worst <= CLOSE:
            return weights
    raise EstimationError(
        "margins",
        f"no weights meet all of them: one is missed by {worst:.2g} after {ROUNDS} rounds",
        "join values with few reports, or raise the cap",
    )
