"""Estimated marginals: unbiased ones with intervals, shares of one distribution, and synthetic rows.

An unbiased marginal (:class:`RawMarginal`) is taken from the views that contain it, before anything is made
consistent. The views' marginals are averaged with weights inversely proportional to their variance (Zhang
2019, section 3.3.4). With several views the users of each are a random part of all, so that their cells count
as draws from the population; without replacement the variance is smaller, and intervals err on the wide side.

Its limits need the law of a score. The report of a user supports N of the C cells that make up a cell of a
marginal, and scores (N - C q)/(p - q): 1 on average for a user inside, 0 outside. For the k-ary response,
independent bits and random subsets the law of N is known, and with it all moments of the score.

:class:`MarginalEstimate` is a marginal of the consistent distribution: its shares and their errors.

Synthetic rows are draws from a chain of views that has their marginals on every link exactly. The
maximum-entropy law over all attributes with the marginals of many overlapping views cannot be computed when
views overlap in circles. A part of it can: a junction tree. The first clique is a view. Every further one is
taken from a view V that meets an earlier clique K: given the attributes that V has in common with K, the
attributes of V that are new are drawn from V's conditional shares. Because the common attributes lie in one
earlier clique, and the tables are consistent, the rows have V's marginal on every clique exactly; the law is
that of maximum entropy with these marginals (a decomposable model), and other marginals are what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import comb
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.intervals import AverageLimits, cumulants
from mechdesign.collect.scores import few_users, implausible
from mechdesign.core.errors import EstimationError, counted, listed
from mechdesign.core.validation import integer
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, CrossTable, tidy_columns
from mechdesign.exact.numbers import frozen
from mechdesign.families.marginals.sets.estimates import CountedTable
from mechdesign.primitives.oracle import Moments, Oracle
from mechdesign.show.panels import UNBIASED, table_figures
from mechdesign.show.tables import table, to_error

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]


def score_moments(oracle: Oracle, cells: int) -> tuple[Array, Array] | None:
    """Return the second to fourth moments of the score of a sum of cells, for users inside and outside.

    None where the law of the number of supported cells is not known for this oracle.

    Parameters
    ----------
    oracle : Oracle
    cells : int
        C, how many cells are summed.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import UnaryEncoding
    >>> inside, outside = score_moments(UnaryEncoding.optimised(4, 1.0), 2)
    >>> round(float(outside[0]), 6)  # two bits: twice 4 e / (e - 1)^2
    7.365389
    """
    own, other = oracle.support_shares()
    laws = oracle.supported(cells)
    if laws is None:
        return None
    inside, outside = (_scored(law, cells * other, own - other) for law in laws)
    return inside, outside


@lru_cache(maxsize=1024)
def _scored(law: Moments, start: Fraction, gain: Fraction) -> Array:
    """Return E[((N - start)/gain)^r] for r = 2, 3, 4."""
    moments = [
        sum((comb(r, j) * law[j] * (-start) ** (r - j) for j in range(r + 1)), Fraction(0)) / gain**r
        for r in (2, 3, 4)
    ]
    return frozen(np.array([float(moment) for moment in moments]))


View = tuple[int, ...]

BOUNDED = (
    "sums of cells of {}: the intervals use a bound of the variance and are wider than need be; they are "
    "sharp for the whole view"
)


@dataclass(frozen=True)
class Part:
    """Contribution of a view to the average: its share of users, factor, and moments of scores."""

    share: float
    factor: float
    own: Array
    others: Array

    def cumulants(self, f: Array, population: bool) -> tuple[Array, Array, Array]:
        """Return the second to fourth cumulants of a scaled score when the cell has the share f."""
        scale = self.factor ** np.array([2.0, 3.0, 4.0])
        own, others = self.own * scale, self.others * scale
        if population:
            second, third, fourth = (f * a + (1.0 - f) * b for a, b in zip(own, others, strict=True))
            return cumulants(f * self.factor, second, third, fourth)
        inside, outside = cumulants(self.factor, *own), cumulants(0.0, *others)
        second, third, fourth = (f * a + (1.0 - f) * b for a, b in zip(inside, outside, strict=True))
        return second, third, fourth


@dataclass(frozen=True, eq=False)
class MarginalLimits(AverageLimits):
    """The limits of the score test for every cell of an average of views.

    Parameters
    ----------
    value : (n,) array
    users : int
        Of all views together.
    parts : tuple of Part
    step : float
        The distance of two sums of scores next to each other; 0 with several views.
    population : bool
        Whether the users of a view are a draw, from the population or from all users.
    """

    value: Array
    users: int
    parts: tuple[Part, ...]
    step: float
    population: bool

    def _cumulants(self, f: Array) -> tuple[Array, Array, Array]:
        parts = [(part.share, part.cumulants(f, self.population)) for part in self.parts]
        second, third, fourth = (
            sum((share * each[order] for share, each in parts), start=np.zeros_like(f)) for order in range(3)
        )
        return np.maximum(second, 0.0), third, fourth


@dataclass(frozen=True, eq=False, repr=False)
class RawMarginal(CountedTable):
    """Unbiased estimates of the cells of a marginal; they need neither be >= 0 nor agree with others.

    Attributes
    ----------
    views : tuple of int
        Which views contain it.
    """

    views: tuple[int, ...]

    def _described(self) -> str:
        return f"{self.title}, unbiased, from {len(self.views)} view(s)"


def containing(places: View, views: Sequence[View]) -> tuple[int, ...]:
    """Return the numbers of the views that contain all attributes of a marginal.

    Raises
    ------
    EstimationError
        When no view does.
    """
    members = tuple(place for place, view in enumerate(views) if set(places) <= set(view))
    if not members:
        raise EstimationError(
            "marginal",
            "no view with reports contains it, so there is no unbiased estimate",
            "omit raw for that of the penalized distribution",
        )
    return members


def averaged(
    places: View,
    views: Sequence[View],
    tables: Sequence[Array],
    oracles: Sequence[Oracle],
    reports: Sequence[int],
    precision: Array,
    names: tuple[str, ...],
    population: bool,
) -> tuple[FrequencyEstimate, tuple[int, ...]]:
    """Return the weighted average of the views' marginals, flat, and which views have it."""
    members = containing(places, views)
    flat = [_marginal(tables[place], views[place], places) for place in members]
    cells = [tables[place].size // flat[0].size for place in members]
    weights = np.array([precision[place] / count for place, count in zip(members, cells, strict=True)])
    weights /= weights.sum()
    value = np.asarray(weights @ np.stack(flat))
    users = sum(reports[place] for place in members)
    parts, notes = [], few_users(min(reports[place] for place in members))
    for place, count, weight in zip(members, cells, weights.tolist(), strict=True):
        own, others = _moments(oracles[place], count)
        share = reports[place] / users
        parts.append(Part(share, weight / share, own, others))
        if count > 1 and oracles[place].supported(count) is None:
            notes += (BOUNDED.format(oracles[place].type),)
    first = oracles[members[0]].support_shares()
    step = 1.0 / float(first[0] - first[1]) if len(members) == 1 else 0.0
    limits = MarginalLimits(value, users, tuple(parts), step, population or len(views) > 1)
    errors = limits.standard_error()
    notes = tuple(dict.fromkeys(notes)) + implausible(names, value, errors, 0.0, 1.0)
    return FrequencyEstimate(value, errors, users, names, population, None, limits, notes), members


def _marginal(table: Array, view: View, places: View) -> Array:
    """Return the flat marginal of a view's table on some attributes, in their order."""
    summed = table.sum(axis=tuple(axis for axis, attribute in enumerate(view) if attribute not in places))
    axes = [attribute for attribute in view if attribute in places]
    flat: Array = summed.transpose([axes.index(attribute) for attribute in places]).ravel()
    return flat


def _moments(oracle: Oracle, cells: int) -> tuple[Array, Array]:
    """Return moments of the score of a sum of cells; those of a normal law with a larger variance if unknown.

    The standard deviation of a sum is at most the sum of the standard deviations.
    """
    known = score_moments(oracle, cells)
    if known is not None:
        return known
    own, other = oracle.support_shares()
    each = max(float(share * (1 - share)) for share in (own, other)) / float(own - other) ** 2
    variance = cells**2 * each
    central = np.array([variance, 0.0, 3.0 * variance**2])
    inside = np.array([variance + 1.0, 3.0 * variance + 1.0, 3.0 * variance**2 + 6.0 * variance + 1.0])
    return inside, central


ROWS_OF_TEXT = 60
"""Cells that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEstimate(CrossTable):
    """An estimated marginal: positive, with sum 1, the sum of cells of one distribution.

    Attributes
    ----------
    attributes : tuple of str
    value : array
        Shares, one axis an attribute.
    unpenalized_error : float
        Root mean squared error of a cell of the unbiased average of the views, at even data: before the
        penalty and before signs are minded.
    contained : bool
        Whether a view contains it; if not, the error is that of the effects that views have.
    penalty : float
        lambda.
    gap : float
        How far at most the minimized function is above its minimum.
    distance : float
        How far at most the table is from the exact minimizer's, in variation distance.
    users : int
    labels : tuple of tuple of str
        The values of each attribute.
    together : tuple of str
        The attributes of the distribution that it is summed from.
    spread : array, optional
        Standard deviations of the shares over resampled reports, where asked for. They do not know of bias.
    notes : tuple of str
    foreseen : callable, optional
        How :attr:`predicted_error` is found, when it is asked for.
    raw : callable, optional
        How the unbiased estimate of the same table is found, where a view contains it.
    """

    attributes: tuple[str, ...]
    value: Array
    unpenalized_error: float
    contained: bool
    penalty: float
    gap: float
    distance: float
    users: int
    labels: tuple[tuple[str, ...], ...]
    together: tuple[str, ...]
    spread: Array | None = None
    notes: tuple[str, ...] = ()
    foreseen: Callable[[], float | None] = field(default=lambda: None, repr=False)
    raw: Callable[[], RawMarginal] | None = field(default=None, repr=False)

    @cached_property
    def predicted_error(self) -> float | None:
        """The root mean squared error of a cell of ``value`` that is to be expected; no bound.

        Noise and the penalty's bias together, for truths as far from independence as the penalty presumes;
        see :mod:`mechdesign.families.marginals.penalized`. None for tables of many cells.
        """
        return self.foreseen()

    def figures(self) -> list[Figure]:
        """Return the shares, with the confidence intervals of the unbiased estimate where there is one.

        A table that no view contains has no confidence intervals: its lines are two expected errors of a
        cell long to either side.
        """
        interval, meaning = self._ends()
        title = f"{' x '.join(self.attributes)}: {counted(self.users, 'report')}"
        return table_figures(title, self.attributes, self.labels, self.value, interval, meaning)

    def _ends(self) -> tuple[tuple[Array, Array] | None, str]:
        """Return the intervals of a picture, and what they are."""
        if self.raw is not None:
            return self.raw().interval(), UNBIASED
        if self.predicted_error is None:
            return None, ""
        reach = 2.0 * self.predicted_error
        return (self.value - reach, self.value + reach), "range of two expected errors of a cell"

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the shares as columns, a row for each cell.

        There is no standard error of a share of one distribution: ``predicted_error`` is the root mean
        squared error that is to be expected of a cell, ``spread`` that over resampled reports.
        """
        names = [", ".join(cell) for cell in product(*self.labels)]
        more: dict[str, Any] = {"predicted_error": self.predicted_error}
        more |= {} if self.spread is None else {"spread": self.spread}
        return tidy_columns(self.title, names, self.value, more=more)

    def __repr__(self) -> str:
        kind = "contained" if self.contained else "reconstructed"
        return f"MarginalEstimate({listed(self.attributes)}: {counted(self.value.size, 'cell')}, {kind})"

    def __str__(self) -> str:
        cells = self._short_grid() if self.spread is None else ""
        return (
            f"{counted(self.users, 'report')}; "
            f"{self._error_text()}\n{cells or self._listed_cells()}{self._noted()}"
        )

    def _error_text(self) -> str:
        foreseen = "not computed" if self.predicted_error is None else f"{self.predicted_error:.2g}"
        return (
            f"penalty {self.penalty:g}; standard error of a cell {foreseen} (bias included), "
            f"without the penalty {self.unpenalized_error:.2g}"
        )

    def _noted(self) -> str:
        return "".join(f"\nnote: {note}" for note in self.notes)

    def _listed_cells(self) -> str:
        """Return a line for each cell, of a large table of the first ones."""
        flat = self.value.ravel()
        spread = None if self.spread is None else self.spread.ravel()
        rows, noise, numbers = [], self.predicted_error, [flat] if spread is None else [flat, spread]
        for cell in range(min(len(flat), ROWS_OF_TEXT)):
            places = np.unravel_index(cell, self.value.shape)
            names = [texts[int(place)] for texts, place in zip(self.labels, places, strict=True)]
            rows.append([*names, *(to_error(number[cell], noise, ".5f") for number in numbers)])
        rest = len(flat) - ROWS_OF_TEXT
        more = f"\n... and {rest} more cells (--json prints all)" if rest > 0 else ""
        header = [*self.attributes, "estimate", *([] if spread is None else ["spread"])]
        return f"{table(header, rows)}{more}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return json_object(
            {
                "attributes": list(self.attributes),
                "labels": [list(names) for names in self.labels],
                "users": self.users,
                "value": self.value,
                "predicted_error": self.predicted_error,
                "unpenalized_error": self.unpenalized_error,
                "spread": self.spread,
                "contained": self.contained,
                "penalty": self.penalty,
                "gap": self.gap,
                "distance": self.distance,
                "together": list(self.together),
                "notes": list(self.notes),
            }
        )


