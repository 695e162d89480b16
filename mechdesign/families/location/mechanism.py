"""Mechanisms of places: points in, points out, the area, how far a report may be, and tables of x and y.

Audits of location privacy: a factor e^(epsilon d) for places at the Euclidean distance d.

*Noise on a lattice, from any place.* A place s, in steps of the lattice, is moved to the place k with the
probability B(s_1 - k_1) B(s_2 - k_2), B the quadratic B-spline; then a vector v is added with probability
f(v) / M. A report y comes out with probability g(s) / M, g(s) = sum_k B(s_1 - k_1) B(s_2 - k_2) f(y - k),
which is smooth in s. On every square of the side 1 around a k it is a polynomial, and so are its two
derivatives: all three are averages, with the same weights (the nine Bernstein polynomials), of their
coefficients

    G_ij = (A_i x A_j) f,   P_ij = (D_i x A_j) f,   Q_ij = (A_i x D_j) f,

with these along a line, for three values a, b, c of f next to each other:

    A = ((a + b) / 2, b, (b + c) / 2),   D = (b - a, (c - a) / 2, c - b).

Where

    P_ij^2 + Q_ij^2 <= (epsilon step)^2 G_ij^2      for all coefficients,

the length of the gradient of g is at most epsilon step g, so ln g changes by epsilon d at most over a
distance d: for ANY two places, however near. All of it is in whole numbers; no exponential and no root is
needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.finding import PrivacyFinding
from mechdesign.collect.base import Mechanism
from mechdesign.collect.codec import as_floats, checked_area
from mechdesign.collect.collecting import (
    CLIP,
    COLUMN,
    SEED,
    Column,
    Operation,
    Settings,
    located,
    marked,
    require_commas,
    require_data,
    side_by_side,
)
from mechdesign.collect.reader import on_table
from mechdesign.collect.recipes import rng_alone
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, RowError, named_option, option
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.tables import Block, Source
from mechdesign.core.text import counted, range_text
from mechdesign.core.validation import double_epsilon, in_range, privacy_epsilon
from mechdesign.core.values import frozen_value
from mechdesign.data.frames import is_table
from mechdesign.data.missing import Intake
from mechdesign.exact.numbers import plain_int, rational
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Circles

Integers = NDArray[Any]

UNIT = "unit of distance"

SMALL = 1 << 58
"""Below it, sums of eight weights and more are 64-bit integers; above it, they are Python's."""

ROWS = 64
"""Rows of vectors that are judged at a time."""

ROUNDING = 1e-12
"""Ratios nearer than this to the largest one, relatively, are computed exactly."""


@frozen_value(repr=False)
class LocationAudit(PrivacyFinding):
    """Result of an audit of location privacy; epsilon is per unit of length.

    Attributes
    ----------
    proof : Proof
        The guarantee, and an upper bound of its epsilon (infinite where a report is excluded).
    witness : mapping
        What attains it: two lengths of the noise, or two places and a report.
    note : str
    """

    note: str = ""

    def _note(self) -> str:
        return "; ".join(part for part in ("epsilon per unit of distance", self.note) if part)


def per_length(epsilon: Any) -> Guarantee:
    """Return the guarantee of this epsilon per unit of distance, for any two places.

    Examples
    --------
    >>> print(per_length("0.5"))
    epsilon = 0.5 per unit of distance, one report
    """
    return Guarantee(epsilon, distance=UNIT)


def audit_rounded(
    squares: Sequence[int], weights: Sequence[int], step: float, epsilon: float
) -> LocationAudit:
    """Audit noise on a lattice after random rounding to it, for all pairs of places of the plane, exactly.

    Parameters
    ----------
    squares : sequence of int
        The squared lengths of vectors of whole numbers, rising from 0, none left out. Whatever is longer has
        the last weight.
    weights : sequence of int
        The weight of one vector of each length, > 0.
    step : float
        The step of the lattice, > 0, taken exactly.
    epsilon : float
        What is wanted, per unit of length.

    Returns
    -------
    LocationAudit
        ``true_epsilon`` bounds the slope of the logarithm of every report's probability.

    Raises
    ------
    CertificateError
        When a length is left out, or a weight is not positive.

    Examples
    --------
    >>> audit_rounded([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.0).holds
    False
    >>> audit = audit_rounded([0, 1, 2], [100, 60, 50], step=0.5, epsilon=1.1)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (True, 1.047566)
    """
    limit, width = Fraction(double_epsilon(epsilon)), rational("step", step)
    if width <= 0:
        raise CertificateError("location", "expected a step > 0")
    worst, place = steepest(_by_square(squares, weights))
    true, proven = _root_up(worst / width**2), worst <= (limit * width) ** 2
    witness = {"vector": list(place), "step": float(width)}
    proof = Proof(per_length(limit), min(true, limit) if proven else true)
    return LocationAudit(proof, witness, "for any two locations, rounding included")


