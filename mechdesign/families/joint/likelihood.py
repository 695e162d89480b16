"""The likelihood of one-hot reports over all joint cells, the effects that they estimate, and the maximum.

**Two parts of the attributes.**
A report T has a group of bits for every attribute. Up to a factor that no cell changes, its chance in the
cell v = (v_1, ..., v_d) is the product of r_1 where the bit of v_j is 1 and r_0 where it is 0, with
r_1 = q*/p* and r_0 = (1 - q*)/(1 - p*). So the attributes are split into two parts; every distinct group of
bits of a part has one row of products over the part's cells, and a table over the cells of both parts is a
matrix. For n distinct reports and C_1 C_2 cells, sum_v P(v) Pr[T | v] for all T costs n C_2 and a product of
small matrices.

**Effects.**
The debiased bits of an attribute, brought to the sum 1, have coordinates: 1, and one for each row of
Helmert's basis. A product of coordinates over attributes is an unbiased estimate of that coordinate of the
joint table (:mod:`mechdesign.primitives.attributes`), and its mean over users is had like the
likelihood, from two parts of the attributes.

**Maximum**, with a proof of how far a distribution can be from it.
The mean log-likelihood is concave in the distribution P. With G(v) the mean likelihood ratio of cell v, the
mean log-likelihood of any other distribution exceeds that of P by at most log max G (Jensen): so max G - 1 is
the stopping rule. A solution has few cells above 0, some hundred of thousands. So each step is Newton's on a
working set of cells, those above 0 and those with the largest ratios, under P >= 0 alone: minimising the mean
of -log sum_v P(v) Pr[T | v] plus the sum of P over P >= 0 makes the sum 1. The curvature may come from a part
of the reports; the ratios never do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.joint.one_bit import bit_widths
from mechdesign.families.joint.one_hot import AttributeBits, BitNoise, attribute_bits, keys
from mechdesign.solvers.least_squares import EffectTransform, contrasts, nonnegative_quadratic

Array = NDArray[np.float64]
Bits = NDArray[np.uint8]

BLOCK = 1 << 16
"""Numbers that are looked at at a time: they fit the processor's cache."""

MOST_NUMBERS = 1 << 27
"""Numbers in the largest array: 1 GiB."""


def parts(sizes: Sequence[int]) -> int:
    """Return the number of attributes in the first part, such that the larger part has few cells.

    Examples
    --------
    >>> parts([2, 5, 6, 7, 7, 2]), parts([4])
    (3, 1)
    """
    splits = range(1, len(sizes)) if len(sizes) > 1 else (1,)
    return min(splits, key=lambda k: max(math.prod(sizes[:k]), math.prod(sizes[k:])))


