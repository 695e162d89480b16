"""Estimates of sets: the share of users who have an item, with what sampling of large sets leaves out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Domain
from mechdesign.collect.estimate import FrequencyEstimate, ListedEstimate
from mechdesign.collect.intervals import FrequencyLimits, Limits, NormalLimits, tail_chance, tail_of
from mechdesign.collect.scores import few_users
from mechdesign.core.errors import counted
from mechdesign.show.tables import to_error

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

GRID = 401
"""Means that are tested first, of each key."""
HALVINGS = 30


@dataclass(frozen=True)
class BeyondLimits(Limits):
    """Limits of shares of which a part may be missing: the upper one is that of the largest truth.

    Parameters
    ----------
    value : (n,) array
    limits : Limits
        Of what was reported.
    factor : float
        At most so many times what is expected of the estimate is the truth.
    """

    value: Array
    limits: Limits
    factor: float

    def distances(self, tail: float) -> tuple[Array, Array]:
        down, up = self.limits.distances(tail)
        end = np.maximum(self.value + up, 0.0) * self.factor
        return down, np.maximum(end - self.value, up)


@dataclass(frozen=True, repr=False)
class ItemEstimate(FrequencyEstimate):
    """Estimated shares of users who have each item; they do not sum to 1.

    Attributes
    ----------
    undercount : float
        The largest part of a true share that is missing in expectation, as items of large sets are sampled.
    """

    thing: ClassVar[str] = "item"
    things: ClassVar[str] = "items"

    undercount: float = 0.0

    def projected(self) -> Array:
        """Return the estimates moved to [0, 1]: biased, but possible."""
        clipped: Array = np.clip(self.value, 0.0, 1.0)
        return clipped


def item_estimate(plain: FrequencyEstimate, most: int, length: int) -> ItemEstimate:
    """Return the estimates for items, whose sets of up to ``most`` are sampled down to ``length``.

    With m > l items the sampled ones hold an item of the set with probability l / m: the estimate is expected
    to be at least l / most times the share, and never more than the share.
    """
    notes = plain.notes
    limits: Limits = plain.limits or NormalLimits(plain.standard_error)
    factor = most / length
    if factor > 1.0:
        limits = BeyondLimits(plain.value, limits, factor)
        notes += (
            f"of sets of more than {length} items {length} are sampled: shares may be under-counted by up to "
            f"{100.0 * (1.0 - 1.0 / factor):.0f}%, which the upper limits include",
        )
    fields = {
        name: getattr(plain, name)
        for name in ("value", "standard_error", "users", "categories", "population", "covariance", "reported")
    }
    return ItemEstimate(**fields, limits=limits, notes=notes, undercount=1.0 - 1.0 / factor)


@dataclass(frozen=True)
class PairLaw:
    """Probabilities of which ends of a key are reported, for users with one of the ends and for others.

    Attributes
    ----------
    own, other : float
        That an end is reported: of users with this end, and of others.
    own_both, other_both : float
        That both ends of a key are: of users who have the key, and of others.
    """

    own: float
    other: float
    own_both: float
    other_both: float

    @classmethod
    def of(cls, own: Fraction, other: Fraction, own_both: Fraction, other_both: Fraction) -> PairLaw:
        """Return the law of exact probabilities."""
        return cls(*map(float, (own, other, own_both, other_both)))

    @property
    def gain(self) -> float:
        """Difference of the probabilities that the own and another end are reported."""
        return self.own - self.other

    def chances(self, kind: str) -> Array:
        """Return the probabilities of none, the high end alone, the low end alone, and both.

        Of users with the high end, the low end, or without the key.
        """
        both = self.other_both if kind == "none" else self.own_both
        high = self.own if kind == "high" else self.other
        low = self.own if kind == "low" else self.other
        return np.array([1.0 - high - low + both, high - both, low - both, both])

    def moments(self, kind: str, high: Array | float, low: Array | float) -> Array:
        """Return the second to fourth moments of a combination of the scores of the high and the low end."""
        up, down = (1.0 - self.other) / self.gain, -self.other / self.gain
        scores = np.stack(
            [high * a + low * b for a, b in ((down, down), (up, down), (down, up), (up, up))]
        )  # (4, ...)
        chances = self.chances(kind).reshape(4, *(1 for _ in range(scores.ndim - 1)))
        return np.stack([(chances * scores**power).sum(axis=0) for power in (2, 3, 4)])

    def share_variance(self, share: float) -> float:
        """Return users times the variance of the estimated share of a key, the users being given."""
        own, none = (self.moments(kind, 1.0, 1.0)[0] for kind in ("high", "none"))
        return float(share * (own - 1.0) + (1.0 - share) * none)

    def difference_variance(self, share: float) -> float:
        """Return users times the variance of the difference of the shares of the ends, half of each."""
        own, none = (self.moments(kind, 1.0, -1.0)[0] for kind in ("high", "none"))
        return float(share * own + (1.0 - share) * none)


@dataclass(frozen=True, repr=False)
class KeyValueEstimate(ListedEstimate):
    """The share of users who have each key, and the mean of its values.

    ``value``, ``standard_error`` and ``interval`` are those of the shares.

    Attributes
    ----------
    value, standard_error : (d,) array
    users : int
    keys : tuple of str
    means : (d,) array
        Estimated means, in the units of the values, moved into their range.
    mean_limits : MeanInversion
        What the limits of the means come from.
    population : bool
    limits : Limits, optional
    notes : tuple of str
    """

    thing: ClassVar[str] = "key"
    things: ClassVar[str] = "keys"
    estimated: ClassVar[str] = "share"
    digits: ClassVar[str] = ".5f"
    error_digits: ClassVar[str] = ".2g"
    most: ClassVar[int | None] = 60

    value: Array
    standard_error: Array
    keys: tuple[str, ...]
    means: Array
    mean_limits: MeanInversion
    population: bool = False
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def is_share(self) -> bool:
        return True

    def _names(self) -> tuple[str, ...]:
        return self.keys

    def mean_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of confidence intervals of the means: up to the whole range for rare keys."""
        return self.mean_limits.interval(tail_of(level))

    def _beside(self) -> Mapping[str, Any]:
        low, high = self.mean_interval()
        spread = float(self.mean_limits.domain.width)
        columns = {"mean": self.means, "mean low": low, "mean high": high}
        return {
            name: np.array([to_error(each, spread / 1000.0) for each in column])
            for name, column in columns.items()
        }

    def figures(self) -> list[Figure]:
        """Return the estimated shares with their intervals."""
        return self._drawn(f"Estimated shares of {counted(self.users, 'report')}", "key", "share")