MOST_SYNTHETIC = 10_000_000


@dataclass(frozen=True, eq=False)
class Link:
    """New attributes, drawn from their law under earlier ones of the same view.

    Attributes
    ----------
    common, new : tuple of int
    chances : (cells of common, cells of new) array
        Rows sum to 1.
    """

    common: View
    new: View
    chances: Array

    @property
    def clique(self) -> View:
        """The attributes whose joint shares the rows have."""
        return tuple(sorted(self.common + self.new))


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticModel:
    """The distribution of synthetic rows.

    Attributes
    ----------
    links : tuple of Link
        In the order in which attributes are drawn.
    sizes : tuple of int
    """

    links: tuple[Link, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, views: Sequence[View], tables: Sequence[Array], sizes: Sequence[int]) -> Self:
        """Return the chain that keeps most of what the views tell, link by link.

        Of all views that meet an earlier clique the one is taken whose new attributes depend most on the
        common ones (largest mutual information).

        Parameters
        ----------
        views : sequence of tuple of int
        tables : sequence of array
            Consistent, non-negative, with sum 1.
        sizes : sequence of int

        Examples
        --------
        >>> model = SyntheticModel.of([(0, 1), (1, 2)], [np.eye(2) / 2, np.eye(2) / 2], [2, 2, 2])
        >>> model.cliques
        ((0, 1), (1, 2))
        """
        first = max(range(len(views)), key=lambda place: _dependence(tables[place]))
        links = [_link(views[first], tables[first], (), views[first])]
        done = set(views[first])
        while candidates := _candidates(views, [set(link.clique) for link in links], done):
            gains = [_information(_joint(views[place], tables[place], *sets)) for place, *sets in candidates]
            place, common, new = candidates[int(np.argmax(gains))]
            links.append(_link(views[place], tables[place], common, new))
            done.update(new)
        for rest in range(len(sizes)):
            if rest not in done:
                links.append(Link((), (rest,), np.full((1, sizes[rest]), 1.0 / sizes[rest])))
        return cls(tuple(links), tuple(sizes))

    @property
    def cliques(self) -> tuple[View, ...]:
        """The sets of attributes whose marginals the rows have exactly, in distribution."""
        return tuple(link.clique for link in self.links)

    def __repr__(self) -> str:
        return f"SyntheticModel({counted(len(self.sizes), 'attribute')}, cliques {list(self.cliques)[:8]})"

    def sample(self, rows: int, rng: np.random.Generator) -> Codes:
        """Return independent rows, shape (rows, d)."""
        count = integer("rows", rows, 1, MOST_SYNTHETIC)
        table = np.zeros((count, len(self.sizes)), dtype=np.int64)
        for link in self.links:
            row = np.zeros(count, dtype=np.int64)
            for place in link.common:
                row = row * self.sizes[place] + table[:, place]
            limits = np.cumsum(link.chances, axis=1)
            limits /= limits[:, -1:]
            steps = (limits + np.arange(len(limits))[:, None]).ravel()
            cell = np.searchsorted(steps, row + rng.random(count), side="right")
            cell = np.minimum(cell - row * limits.shape[1], limits.shape[1] - 1)
            for place in reversed(link.new):
                cell, table[:, place] = np.divmod(cell, self.sizes[place])
        return table