class Likelihood:
    """Mean log-likelihood of a distribution over the joint cells, and its gradient.

    Parameters
    ----------
    reports : (n, bits) array of uint8
        Distinct or not; one row a user's report, attribute after attribute: 0 or 1, or of several reports
        linked to the user the number of ones.
    counts : (n,) array
        How many users sent each.
    sizes : sequence of int
        Values of each attribute.
    own, other : float
        q* and p*: the chance of a 1 where the true bit is 1, and where it is 0; 0 < p* < q* < 1.
    chances : (2, R + 1) array, optional
        Of R linked reports of a bit: the chance of each sequence, by its number of ones, for a true 1 and a
        true 0; those of one report by default.
    bit : BitNoise, optional
        That of attributes with two values which have one bit; without it all are one-hot.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([3, 1]), [2], 0.75, 0.25)
    >>> model.cells, model.users
    (2, 4)
    >>> model.ratios(model.densities(np.array([0.5, 0.5]))).round(3).tolist()
    [1.4, 0.6]
    """

    def __init__(
        self,
        reports: Bits,
        counts: NDArray[np.int64],
        sizes: Sequence[int],
        own: float,
        other: float,
        chances: Array | None = None,
        bit: BitNoise | None = None,
    ) -> None:
        self.sizes, self.own, self.other = tuple(sizes), own, other
        noise = BitNoise(own, other) if chances is None else BitNoise(own, other, chances)
        self.attributes = attribute_bits(sizes, noise, bit)
        self.chances = noise.visible
        self.users = int(counts.sum())
        if self.users == 0:
            raise DataError("reports", "there are none", "give at least one report")
        split = parts(sizes)
        self.require_room(sizes, len(reports), bit is not None)
        self.groups: list[Bits] = []
        """Reports with the distinct groups of bits of both parts, in the order of the rows of ``first`` and
        ``second``."""
        first, place_1 = self._rows(reports, 0, split)
        second, place_2 = self._rows(reports, split, len(sizes))
        order = np.lexsort((place_2, place_1))
        place_1, place_2, ordered = place_1[order], place_2[order], counts[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (np.diff(place_1) != 0) | (np.diff(place_2) != 0)
        starts = np.flatnonzero(fresh)
        self.first, self.second = first, second
        self.place_1, self.place_2 = place_1[starts], place_2[starts]
        self.counts: Array = np.add.reduceat(ordered, starts).astype(np.float64)
        self.constant = self._without_ones(reports, counts) / self.users
        """The mean logarithm of the factor that no cell changes: that of a report if all true bits were 0."""

    def _without_ones(self, reports: Bits, counts: NDArray[np.int64]) -> float:
        """Return the sum over users of the logarithm of their report's chance if all true bits were 0."""
        total = 0.0
        for alone in sorted({attribute.alone for attribute in self.attributes}):
            same = [attribute for attribute in self.attributes if attribute.alone == alone]
            chances = same[0].noise.visible
            columns = np.concatenate([np.arange(each.start, each.start + each.width) for each in same])
            bits = reports if len(columns) == reports.shape[1] else reports[:, columns]
            seen = [counts @ (bits == ones).sum(axis=1) for ones in range(chances.shape[1])]
            total += float(np.array(seen) @ np.log(chances[1]))
        return total

    @staticmethod
    def require_room(sizes: Sequence[int], reports: int, one_bit: bool = False) -> None:
        """Raise ParameterError where the arrays for ``reports`` different reports would be too large."""
        split = parts(sizes)
        widths = [math.prod(sizes[:split]), math.prod(sizes[split:])]
        each = bit_widths(sizes, one_bit)
        bits = [sum(each[:split]), sum(each[split:])]
        rows = [min(reports, 1 << min(number, 62)) for number in bits]
        needed = max(widths[0] * widths[1], *(row * width for row, width in zip(rows, widths, strict=True)))
        if needed > MOST_NUMBERS:
            cells = math.prod(sizes)
            raise ParameterError(
                "attributes",
                f"{cells} joint cells of {reports} different reports need an array of "
                f"{8 * needed / 2**30:.1f} GiB, 1 GiB is the limit",
                "take fewer attributes together",
            )

    def _rows(self, reports: Bits, start: int, stop: int) -> tuple[Array, NDArray[np.int64]]:
        """Return the products of each distinct group of bits over a part's cells, and each report's group."""
        if start == stop:
            self.groups.append(np.zeros((1, 0), dtype=np.uint8))
            return np.ones((1, 1)), np.zeros(len(reports), dtype=np.int64)
        inside = self.attributes[start:stop]
        low, high = inside[0].start, inside[-1].start + inside[-1].width
        single = self.chances.shape[1] == 2
        key = keys(np.packbits(reports[:, low:high], axis=1) if single else reports[:, low:high])
        _, chosen, places = np.unique(key, return_index=True, return_inverse=True)
        groups = reports[chosen]
        self.groups.append(groups)
        rows = np.ones((len(groups), 1))
        for attribute in inside:
            factor = attribute.factors(groups)
            rows = (rows[:, :, None] * factor[:, None, :]).reshape(len(groups), -1)
        return rows, places.ravel().astype(np.int64)

    def with_counts(self, counts: NDArray[np.int64]) -> Self:
        """Return the likelihood of other numbers of users with the same distinct reports, in their order.

        Its :meth:`value` lacks the constant of the other reports: only differences mean anything.
        """
        other = copy(self)
        other.counts, other.users = counts.astype(np.float64), int(counts.sum())
        return other

    @cached_property
    def _pattern(self) -> Any:
        """A sparse table with an entry for each distinct report, in their order."""
        from scipy.sparse import csr_matrix

        shape = (len(self.first), len(self.second))
        return csr_matrix((self.counts, (self.place_1, self.place_2)), shape=shape)

    @property
    def cells(self) -> int:
        """The number of joint cells."""
        return int(self.first.shape[1] * self.second.shape[1])

    def densities(self, distribution: Array) -> Array:
        """Return sum_v P(v) Pr[T | v] for every distinct report T, without the factor of :attr:`constant`."""
        table = self.first @ distribution.reshape(self.first.shape[1], -1)
        densities = np.empty(len(self.counts))
        step = max(1, BLOCK // self.second.shape[1])
        for start in range(0, len(densities), step):
            block = slice(start, start + step)
            rows, columns = table.take(self.place_1[block], 0), self.second.take(self.place_2[block], 0)
            np.einsum("ij,ij->i", rows, columns, out=densities[block])
        return densities

    def ratios(self, densities: Array) -> Array:
        """Return for every cell the mean over users of Pr[T | cell] / sum_v P(v) Pr[T | v].

        It is the gradient of the mean log-likelihood. No distribution has a mean log-likelihood above that
        of P by more than the logarithm of its largest entry.
        """
        table = copy(self._pattern)
        table.data = self.counts / densities / self.users
        ratios: Array = np.asarray(self.first.T @ (table @ self.second)).ravel()
        return ratios

    def value(self, densities: Array) -> float:
        """Return the negative log-likelihood per user, in natural logarithms."""
        return -(float(self.counts @ np.log(densities)) / self.users + self.constant)

    def columns(self, cells: NDArray[np.int64], reports: NDArray[np.int64]) -> Array:
        """Return Pr[T | v], up to the factor, for some reports (rows) and some cells (columns)."""
        width = self.second.shape[1]
        left = self.first[np.ix_(self.place_1[reports], cells // width)]
        right = self.second[np.ix_(self.place_2[reports], cells % width)]
        products: Array = left * right
        return products


FLOOR = 1e-4
"""Estimated shares of single attributes are moved up to this before their product is a reference."""


class EffectMoments:
    """Means and variances of the effects' coordinates over users.

    Parameters
    ----------
    model : Likelihood

    Attributes
    ----------
    transform : EffectTransform
        From a joint table to the coordinates.
    variance : (cells - 1,) array
        Of a user's coordinate: that over the users, with one user more who is anywhere with the same chance.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> moments = EffectMoments(model)
    >>> moments.mean(model.counts).round(4)  # of 0.7 and 0.3: (0.7 - 0.3) / sqrt 2
    array([0.2828])
    """

    def __init__(self, model: Likelihood) -> None:
        self.model, self.transform = model, EffectTransform(model.sizes)
        split = parts(model.sizes)
        first, second = model.groups
        self._first = self._scores(first, model.attributes[:split])
        self._second = self._scores(second, model.attributes[split:])
        mean = self.mean(model.counts)
        square = self._averaged(self._first**2, self._second**2, model.counts)
        spread = np.maximum(square - mean**2, 0.0)
        self.variance: Array = (model.users * spread + self._at_even_data()) / (model.users + 1.0)

    @staticmethod
    def _scores(groups: NDArray[np.uint8], attributes: Sequence[AttributeBits]) -> Array:
        """Return the products of coordinates of each group of bits, the last attribute fastest."""
        rows = np.ones((len(groups), 1))
        for attribute in attributes:
            turned = np.ones((len(groups), attribute.size))
            turned[:, 1:] = attribute.debiased(groups) @ contrasts(attribute.size)[1:].T
            rows = (rows[:, :, None] * turned[:, None, :]).reshape(len(groups), -1)
        return rows

    def _averaged(self, first: Array, second: Array, counts: Array) -> Array:
        from scipy.sparse import csr_matrix

        weights = counts / counts.sum()
        table = csr_matrix(
            (weights, (self.model.place_1, self.model.place_2)), shape=(len(first), len(second))
        )
        effects: Array = np.asarray(first.T @ (table @ second)).ravel()[1:]
        return effects

    def _at_even_data(self) -> Array:
        """Return the second moments where all cells are equally frequent, for one report of each bit."""
        axes = []
        for attribute in self.model.attributes:
            (true, false), size = attribute.noise.spreads(), attribute.size
            square = 2.0 * (true + false) if attribute.alone else true + (size - 1) * false
            axes.append(np.concatenate([[1.0], np.full(size - 1, (1.0 + square) / size)]))
        variances: Array = reduce(np.multiply.outer, axes).ravel()[1:]
        return variances

    def mean(self, counts: Array) -> Array:
        """Return the mean coordinates of the users, ``counts`` of whom sent each distinct report."""
        return self._averaged(self._first, self._second, counts)

    def reference(self, mean: Array) -> Array:
        """Return the product of the single attributes' shares, made positive, from mean coordinates."""
        sizes = self.model.sizes
        table = np.concatenate([[1.0], mean]).reshape(sizes)
        singles = []
        for axis, size in enumerate(sizes):
            place = tuple(slice(1, None) if other == axis else 0 for other in range(len(sizes)))
            shares = np.maximum(1.0 / size + table[place] @ contrasts(size)[1:], FLOOR)
            singles.append(shares / shares.sum())
        products: Array = reduce(np.multiply.outer, singles).ravel()
        return products


def climb(
    model: Likelihood, start: Array, most_steps: int, change: float = 0.0, gap: float = 0.0
) -> tuple[Array, int, float]:
    """Return where expectation steps lead: each multiplies every cell with its mean likelihood ratio.

    Parameters
    ----------
    model : Likelihood
    start : (cells,) array
        Cells that are 0 stay 0.
    most_steps : int
    change : float
        Stop when no probability has moved by as much; 0 to go on.
    gap : float
        Stop when no mean likelihood ratio is above 1 plus this; 0 to go on.

    Returns
    -------
    distribution : (cells,) array
    steps : int
    moved : float
        The largest change of a probability in the last step.
    """
    point, moved = start, float("inf")
    for step in range(most_steps):
        ratios = model.ratios(model.densities(point))
        if gap and float(ratios.max()) <= 1.0 + gap:
            return point, step, moved
        following = point * ratios
        following /= following.sum()
        moved = float(np.abs(following - point).max())
        point = following
        if moved < change:
            return point, step + 1, moved
    return point, most_steps, moved


Progress = Callable[[int, float], None]

ROUNDING = 1.0 + 2.0**-40
"""The computed largest ratio times this is an upper bound of the true one: sums of at most 2**12 blocks."""

WARM_STEPS = 8
"""Expectation steps before the first working set."""

NEWCOMERS = 60
"""Cells that may enter the working set in a step; the first working set has twice as many."""

CURVATURE_REPORTS = 30_000
"""Distinct reports that the curvature is taken from."""

GONE = 1e-12
"""Cells with less than this part of the largest probability leave the working set."""

SUFFICIENT = 1e-4
MOST_STEPS = 200


@dataclass(frozen=True)
class LikelihoodMaximum:
    """A distribution and the proof of how likely it is.

    Attributes
    ----------
    distribution : (cells,) array
        Non-negative, sums to 1.
    value : float
        Negative log-likelihood per user.
    ratio : float
        The largest mean likelihood ratio, rounded up: 1 at the maximum.
    steps : int
        Steps that were taken.
    """

    distribution: Array
    value: float
    ratio: float
    steps: int

    @property
    def bound(self) -> float:
        """A lower bound of the negative log-likelihood per user of every distribution."""
        return self.value - math.log(max(1.0, self.ratio))


def judged(model: Likelihood, distribution: Array, steps: int = 0) -> LikelihoodMaximum:
    """Return a distribution with its value and its proven distance from the maximum."""
    densities = model.densities(distribution)
    if not (densities > 0.0).all():
        return LikelihoodMaximum(distribution, math.inf, math.inf, steps)
    ratio = float(model.ratios(densities).max()) * ROUNDING
    return LikelihoodMaximum(distribution, model.value(densities), ratio, steps)


def most_likely(
    model: Likelihood,
    gap: float = 1e-6,
    start: Array | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LikelihoodMaximum:
    """Return a distribution whose largest mean likelihood ratio is at most 1 + gap.

    Parameters
    ----------
    model : Likelihood
    gap : float
        > 0.
    start : (cells,) array, optional
        Where to begin; the uniform distribution by default.
    rng : numpy Generator, optional
        Chooses the reports that the curvature is taken from, when there are many.
    progress : callable, optional
        Called with the step and the current gap.

    Returns
    -------
    Maximum
        With the smallest gap that was reached, should the steps not suffice.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([60, 40]), [2], 0.75, 0.25)
    >>> best = most_likely(model)
    >>> best.distribution.round(4).tolist(), best.ratio - 1.0 < 1e-6
    ([0.625, 0.375], True)
    """
    generator = np.random.default_rng(0) if rng is None else rng
    point = _warm(model) if start is None else start
    densities = model.densities(point)
    best, least = point, math.inf
    for step in range(MOST_STEPS):
        ratios = model.ratios(densities)
        largest = float(ratios.max()) * ROUNDING
        if largest < least:
            best, least = point, largest
        if progress is not None:
            progress(step, largest - 1.0)
        if largest <= 1.0 + gap:
            # with densities from the point, not carried from step to step
            maximum = judged(model, point, step)
            if maximum.ratio <= 1.0 + gap:
                return maximum
            densities = model.densities(point)
        moved = _newton_step(model, point, densities, ratios, generator)
        if moved is None:
            point = point * ratios / (point @ ratios)
            densities = model.densities(point)
        else:
            point, densities = moved
    return judged(model, best, MOST_STEPS)


def is_unique(model: Likelihood, distribution: Array, most: int = 2000) -> bool | None:
    """Return whether no other distribution is as likely, as far as rounding can tell; None if too many cells.

    All maxima give every report the same chance, and have mass only where the mean likelihood ratio is 1:
    there is only one where the reports' chances in these cells are independent.

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 1, 0]]), np.array([5]), [3], 0.75, 0.25)
    >>> is_unique(model, np.array([0.5, 0.5, 0.0]))  # the first two values explain this report equally well
    False
    """
    ratios = model.ratios(model.densities(distribution))
    cells = np.flatnonzero((ratios > 1.0 - 1e-5) | (distribution > 1e-9))
    if len(cells) > most:
        return None
    if len(cells) > len(model.counts):
        return False
    reports = np.argsort(-model.counts, kind="stable")[: max(4000, 2 * len(cells))]
    rows = model.columns(cells, np.sort(reports))
    return bool(np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0)) == len(cells))


def _warm(model: Likelihood) -> Array:
    """Return some expectation steps from the uniform distribution, kept to the most likely cells.

    Newton's steps need all mass in the working set: mass outside of it would have to go in one step.
    """
    point = np.full(model.cells, 1.0 / model.cells)
    for _ in range(WARM_STEPS):
        point = point * model.ratios(model.densities(point))
    largest = np.argsort(-point, kind="stable")[: 2 * NEWCOMERS]
    sparse = np.zeros_like(point)
    sparse[largest] = point[largest] / point[largest].sum()
    return sparse


def working_set(point: Array, ratios: Array) -> NDArray[np.int64]:
    """Return the cells that a step may change: those above 0, and the most promising others."""
    inside = np.flatnonzero(point > GONE * point.max())
    promising = np.argsort(-ratios, kind="stable")[:NEWCOMERS]
    return np.union1d(inside, promising[ratios[promising] > 1.0])


def _newton_step(
    model: Likelihood, point: Array, densities: Array, ratios: Array, rng: np.random.Generator
) -> tuple[Array, Array] | None:
    """Return the next distribution and its densities, or None when no step along Newton's direction helps."""
    cells = working_set(point, ratios)
    reports = np.arange(len(densities))
    if len(reports) > CURVATURE_REPORTS:
        reports = np.sort(rng.choice(len(densities), CURVATURE_REPORTS, replace=False))
    weights = model.counts / densities**2
    scale = weights.sum() / weights[reports].sum() / model.users
    rows = model.columns(cells, reports) * np.sqrt(weights[reports] * scale)[:, None]
    curvature = rows.T @ rows
    slopes = 1.0 - ratios
    target = np.zeros_like(point)
    try:
        target[cells] = nonnegative_quadratic(curvature, slopes[cells] - curvature @ point[cells])
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    direction = target - point
    return _shortened(model, point, direction, densities, float(slopes @ direction))


def _shortened(
    model: Likelihood, point: Array, direction: Array, densities: Array, slope: float
) -> tuple[Array, Array] | None:
    """Return point and densities after the first halving that lowers the objective enough; None after thirty.

    The target is >= 0, so that nothing is cut off on the way but rounding errors.
    """
    here = -float(model.counts @ np.log(densities)) / model.users + float(point.sum())
    change, length = model.densities(direction), 1.0
    for _ in range(30):
        there = densities + length * change
        if (there > 0.0).all():
            moved = np.maximum(point + length * direction, 0.0)
            value = -float(model.counts @ np.log(there)) / model.users + float(moved.sum())
            if value <= here + SUFFICIENT * length * min(slope, 0.0):
                total: float = float(moved.sum())
                return moved / total, there / total
        length /= 2.0
    return None