@dataclass(frozen=True, eq=False)
class MeanInversion:
    """Limits of means by inverting a score test of each possible mean (Fieller's, with exact moments).

    At the mean m, in units where the ends are -1 and 1, (1 - m) f_high - (1 + m) f_low is 0. Its score has,
    under the hypothesis, the second and third moment of users with the high end, (1 + m) / 2 of those who
    have the key, with the low end, and of the rest; the share of those who have the key is the estimated one.
    Of users at hand the moment is an upper bound of the variance.

    Attributes
    ----------
    law : PairLaw
    high, low : (d,) array
        Estimated shares of the ends.
    users : int
    domain : Domain
    """

    law: PairLaw
    high: Array
    low: Array
    users: int
    domain: Domain

    def possible(self, mean: Array, tail: float) -> NDArray[np.bool_]:
        """Return whether the test does not reject these means, (k, d) or (k, 1), for keys."""
        share = np.clip(self.high + self.low, 1.0 / (self.users + 1.0), 1.0)
        parts = {"high": share * (1.0 + mean) / 2.0, "low": share * (1.0 - mean) / 2.0, "none": 1.0 - share}
        second = third = 0.0
        for kind, part in parts.items():
            moments = self.law.moments(kind, 1.0 - mean, -(1.0 + mean))
            second, third = second + part * moments[0], third + part * moments[1]
        statistic = (1.0 - mean) * self.high - (1.0 + mean) * self.low
        deviation = np.sqrt(second / self.users)
        skewness = third / second**1.5 / math.sqrt(self.users) * np.sign(statistic)
        half = 2.0 / self.law.gain / self.users / 2.0  # half a step of the sum
        distance = np.maximum(np.abs(statistic) - half, 0.0) / deviation
        accepted: NDArray[np.bool_] = tail_chance(distance, skewness) >= tail
        return accepted

    def interval(self, tail: float) -> tuple[Array, Array]:
        """Return the least and largest possible mean of each key, in the units of the values."""
        grid = np.linspace(-1.0, 1.0, GRID)[:, None]
        accepted = self.possible(grid, tail)
        center = np.clip(self._center(), -1.0, 1.0)
        ends = []
        for side in (-1.0, 1.0):
            reach = np.where(accepted, side * grid, -np.inf).max(axis=0)
            inside = np.maximum(reach, side * center)
            outside = np.minimum(inside + 2.0 / (GRID - 1), 1.0)
            for _ in range(HALVINGS):
                middle = (inside + outside) / 2.0
                good = self.possible(side * middle[None, :], tail)[0]
                inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
            ends.append(self.in_units(side * outside))
        return ends[0], ends[1]

    def _center(self) -> Array:
        """Return the estimated means between -1 and 1; the middle where no share is above 0."""
        share = self.high + self.low
        result: Array = np.where(share > 0.0, (self.high - self.low) / np.where(share > 0.0, share, 1.0), 0.0)
        return np.clip(result, -1.0, 1.0)

    def in_units(self, mean: Array) -> Array:
        """Return means in the units of the values."""
        result: Array = self.domain.middle + self.domain.half * mean
        return result

    @property
    def estimates(self) -> Array:
        """The estimated means, in the units of the values."""
        return self.in_units(self._center())


def key_value_estimate(
    law: PairLaw,
    counts: NDArray[np.int64],
    users: int,
    names: tuple[str, ...],
    domain: Domain,
    factor: float,
    population: bool,
) -> KeyValueEstimate:
    """Return the estimates from how often each end of each key was reported: low and high in turn."""
    low, high = ((counts[end::2] / users - law.other) / law.gain for end in (0, 1))
    value = low + high
    own, none = (
        np.repeat(law.moments(kind, 1.0, 1.0)[:, None], len(value), axis=1) for kind in ("high", "none")
    )
    plain = FrequencyLimits(value, users, own, none, none, np.full(len(value), 1.0 / law.gain), population)
    means = MeanInversion(law, high, low, users, domain)
    errors, notes, limits = plain.standard_error(), few_users(users), plain  # type: Any, tuple[str, ...], Limits
    if factor > 1.0:
        limits = BeyondLimits(value, plain, factor)
        notes += (
            "of users with many keys some are sampled: shares may be under-counted by up to "
            f"{100.0 * (1.0 - 1.0 / factor):.0f}%, which the upper limits include; they count less in means",
        )
    return KeyValueEstimate(value, errors, users, names, means.estimates, means, population, limits, notes)
