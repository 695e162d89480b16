"""Marginals as sums of one distribution: the nearest to what the views say, with a penalty, and its error.

Over the table of all attributes, or of a cluster of them where all are too many, it minimizes ::

    1/2 sum_B m_B |E_B p - y_B|^2 + lambda KL(p || q)

with y_B the average of an effect over the views that have it, m_B one over its variance, q the product of
the estimated shares of single attributes. :mod:`mechdesign.solvers.firstorder` has the dual and the
certificate.

Its error is noise and the penalty's bias together. The penalized distribution is the most likely one where
``exp(-lambda KL(p || q))`` is the prior density. Near the estimate p the prior has the covariance S/lambda,
S = diag(p) - pp'; the logarithm of q, which is a sum of functions of single attributes, is estimated from the
same reports, so that the prior is flat along these: with F the functions of single attributes as columns ::

    G = S / lambda + FREE S F F'S.

The averaged effects, y = E p + noise with covariance 1/m, leave of it the posterior covariance ::

    G - G E's C^-1 s E G,    C = I + s E G E's,    s = sqrt(m).

Its diagonal is the mean square of an error over truths that are as far from independence as lambda presumes,
and over the noise (Wahba 1983; Nychka 1988). Effects that are left out make it larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import number_of_text, text_of
from mechdesign.families.marginals.views import Observed
from mechdesign.solvers.least_squares import DISTANCE, EntropicFit, entropic_least_squares

Array = NDArray[np.float64]

FREE = 100.0
"""The prior variance of the logarithms of single shares: far more than anything that reports leave open."""


def foreseen_squares(
    effects: Array, masses: Array, shares: Array, penalty: float, sums: Array, free: Array
) -> Array:
    """Return the expected squared errors of sums of cells.

    Parameters
    ----------
    effects : (rows, cells) array
        E: the coordinates of effects that were averaged.
    masses : (rows,) array
        One over the variances of their averages.
    shares : (cells,) array
        p, the estimate.
    penalty : float
    sums : (count, cells) array
        The coefficients c of sums of cells.
    free : (functions, cells) array
        F', functions along which the reference was estimated; none for a reference that was given.

    Examples
    --------
    >>> even, halves, none = np.full(2, 0.5), np.array([[1.0, -1.0]]) / np.sqrt(2.0), np.empty((0, 2))
    >>> foreseen_squares(halves, np.array([0.0]), even, 10.0, np.eye(2), none)  # 1/4 over lambda: no report
    array([0.025, 0.025])
    >>> foreseen_squares(halves, np.array([1e4]), even, 10.0, np.eye(2), np.eye(2)).round(9)  # 1/2 over m
    array([5.e-05, 5.e-05])
    """
    ways = np.sqrt(FREE) * _spread(shares, free)  # rows: functions, sqrt(FREE) S F

    def prior(rows: Array) -> Array:
        """Return the covariance of the prior times rows, as rows."""
        covariance: Array = _spread(shares, rows) / penalty + (rows @ ways.T) @ ways
        return covariance

    scaled = np.sqrt(masses)[:, None] * effects
    spread, seen = prior(sums), prior(scaled) @ sums.T
    matrix = prior(scaled) @ scaled.T
    matrix[np.diag_indices_from(matrix)] += 1.0
    explained = np.einsum("ij,ij->j", seen, np.linalg.solve(matrix, seen))
    squares: Array = np.maximum(np.einsum("ij,ij->i", sums, spread) - explained, 0.0)
    return squares


def _spread(shares: Array, rows: Array) -> Array:
    """Return (diag(p) - pp') times rows, as rows."""
    return np.asarray(shares * rows - np.outer(rows @ shares, shares))


View = tuple[int, ...]

PENALTY = 30.0
"""lambda, in units of the log-likelihood."""

PENALTIES = (300.0, 100.0, 30.0, 10.0)
"""Those that cross-validation chooses from; for tables that no view contains, at most :data:`PENALTY`."""

MOST_WHOLE = 1 << 17
"""All attributes are fitted at once while their table has at most this many cells."""

CLUSTER, CLUSTER_CELLS = 12, 1 << 14
"""Beyond, at most CLUSTER attributes are fitted together, with at most CLUSTER_CELLS cells."""

FORESEEN, MOST_FORESEEN = 512, 1024
"""Errors are foreseen with effects of FORESEEN cells, for tables of at most MOST_FORESEEN cells."""

CROSS_VALIDATED = "cross-validated"
FOLDS = 4
"""Parts of the users for cross-validation."""

LEAST_CROSSED = 100
"""With fewer users the penalty is not chosen by cross-validation unless this is requested."""

MOST_PENALTY = 1e9

ROUGH = 1e-3
"""The variation distance from the exact minimizer that is enough where fits are compared."""

SCORED = 0.01
"""The gap that is enough where penalties are compared: their scores, some hundreds, differ by more than 1."""

TIED = 4.0
"""Penalties whose scores differ by less predict alike: a factor of e^2 in weight."""

HELD = 64
"""Fits that are kept for further questions."""


@dataclass(frozen=True)
class Fold:
    """A part of the users left out: what the others said, and what they said themselves."""

    others: Observed
    own: Observed


class PenalizedTables:
    """Marginals of the penalized distribution, fitted when they are asked for.

    Parameters
    ----------
    observed : Observed
    penalty : float, optional
        lambda; None to choose it by cross-validation.
    folds : sequence of Fold
        For cross-validation.

    Examples
    --------
    >>> tables = [np.eye(2) / 2, np.eye(2) / 2]
    >>> observed = Observed([(0, 1), (1, 2)], tables, [2, 2, 2], np.full(2, 1e6))
    >>> table, fit = PenalizedTables(observed, 30.0).marginal((0, 2))
    >>> table.round(3), fit.distance < 1e-5
    (array([[0.5, 0. ],
           [0. , 0.5]]), True)
    """

    def __init__(
        self, observed: Observed, penalty: float | None = PENALTY, folds: Sequence[Fold] = ()
    ) -> None:
        self.observed, self.penalty, self.folds = observed, penalty, tuple(folds)
        self.sizes = observed.sizes
        self.whole = math.prod(self.sizes) <= MOST_WHOLE
        self._fits: dict[tuple[View, float], EntropicFit] = {}
        self._chosen: dict[View, float] = {}

    def cluster(self, attributes: Sequence[int]) -> View:
        """Return the attributes fitted together to answer for some: all, or those most tied to them."""
        if self.whole:
            return tuple(range(len(self.sizes)))
        return self._tied(attributes, CLUSTER, CLUSTER_CELLS)

    def _tied(self, attributes: Sequence[int], most: int, most_cells: int) -> View:
        """Return some attributes with those most tied to them: at most ``most``, of ``most_cells`` cells."""
        inside, cells = set(attributes), math.prod(self.sizes[place] for place in attributes)
        ties = {
            other: sum(self.observed.tie(place, other) for place in attributes)
            for other in range(len(self.sizes))
            if other not in inside
        }
        for other in sorted(ties, key=lambda place: (-ties[place], place)):
            if len(inside) >= most:
                break
            if ties[other] > 0.0 and cells * self.sizes[other] <= most_cells:
                inside.add(other)
                cells *= self.sizes[other]
        return tuple(sorted(inside))

    def fit(self, places: View, penalty: float) -> EntropicFit:
        """Return the distribution over some attributes."""
        key = (places, penalty)
        if key not in self._fits:
            if len(self._fits) >= HELD:
                self._fits.pop(next(iter(self._fits)))
            self._fits[key] = _fitted(self.observed, places, penalty)
        return self._fits[key]

    def penalty_for(self, places: View, contained: bool) -> float:
        """Return lambda for a table: the given one, or that which predicts users left out best.

        The users left out tell of effects that views have only; so tables that no view contains are shrunk
        with :data:`PENALTY` at most.
        """
        if self.penalty is not None:
            return self.penalty
        if places not in self._chosen:
            self._chosen[places] = _cross_validated(self.folds, places)
        return self._chosen[places] if contained else min(self._chosen[places], PENALTY)

    def marginal(self, attributes: View, contained: bool = True) -> tuple[Array, EntropicFit]:
        """Return the table over some attributes, in their order, and the fit that it is summed from."""
        places = self.cluster(attributes)
        fit = self.fit(places, self.penalty_for(places, contained))
        return self._summed(fit.shares, places, attributes), fit

    def _summed(self, shares: Array, places: View, attributes: View) -> Array:
        table = shares.reshape([self.sizes[place] for place in places])
        summed = table.sum(axis=tuple(axis for axis, place in enumerate(places) if place not in attributes))
        remaining = [place for place in places if place in attributes]
        marginal: Array = summed.transpose([remaining.index(place) for place in attributes])
        marginal = marginal / float(marginal.sum())
        return marginal

    def foreseen(self, attributes: View, contained: bool = True) -> float | None:
        """Return the root mean squared error to be expected of a cell; None where the table is too large.

        It is that of the estimate as it is returned, from the effects among the attributes and those
        most tied to them, as many as have :data:`FORESEEN` cells; others would make it a little smaller.
        """
        if math.prod(self.sizes[place] for place in attributes) > MOST_FORESEEN:
            return None
        places, fitted = self._tied(attributes, len(self.sizes), FORESEEN), self.cluster(attributes)
        places = tuple(place for place in places if place in fitted)
        fit = self.fit(fitted, self.penalty_for(fitted, contained))
        shares = self._summed(fit.shares, fitted, places)
        transform, origin = self.observed.effects_within(places)
        known = [place for place in places if self.observed.has((place,))]
        squares = foreseen_squares(
            transform.matrix(),
            self.observed.mass[origin],
            shares.ravel(),
            fit.penalty,
            self._members(places, attributes),
            np.vstack([np.empty((0, shares.size)), *(self._members(places, (place,)) for place in known)]),
        )
        return math.sqrt(float(squares.mean()))

    def _members(self, places: View, attributes: View) -> Array:
        """Return which cells of some attributes' table make up each cell of fewer attributes, as rows."""
        cells = np.zeros([self.sizes[place] for place in places], dtype=np.int64)
        for place in attributes:
            along = [-1 if other == place else 1 for other in places]
            cells = cells * self.sizes[place] + np.arange(self.sizes[place]).reshape(along)
        count = math.prod(self.sizes[place] for place in attributes)
        return np.equal.outer(np.arange(count), cells.ravel()).astype(np.float64)

    def resampled(self, attributes: View, contained: bool, count: int) -> Array:
        """Return the tables that other reports of as many users would give: one more axis, the first.

        Averages of effects are drawn around those of the fitted distribution with their own precisions, and
        everything is estimated again, the reference included, with the same penalty.
        """
        places = self.cluster(attributes)
        fit = self.fit(places, self.penalty_for(places, contained))
        transform, origin = self.observed.within(places)
        center, deviation = transform.forward(fit.shares), self.observed.mass[origin] ** -0.5
        rng, folds = np.random.default_rng(0), []
        for _ in range(count):
            draws = self.observed.replaced(origin, center + deviation * rng.normal(size=len(origin)))
            again = _fitted(draws, places, fit.penalty, fit.multipliers, ROUGH)
            folds.append(self._summed(again.shares, places, attributes))
        return np.stack(folds)

    def cover(self) -> list[View]:
        """Return clusters that have every attribute: all at once, or around those most tied to the others."""
        clusters: list[View] = []
        missing = list(range(len(self.sizes)))
        strength = [sum(self.observed.tie(one, other) for other in missing) for one in missing]
        while missing:
            clusters.append(self.cluster((max(missing, key=lambda place: strength[place]),)))
            missing = [place for place in missing if place not in clusters[-1]]
        return clusters


def draw_folds(users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a part for each user, of as equal sizes as can be, whatever their order."""
    return rng.permutation(np.arange(users, dtype=np.int64) % FOLDS)


def penalty_for(value: Any, users: int) -> Any:
    """Return the penalty where reports are at hand: by default cross-validated, with enough users.

    Examples
    --------
    >>> penalty_for(None, 5000), penalty_for(None, 50), penalty_for(10, 5000)
    ('cross-validated', None, 10)
    """
    return CROSS_VALIDATED if value is None and users >= LEAST_CROSSED else value


def read_penalty(value: Any) -> float | None:
    """Return lambda, the default for None; None for cross-validation.

    Examples
    --------
    >>> read_penalty(None), read_penalty("10"), read_penalty("cross-validated")
    (30.0, 10.0, None)
    """
    if value is None:
        return PENALTY
    if isinstance(value, str):
        if value == CROSS_VALIDATED:
            return None
        number = number_of_text(value)
        if number is None:
            raise ParameterError(
                "penalty", f"{text_of(value)} is neither a number nor '{CROSS_VALIDATED}'", "give one of them"
            )
        value = number
    return in_range("penalty", value, 0.0, MOST_PENALTY, low_open=True)


def _fitted(
    observed: Observed,
    places: View,
    penalty: float,
    start: Array | None = None,
    distance: float = DISTANCE,
) -> EntropicFit:
    transform, origin = observed.within(places)
    target, weights, reference = observed.values[origin], observed.mass[origin], observed.reference(places)
    return entropic_least_squares(transform, target, weights, reference, penalty, start, distance)


def _cross_validated(folds: Sequence[Fold], places: View) -> float:
    """Return the penalty with the least score: downhill from the middle ones, until scores rise.

    Scores are those of normal errors, so that exp(-score/2) weighs the penalties as it does hypotheses; of
    those that predict nearly alike, within TIED, the geometric mean with these weights is taken.
    """
    scoring = _Scoring(folds, places)
    middle = len(PENALTIES) // 2
    scores = {place: scoring.score(PENALTIES[place]) for place in (middle - 1, middle)}
    step = 1 if scores[middle] < scores[middle - 1] else -1
    best = middle if step == 1 else middle - 1
    while 0 <= best + step < len(PENALTIES):
        scores[best + step] = scoring.score(PENALTIES[best + step])
        if scores[best + step] >= scores[best]:
            break
        best += step
    alike = {place: score for place, score in scores.items() if score <= scores[best] + TIED}
    weights = np.array([math.exp((scores[best] - score) / 2.0) for score in alike.values()])
    logs = np.log([PENALTIES[place] for place in alike])
    return PENALTIES[best] if len(alike) == 1 else float(np.exp(weights @ logs / weights.sum()))


class _Scoring:
    """How well the distributions of the others predict the users left out, one penalty after another."""

    def __init__(self, folds: Sequence[Fold], places: View) -> None:
        self.folds, self.places = folds, places
        self.latest: list[EntropicFit | None] = [None] * len(folds)

    def score(self, penalty: float) -> float:
        """Return by how much they miss what the users left out say, in weighted squares."""
        error, near = 0.0, math.sqrt(SCORED / (2.0 * penalty))
        for number, fold in enumerate(self.folds):
            latest, start = self.latest[number], None
            if latest is not None:  # in proportion to the penalty the multipliers mean the same shares
                start = latest.multipliers * (penalty / latest.penalty)
            fit = _fitted(fold.others, self.places, penalty, start, near)
            self.latest[number] = fit
            there, origin = fold.own.within(self.places)
            missed = there.forward(fit.shares) - fold.own.values[origin]
            error += float(fold.own.mass[origin] @ missed**2)
        return error
