"""A secondary user of spectrum: how much location privacy it takes, and what turns its place into a query.

The problem ``spectrum-secondary`` has the methods of every best length, in ``length``. The mechanism
``spectrum-user`` draws the place that a user's device tells a database.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.collect.codec import checked_area
from mechdesign.collect.collecting import SEED, Column, Operation, Settings, located, require_columns
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError
from mechdesign.core.fields import amount, checked, frozen_problem, real
from mechdesign.core.problem import Outcome, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.data.intake import Block, Source
from mechdesign.exact.randomness import Rng
from mechdesign.families.spectrum.geometry import positive, rounded_up
from mechdesign.families.spectrum.length import LengthProblem, Terms
from mechdesign.families.spectrum.queries import ASKED, MOST_QUERIES, NUMBERS, finite_columns
from mechdesign.show.figure import Figure, Line, Panel, Points

if TYPE_CHECKING:
    import cvxpy

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
    exact_alternative = (
        "it protects places of radio users: build 'finite-channel' on the places that are asked for"
    )

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

    def queries(self, requests: Iterable[Mapping[str, Any]], rng: Rng = None) -> list[dict[str, Any]]:
        """Return queries with one report for each user and place, whatever channels it asks for.

        Parameters
        ----------
        requests : iterable of {user, channel, x, y} or with {radius}
            True places.
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's random bits by default.
        """
        rows = list(requests)
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
        takes = (*ASKED[:2], Column("x", "true location"), Column("y", "true location"))
        summary = "queries for a spectrum database, with one private report for each user and place"
        return (Operation("query", summary, takes, ASKED, self._queried, (SEED,)),)

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
        figures: list[Figure] = self.noise.figures()
        return figures

    def _figures(self) -> str:
        return (
            f"privacy radius {self.privacy:.4g}, radius {self.radius:g}, epsilon={self.noise.epsilon:.4g} "
            f"per unit of distance, beta {self.noise.beta:g}"
        )

    def content(self) -> dict[str, Any]:
        return {"privacy": self.privacy, "radius": self.radius, "noise": self.noise.content()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(content["privacy"], content["radius"], noise_class().from_content(content["noise"]))


@frozen_problem()
class SpectrumSecondary(LengthProblem[SpectrumUser]):
    """The best privacy radius L of a user who rents spectrum.

    ::

        maximize  reward pi radius^2 - price pi (L + radius)^2 - privacy_cost / L   over  L > 0

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, problem 6.4.3, eqs. (6.4) to (6.6). The variable ``privacy`` is L, a length.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=1.0, radius=5.0)
    >>> solution = md.solve(problem)
    >>> print(round(solution.variables["privacy"], 6), round(solution.value, 6))
    0.536173 4.21416
    """

    name: ClassVar[str] = "spectrum-secondary"
    example: ClassVar[Mapping[str, Any]] = {"price": 0.1, "reward": 0.2, "privacy_cost": 1.0, "radius": 5.0}
    sense: ClassVar[Sense] = "max"
    levers: ClassVar[tuple[str, ...]] = ("price", "reward", "privacy_cost", "radius")
    value_name: ClassVar[str] = "user's utility"
    summary: ClassVar[str] = "location privacy that a user who rents spectrum chooses"
    compared_with: ClassVar[str] = "all privacy radii L > 0"

    price: float = amount("k1: cost of a unit of area. The privacy circle also costs this.", positive)
    reward: float = amount("k2: what a unit of area is worth to the user.", positive)
    privacy_cost: float = amount("ks: the loss of privacy is privacy_cost / L.", positive)
    radius: float = amount("r0: range that the user requests.", positive)
    beta: float = real(
        "In (0, 1): the probability that a report may be farther than L from the true location.",
        low=0.0,
        high=1.0,
        low_open=True,
        high_open=True,
        default=0.05,
    )
    area: Sequence[float] | None = checked(
        "Where users of the client are; by default a square around (0, 0), 40 radii wide or less.",
        lambda _, area: checked_area(area),
        form="(x_low, y_low, x_high, y_high)",
        default=None,
    )

    def mechanism(self, solution: Solution[Any]) -> SpectrumUser:
        return SpectrumUser.of(float(solution.variables["privacy"]), self.radius, self.area, self.beta)

    def utility(self, level: float) -> float:
        """Return the user's utility at a privacy radius."""
        income, paid = self.reward * self.radius**2, self.price * (level + self.radius) ** 2
        return math.pi * (income - paid) - self.privacy_cost / level

    @property
    def terms(self) -> Terms:
        paid = math.pi * self.price
        return paid, 2.0 * paid * self.radius, self.privacy_cost

    @property
    def cubic(self) -> Terms:
        unit = 2.0 * math.pi * self.price / self.privacy_cost
        return unit, unit * self.radius, 1.0

    @property
    def start(self) -> float:
        return self.radius

    def slope(self, length: float) -> float:
        return 2.0 * math.pi * self.price * (length + self.radius) - self.privacy_cost / length**2

    def outcome(self, length: float, solver: str) -> Outcome:
        return Outcome(
            status="optimal",
            variables={"privacy": length},
            bound=rounded_up(self.utility(length) + self.error(length), self.objective_scale()),
            bound_source="the tangent of a concave function",
            solver=solver,
        )

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        level = cp.Variable(name="privacy", pos=True)
        income = self.reward * math.pi * self.radius**2
        paid = self.price * math.pi * cp.square(level + self.radius)
        return cp.Problem(cp.Maximize(income - paid - self.privacy_cost * cp.inv_pos(level)))

    def objective(self, variables: Variables) -> float:
        return self.utility(float(variables["privacy"]))

    def objective_scale(self) -> float:
        """Return the size of the terms at the optimum, whose loss of privacy is at most twice their sum."""
        return 4.0 * math.pi * (self.reward + self.price) * self.radius**2 + 8.0 * self._turn()

    def _turn(self) -> float:
        """Return the scale of privacy losses: ks^(2/3) (k1 pi)^(1/3)."""
        return float(self.privacy_cost ** (2.0 / 3.0) * (self.price * math.pi) ** (1.0 / 3.0)) + math.sqrt(
            self.privacy_cost * self.price * math.pi * self.radius
        )

    def residuals(self, variables: Variables) -> dict[str, float]:
        return {"privacy": max(0.0, -float(variables["privacy"]))}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        return (self.optimality(solution, scale=self.objective_scale()),)


def figures(problem: SpectrumSecondary, solution: Solution[Any]) -> list[Figure]:
    """Return the utility around the optimum, which stands out."""
    best = float(solution.variables["privacy"])
    levels = np.linspace(0.3 * best, 2.5 * best, 120)
    marks = [
        Line(x=levels, y=[problem.utility(float(level)) for level in levels], label="utility"),
        Points(x=[best], y=[problem.utility(best)], label="best level"),
    ]
    panel = Panel("location privacy: radius of uncertainty (units of distance)", "user's utility", marks)
    return [
        Figure("Location privacy that a user chooses", [panel], "Too little reveals, too much costs rent.")
    ]