def _by_square(squares: Sequence[int], weights: Sequence[int]) -> Integers:
    """Return the weights by squared length, the last one for everything longer."""
    lengths = [plain_int("squares", square) for square in squares]
    counts = [plain_int("weights", weight) for weight in weights]
    if len(lengths) != len(counts) or not counts or lengths[0] != 0 or min(counts) < 1:
        raise CertificateError("location", "expected a weight above 0 for each length, from length 0 on")
    if lengths != square_lengths(len(lengths)):
        raise CertificateError("location", "a length of the lattice is left out, or they do not rise")
    table = np.full(lengths[-1] + 2, counts[-1], dtype=np.int64 if max(counts) < SMALL else object)
    table[lengths] = counts
    return table


def square_lengths(count: int) -> list[int]:
    """Return this many squared lengths of vectors of integers, from the least.

    Examples
    --------
    >>> square_lengths(6)
    [0, 1, 2, 4, 5, 8]
    """
    reach = max(2, isqrt(2 * count))
    while True:
        side = np.arange(reach + 1) ** 2
        squares = np.unique(side[:, None] + side)
        squares = squares[squares <= reach * reach]
        if len(squares) >= count:
            return [int(square) for square in squares[:count]]
        reach *= 2


def steepest(table: Integers) -> tuple[Fraction, tuple[float, float]]:
    """Return the largest (P^2 + Q^2) / G^2 of all coefficients, and the vector, in steps, where it is.

    Parameters
    ----------
    table : array of int64 or object
        The weight by squared length; the last one for everything longer.
    """
    last = len(table) - 1
    side = np.arange(-1, isqrt(last) + 3)
    worst, place = Fraction(0), (0.0, 0.0)
    for first in range(1, len(side) - 1, ROWS):
        rows = side[first - 1 : first + ROWS + 1]
        f = table[np.minimum(rows[:, None] ** 2 + side**2, last)]
        for shift, level, east, north in coefficients(f):
            rough = (east.astype(np.float64) ** 2 + north.astype(np.float64) ** 2) / level.astype(
                np.float64
            ) ** 2
            least = max(float(rough.max(initial=0.0)), float(worst)) * (1.0 - ROUNDING)
            if least == 0.0:
                continue
            # Four roundings are far below ROUNDING: the largest ratio is among those that are looked at.
            for row, column in np.argwhere(rough >= least):
                square = int(east[row, column]) ** 2 + int(north[row, column]) ** 2
                exact = Fraction(square, int(level[row, column]) ** 2)
                if exact > worst:
                    worst = exact
                    place = float(rows[1 + row]) + shift[0], float(side[1 + column]) + shift[1]
    return worst, place


def coefficients(f: Any) -> Iterator[tuple[tuple[float, float], Any, Any, Any]]:
    """Yield four times G, P and Q for places in a square's middle, on its edges and at its corners.

    Parameters
    ----------
    f : (n, m) array
        Weights of a rectangle of vectors; the first and the last of each line only serve their neighbors.
    """
    inner, after, before = slice(1, -1), slice(2, None), slice(None, -2)
    middle = f[inner, inner]
    south, north = f[inner, before], f[inner, after]
    yield (0.0, 0.0), 4 * middle, 2 * (f[after, inner] - f[before, inner]), 2 * (north - south)
    right = f[after, inner]
    across = f[after, after] + north - f[after, before] - south
    yield (0.5, 0.0), 2 * (middle + right), 4 * (right - middle), across
    along = f[after, inner] + f[after, after] - f[before, inner] - f[before, after]
    yield (0.0, 0.5), 2 * (middle + north), along, 4 * (north - middle)
    corner = f[after, after]
    sums = middle + right + north + corner
    yield (0.5, 0.5), sums, 2 * (right + corner - middle - north), 2 * (north + corner - middle - right)


