r"""Weekly reports of a number in bins: the mean and the quartiles, next to the share of each bin.

**From shares to numbers.** Let ``f_y`` be the share of bin y, from ``a_y`` to ``b_y``. The mean of the
numbers is between ``sum f_y a_y`` and ``sum f_y b_y``, whatever the numbers in a bin are. Both are unbiased
sums of a user's scores; the interval of the mean goes from the lower limit of the first to the upper limit
of the second. The estimate is the middle, the mean if numbers are even within bins. Quartiles are of the
cumulative shares.

**Their errors.** Scores of two bins are dependent: through the set, through the hash function of a user,
through the bins that a user names. No formula is needed: users are independent, and the server counts how
many reports fit each *pair* of bins, from which the sample variance of every such sum follows. Of several
weeks the sums are formed for each user, so that their variance holds the permanent noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes, Domain, Labels, Numbers
from mechdesign.collect.estimate import FrequencyEstimate, MeanEstimate
from mechdesign.collect.intervals import Limits, quantile_ends, tail_of
from mechdesign.collect.kernel import AskedNumber
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.validation import finite_array
from mechdesign.core.values import frozen_value
from mechdesign.data.tidy import Quantiles
from mechdesign.families.marginals.weeks.estimates import SpreadLimits
from mechdesign.show.tables import edge_texts

Array = NDArray[np.float64]

MOST_BINS = 128
"""More are refused: the server counts pairs of them."""

QUARTERS = (0.25, 0.5, 0.75)

LEVEL = 0.95

ANYWHERE = "the interval of the mean holds for any numbers within the bins; narrower bins shorten it"


@frozen_value()
class AskedBin(AskedNumber):
    """A number of which the client takes the bin: ``knots`` are the inner edges, as parts of the range.

    Examples
    --------
    >>> bins = ("0 to below 5", "5 to 10")
    >>> AskedBin("age", 0.0, 10.0, labels=bins, knots=(0.5,), edges=(0.0, 5.0, 10.0)).as_json()["knots"]
    [0.5]
    """

    labels: tuple[str, ...] = ()
    knots: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            **super().as_json(),
            "size": len(self.labels),
            "labels": list(self.labels),
            "knots": list(self.knots),
        }

    def examples(self) -> list[Any]:
        return [*super().examples(), *self.edges[1:-1][:64]]


class Binned(Numbers):
    """A number between the first and the last of increasing edges; its code is the number of its bin.

    A number at an edge is in the bin above it, and the last edge in the last bin. Numbers and edges are
    compared as parts of the range, in the same doubles by every client.

    Parameters
    ----------
    edges : sequence of float
        At least three.
    word : str

    Examples
    --------
    >>> codec = Binned([0.0, 10.0, 25.0, 100.0])
    >>> codec.codes([0, 10, 24.5, 100]), codec.labels.names
    (array([0, 1, 1, 2]), ('0 to below 10', '10 to below 25', '25 to 100'))
    """

    report_word = "answer"

    def __init__(self, edges: Sequence[float], word: str = "answer") -> None:
        self.edges = increasing("edges", edges, 3)
        super().__init__(Domain(float(self.edges[0]), float(self.edges[-1])), word)
        *inner, last = pairwise(edge_texts(self.edges.tolist()))
        names = [*(f"{low} to below {high}" for low, high in inner), "{} to {}".format(*last)]
        self.labels = Labels(len(names), names)
        self.knots = self.domain.to_unit(self.edges[1:-1].copy())
        increasing("edges", [0.0, *self.knots.tolist(), 1.0], 3)

    def codes(self, answers: Any, clip: bool = False) -> Codes:
        units = self.domain.to_unit(super().codes(answers, clip))
        return np.searchsorted(self.knots, units, side="right").astype(np.int64)

    def questions(self, name: str | None = None) -> tuple[AskedNumber, ...]:
        assert self.labels.names is not None
        knots, edges = tuple(self.knots.tolist()), tuple(self.edges.tolist())
        low, high = self.domain.low, self.domain.high
        return (AskedBin(name, low, high, labels=self.labels.names, knots=knots, edges=edges),)


def increasing(field: str, values: Any, least: int) -> Array:
    """Return at least this many increasing numbers."""
    numbers = finite_array(field, values, 1)
    if len(numbers) < least or not (np.diff(numbers) > 0.0).all():
        first = ", ".join(f"{value:g}" for value in numbers[:4].tolist())
        what = f"[{first}{', ...' if len(numbers) > 4 else ''}] are not {least} or more increasing numbers"
        raise ParameterError(field, what, "give for instance [0, 10, 25, 100]")
    return numbers


def bin_edges(field: str, edges: Any, bins: int) -> Array:
    """Return the edges of so many bins: as given, or two ends with bins of one width between.

    Examples
    --------
    >>> bin_edges("edges", [0, 30], 3)
    array([ 0., 10., 20., 30.])
    """
    numbers = increasing(field, edges, 2)
    if len(numbers) > 2 and len(numbers) != bins + 1:
        what = f"{len(numbers)} of them for {counted(bins, 'bin')}"
        raise ParameterError(field, what, f"give {bins + 1}, or the two ends of the range")
    if bins > MOST_BINS:
        raise ParameterError(field, f"{bins} bins are too many", f"give at most {MOST_BINS}")
    if len(numbers) == 2:
        numbers = np.linspace(numbers[0], numbers[1], bins + 1)
    return Binned(numbers.tolist()).edges


def pair_counts(fits: NDArray[np.bool_], about: NDArray[np.bool_] | None) -> Codes:
    """Return how many reports fit both of two bins, flat; behind the bins stand those that are named.

    Examples
    --------
    >>> pair_counts(np.array([[True, True], [True, False]]), None)
    array([2, 1, 1, 1])
    """
    both = fits if about is None else np.concatenate([fits, about], axis=1)
    table = both.astype(np.float64)  # sums of at most 2^22 ones, exact in doubles
    return np.rint(table.T @ table).astype(np.int64).ravel()


def single_counts(pairs: Codes) -> Codes:
    """Return the counts of each bin from those of the pairs.

    Examples
    --------
    >>> single_counts(np.array([2, 1, 1, 1]))
    array([2, 1])
    """
    size = round(len(pairs) ** 0.5)
    return np.ascontiguousarray(pairs.reshape(size, size).diagonal())


def are_pairs(pairs: Codes) -> bool:
    """Whether there can be reports with these counts: symmetric, and no pair above its parts.

    Examples
    --------
    >>> are_pairs(np.array([2, 1, 1, 1])), are_pairs(np.array([2, 1, 0, 1]))
    (True, False)
    """
    single = single_counts(pairs)
    table = pairs.reshape(len(single), len(single))
    fits = table <= np.minimum(single[:, None], single)
    return bool((table == table.T).all() and (table >= 0).all() and fits.all())


def sums_of(edges: Array) -> Array:
    """Return the sums of shares that are of interest, one a column.

    They are the mean at the lower ends of the bins, that at the upper ends, and the cumulative shares.

    Examples
    --------
    >>> sums_of(np.array([0.0, 10.0, 30.0]))
    array([[ 0., 10.,  1.],
           [10., 30.,  0.]])
    """
    size = len(edges) - 1
    return np.column_stack([edges[:-1], edges[1:], np.triu(np.ones((size, size)))[:, :-1]])


def limits_of_pairs(pairs: Codes, users: int, sums: Array, low: float, scale: float) -> SpreadLimits:
    """Return the limits of sums of shares from the counts of pairs.

    Parameters
    ----------
    pairs : int array
    users : int
    sums : (k, m) array
    low, scale : float
        A bin scores 1/scale where a report fits it, less low/scale where the report is about it.
    """
    size = round(len(pairs) ** 0.5)
    both = sums if size == len(sums) else np.concatenate([sums, -low * sums])
    table = pairs.reshape(size, size) / users
    mean = table.diagonal() @ both
    second = ((table @ both) * both).sum(axis=0)
    variance = np.maximum(second - mean**2, 0.0) / scale**2 * (users / max(1, users - 1))
    nothing = np.zeros(len(variance))
    return SpreadLimits(users, variance, nothing, nothing, steps_of(sums, scale))


def steps_of(sums: Array, scale: float) -> Array:
    """Return the least steps of the sums: of means the narrowest bin, of cumulative shares one user."""
    narrowest = float((sums[:, 1] - sums[:, 0]).min())
    steps = np.ones(sums.shape[1])
    steps[:2] = narrowest
    return steps / scale


@dataclass(frozen=True, eq=False)
class BetweenLimits(Limits):
    """The limits of a mean between two others: the lower one of the first, the upper one of the second."""

    first: Limits
    half: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        down, up = self.first.distances(tail)
        return np.asarray(self.half + down[0]), np.asarray(self.half + up[1])


@dataclass(frozen=True, repr=False)
class NumberEstimate(FrequencyEstimate):
    """The shares of the bins of a number, with its mean and its quartiles.

    Attributes
    ----------
    edges : (k + 1,) array
    mean : MeanEstimate
        With bins of which each number is the middle; its interval holds for any numbers in the bins.
    quantiles : Quantiles
    """

    edges: Array = field(kw_only=True, compare=False)
    mean: MeanEstimate = field(kw_only=True)
    quantiles: Quantiles = field(kw_only=True)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), str(self.mean), str(self.quantiles)])

    def as_json(self) -> dict[str, Any]:
        more = {"edges": self.edges.tolist(), "mean": self.mean.as_json()}
        return {**super().as_json(), **more, "quantiles": self.quantiles.as_json()}


def number_estimate(shares: FrequencyEstimate, codec: Binned, limits: SpreadLimits) -> NumberEstimate:
    """Return the shares of bins with the mean and the quartiles.

    Parameters
    ----------
    shares : FrequencyEstimate
    codec : Binned
    limits : SpreadLimits
        Of the sums of :func:`sums_of`.
    """
    edges = codec.edges
    low, high, *cumulative = (shares.value @ sums_of(edges)).tolist()
    half, errors = (high - low) / 2.0, limits.standard_error()
    mean = MeanEstimate(
        (low + high) / 2.0,
        float(max(errors[0], errors[1])),
        shares.users,
        shares.population,
        BetweenLimits(limits, half),
        (ANYWHERE,),
        possible=(float(edges[0]), float(edges[-1])),
    )
    quantiles = _quartiles(np.array(cumulative), limits.part(slice(2, None)), edges)
    return NumberEstimate(
        **{name: getattr(shares, name) for name in SHARE_FIELDS}, edges=edges, mean=mean, quantiles=quantiles
    )


SHARE_FIELDS = ("value", "standard_error", "users", "categories", "population", "reported", "limits", "notes")
"""What the shares of bins are as an estimate."""


def _quartiles(cumulative: Array, limits: Limits, edges: Array) -> Quantiles:
    ends = [quantile_ends(cumulative, limits, share, tail_of(LEVEL)) for share in QUARTERS]
    rising = np.append(np.maximum.accumulate(np.clip(cumulative, 0.0, 1.0)), 1.0)
    places = [int(np.argmax(rising >= share)) for share in QUARTERS]
    return Quantiles(
        QUARTERS,
        tuple(float(edges[place] + edges[place + 1]) / 2.0 for place in places),
        tuple(float(edges[first]) for first, _ in ends),
        tuple(float(edges[last + 1]) for _, last in ends),
    )
