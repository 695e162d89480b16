"""Mechanisms of places: points in, points out, the area, how far a report may be, and tables of x and y.

``PlanarLaplace`` is noise of the density epsilon^2 / (2 pi) e^(-epsilon d).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import audit_density
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
from mechdesign.collect.kernel import rng_alone
from mechdesign.collect.server import on_table
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, ParameterError, RowError, counted, named_option, option
from mechdesign.core.guarantee import Proof
from mechdesign.core.validation import in_range, privacy_epsilon
from mechdesign.data.frames import is_table
from mechdesign.data.intake import Block, Intake, Source
from mechdesign.exact.randomness import BITS, BitSource, Rng
from mechdesign.families.location.location_audit import LocationAudit, per_length
from mechdesign.show.tables import range_text

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

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
        return self.audit().certificate(), self.interference()

    @abstractmethod
    def interference(self) -> Certificate:
        """Judge the probability of a report beyond the radius."""

    def operations(self) -> tuple[Operation, ...]:
        return location_operations(self)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        if ranges:
            raise ParameterError("range", "the area of a location mechanism is part of its model", "omit it")
        if len(intake.columns) not in (0, 2):
            raise ParameterError("columns", f"{len(intake.columns)} for a location", "name two, x and y")
        self._require_missing(intake.missing)
        return self.replaced(intake=intake)

    def figures(self) -> list[Figure]:
        """Return figures of the distance between reports and the true location."""
        from mechdesign.show.figure import Circles, Figure, Panel

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


LEAK = (
    "for any two places, in real numbers; the last bits of a report leak (Mironov 2012); "
    "use planar-lattice for an exact guarantee"
)

HALF = BITS // 2

ROUNDING = 2.0**-40
"""What the scaling of the density's audit may lose, relatively."""


class PlanarLaplace(LocationMechanism):
    """The planar Laplace mechanism (Andres et al., 2013), private at epsilon d for all real numbers.

    The radius has the density eps^2 r e^(-eps r), that of a sum of two exponential variables: it is drawn
    as -ln(U V) / eps, the direction evenly. The privacy is that of real numbers: in floating point the
    doubles that a report can be depend on the place, so the certificate is not exact. ``PlanarLattice`` is
    for deployment.

    Parameters
    ----------
    epsilon : float
        > 0, per unit of distance.
    beta : float
        Probability of a report beyond ``radius``.
    area : (x_low, y_low, x_high, y_high), optional

    Examples
    --------
    >>> mechanism = PlanarLaplace(epsilon=2.0)
    >>> mechanism.mean_distance, round(mechanism.radius, 6)
    (1.0, 2.371932)
    >>> reports = mechanism.randomize([[0.0, 0.0]] * 10_000, rng=1)
    >>> abs(np.hypot(*reports.T).mean() - 1.0) < 4 / np.sqrt(2) / 100
    np.True_
    """

    type: ClassVar[str] = "planar-laplace"
    exact_alternative = (
        "its reports are real numbers: build 'finite-channel' on the places that are asked for"
    )

    def draw(self, points: Array, source: BitSource) -> Array:
        """Return the points plus noise: two words a point, for two radii's parts and the direction."""
        words = source.integers(2 * len(points)).reshape(2, -1)
        low = words[1] & ((1 << HALF) - 1)
        radius = np.log((words[0] + 0.5) * 2.0**-BITS)
        radius += np.log(((words[1] >> HALF) + 0.5) * 2.0**-HALF)
        radius *= -1.0 / self.epsilon
        angle = low * (2.0 * math.pi / (1 << HALF))
        reports = points.copy()
        reports[:, 0] += radius * np.cos(angle)
        reports[:, 1] += radius * np.sin(angle)
        return reports

    @cached_property
    def radius(self) -> float:
        """The 1 - beta quantile of the distance: (1 + eps r) e^(-eps r) = beta, by the Lambert W function."""
        return planar_quantile(self.epsilon, self.beta)

    @property
    def mean_distance(self) -> float:
        return 2.0 / self.epsilon

    def log_density(self, places: Array, reports: Array) -> Array:
        """Return the log density of reports on the line y = 0 given places on it."""
        level = 2.0 * math.log(self.epsilon) - math.log(2.0 * math.pi)
        density: Array = -self.epsilon * np.abs(reports - places) + level
        return density

    def audit(self) -> LocationAudit:
        """Return the audit of the density, for two places 1 / eps apart and the line through them."""
        apart = 1.0 / self.epsilon
        ends = np.array([0.0, apart])
        finding = audit_density(self.log_density, ends, np.array([-apart, apart / 2, 2 * apart]), 1.0)
        witness = {
            "place": [finding.witness["input"], 0.0],
            "other": [finding.witness["other"], 0.0],
            "report": [finding.witness["report"], 0.0],
        }
        true = finding.true_epsilon / apart
        slack = float(finding.proof.rounding) / apart * (1.0 + ROUNDING) + ROUNDING * self.epsilon
        proof = Proof(per_length(self.epsilon), true, exact=False, rounding=slack)
        return LocationAudit(proof, witness, LEAK)

    def interference(self) -> Certificate:
        """Judge 1 - F(radius) = (1 + eps r) e^(-eps r) against beta, up to rounding of the quantile."""
        scaled = self.epsilon * self.radius
        beyond = (1.0 + scaled) * math.exp(-scaled)
        figures = {"radius": self.radius, "beta": self.beta, "probability_beyond": beyond}
        holds = beyond <= self.beta * (1.0 + 2.0**-40)
        return Certificate("interference", holds, False, figures, note="a quantile of the radius")

    def content(self) -> dict[str, Any]:
        area = None if self.area is None else list(self.area)
        return {"epsilon": self.epsilon, "beta": self.beta, "area": area}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(content["epsilon"], content["beta"], content["area"])


def planar_quantile(epsilon: float, beta: float) -> float:
    """Return the r with (1 + eps r) e^(-eps r) = beta, by the lower branch of Lambert's W.

    Parameters
    ----------
    epsilon : float
        > 0.
    beta : float
        In (0, 1).

    Examples
    --------
    >>> r = planar_quantile(1.0, 0.1)
    >>> round((1 + r) * np.exp(-r), 12)
    np.float64(0.1)
    """
    from scipy.special import lambertw

    level = probability("beta", beta)
    rate = planar_epsilon(epsilon)
    return max(0.0, -float(lambertw(-level / math.e, -1).real) - 1.0) / rate