def _root_up(square: Fraction) -> Fraction:
    """Return a rational number not below the root, closer than 2**-80 of it."""
    scale = 1 << max(0, 100 + square.denominator.bit_length() - square.numerator.bit_length())
    return Fraction(
        isqrt(square.numerator * square.denominator * scale * scale) + 1, square.denominator * scale
    )


X, Y = "x", "y"


def location_operations(mechanism: LocationMechanism) -> tuple[Operation, ...]:
    """Return ``randomize``: a private location for each location."""
    takes = (
        Column(X, "the first coordinate of a location", any_name=True),
        Column(Y, "the second one", any_name=True),
    )
    mark = mechanism.survey_digest
    gives = (
        Column(marked(X, mark), "the first coordinate of the report", any_name=True),
        Column(marked(Y, mark), "the second one", any_name=True),
    )
    return (
        Operation(
            "randomize",
            "one private location for each location",
            takes,
            gives,
            partial(_randomized, mechanism),
            (COLUMN, CLIP, SEED),
            in_order=True,
        ),
    )


def _randomized(
    mechanism: LocationMechanism, sources: Sequence[Source], settings: Settings
) -> Iterator[Block]:
    (source,) = sources
    columns, rng = _columns(mechanism, source, settings), mechanism.seeded(settings["seed"])
    names = [marked(column, mechanism.survey_digest) for column in columns]
    for points in side_by_side(source, columns, [partial(as_floats, dimensions=1, what="points")] * 2):
        with located(source):
            reports = mechanism.randomize(points, rng=rng, clip=bool(settings["clip"]))
        if mechanism.area is not None:
            low, high = mechanism.area[:2], mechanism.area[2:]
            outside = ((points < low) | (points > high)).any(axis=1)
            settings.count("point(s) moved into the area", int(outside.sum()))
        yield {names[0]: reports[:, 0], names[1]: reports[:, 1]}


def _columns(mechanism: LocationMechanism, source: Source, settings: Settings) -> list[str]:
    """Return the two columns: those named, those it was built for, x and y, or the only two."""
    names = list(settings["column"] or mechanism.data_columns)
    if not names:
        require_commas(source)
        names = [X, Y] if {X, Y} <= set(source.columns) else list(source.columns)
        if len(names) != 2:
            raise DataError(
                source.name,
                f"has {counted(len(names), 'column')} ({', '.join(names[:8])})",
                "name two with " + option("column") + ", x before y",
            )
        if names != [X, Y] and any(mechanism._is_value(name) for name in names):
            raise DataError(
                source.name,
                "its first line is numbers: add a header line, or name these columns with "
                + option("column"),
            )
    if len(names) != 2:
        raise ParameterError(
            named_option("column"), f"{counted(len(names), 'column')} for a location", "name two, x before y"
        )
    require_data(source, names)
    return names


Array = NDArray[np.float64]

CHUNK = 1 << 15
"""Points are drawn in pieces of this size, which fit the processor's cache."""


