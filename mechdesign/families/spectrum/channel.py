"""The problem ``spectrum-channel``: who is served on a channel, how far, and what its owner's privacy is.

Named generators for model files scatter users and owners over a square at random, as in section 6.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.fields import Generators, amount, checked, frozen_problem, real, related
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import integer
from mechdesign.core.values import abridged
from mechdesign.families.spectrum.channel_program import Array, Channel, Owner, users_of
from mechdesign.families.spectrum.database import SpectrumDatabase
from mechdesign.families.spectrum.geometry import positive, rounded_up
from mechdesign.families.spectrum.queries import levels_of
from mechdesign.families.spectrum.tiling import Tiling
from mechdesign.show.figure import Circles, Figure, Mark, Panel

MOST_USERS = 2000


def scattered_users(
    side: float = 20.0,
    users: int = 20,
    owners: int = 10,
    channel: int = 0,
    radius: float = 5.0,
    privacy: float = 0.5,
    seed: int = 0,
) -> list[dict[str, float]]:
    """Return the users who ask for a channel: user j asks for channel j modulo the number of owners.

    Parameters
    ----------
    side : float
        Of the square.
    users, owners : int
        Over all channels, one owner each.
    channel : int
        From 0.
    radius, privacy : float
        Of every user.
    seed : int
        The same seed gives all channels of one map.

    Examples
    --------
    >>> len(scattered_users(users=20, owners=10, channel=3)), len(scattered_users(users=200, owners=1))
    (2, 200)
    """
    places = _map(side, users, owners, channel, seed)[1][channel::owners]
    return [{"x": x, "y": y, "radius": radius, "privacy": privacy} for x, y in places]


def scattered_owner(
    side: float = 20.0,
    users: int = 20,
    owners: int = 10,
    channel: int = 0,
    protection: float = 1.0,
    seed: int = 0,
) -> dict[str, float]:
    """Return the owner of a channel on the same map.

    Examples
    --------
    >>> sorted(scattered_owner(channel=3))
    ['protection', 'x', 'y']
    """
    x, y = _map(side, users, owners, channel, seed)[0][channel]
    return {"x": x, "y": y, "protection": protection}


def _map(
    side: float, users: int, owners: int, channel: int, seed: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Return the places of owners and of users, rounded to a thousandth."""
    count = integer("users", users, 1, MOST_USERS)
    channels = integer("owners", owners, 1, MOST_USERS)
    if integer("channel", channel, 0, channels - 1) >= count:
        raise ParameterError(
            "channel", f"no user asks for channel {channel} of {channels}", "give more users"
        )
    rng = np.random.default_rng(integer("seed", seed, 0))
    places = np.round(rng.uniform(0.0, positive("side", side), size=(channels + count, 2)), 3).tolist()
    return places[:channels], places[channels:]


LONGEST = 200
"""Users are listed by ``repr`` up to this length of it."""


def _primary(field: str, value: Any) -> dict[str, float]:
    owner = Owner.of(field, value)
    return {"x": owner.x, "y": owner.y, "protection": owner.protection}


def _secondary(problem: SpectrumChannel, field: str, value: Any) -> tuple[dict[str, float], ...]:
    return users_of(field, value, problem.owner)


def _levels(field: str, value: Any) -> Any:
    levels = levels_of(value)
    return list(levels) if isinstance(levels, tuple) else levels