def _candidates(
    views: Sequence[View], cliques: Sequence[set[int]], done: set[int]
) -> list[tuple[int, View, View]]:
    """Return views with new attributes: the most that each has in common with one clique, and what is new."""
    numbers = []
    for place, view in enumerate(views):
        new = tuple(attribute for attribute in view if attribute not in done)
        if new:
            common = max((clique & set(view) for clique in cliques), key=len)
            numbers.append((place, tuple(sorted(common)), new))
    return numbers


def _joint(view: View, table: Array, value: View, new: View) -> Array:
    """Return the joint shares of the cells of ``value`` (rows) and ``new`` (columns)."""
    needed = [place for place in view if place in value or place in new]
    summed = table.sum(axis=tuple(axis for axis, place in enumerate(view) if place not in needed))
    ordered = summed.transpose([needed.index(place) for place in value + new])
    rows = int(np.prod(ordered.shape[: len(value)], dtype=np.int64))
    joint: Array = np.maximum(ordered, 0.0).reshape(rows, -1)
    return joint


def _link(view: View, table: Array, common: View, new: View) -> Link:
    """Return the conditional probabilities of new attributes; even where the common values never occur."""
    joint = _joint(view, table, common, new)
    sums = joint.sum(axis=1, keepdims=True)
    even = np.full_like(joint, 1.0 / joint.shape[1])
    return Link(common, new, np.divide(joint, sums, out=even, where=sums > 0.0))


def _information(joint: Array) -> float:
    """Return the mutual information of rows and columns, in nats."""
    even = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    ratio = np.divide(joint, even, out=np.ones_like(joint), where=joint > 0.0)
    return float((joint * np.log(ratio)).sum())


def _dependence(table: Array) -> float:
    """Return the total correlation of the attributes of a table, in nats."""
    gain = 0.0
    for axis in range(table.ndim - 1):
        rest = table.sum(axis=tuple(range(axis)))
        gain += _information(rest.reshape(rest.shape[0], -1))
    return gain