class LocationMechanism(Mechanism):
    """Noise on a point of the plane, private at epsilon per unit of distance.

    Parameters
    ----------
    epsilon : float
        > 0, per unit of length of the coordinates.
    beta : float
        In (0, 1): the probability with which a report may be farther than ``radius`` from the true place.
    area : (x_low, y_low, x_high, y_high), optional
        Where people are; reports outside are moved to its nearest point, which costs no privacy.
    """

    def __init__(self, epsilon: float, beta: float = 0.05, area: Any = None) -> None:
        self.epsilon = planar_epsilon(epsilon)
        self.beta = probability("beta", beta)
        self.area = None if area is None else checked_area(area)

    @abstractmethod
    def draw(self, points: Array, source: BitSource) -> Array:
        """Return a report for each point of at most ``CHUNK``, before any is moved into the area."""

    @abstractmethod
    def audit(self) -> LocationAudit:
        """Return the result of an audit of location privacy."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """The distance that a report exceeds with probability beta at most."""

    @property
    @abstractmethod
    def mean_distance(self) -> float:
        """The expected distance between place and report, before reports are moved into the area."""

    @rng_alone
    def randomize(self, answers: Any, rng: Rng = None, clip: bool = False) -> Array:
        """Return one report for each point.

        Parameters
        ----------
        answers : (n, 2) array
            Coordinates x and y.
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's generator by default.
        clip : bool
            Move points outside the area to its nearest point instead of refusing them.

        Returns
        -------
        (n, 2) array

        Raises
        ------
        DataError
            For NaN or infinite coordinates, rows of another length, and points outside the area.
        """
        if is_table(answers):
            return on_table(self, "randomize", answers, rng=rng, clip=clip)
        places = self.checked(answers, clip)
        source = self.source(rng)
        reports = np.empty_like(places)
        for start in range(0, len(places), CHUNK):
            part = slice(start, start + CHUNK)
            reports[part] = self.draw(places[part], source)
        if self.area is not None:
            np.clip(reports, self.area[:2], self.area[2:], out=reports)
        return reports

    def checked(self, points: Any, clip: bool = False) -> Array:
        """Return points as an (n, 2) array of finite numbers in the area, or name the first row at fault."""
        try:
            places = as_floats(points, 2, "points")
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            raise DataError("points", "rows have different lengths", "give x and y for each") from None
        if places.shape[1] != 2:
            raise DataError("points", f"have {counted(places.shape[1], 'coordinate')}", "give two, x and y")
        if not np.isfinite(places).all():
            row, column = np.argwhere(~np.isfinite(places))[0]
            what = f"{'xy'[column]} is {places[row, column]:g}"
            raise RowError("points", int(row), what, "omit users without a location")
        if self.area is None:
            return places
        low, high = self.area[:2], self.area[2:]
        if clip:
            return np.clip(places, low, high)
        outside = ((places < low) | (places > high)).any(axis=1)
        if outside.any():
            row = int(np.argmax(outside))
            x, y = places[row]
            limits = " x ".join(range_text(*ends) for ends in zip(low, high, strict=True))
            remedy = "correct it, or move points to the nearest of the area"
            raise RowError("points", row, f"({x:.10g}, {y:.10g}) is outside {limits}", remedy, "clip")
        return places

    def certificates(self) -> tuple[Certificate, ...]:
        """Return privacy, and that reports stay within the radius with probability 1 - beta."""
        return self.audit().certificate(), self.interference()

    @abstractmethod
    def interference(self) -> Certificate:
        """Judge the probability of a report beyond the radius."""

    def operations(self) -> tuple[Operation, ...]:
        """Return ``randomize``: columns x and y in, perturbed ones out."""
        return location_operations(self)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the mechanism for these two columns."""
        if ranges:
            raise ParameterError("range", "the area of a location mechanism is part of its model", "omit it")
        if len(intake.columns) not in (0, 2):
            raise ParameterError("columns", f"{len(intake.columns)} for a location", "name two, x and y")
        self._require_missing(intake.missing)
        return self.replaced(intake=intake)

    def figures(self) -> list[Figure]:
        """Return figures of the distance between reports and the true location."""
        marks = [
            Circles(x=[0.0], y=[0.0], radius=[self.mean_distance], label="mean distance", filled=False),
            Circles(x=[0.0], y=[0.0], radius=[self.radius], label=f"{1 - self.beta:.4g} of the reports"),
        ]
        panel = Panel(
            "east of the true location (units of distance)",
            "north of the true location (units of distance)",
            marks,
            equal_aspect=True,
        )
        return [Figure(f"Where reports are, epsilon = {self.epsilon:g} per unit of distance", [panel])]

    def _figures(self) -> str:
        return (
            f"epsilon={self.epsilon:g}, mean distance {self.mean_distance:.4g}, "
            f"within {self.radius:.4g} with probability {1 - self.beta:g}"
        )


EXTREME = 1e100
"""Neither epsilon nor its inverse is larger: lengths and their squares stay doubles."""


def planar_epsilon(value: Any) -> float:
    """Return an epsilon > 0: with 0 a report in the plane would be uniform over all of it."""
    epsilon = privacy_epsilon(value)
    if epsilon == 0.0:
        raise ParameterError("epsilon", "is 0, and noise in the plane would have no end", "give a number > 0")
    if not 1.0 / EXTREME <= epsilon <= EXTREME:
        limits = f"{1.0 / EXTREME:g} to {EXTREME:g}"
        raise ParameterError("epsilon", f"{epsilon:g} is not from {limits}", "use another unit of length")
    return epsilon


def probability(field: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    return in_range(field, value, 0.0, 1.0, low_open=True, high_open=True)
