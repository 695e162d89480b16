"""The mechanism ``spectrum-user``: a user's device turns its true place into a query for a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.collect.collecting import SEED, Column, Operation, Settings, located, require_columns
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError
from mechdesign.core.tables import Block, Source
from mechdesign.exact.randomness import Rng
from mechdesign.families.spectrum.geometry import positive
from mechdesign.families.spectrum.queries import MOST_QUERIES, NUMBERS, finite_columns
from mechdesign.show.figure import Figure

WIDE, MOST = 20.0, 1500.0
"""Half the side of the default area, in units of the larger of wanted radius and privacy radius, and at most
in units of the privacy radius: a wider area has more points of the lattice than can be held."""


def noise_class() -> Any:
    """Return the class of the noise on places, which the family of locations has: ``PlanarLattice``."""
    return mechanism_type("planar-lattice")


class SpectrumUser(Mechanism):
    """Noise on a user's place that stays within the privacy radius the user chose, and the query it makes.

    The noise is planar Laplace noise on a lattice, exact in integers, with the least epsilon found for which
    a report is farther than the privacy radius from the true place with probability at most beta. A database
    that keeps this radius around the report free does not let the user disturb anybody unless it is. A
    report is drawn once for each user and place of a table; send it again rather than drawing a new one.

    Parameters
    ----------
    privacy : number > 0
        The privacy radius, best from ``spectrum-secondary``.
    radius : number > 0
        How far the user wants to send.
    noise : PlanarLattice
        Noise whose own radius, for its beta, is at most ``privacy``.

    Examples
    --------
    >>> user = SpectrumUser.of(privacy=0.5, radius=5.0, area=[0, 0, 20, 20])
    >>> query = user.query("ann", "tv", 10.0, 10.0, rng=1)
    >>> sorted(query)
    ['channel', 'epsilon', 'privacy', 'radius', 'user', 'x', 'y']
    >>> user.audit().holds
    True
    """

    type: ClassVar[str] = "spectrum-user"

    def __init__(self, privacy: float, radius: float, noise: Any) -> None:
        self.privacy, self.radius = positive("privacy", privacy), positive("radius", radius)
        self.noise = noise
        if not self._reach().holds:
            raise CertificateError("user", f"its noise reaches too far: {self._reach()}")

    @classmethod
    def of(cls, privacy: float, radius: float, area: Any = None, beta: float = 0.05) -> Self:
        """Return the client with the least epsilon that keeps reports within a privacy radius.

        Parameters
        ----------
        privacy, radius : number > 0
        area : (x_low, y_low, x_high, y_high), optional
            Where the user may be; by default a square around (0, 0) with half a side of 20 radii,
            or of 1500 privacy radii where that is less.
        beta : float
            In (0, 1): the probability of a report beyond the privacy radius, at most.
        """
        radius_of_privacy = positive("privacy", privacy)
        half = min(WIDE * max(radius_of_privacy, positive("radius", radius)), MOST * radius_of_privacy)
        where = [-half, -half, half, half] if area is None else area
        noise = noise_class().within(radius_of_privacy, where, beta)
        return cls(radius_of_privacy, radius, noise)

    # What the user's device does

    def query(self, user: str, channel: str, x: float, y: float, rng: Rng = None) -> dict[str, Any]:
        """Return the query of one user for one channel, with a new report of its place."""
        return self.queries([{"user": user, "channel": channel, "x": x, "y": y}], rng)[0]

    def queries(self, asked: Iterable[Mapping[str, Any]], rng: Rng = None) -> list[dict[str, Any]]:
        """Return queries with one report for each user and place, whatever channels it asks for.

        Parameters
        ----------
        asked : iterable of {user, channel, x, y} or with {radius}
            True places.
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's random bits by default.
        """
        rows = list(asked)
        keys = [(str(row["user"]), float(row["x"]), float(row["y"])) for row in rows]
        places = list(dict.fromkeys(keys))
        reports = self.noise.randomize([[x, y] for _, x, y in places], self.seeded(rng)).tolist()
        report = dict(zip(places, reports, strict=True))
        return [
            {
                "user": key[0],
                "channel": str(row["channel"]),
                "x": report[key][0],
                "y": report[key][1],
                "radius": positive("radius", row.get("radius", self.radius)),
                "privacy": self.privacy,
                "epsilon": self.noise.epsilon,
            }
            for key, row in zip(keys, rows, strict=True)
        ]

    def operations(self) -> tuple[Operation, ...]:
        """Return ``query``: true places in, queries out."""
        takes = (
            Column("user", "the asking user"),
            Column("channel", "for which channel"),
            Column("x", "true location"),
            Column("y", "true location"),
        )
        gives = (
            Column("user", "the asking user"),
            Column("channel", "for which channel"),
            Column("x", "reported location"),
            Column("y", "reported location"),
            Column("radius", "requested radius"),
            Column("privacy", "privacy radius around the report"),
            Column("epsilon", "level of the report, per unit of distance"),
        )
        summary = "queries for a spectrum database, with one private report for each user and place"
        return (Operation("query", summary, takes, gives, self._queried, (SEED,)),)

    def _queried(self, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        (source,) = sources
        numbers = ("x", "y", "radius") if "radius" in source.columns else ("x", "y")
        needed = ["user", "channel", *numbers]
        require_columns(source, needed)
        rows: list[dict[str, Any]] = []
        for block in source.blocks(needed):
            columns = finite_columns(source, block, numbers)
            names = {key: np.asarray(block[key]).astype(str).tolist() for key in ("user", "channel")}
            count = len(names["user"])
            if len(rows) + count > MOST_QUERIES:
                raise DataError(source.name, f"more than {MOST_QUERIES} queries", "split the table")
            entries = {**names, **{key: column.tolist() for key, column in columns.items()}}
            rows += [{key: entries[key][row] for key in needed} for row in range(count)]
        if not rows:
            raise DataError(source.name, "there is no user", "give at least one row")
        with located(source):
            queries = self.queries(rows, settings["seed"])
        yield {key: np.array([row[key] for row in queries]) for key in ("user", "channel", *NUMBERS)}

    # What it guarantees

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the privacy of a report, that it stays near the place, and within the privacy radius."""
        return (*self.noise.certificates(), self._reach())

    def _reach(self) -> Certificate:
        """Return whether the radius of the noise, for beta, is at most the privacy radius."""
        holds = Fraction(self.noise.radius) <= Fraction(self.privacy)
        figures = {"privacy_radius": self.privacy, "noise_radius": self.noise.radius, "beta": self.noise.beta}
        note = "a report is farther than the privacy radius with probability at most beta"
        return Certificate("reach", holds, True, figures, note=note)

    def figures(self) -> list[Figure]:
        """Return figures of the distance between reports and the true location."""
        figures: list[Figure] = self.noise.figures()
        return figures

    def _figures(self) -> str:
        return (
            f"privacy radius {self.privacy:.4g}, radius {self.radius:g}, epsilon={self.noise.epsilon:.4g} "
            f"per unit of distance, beta {self.noise.beta:g}"
        )

    def content(self) -> dict[str, Any]:
        """Return the radii, and the integers that are sampled from."""
        return {"privacy": self.privacy, "radius": self.radius, "noise": self.noise.content()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values, auditing the noise again."""
        return cls(content["privacy"], content["radius"], noise_class().from_content(content["noise"]))
