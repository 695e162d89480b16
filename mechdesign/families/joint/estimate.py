"""Joint distributions estimated from one-hot reports, and tables of their shares with errors.

Estimates are of penalized or of largest likelihood; the shares of a table are also estimated without bias.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.intervals import Limits, tail_of
from mechdesign.collect.scores import few_users
from mechdesign.core.errors import EstimationError, ParameterError, counted, margin_text
from mechdesign.core.validation import integer, one_of
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, CrossTable, tidy_columns
from mechdesign.families.joint.likelihood import (
    EffectMoments,
    Likelihood,
    LikelihoodMaximum,
    is_unique,
    most_likely,
)
from mechdesign.families.joint.limits import BitMoments, ShareLimits
from mechdesign.families.joint.one_bit import bit_places
from mechdesign.families.joint.one_hot import (
    AttributeBits,
    Codes,
    NoisyBits,
    PackedBits as Packed,
    attribute_bits,
    bits_of,
    conditionals,
    titles,
    unbiased_cells,
)
from mechdesign.families.joint.penalized import (
    REFERENCES,
    Penalized,
    PenaltyChoice,
    best_penalty,
    joint_penalty,
    penalized_likelihood,
    reference_of,
)
from mechdesign.show.panels import MOST_PANELS, table_figures, together
from mechdesign.show.tables import table, to_error

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

MOST_ROWS = 60
MARGIN = "margin"
"""Cells that are printed: those of the largest shares where there are more."""


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(CrossTable):
    """Shares of the cells of some attributes, on request given others, whose axes come last.

    Attributes
    ----------
    attributes, given : tuple of str
    values : tuple of tuple of str
        The names of the values on each axis.
    value : array
        The estimated shares: of penalized likelihood, or the most likely ones.
    spread : array or None
        Standard deviations of them over resampled users, if asked for; they know of no bias.
    unbiased, standard_error : array
        The unbiased estimates (for conditionals, quotients of two) and their standard errors; NaN where
        there are none.
    limits : Limits or None
        How far intervals around the unbiased estimates reach.
    users : int
    gap : float
        By how much at most the (penalized) log-likelihood per user of the joint distribution is below the
        maximum.
    unique : bool or None
        Whether no other joint distribution is as good; None where it was not examined.
    distance : float or None
        Of a penalized one: how far at most it is from the exact one, in variation distance.
    penalty : (float, str) or None
        lambda and the reference; None for the most likely distribution.
    """

    attributes: tuple[str, ...]
    given: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    value: Array
    spread: Array | None
    unbiased: Array
    standard_error: Array
    limits: Limits | None
    users: int
    gap: float
    unique: bool | None = None
    distance: float | None = None
    penalty: tuple[float, str] | None = None

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals: the shares that a score test does not reject."""
        tail = tail_of(level, 1)
        if self.limits is None:
            return self.unbiased, self.unbiased
        down, up = self.limits.distances(tail)
        return self.unbiased - down, self.unbiased + up

    def figures(self) -> list[Figure]:
        """Return the unbiased shares with their intervals."""
        axes = [*self.attributes, *(f"given {name}" for name in self.given)]
        title = f"{self.title}: {counted(self.users, 'report')}"
        return table_figures(title, axes, self.values, self.unbiased, self.interval())

    @property
    def title(self) -> str:
        head = " x ".join(self.attributes)
        return head if not self.given else f"{head} given {' x '.join(self.given)}"

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names of the values on each axis."""
        return self.values

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the shares as columns, a row for each cell.

        ``standard_error``, ``low`` and ``high`` belong to ``unbiased``, which stands next to ``estimate``.
        """
        names = [", ".join(cell) for cell in product(*self.values)]
        more = {"unbiased": self.unbiased}
        more |= {} if self.spread is None else {"spread": self.spread}
        return tidy_columns(self.title, names, self.value, self.standard_error, self.interval(level), more)

    def __repr__(self) -> str:
        return (
            f"JointTable({self.title}: {counted(self.value.size, 'cell')}, {counted(self.users, 'report')})"
        )

    def __str__(self) -> str:
        low, high = self.interval()
        margins = (high - low) / 2.0
        columns = [self.value, self.spread, self.unbiased, self.standard_error, margins, low, high]
        first = "likeliest" if self.penalty is None else "estimate"
        names = [first, "spread", "unbiased", "std error", MARGIN, "95% low", "95% high"]
        lines = [
            (name, column.ravel()) for name, column in zip(names, columns, strict=True) if column is not None
        ]
        order = np.arange(self.value.size)
        if len(order) > MOST_ROWS:
            order = np.sort(np.argsort(-np.nan_to_num(self.value.ravel()), kind="stable")[:MOST_ROWS])
        cells = list(product(*self.values))
        errors = self.standard_error.ravel()
        rows = [
            [
                *cells[cell],
                *(
                    margin_text(column[cell], True) if name == MARGIN else _figure(column[cell], errors[cell])
                    for name, column in lines
                ),
            ]
            for cell in order.tolist()
        ]
        header = [*self.attributes, *(f"given {name}" for name in self.given), *(name for name, _ in lines)]
        rest = self.value.size - len(order)
        more = f"\n... and {rest} more cells of smaller shares" if rest else ""
        head = f"{self.title}: {counted(self.users, 'report')}, {self._proof()}"
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        other = "\nother joint distributions are as likely: the reports do not distinguish all cells"
        return f"{head}{other if self.unique is False else ''}\n{table(header, rows)}{more}{notes}"

    def _proof(self) -> str:
        if self.penalty is None or self.distance is None:
            return f"log-likelihood within {self.gap:.1e} of the maximum"
        towards = {"uniform": "even shares", "product": "independence"}[self.penalty[1]]
        near = f"within {self.distance:.0e} of the exact one"
        return f"penalty {self.penalty[0]:g} towards {towards}, {near}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the intervals may cover less often than stated: why."""
        return few_users(self.users)

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain values."""
        low, high = self.interval()
        return json_object(
            {
                "attributes": list(self.attributes),
                "given": list(self.given),
                "values": [list(names) for names in self.values],
                "users": self.users,
                "gap": self.gap,
                "unique": self.unique,
                "value": self.value,
                "spread": self.spread,
                "distance": self.distance,
                "penalty": None if self.penalty is None else self.penalty[0],
                "reference": None if self.penalty is None else self.penalty[1],
                "unbiased": self.unbiased,
                "standard_error": self.standard_error,
                "low": low,
                "high": high,
                "notes": list(self.notes),
            }
        )


def _figure(number: float, error: float) -> str:
    return "-" if np.isnan(number) else to_error(number, error, ".5f")


ESTIMATORS = ("penalized-likelihood", "maximum-likelihood")
"""What ``value`` is: the distribution of penalized likelihood, or the most likely one."""

GAP = 1e-6
"""The likelihood ratio of the most likely distribution is below 1 plus this."""

BOOTSTRAP_GAP, BOOTSTRAP_DISTANCE = 1e-4, 1e-2
"""What is asked for of resampled reports: the error of a spread is larger by far."""

REPLICATES = 50
MOST_PRODUCTS = 1 << 14
"""Largest number of cells of a table with unbiased estimates."""

MOST_COMPARED = 400
"""Largest number of cells, columns of a matrix, for the check that the likeliest distribution is unique."""

RARE = 3.0
"""Conditional shares are given where the condition's share is above RARE times its standard error."""


