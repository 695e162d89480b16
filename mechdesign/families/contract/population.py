"""Privacy preferences and the number of users with each, in the order that the theory needs.

Densities of privacy preferences: cdf, quantiles, and where the virtual cost is known to rise.

The virtual cost is v = theta + H/h with cdf H and density h; it is the slope of the curve R(q) = q theta(q)
over the quantile q = H(theta). Each density says on which pieces R is known to be convex (v does not
decrease) or concave (v does not increase); the proofs are in docs/families/contract.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted, suggestion
from mechdesign.core.fields import call_named
from mechdesign.core.validation import finite_array, in_range, integer, one_of
from mechdesign.exact.numbers import plain, text_of
from mechdesign.families.contract.noise import noise_of

Array = NDArray[np.float64]

MAX_TYPES = 100_000_000

MOST_SPREAD = 1e12
"""Types further apart than this factor could not all get an epsilon on one exact grid."""

LEAST, MOST = 1e-30, 1e30
"""Types, users and money outside these are refused: choose other units."""


@dataclass(frozen=True, eq=False)
class Population:
    """Strictly increasing types with positive counts, and notes on what was done to get there.

    Attributes
    ----------
    types, counts, cost : (k,) array
        Privacy preference, users, and participation cost a user of each type.
    notes : tuple of str
        One sentence for each of: sorted, merged, dropped.
    """

    types: Array
    counts: Array
    cost: Array
    notes: tuple[str, ...] = ()

    @property
    def users(self) -> float:
        """Number of users."""
        return float(self.counts.sum())

    @property
    def cumulative(self) -> Array:
        """Number of users of each type and all lower ones."""
        return np.cumsum(self.counts)

    def first(self, size: int) -> Population:
        """Return the population of the lowest types only."""
        return Population(self.types[:size], self.counts[:size], self.cost[:size], self.notes)


def population(types: Array, counts: float | Array, cost: float | Array) -> Population:
    """Sort the types, merge equal ones, drop those that nobody has; say so in notes.

    Examples
    --------
    >>> people = population(np.array([2.0, 1.0, 2.0, 3.0]), np.array([5.0, 4.0, 1.0, 0.0]), 0.0)
    >>> people.types, people.counts
    (array([1., 2.]), array([4., 6.]))
    >>> for note in people.notes: print(note)
    types: were not increasing; sorted, and the variables are in that order
    types: 1 repeated type merged with its equals (counts added)
    counts: 1 type without users dropped (3)
    """
    size = len(types)
    users = np.full(size, counts / size) if isinstance(counts, float) else counts
    costs = np.full(size, cost) if isinstance(cost, float) else cost
    notes = []
    if (np.diff(types) < 0).any():
        order = np.argsort(types, kind="stable")
        types, users, costs = types[order], users[order], costs[order]
        notes.append("types: were not increasing; sorted, and the variables are in that order")
    starts = np.flatnonzero(np.diff(types, prepend=-np.inf))
    if len(starts) < size:
        merged = size - len(starts)
        highest, lowest = np.maximum.reduceat(costs, starts), np.minimum.reduceat(costs, starts)
        if (highest > lowest).any():
            text = types[starts[int(np.argmax(highest > lowest))]]
            raise ParameterError(
                "participation_cost",
                f"differs between users of the same type {text:g}",
                "give equal types equal costs",
            )
        types, users, costs = types[starts], np.add.reduceat(users, starts), costs[starts]
        notes.append(
            f"types: {merged} repeated type{'s' if merged > 1 else ''} merged with "
            f"{_their(merged)} equals (counts added)"
        )
    present = users > 0
    if not present.all():
        gone = types[~present]
        text = ", ".join(f"{theta:g}" for theta in gone[:5]) + (", ..." if len(gone) > 5 else "")
        notes.append(f"counts: {len(gone)} type{'s' if len(gone) > 1 else ''} without users dropped ({text})")
        types, users, costs = types[present], users[present], costs[present]
    if not len(types):
        raise ParameterError("counts", "are all zero", "give at least one type some users")
    return Population(types, users, costs, tuple(notes))


def _their(count: int) -> str:
    return "their" if count > 1 else "its"


def checked_types(value: Any) -> Array:
    """Return finite types > 0, or name the entry that is not."""
    types = finite_array("types", value, 1)
    if (types <= 0).any():
        where = int(np.argmax(types <= 0))
        raise ParameterError(
            "types",
            f"entry {where} ({types[where]:g}) is not positive",
            "a privacy preference is a price above 0",
        )
    with np.errstate(over="ignore"):
        spread = float(types.max() / types.min())
    if spread > MOST_SPREAD:
        raise ParameterError(
            "types", f"span a factor of {spread:.3g}, more than {MOST_SPREAD:g}", "leave the extremes out"
        )
    return of_sane_size("types", types)


def of_sane_size(field: str, array: Array) -> Array:
    """Return the array, or name the entry that is neither 0 nor of a size that products of it can bear."""
    strange = ((array < LEAST) & (array != 0)) | (array > MOST)
    if strange.any():
        where = int(np.argmax(strange))
        raise ParameterError(
            field, f"entry {where} ({array[where]:g}) is outside [{LEAST:g}, {MOST:g}]", "use other units"
        )
    return array


def checked_amount(field: str, value: Any) -> float:
    """Return a number > 0 of a sane size."""
    amount = in_range(field, value, 0.0, np.inf, low_open=True, high_open=True)
    if not LEAST <= amount <= MOST:
        raise ParameterError(field, f"{amount:g} is outside [{LEAST:g}, {MOST:g}]", "use other units")
    return amount


def checked_floor(field: str, value: Any) -> float:
    """Return a number >= 0 that is not beyond any sane size."""
    return in_range(field, value, 0.0, MOST)


def checked_noise(field: str, value: Any) -> Any:
    """Return the name or the table of a noise as it was given, once it is known to name one."""
    noise_of(value)
    return value


def checked_counts(value: Any, size: int) -> float | Array:
    """Return a number of users in all, to be spread equally, or one count >= 0 a type."""
    if plain(value) is not None:
        return checked_amount("counts", value)
    return _one_a_type("counts", finite_array("counts", value, 1), size)


def checked_cost(value: Any, size: int) -> float | Array:
    """Return one participation cost >= 0 for all, or one a type."""
    if plain(value) is not None:
        return checked_floor("participation_cost", value)
    return _one_a_type("participation_cost", finite_array("participation_cost", value, 1), size)


def _one_a_type(field: str, array: Array, size: int) -> Array:
    if len(array) != size:
        raise ParameterError(
            field, f"has {counted(len(array), 'entry')} for {size} types", "give one per type"
        )
    if (array < 0).any():
        where = int(np.argmax(array < 0))
        raise ParameterError(field, f"entry {where} ({array[where]:g}) is negative", "give numbers >= 0")
    return of_sane_size(field, array)


def uniform_types(low: float, high: float, size: int) -> Array:
    """Return equally spaced types from low to high, both included.

    Examples
    --------
    >>> uniform_types(5.0, 15.0, 5)
    array([ 5. ,  7.5, 10. , 12.5, 15. ])
    """
    bottom = in_range("types.low", low, 0.0, MOST, low_open=True)
    top = in_range("types.high", high, bottom, MOST)
    return np.linspace(bottom, top, integer("types.size", size, 1, MAX_TYPES))


def midpoint_types(low: float, high: float, size: int) -> Array:
    """Return the middles of equal cells of [low, high].

    Examples
    --------
    >>> midpoint_types(0.0, 1.0, 4)
    array([0.125, 0.375, 0.625, 0.875])
    """
    bottom = in_range("types.low", low, 0.0, MOST)
    top = in_range("types.high", high, bottom, MOST, low_open=True)
    cells = integer("types.size", size, 1, MAX_TYPES)
    return bottom + (top - bottom) * (np.arange(cells) + 0.5) / cells


TYPE_GENERATORS: Mapping[str, Callable[..., Any]] = {"uniform": uniform_types, "midpoints": midpoint_types}


LEAST_SHAPE = 1e-3
"""A beta distribution with a smaller parameter is two heaps of users, at the ends of doubles."""

NARROWEST = 1e-4
"""Intervals narrower than this part of the deviation are too short for differences of the normal cdf."""


@dataclass(frozen=True)
class Piece:
    """An interval of types on which R is convex or concave."""

    low: float
    high: float
    shape: Literal["convex", "concave"]


@dataclass(frozen=True, eq=False)
class Density(ABC):
    """A distribution of types on [low, high], 0 <= low < high."""

    low: float
    high: float

    @abstractmethod
    def cdf(self, theta: Array) -> Array:
        """Return H(theta) for theta in [low, high]."""

    @abstractmethod
    def pdf(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        """Return h(theta), from one side where it jumps."""

    @abstractmethod
    def quantile(self, share: Array) -> Array:
        """Return theta(q) for q in [0, 1]."""

    @property
    def rounding(self) -> float:
        """By how much the cdf may be off, generously."""
        return 2.0**-48

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of known shape, from low to high; one convex piece unless overridden."""
        return (Piece(self.low, self.high, "convex"),)

    def virtual_cost(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        """Return theta + H/h; theta itself where H is 0, infinite where only h is 0."""
        below, density = self.cdf(theta), self.pdf(theta, side)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(below == 0.0, theta, theta + below / density)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return independent types."""
        return self.quantile(rng.random(count))


@dataclass(frozen=True, eq=False)
class Uniform(Density):
    """Equally likely types: v = 2 theta - low."""

    def cdf(self, theta: Array) -> Array:
        return (theta - self.low) / (self.high - self.low)

    def pdf(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        return np.full_like(theta, 1.0 / (self.high - self.low))

    def quantile(self, share: Array) -> Array:
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class TruncatedNormal(Density):
    """A normal distribution cut to the interval; log-concave, hence regular."""

    mean: float
    deviation: float

    def _standard(self, theta: Array | float) -> Any:
        return (np.asarray(theta) - self.mean) / self.deviation

    @property
    def _sign(self) -> float:
        """-1 where the interval is above the mean: its tail counts from the other side, in full digits."""
        return -1.0 if self.low > self.mean else 1.0

    def _mass(self) -> tuple[float, float]:
        """Return the normal cdf (or, from the other side, what is above) at low, and the mass between."""
        from scipy.special import ndtr

        low, high = (float(ndtr(self._sign * self._standard(end))) for end in (self.low, self.high))
        return low, abs(high - low)

    @property
    def rounding(self) -> float:
        start, mass = self._mass()
        return 2.0**-48 * max(1.0, start / mass)

    def cdf(self, theta: Array) -> Array:
        from scipy.special import ndtr

        start, mass = self._mass()
        return np.asarray(np.clip(abs(ndtr(self._sign * self._standard(theta)) - start) / mass, 0.0, 1.0))

    def pdf(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        place = self._standard(theta)
        bell: Array = np.exp(-0.5 * place * place) / (math.sqrt(2.0 * math.pi) * self.deviation)
        return bell / self._mass()[1]

    def quantile(self, share: Array) -> Array:
        from scipy.special import ndtri

        start, mass = self._mass()
        place = self._sign * ndtri(start + self._sign * share * mass)
        return np.clip(self.mean + self.deviation * place, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Beta(Density):
    """A beta distribution stretched over the interval; regular exactly when b >= 1."""

    a: float
    b: float

    def _unit(self, theta: Array) -> Array:
        return np.clip((theta - self.low) / (self.high - self.low), 0.0, 1.0)

    def cdf(self, theta: Array) -> Array:
        from scipy.special import betainc

        return np.asarray(betainc(self.a, self.b, self._unit(theta)))

    def pdf(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        """Return the density; infinite at an end with a parameter below 1."""
        from scipy.special import betaln, xlog1py, xlogy

        x = self._unit(theta)
        with np.errstate(divide="ignore"):
            logarithm = xlogy(self.a - 1.0, x) + xlog1py(self.b - 1.0, -x) - betaln(self.a, self.b)
            return np.asarray(np.exp(logarithm)) / (self.high - self.low)

    def quantile(self, share: Array) -> Array:
        from scipy.special import betaincinv

        return self.low + (self.high - self.low) * np.asarray(betaincinv(self.a, self.b, share))

    def pieces(self) -> tuple[Piece, ...]:
        """Return one convex piece for b >= 1; else a convex one and a concave one."""
        if self.b >= 1.0:
            return super().pieces()
        turn = self.low + (self.high - self.low) * self._turn()
        return (Piece(self.low, turn, "convex"), Piece(turn, self.high, "concave"))

    def _turn(self) -> float:
        """Return where the virtual cost stops rising (just before it): 2 h^2 >= H h' up to there."""
        from scipy.special import betainc, betaln

        low, high = max(0.0, (1.0 - self.a) / (2.0 - self.a - self.b)) if self.a < 1.0 else 0.0, 1.0
        for _ in range(200):
            x = 0.5 * (low + high)
            if not low < x < high:
                break
            growth = (self.a - 1.0) / x + (1.0 - self.b) / (1.0 - x)
            height = math.exp(
                (self.a - 1.0) * math.log(x) + (self.b - 1.0) * math.log1p(-x) - float(betaln(self.a, self.b))
            )
            rising = float(betainc(self.a, self.b, x)) * growth <= 2.0 * height
            low, high = (x, high) if rising else (low, x)
        return low


@dataclass(frozen=True, eq=False)
class Histogram(Density):
    """A piecewise constant density: within a bin v rises with slope 2; it jumps where the density does."""

    edges: Array
    shares: Array

    def _at_edges(self) -> Array:
        cumulative = np.concatenate([[0.0], np.cumsum(self.shares)])
        return np.asarray(cumulative / cumulative[-1])

    def cdf(self, theta: Array) -> Array:
        return np.interp(theta, self.edges, self._at_edges())

    def pdf(self, theta: Array, side: Literal["left", "right"] = "right") -> Array:
        """Return the density of the bin to the right (or left) of theta."""
        heights = self.shares / math.fsum(self.shares) / np.diff(self.edges)
        place = np.searchsorted(self.edges, theta, side="left" if side == "left" else "right") - 1
        return heights[np.clip(place, 0, len(heights) - 1)]

    def quantile(self, share: Array) -> Array:
        return np.interp(share, self._at_edges(), self.edges)

    def pieces(self) -> tuple[Piece, ...]:
        pairs = zip(self.edges.tolist(), self.edges[1:].tolist(), strict=False)
        return tuple(Piece(low, high, "convex") for low, high in pairs)


def _interval(low: Any, high: Any) -> tuple[float, float]:
    bottom = in_range("density.low", low, 0.0, MOST)
    top = in_range("density.high", high, bottom, MOST, low_open=True)
    of_sane_size("density", np.array([bottom, top]))
    return bottom, top


def uniform(low: float, high: float) -> Density:
    """Return equally likely types."""
    return Uniform(*_interval(low, high))


def truncated_normal(low: float, high: float, mean: float, deviation: float) -> Density:
    """Return a normal distribution cut to [low, high]."""
    interval = _interval(low, high)
    middle = in_range("density.mean", mean, -math.inf, math.inf, low_open=True, high_open=True)
    spread = in_range("density.deviation", deviation, 0.0, math.inf, low_open=True, high_open=True)
    if max(interval[0] - middle, middle - interval[1]) > 5.0 * spread:
        raise ParameterError(
            "density.mean",
            "is more than 5 deviations outside [low, high], where nearly nothing is left",
            "move it",
        )
    if interval[1] > middle + 8.0 * spread:
        raise ParameterError(
            "density.high",
            "is more than 8 deviations above the mean, where less than one user in 1e15 is",
            f"lower it to {middle + 8.0 * spread:.6g} or less",
        )
    if interval[1] - interval[0] < NARROWEST * spread:
        raise ParameterError(
            "density.deviation",
            f"is more than {1 / NARROWEST:g} times the width of [low, high], where the density is flat",
            "use uniform",
        )
    return TruncatedNormal(*interval, middle, spread)


def beta(a: float, b: float, low: float = 0.0, high: float = 1.0) -> Density:
    """Return a beta distribution stretched over [low, high]."""
    first = in_range("density.a", a, LEAST_SHAPE, 1e4)
    return Beta(*_interval(low, high), first, in_range("density.b", b, LEAST_SHAPE, 1e4))


def histogram(edges: Any, shares: Any) -> Density:
    """Return a histogram with these bin edges and relative frequencies (> 0)."""
    places, heights = finite_array("density.edges", edges, 1), finite_array("density.shares", shares, 1)
    if len(places) != len(heights) + 1:
        raise ParameterError(
            "density.edges",
            f"{counted(len(places), 'edge')} for {counted(len(heights), 'share')}",
            "give one more edge than shares",
        )
    if places[0] < 0 or (np.diff(places) <= 0).any():
        raise ParameterError("density.edges", "are not >= 0 and strictly increasing", "sort them")
    of_sane_size("density.edges", places)
    if (heights <= 0).any():
        raise ParameterError(
            "density.shares",
            f"entry {int(np.argmax(heights <= 0))} is not positive",
            "merge empty bins with a neighbour",
        )
    of_sane_size("density.shares", heights)
    return Histogram(float(places[0]), float(places[-1]), places, heights)


def empirical(
    sample: Any, method: str = "histogram", bins: int = 20, bandwidth: float | None = None
) -> Density:
    """Return a density estimated from observed preferences.

    ``histogram`` has bins with about equally many observations each. ``kernel`` smooths with a normal kernel
    (Silverman's
    bandwidth unless given), cut to the range of the sample, and is held as a fine histogram of its
    exact bin masses, so that everything downstream stays exact.

    Examples
    --------
    >>> density = empirical([1.0, 2.0, 2.5, 3.0, 7.0], bins=2)
    >>> density.edges, density.shares
    (array([1. , 2.5, 7. ]), array([2., 3.]))
    """
    data = np.sort(finite_array("density.sample", sample, 1))
    if data[0] < 0 or data[0] == data[-1]:
        raise ParameterError("density.sample", "needs at least two different values >= 0")
    of_sane_size("density.sample", data)
    cells = integer("density.bins", bins, 1, 100_000)
    if one_of("density.method", method, ("histogram", "kernel")) == "histogram":
        edges = np.unique(np.quantile(data, np.linspace(0.0, 1.0, cells + 1)))
        counts = np.histogram(data, edges)[0].astype(np.float64)
        keep = np.append(counts > 0, True)
        return histogram(edges[keep] if keep[0] else edges[np.append(True, keep[1:])], counts[counts > 0])
    return _kernel(data, bandwidth, max(cells, 400))


def _kernel(data: Array, bandwidth: float | None, cells: int) -> Density:
    from scipy.special import ndtr

    if bandwidth is None:
        spread = min(
            float(np.std(data)), float(np.subtract(*np.quantile(data, [0.75, 0.25]))) / 1.349 or math.inf
        )
        width = 0.9 * spread * len(data) ** -0.2
    else:
        width = checked_amount("density.bandwidth", bandwidth)
    edges = np.linspace(data[0], data[-1], cells + 1)
    cumulative = np.array([float(ndtr((edge - data) / width).mean()) for edge in edges])
    masses = np.diff(cumulative)
    if (masses <= 0).any():
        raise ParameterError(
            "density.bandwidth", "is so small that parts of the range have no mass", "raise it"
        )
    return histogram(edges, masses)


DENSITIES: dict[str, Callable[..., Density]] = {
    "uniform": uniform,
    "truncated-normal": truncated_normal,
    "beta": beta,
    "histogram": histogram,
    "empirical": empirical,
}


def density_of(value: Any) -> Density:
    """Return the density that a table ``{name = ..., ...}`` describes.

    Examples
    --------
    >>> float(density_of({"name": "uniform", "low": 5, "high": 15}).virtual_cost(np.array(6.0)))
    7.0
    """
    if not isinstance(value, Mapping):
        raise ParameterError(
            "density", "expected a table with a name, such as {name = 'uniform', low = 5, high = 15}"
        )
    name = value.get("name")
    if not isinstance(name, str) or name not in DENSITIES:
        raise ParameterError("density", f"{text_of(name)} is not a choice", suggestion(str(name), DENSITIES))
    arguments = {key: item for key, item in value.items() if key != "name"}
    density: Density = call_named(f"density: '{name}'", DENSITIES[name], arguments)
    return density