def _channels(problem: SpectrumChannel, field: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(problem._with(value).content()["channels"][1:])


@frozen_problem(eq=False)
class SpectrumChannel(Problem[SpectrumDatabase]):
    """The best allocation of one channel to secondary users, and the best widening L of its owner's circle.

    ::

        maximize  sum_j (R_j / r0_j) price pi (s_j + R_j)^2 - privacy_cost / L
        over      radii 0 <= R_j <= r0_j and 0 < L <= max_j a_j, with a_j = d_jp - s_j - protection
                  R_j <= a_j - L                       for all with R_j > 0
                  R_i + R_j <= d_ij - s_i - s_j        for all pairs with R_i, R_j > 0

    An idle channel has no owner: no L, no second line, no loss.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: UMax, section 6.5, problems 6.5.1 and 6.5.3, for any number of users. Variables: ``admitted``,
    whether each user is served, ``radii``, and ``privacy``, which is L, or 0 where the channel is idle. Where
    the owner's circle covers everybody the status is ``infeasible``.

    Examples
    --------
    >>> import mechdesign as md
    >>> users = [{"x": 0, "y": 9, "radius": 5, "privacy": 0.5}, {"x": 7, "y": 0, "radius": 5, "privacy": 0.5}]
    >>> owner = {"x": 0, "y": 0, "protection": 1}
    >>> problem = md.SpectrumChannel(price=0.1, privacy_cost=2, secondary=users, primary=owner)
    >>> solution = md.solve(problem)
    >>> print(solution.variables["radii"].round(4), round(solution.variables["privacy"], 4), solution.status)
    [5.     4.8742] 0.6258 optimal
    """

    name: ClassVar[str] = "spectrum-channel"
    example: ClassVar[Mapping[str, Any]] = {
        "price": 0.1,
        "privacy_cost": 2.0,
        "secondary": [{"x": 5.0, "y": 0.0, "radius": 5.0, "privacy": 0.5}],
    }
    sense: ClassVar[Sense] = "max"
    value_name: ClassVar[str] = "owner's utility"
    unstated: ClassVar[str] = (
        "revenue is convex in the radii and is maximised, so that no convex or linear program is exact"
    )
    summary: ClassVar[str] = "users served on a channel, their radii, and the owner's protection"
    compared_with: ClassVar[str] = "all radii and widenings on this channel"

    generators: ClassVar[Generators] = {
        "secondary": {"scattered": scattered_users},
        "primary": {"scattered": scattered_owner},
    }

    price: float = amount("k1: cost of a unit of area.", positive)
    privacy_cost: float = amount("kp: the owner's loss of privacy is privacy_cost / L.", positive)
    primary: Mapping[str, float] | None = checked(
        "The owner and its protection radius; without it the channel is idle.",
        _primary,
        form="{x, y, protection}",
        default=None,
    )
    secondary: Sequence[Mapping[str, float]] = related(
        "Reported position, requested radius r0 and privacy radius s of each user; optionally "
        "``distance``, to the owner, which has to agree with the positions.",
        _secondary,
        form="list of {x, y, radius, privacy}",
    )
    budget: float = amount(
        "What a user of the database may spend in all, in epsilon per unit of distance.",
        positive,
        default=1.0,
    )
    cell: float = amount(
        "The side of the hexagons that owners register in the database, which has no L.",
        positive,
        default=1.0,
    )
    origin: Sequence[float] = checked(
        "The center of a hexagon.",
        lambda _, origin: [float(part) for part in Tiling.of(1.0, origin).origin],
        form="(x, y)",
        default=(0.0, 0.0),
    )
    path_loss: float = real(
        "The power that the database grants for a radius R is R ** path_loss.",
        low=0.0,
        high=10.0,
        low_open=True,
        form="number > 0",
        default=4.0,
    )
    levels: float | Sequence[float] | None = checked(
        "The least level that a report may declare, or all that the database accepts.",
        _levels,
        form="number or list of numbers",
        default=None,
    )
    channels: Sequence[Mapping[str, Any]] | None = related(
        "Further channels of the database that is built from the problem, where this one is called "
        "``channel``. They change nothing in the optimum. The database receives only the tile of a "
        "location.",
        _channels,
        form="list of {name, tiles, protection}, {name, x, y, protection} or {name}",
        default=None,
    )

    def __attrs_post_init__(self) -> None:
        _ = self._with(self.channels)  # the owner's tile and the names of channels are refused here

    def __repr__(self) -> str:
        """Return the class and its figures, with the number of users where they are many."""
        text = super().__repr__()
        if len(text) <= LONGEST:
            return text
        state = "idle" if self.primary is None else f"primary={abridged(self.primary)}"
        figures = f"price={self.price:g}, privacy_cost={self.privacy_cost:g}"
        return f"{type(self).__name__}({figures}, {counted(self.size, 'user')}, {state})"

    def database(self) -> SpectrumDatabase:
        """Return the database of this channel and the further ones; of each owner it holds the tile alone."""
        return self._with(self.channels)

    def _with(self, channels: Any) -> SpectrumDatabase:
        own = {"name": "channel", **(self.primary or {})}
        more = [] if channels is None else channels
        if not isinstance(more, (list, tuple)):
            raise ParameterError("channels", "expected a list of {name, tiles, protection}")
        tiling = Tiling.of(self.cell, self.origin)
        tiles = [_with_tile(f"channels {number}", one, tiling) for number, one in enumerate([own, *more])]
        return SpectrumDatabase(
            tiles, self.price, self.budget, self.cell, self.origin, self.path_loss, self.levels
        )

    def mechanism(self, solution: Solution[Any]) -> SpectrumDatabase:
        """Return the database, which allocates each slot for those who ask in it.

        It does not use L: a drawn widening hides no place from many queries.
        """
        return self.database()

    @cached_property
    def owner(self) -> Owner | None:
        """The owner of an occupied channel."""
        return None if self.primary is None else Owner.of("primary", self.primary)

    @cached_property
    def channel(self) -> Channel:
        """The numbers that methods compute with."""
        return Channel.of(self.price, self.privacy_cost, self.secondary, self.owner)

    @property
    def size(self) -> int:
        """The number of secondary users."""
        return len(self.secondary)

    def objective(self, variables: Variables) -> float:
        return self.channel.utility(np.asarray(variables["radii"]), float(variables["privacy"]))

    def objective_scale(self) -> float:
        total = math.fsum(self.channel.revenue(self.channel.radius).tolist())
        if self.owner is None or self.channel.most <= 0:
            return total
        return total + self.privacy_cost / self.channel.most

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much radii are out of range, pairs overlap, and circles reach into the owner's."""
        radii, level = np.asarray(variables["radii"]), float(variables["privacy"])
        channel, served = self.channel, np.flatnonzero(radii > 0)
        excess = {"radii": max(0.0, float((-radii).max()), float((radii - channel.radius).max()))}
        sums = radii[served][:, None] + radii[served]
        over = sums - channel.margins[np.ix_(served, served)]
        excess["pairs"] = max(0.0, float(over.max())) if len(served) else 0.0
        if self.owner is not None:
            rings = radii[served] + level - channel.reach[served]
            excess["ring"] = max(0.0, float(rings.max())) if len(served) else 0.0
            excess["privacy"] = max(0.0, level - channel.most) if level > 0 else math.inf
        return excess

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return that nobody interferes, exactly from the positions, and optimality."""
        radii, level = np.asarray(solution.variables["radii"]), float(solution.variables["privacy"])
        return (
            self.channel.audit(radii, level).certificate(),
            self.optimality(solution, scale=self.objective_scale()),
        )


def _with_tile(where: str, owner_entry: Any, tiling: Tiling) -> Any:
    """Return a channel with the tile of its owner in place of the owner's place."""
    if not isinstance(owner_entry, Mapping) or not {"x", "y"} & set(owner_entry):
        return owner_entry
    owner = Owner.of(where, {key: value for key, value in owner_entry.items() if key != "name"})
    tile = list(tiling.tile_of(owner.x, owner.y))
    return {"name": owner_entry.get("name"), "tiles": [tile], "protection": owner.protection}


def outcome(
    problem: SpectrumChannel,
    radii: Array,
    level: float,
    solver: str,
    bound: float | None = None,
    source: str = "",
    notes: Mapping[str, Any] | None = None,
) -> Outcome:
    """Return the outcome of a method: ``optimal`` only where the bound proves it."""
    variables = {"admitted": radii > 0, "radii": radii, "privacy": level}
    value, scale = problem.objective(variables), problem.objective_scale()
    proven = None if bound is None else rounded_up(bound, scale)
    return Outcome(
        status="optimal" if proven is not None and proven - value <= 1e-6 * scale else "feasible",
        variables=variables,
        bound=proven,
        bound_source=source,
        solver=solver,
        notes=notes or {},
    )


def nobody(problem: SpectrumChannel, solver: str) -> Outcome | None:
    """Return the outcome ``infeasible`` where the owner's circle leaves room for no user."""
    if problem.owner is None or problem.channel.most > 0:
        return None
    text = "no user is admitted: the primary user's protection covers all users; state users farther away"
    return Outcome(status="infeasible", solver=solver, message=text)


def figures(problem: SpectrumChannel, solution: Solution[Any]) -> list[Figure]:
    """Return the map of the channel."""
    channel = problem.channel
    radii, level = np.asarray(solution.variables["radii"]), float(solution.variables["privacy"])
    served = radii > 0
    names = np.array([str(user) for user in range(problem.size)])
    marks: list[Mark] = []
    for label, radius, series in (
        ("where the user may be", channel.privacy, 0),
        ("where it may send", channel.privacy + radii, 2),
    ):
        if served.any():
            x, y = channel.x[served], channel.y[served]
            labels = names[served].tolist() if series == 0 else ()
            marks.append(Circles(x=x, y=y, radius=radius[served], names=labels, label=label, series=series))
    if (~served).any():
        out = ~served
        marks.append(
            Circles(
                x=channel.x[out],
                y=channel.y[out],
                radius=channel.privacy[out],
                names=names[out].tolist(),
                filled=False,
                label="user that is not served",
                series=6,
            )
        )
    if problem.owner is not None:
        owner = problem.owner
        for label, one, series in (
            ("the owner's receivers are protected", owner.protection, 1),
            ("no user sends here: protection and widening", owner.protection + level, 3),
        ):
            marks.append(Circles(x=[owner.x], y=[owner.y], radius=[one], label=label, series=series))
    panel = Panel("x (units of distance)", "y (units of distance)", marks, equal_aspect=True)
    caption = (
        f"{int(served.sum())} of {problem.size} users are served; circles of users who send do not overlap."
    )
    return [Figure("Users served, and their radii", [panel], caption)]
