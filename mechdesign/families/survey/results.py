"""The results of a survey: shares, cross tables, means and means by group, with errors and intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.estimate import AttributeMeans, FrequencyEstimate, ListedEstimate, MeanEstimate
from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.text import counted, table
from mechdesign.core.values import changed
from mechdesign.data.frames import TIDY, Columns, Tidy
from mechdesign.families.survey.figures import Axes, cross_figures
from mechdesign.families.survey.requested_results import Wanted
from mechdesign.show.figure import Figure
from mechdesign.show.panels import in_pictures

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantiles:
    """The categories that hold the quartiles of an ordered question, with intervals.

    Attributes
    ----------
    levels : tuple of float
    category, low, high : tuple of str
        The first category at which the estimated distribution reaches the level, and between which
        categories it lies with 95 % confidence.
    """

    levels: tuple[float, ...]
    category: tuple[str, ...]
    low: tuple[str, ...]
    high: tuple[str, ...]

    def __str__(self) -> str:
        rows = zip(self.levels, self.category, self.low, self.high, strict=True)
        header = ["quantile", "category", "95% low", "95% high"]
        return table(header, [[f"{level:g}", *texts] for level, *texts in rows])

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {key: list(value) for key, value in vars(self).items()}


@dataclass(frozen=True)
class SurveyResult:
    """One result of a survey.

    Attributes
    ----------
    name : str
    wanted : Wanted
    estimate : FrequencyEstimate, MeanEstimate or AttributeMeans
    cumulative : FrequencyEstimate or None
        Of an ordered question the shares up to each category.
    quantiles : Quantiles or None
    axes : tuple
        Of a cross table its questions with their categories.
    """

    name: str
    wanted: Wanted
    estimate: FrequencyEstimate | MeanEstimate | AttributeMeans
    cumulative: FrequencyEstimate | None = None
    quantiles: Quantiles | None = None
    axes: Axes = ()

    def figures(self) -> list[Figure]:
        """Return the estimates with their intervals; of a cross table its cells in colours."""
        if self.axes and isinstance(self.estimate, FrequencyEstimate):
            return cross_figures(self.name, self.axes, self.estimate)
        return [changed(figure, title=self.name) for figure in self.estimate.figures()]

    def __str__(self) -> str:
        head = f"{self.name}\n{self.estimate}"
        return head if self.quantiles is None else f"{head}\n{self.quantiles}"

    def rows(self, level: float = 0.95) -> Iterator[tuple[str, str, float, float, float, float]]:
        """Yield (result, category, estimate, standard error, low, high); cumulative shares as 'up to ...'."""
        for found, prefix in ((self.estimate, ""), (self.cumulative, "up to ")):
            if found is None:
                continue
            low, high = found.interval(level)
            names = found._names() if isinstance(found, ListedEstimate) else ("mean",)
            columns = (np.atleast_1d(item) for item in (found.value, found.standard_error, low, high))
            for name, *numbers in zip(names, *columns, strict=True):
                value, error, below, above = map(float, numbers)
                yield self.name, f"{prefix}{name}", value, error, below, above

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        result: dict[str, Any] = {"name": self.name, "kind": self.wanted.kind, **self.estimate.as_json()}
        if self.cumulative is not None:
            result["cumulative"] = self.cumulative.as_json()
        if self.quantiles is not None:
            result["quantiles"] = self.quantiles.as_json()
        return result


@dataclass(frozen=True)
class SurveyResults(Tidy):
    """All results of a survey, by name.

    Attributes
    ----------
    results : tuple of SurveyResult
    users : int
        How many reports there are: of as many users, if each sent one.
    epsilon, delta : float
        What each of them gives away at most, over all questions together.
    population : bool
    """

    results: tuple[SurveyResult, ...]
    users: int
    epsilon: float
    population: bool = False
    delta: float = 0.0

    def __getitem__(self, name: str) -> FrequencyEstimate | MeanEstimate | AttributeMeans:
        return self.result(name).estimate

    def result(self, name: str) -> SurveyResult:
        """Return a result by name; UnknownNameError with the closest name where there is none."""
        known = {result.name: result for result in self.results}
        if name not in known:
            raise UnknownNameError("results", f"no result '{name}'", suggestion(name, known))
        return known[name]

    @property
    def value(self) -> dict[str, Any]:
        """The estimates by name."""
        return {result.name: result.estimate.value for result in self.results}

    @property
    def standard_error(self) -> dict[str, Any]:
        """The standard errors by name."""
        return {result.name: result.estimate.standard_error for result in self.results}

    def interval(self, level: float = 0.95) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the ends of confidence intervals by name."""
        ends = {result.name: result.estimate.interval(level) for result in self.results}
        return {name: end[0] for name, end in ends.items()}, {name: end[1] for name, end in ends.items()}

    def rows(self, level: float = 0.95) -> list[tuple[str, str, float, float, float, float]]:
        """Return one row for each estimate: result, category, estimate, standard error, low, high."""
        return [row for result in self.results for row in result.rows(level)]

    def tidy(self, level: float = 0.95) -> Columns:
        """Return all results as columns, a row for each estimate."""
        rows = self.rows(level)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(TIDY)
        return {name: list(column) for name, column in zip(TIDY, columns, strict=True)}

    @property
    def ledger(self) -> str:
        """Epsilon of a report, and of several of one user, as text."""
        given = Guarantee(self.epsilon, self.delta).in_short
        return (
            f"each report gives away {given}, over all questions together; a user for "
            "whom k reports were drawn has given away k times that"
        )

    def figures(self) -> list[Figure]:
        """Return all results with their intervals, a few panels a picture, then the cross tables."""
        alone = [figure for result in self.results if not result.axes for figure in result.figures()]
        crossed = [figure for result in self.results if result.axes for figure in result.figures()]
        return [*in_pictures(f"Results of {counted(self.users, 'report')}", alone), *crossed]

    def __str__(self) -> str:
        parts = [f"{counted(self.users, 'report')}; {self.ledger}"]
        return "\n\n".join([*parts, *map(str, self.results)])

    def as_json(self) -> dict[str, Any]:
        """Return all results as plain values."""
        return {
            "users": self.users,
            "epsilon": self.epsilon,
            **({"delta": self.delta} if self.delta else {}),
            "population": self.population,
            "results": [result.as_json() for result in self.results],
        }