class JointEstimate(CrossTable):
    """The joint distribution of some attributes, from the patterns that users sent.

    ``value`` is the distribution of penalized likelihood, or on request the most likely one; ``gap`` bounds
    how far it is from the minimum of what it minimizes. Marginals and conditionals are sums and quotients of
    it, and come with the unbiased estimates of the same cells, which have intervals.

    Parameters
    ----------
    mechanism : JointResponse
    patterns : (n, bytes) array of uint8
        Packed bits; of several reports linked to their users, numbers of ones, (n, bits).
    counts : (n,) array
        Users who sent each.
    population : bool
        Whether the requested shares are those of the population the users were drawn from.
    view : sequence of int, optional
        The attributes; all by default.
    linked : int
        Reports of each user; 1 for packed bits.
    estimator : {"penalized-likelihood", "maximum-likelihood"}
    penalty : float or "cross-validated", optional
        lambda of the penalized likelihood, in units of the log-likelihood; by cross-validation by default.
    reference : {"uniform", "product"}, optional
        What the penalty draws towards: even shares, or the product of the estimated shares of single
        attributes; chosen by cross-validation by default.

    Attributes
    ----------
    attributes : tuple of str
        The names of the attributes, in the order of the axes.

    Examples
    --------
    >>> from mechdesign.families.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 2], 4.5, redraw=0.0, keep=0.75, add=0.25, names=["a", "b"])
    >>> reports = mechanism.randomize([[0, 0]] * 6000 + [[1, 1]] * 4000, rng=1)
    >>> estimate = mechanism.estimate(reports)
    >>> estimate.distance < 1e-3, estimate.value.round(1).tolist()
    (True, [[0.6, 0.0], [0.0, 0.4]])
    >>> estimate.conditional(["a"], given=["b"]).value.round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> list(estimate.grid())
    ['a', 'b: 0', 'b: 1']
    """

    def __init__(
        self,
        mechanism: NoisyBits,
        patterns: Packed,
        counts: Codes,
        population: bool = False,
        view: Iterable[int] | None = None,
        linked: int = 1,
        estimator: str = ESTIMATORS[0],
        penalty: Any = None,
        reference: str | None = None,
    ) -> None:
        self.estimator = one_of("estimator", estimator, ESTIMATORS)
        self.penalty = joint_penalty(penalty)
        self.reference = None if reference is None else one_of("reference", reference, REFERENCES)
        if not self.is_penalized and (self.penalty is not None or self.reference is not None):
            what = "penalty" if self.penalty is not None else "reference"
            raise ParameterError(what, "the most likely distribution has none", "omit it")
        self.mechanism, self.population, self.linked = mechanism, population, linked
        self.patterns, self.counts = patterns, counts
        self.view = tuple(range(mechanism.attributes.count)) if view is None else tuple(view)
        self.attributes = tuple(mechanism.attributes.shown()[place] for place in self.view)
        self._spread: dict[int, Array] = {}

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names of the values on each axis."""
        labels = self.mechanism.attributes.labels
        return tuple(tuple(labels[place].shown()) for place in self.view)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return self.mechanism.attributes.shape(self.view)

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return int(self.counts.sum())

    def over(self, attributes: Iterable[Any]) -> JointEstimate:
        """Return the estimate of fewer attributes alone, whose reports say nothing of the others."""
        places = self.mechanism.attributes.positions(attributes)
        self._require(places)
        return self._again(places, self.estimator, self.penalty, self.reference)

    def by(self, estimator: str, penalty: Any = None, reference: str | None = None) -> JointEstimate:
        """Return the estimate from the same reports by another estimator, penalty or reference."""
        return self._again(self.view, estimator, penalty, reference)

    def _again(self, places: tuple[int, ...], *options: Any) -> JointEstimate:
        return JointEstimate(
            self.mechanism, self.patterns, self.counts, self.population, places, self.linked, *options
        )

    # The distribution

    @property
    def is_penalized(self) -> bool:
        """Whether ``value`` is the distribution of penalized likelihood."""
        return self.estimator == ESTIMATORS[0]

    @cached_property
    def model(self) -> Likelihood:
        """The likelihood of the reports, equal ones taken together."""
        noise, bit = self.mechanism.bit_noise(self.linked)
        return Likelihood(
            self._ones(self.view), self.counts, self.shape, noise.own, noise.other, noise.chances, bit
        )

    @cached_property
    def maximum(self) -> LikelihoodMaximum:
        """The most likely distribution with its proof."""
        return most_likely(self.model, GAP)

    @cached_property
    def moments(self) -> EffectMoments:
        """The unbiased effects with their variances."""
        return EffectMoments(self.model)

    @cached_property
    def choice(self) -> PenaltyChoice:
        """The penalty and the reference: as given, the rest by cross-validation."""
        penalties = None if self.penalty is None else (self.penalty,)
        references = REFERENCES if self.reference is None else (self.reference,)
        return best_penalty(self.model, self.moments, penalties, references)

    @cached_property
    def penalized(self) -> Penalized:
        """The distribution of penalized likelihood with its proof."""
        mean = self.moments.mean(self.model.counts)
        reference = reference_of(self.moments, mean, self.choice.reference)
        return penalized_likelihood(self.model, reference, self.choice.penalty, self.moments)

    @property
    def gap(self) -> float:
        """By how much at most the (penalized) log-likelihood per user is below its maximum."""
        return self.penalized.gap if self.is_penalized else max(0.0, self.maximum.ratio - 1.0)

    @property
    def distance(self) -> float | None:
        """Upper bound of the variation distance between the penalized distribution and the exact one."""
        return self.penalized.distance if self.is_penalized else None

    @cached_property
    def unique(self) -> bool | None:
        """Whether nothing else is as good; None where that would take too long to say.

        The minimizer of the penalized likelihood is unique. The most likely distribution need not be.
        """
        if self.is_penalized:
            return True
        return is_unique(self.model, self.maximum.distribution, MOST_COMPARED)

    @property
    def value(self) -> Array:
        """The estimated distribution, one axis an attribute."""
        estimate = self.penalized if self.is_penalized else self.maximum
        return estimate.distribution.reshape(self.shape)

    @property
    def standard_error(self) -> Array:
        """Standard errors of the unbiased shares of all cells, around which :meth:`interval` is."""
        return self.marginal(self.view).standard_error

    def bootstrap(self, replicates: int = REPLICATES, rng: int = 0) -> Array:
        """Return the distributions of resampled users, as many as there are replicates.

        Users are drawn with replacement, which adds the variance of drawing them from a population. How they
        scatter is a spread and no error: penalty and signs make estimates biased, and resampling does not
        show by how much. The unbiased estimates have intervals.
        """
        number = integer("bootstrap", replicates, 2, 10_000)
        if number not in self._spread:
            generator, model = np.random.default_rng(rng), self.model
            chances = model.counts / model.counts.sum()
            resamplings = np.empty((number, model.cells))
            for row in range(number):
                resampled = model.with_counts(generator.multinomial(self.users, chances))
                resamplings[row] = self._resampled(resampled)
            self._spread[number] = resamplings.reshape(number, *self.shape)
        return self._spread[number]

    def _resampled(self, model: Likelihood) -> Array:
        """Return the distribution of other counts of the same reports."""
        if not self.is_penalized:
            return most_likely(model, BOOTSTRAP_GAP, start=self.maximum.distribution).distribution
        reference = reference_of(self.moments, self.moments.mean(model.counts), self.choice.reference)
        start = self.penalized.distribution
        return penalized_likelihood(
            model, reference, self.choice.penalty, self.moments, start, BOOTSTRAP_DISTANCE
        ).distribution

    # Tables

    def marginal(self, attributes: Iterable[Any], bootstrap: int = 0) -> JointTable:
        """Return the distribution of some of the attributes.

        Parameters
        ----------
        attributes : list of names or numbers
        bootstrap : int
            Resamplings for the spread of the estimated shares; 0 for none.
        """
        places = self._places(attributes)
        resampled = self._summed(self.bootstrap(bootstrap), places) if bootstrap else None
        value = self._summed(self.value[None], places)[0]
        return self._table(places, (), value, resampled)

    def conditional(self, attributes: Iterable[Any], given: Iterable[Any], bootstrap: int = 0) -> JointTable:
        """Return the distribution of some attributes given others; these have the last axes.

        NaN where a condition has no share.
        """
        inner, outer = self._places(attributes), self._places(given)
        if set(inner) & set(outer):
            name = self.mechanism.attributes.shown()[min(set(inner) & set(outer))]
            raise ParameterError("given", f"attribute '{name}' is asked for and given", "name it once")
        value = conditionals(self._summed(self.value[None], (*inner, *outer)), len(inner))[0]
        resampled = None
        if bootstrap:
            joint = self._summed(self.bootstrap(bootstrap), (*inner, *outer))
            resampled = conditionals(joint, len(inner))
        return self._table(inner, outer, value, resampled)

    def _places(self, attributes: Iterable[Any]) -> tuple[int, ...]:
        places = self.mechanism.attributes.positions(attributes)
        self._require(places)
        return places

    def _require(self, places: tuple[int, ...]) -> None:
        for place in places:
            if place not in self.view:
                name = self.mechanism.attributes.shown()[place]
                raise EstimationError(
                    "marginal",
                    f"attribute '{name}' is not among {', '.join(self.attributes)}",
                    "estimate it with them",
                )

    def _summed(self, tables: Array, places: tuple[int, ...]) -> Array:
        """Return the marginals of tables (first axis) on attributes, in their order."""
        axes = [self.view.index(place) for place in places]
        others = tuple(axis + 1 for axis in range(len(self.view)) if axis not in axes)
        summed = tables.sum(axis=others)
        rest = sorted(axes)
        ordered: Array = summed.transpose(0, *(rest.index(axis) + 1 for axis in axes))
        return ordered

    def _unbiased(
        self, inner: tuple[int, ...], outer: tuple[int, ...] = ()
    ) -> tuple[Array, Array, ShareLimits | None]:
        """Return the unbiased shares, their standard errors and limits; NaN where a condition is too rare."""
        places = (*inner, *outer)
        shape = self.mechanism.attributes.shape(places)
        if np.prod(shape, dtype=float) > MOST_PRODUCTS:
            return np.full(shape, np.nan), np.full(shape, np.nan), None
        value, base, usable = self._shares(places), np.ones(shape), np.ones(shape, dtype=np.bool_)
        if outer:
            below = self._shares(outer)
            limits = self._limits(outer, below, np.ones_like(below), 0)
            usable = np.broadcast_to(below > RARE * limits.standard_error(), shape)
            base = np.where(usable, below, 1.0)
        share = np.where(usable, value / base, 0.0)
        limits = self._limits(places, share, base, len(outer))
        estimates = np.where(usable, share, np.nan), np.where(usable, limits.standard_error(), np.nan)
        return *estimates, limits

    def _shares(self, places: tuple[int, ...]) -> Array:
        return unbiased_cells(self._ones(places), self.counts, self._attribute_bits(places))

    def _attribute_bits(self, places: tuple[int, ...]) -> tuple[AttributeBits, ...]:
        """Return the bits of some attributes among their own alone."""
        noise, bit = self.mechanism.bit_noise(self.linked)
        return attribute_bits(self.mechanism.attributes.shape(places), noise, bit)

    def _limits(self, places: tuple[int, ...], value: Array, base: Array, outer_count: int) -> ShareLimits:
        bits = [self._moments_of_sizes[size] for size in self.mechanism.attributes.shape(places)]
        estimated = self._summed(self.value[None], places)[0]
        return ShareLimits.of(value, base, estimated, outer_count, bits, self.users, self.population)

    @cached_property
    def _moments_of_sizes(self) -> dict[int, BitMoments]:
        """The moments of debiased bits, by the number of values of an attribute."""
        return {
            attribute.size: BitMoments.of_attribute(attribute)
            for attribute in self._attribute_bits(self.view)
        }

    def _ones(self, places: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return how many of a user's reports have each bit of some attributes."""
        sizes, one_bit = self.mechanism.attributes.sizes, self.mechanism.one_bit
        if self.linked == 1:
            return bits_of(self.patterns, sizes, places, one_bit)
        return self.patterns[:, bit_places(sizes, places, one_bit)]

    def _table(
        self,
        inner: tuple[int, ...],
        outer: tuple[int, ...],
        value: Array,
        resampled: Array | None,
    ) -> JointTable:
        shares, error, limits = self._unbiased(inner, outer)
        names, labels = titles(self.mechanism.attributes), self.mechanism.attributes.labels
        spread = None if resampled is None else resampled.std(axis=0, ddof=1)
        return JointTable(
            tuple(names[place] for place in inner),
            tuple(names[place] for place in outer),
            tuple(tuple(labels[place].shown()) for place in (*inner, *outer)),
            value,
            spread,
            shares,
            error,
            limits,
            self.users,
            self.gap,
            self.unique,
            self.distance,
            (self.choice.penalty, self.choice.reference) if self.is_penalized else None,
        )

    # Showing

    def figures(self) -> list[Figure]:
        """Return the unbiased shares of each attribute by itself, of the first six where there are more."""
        alone = [self.marginal([name]).figures() for name in self.attributes[:MOST_PANELS]]
        title = f"Estimated shares of {counted(self.users, 'report')}"
        return together(title, [figure for figures in alone for figure in figures])

    def __repr__(self) -> str:
        return f"JointEstimate({counted(self.users, 'report')} of {', '.join(self.attributes[:8])})"

    def __str__(self) -> str:
        return str(self.marginal(self.view))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals around the unbiased estimates of all cells."""
        return self.marginal(self.view).interval(level)

    def tidy(self, level: float = 0.95) -> Columns:
        return self.marginal(self.view).tidy(level)

    def as_json(self) -> dict[str, Any]:
        """Return the joint distribution as plain values."""
        return self.marginal(self.view).as_json()
