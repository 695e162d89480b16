"""One channel: who asks for it, from where, and what its owner earns; distances rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import float_down
from mechdesign.families.spectrum.geometry import (
    InterferenceAudit,
    audit_interference,
    coordinate,
    positive,
    squared_distance,
)

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Point = tuple[float | Fraction, float | Fraction]

AGREEMENT = 1e-9
"""A distance that is given next to positions agrees with them up to this part."""


@dataclass(frozen=True)
class Owner:
    """The primary user of an occupied channel: its place and its protection radius r_p."""

    x: float
    y: float
    protection: float

    @classmethod
    def of(cls, where: str, entry: Any) -> Owner:
        """Read ``{x, y, protection}``.

        Examples
        --------
        >>> Owner.of("primary", {"x": 0, "y": 0, "protection": 2})
        Owner(x=0.0, y=0.0, protection=2.0)
        """
        checked = _entries(where, entry, ("x", "y", "protection"))
        return cls(
            coordinate(f"{where}: x", checked["x"]),
            coordinate(f"{where}: y", checked["y"]),
            positive(f"{where}: protection", checked["protection"]),
        )


@dataclass(frozen=True, eq=False)
class Channel:
    """Secondary users who ask for a channel, and its owner where it is occupied.

    Attributes
    ----------
    price : float
        k1, for a unit of area.
    privacy_cost : float
        kp: the owner's loss is kp / L.
    x, y, radius, privacy : (n,) arrays
        Position, requested radius r0 and privacy radius s of each user.
    owner : Owner or None
        None: the channel is idle.
    """

    price: float
    privacy_cost: float
    x: Array
    y: Array
    radius: Array
    privacy: Array
    owner: Owner | None = None

    @classmethod
    def of(
        cls, price: float, privacy_cost: float, users: Sequence[Mapping[str, float]], owner: Owner | None
    ) -> Channel:
        """Return the channel of users that were checked (``users_of``)."""
        x, y, radius, privacy = (
            frozen(np.array([user[key] for user in users], dtype=np.float64))
            for key in ("x", "y", "radius", "privacy")
        )
        return cls(price, privacy_cost, x, y, radius, privacy, owner)

    @property
    def size(self) -> int:
        """The number of secondary users."""
        return len(self.x)

    @cached_property
    def factor(self) -> Array:
        """c_j = k1 pi / r0_j, so that the revenue of user j is c_j R (s_j + R)^2."""
        return self.price * math.pi / self.radius

    def revenue(self, radii: Array, users: Places | None = None) -> Array:
        """Return the payment of each user, eq. (6.7); with ``users`` the radii are theirs."""
        factor, privacy = (
            (self.factor, self.privacy) if users is None else (self.factor[users], self.privacy[users])
        )
        paid: Array = factor * radii * (privacy + radii) ** 2
        return paid

    def utility(self, radii: Array, level: float) -> float:
        """Return the owner's utility: revenue minus kp / L where the channel is occupied."""
        total = math.fsum(self.revenue(radii).tolist())
        return total if self.owner is None else total - self.privacy_cost / level

    @cached_property
    def reach(self) -> Array:
        """a_j = d_jp - s_j - r_p, rounded down: R_j <= a_j - L. Infinite where the channel is idle."""
        if self.owner is None:
            return np.full(self.size, math.inf)
        ring, centre = Fraction(self.owner.protection), (self.owner.x, self.owner.y)
        spots = zip(self.x.tolist(), self.y.tolist(), self.privacy.tolist(), strict=True)
        return np.array(
            [float_down(distance_below((x, y), centre) - Fraction(s) - ring) for x, y, s in spots]
        )

    @cached_property
    def margins(self) -> Array:
        """m_ij = d_ij - s_i - s_j: R_i + R_j <= m_ij. Rounded down where it can bind; infinite for i = j."""
        far = np.hypot(self.x[:, None] - self.x, self.y[:, None] - self.y)
        result: Array = far - self.privacy[:, None] - self.privacy
        binding = result <= (self.radius[:, None] + self.radius) * (1.0 + 2.0**-30) + far * 2.0**-30
        for one, other in np.argwhere(np.triu(binding, 1)).tolist():
            apart = distance_below((self.x[one], self.y[one]), (self.x[other], self.y[other]))
            exact = apart - Fraction(self.privacy[one]) - Fraction(self.privacy[other])
            result[one, other] = result[other, one] = float_down(exact)
        np.fill_diagonal(result, math.inf)
        return result

    @cached_property
    def most(self) -> float:
        """The largest L with which somebody can be served; infinite where the channel is idle."""
        return float(self.reach.max())

    @cached_property
    def rounding(self) -> float:
        """Upper bound of the optimum of real distances less that of the rounded ones.

        Distances are below the true ones by at most delta: they are rounded as distances, wherever the
        origin is. From an optimum of the true ones, all radii and L less delta are allowed here; that costs
        at most delta times the sum of slopes T_j'(r0_j), and
        kp delta / L^2 up to a factor, where kp / L is at most the whole revenue unless the value is negative.
        """
        across, up = self.x - self.x[0], self.y - self.y[0]
        size = float(max(np.abs(across).max(), np.abs(up).max()))
        if self.owner is not None:
            size = max(size, abs(self.owner.x - self.x[0]), abs(self.owner.y - self.y[0]))
        delta = 2.0**-49 * (3.0 * size + float((self.privacy + self.radius).max()))
        s, r0 = self.privacy, self.radius
        slopes = math.fsum((self.factor * (s + r0) * (s + 3.0 * r0)).tolist())
        total = math.fsum(self.revenue(r0).tolist())
        loss, size_of_loss = 0.0, 0.0
        if self.owner is not None and self.most > 0:
            size_of_loss = self.privacy_cost / self.most
            loss = (total + size_of_loss) ** 2 / self.privacy_cost
        return float(2.0 * delta * (slopes + loss) + 2.0**-44 * (total + self.size + 2.0 * size_of_loss))

    def audit(self, radii: Array, level: float | Array) -> InterferenceAudit:
        """Return the exact check of all distances between those who are served, and to the owner.

        ``level`` is the widening of the owner's circle, or that towards each user.
        """
        served = np.flatnonzero(radii > 0)
        reach = [[float(self.privacy[j]), float(radii[j])] for j in served]
        if self.owner is None:
            return audit_interference(self.x[served], self.y[served], reach)
        centre, wide = (self.owner.x, self.owner.y), np.broadcast_to(level, self.size)[served]
        x, y = self.x[served], self.y[served]
        return audit_interference(x, y, reach, centre, [self.owner.protection], wide)

    def allowed(self, radii: Array, level: float | Array) -> Array:
        """Return the radii made to keep every distance exactly: each is at most a few units smaller.

        Radii of users that no change of the last digits can serve become 0.
        """
        result = np.minimum(radii, self.radius)
        if self.owner is not None:
            wide = np.broadcast_to(level, self.size).tolist()
            rooms = zip(self.reach.tolist(), wide, strict=True)
            caps = np.array([float_down(Fraction(a) - Fraction(w)) for a, w in rooms])
            result = np.minimum(result, caps)
        result = np.where(result > 0, result, 0.0)
        order = np.argsort(-self.revenue(result), kind="stable")
        for place, one in enumerate(order.tolist()):
            for other in order[place + 1 :].tolist():
                pair = self.margins[one, other]
                if result[one] > 0 < result[other] and result[one] + result[other] >= pair * (1 - 2.0**-40):
                    room = float_down(Fraction(pair) - Fraction(result[one]))
                    result[other] = max(0.0, min(result[other], room))
        return result


def distance_below(first: Point, second: Point) -> Fraction:
    """Return the largest double that is not above the distance of two points.

    Examples
    --------
    >>> distance_below((0.0, 0.0), (3.0, 4.0)), distance_below((0.0, 0.0), (1.0, 1.0)) ** 2 < 2
    (Fraction(5, 1), True)
    """
    return root_below(squared_distance(first, second))


def root_below(square: Fraction) -> Fraction:
    """Return the largest double that is not above the root of a number >= 0.

    Examples
    --------
    >>> root_below(Fraction(25)), root_below(Fraction(2)) ** 2 < 2
    (Fraction(5, 1), True)
    """
    if square == 0:
        return Fraction(0)
    # Near 1 the root of a double is close; small squares would be 0 as doubles.
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    guess = math.ldexp(math.sqrt(square / Fraction(4) ** shift), shift)
    while Fraction(guess) ** 2 > square:
        guess = math.nextafter(guess, 0.0)
    while Fraction(math.nextafter(guess, math.inf)) ** 2 <= square:
        guess = math.nextafter(guess, math.inf)
    return Fraction(guess)


# Reading what was given


def users_of(where: str, users: Any, owner: Owner | None) -> tuple[dict[str, float], ...]:
    """Read a list of ``{x, y, radius, privacy}``, each optionally with its ``distance`` to the owner.

    Raises
    ------
    ParameterError
        For an entry that is missing or impossible, or a distance that contradicts the positions.

    Examples
    --------
    >>> users_of("secondary", [{"x": 0, "y": 5, "radius": 1, "privacy": 2}], None)
    ({'x': 0.0, 'y': 5.0, 'radius': 1.0, 'privacy': 2.0},)
    """
    if not isinstance(users, (list, tuple)) or not users:
        raise ParameterError(where, "expected a list of users {x, y, radius, privacy}", "give at least one")
    return tuple(_user(f"{where} {number}", user, owner) for number, user in enumerate(users, start=1))


def _user(where: str, entry: Any, owner: Owner | None) -> dict[str, float]:
    checked = _entries(where, entry, ("x", "y", "radius", "privacy"), ("distance",))
    user = {key: coordinate(f"{where}: {key}", checked[key]) for key in ("x", "y")}
    user |= {key: positive(f"{where}: {key}", checked[key]) for key in ("radius", "privacy")}
    if checked.get("distance") is not None:
        stated = positive(f"{where}: distance", checked["distance"])
        if owner is None:
            raise ParameterError(f"{where}: distance", "there is no primary user", "omit it")
        apart = math.hypot(user["x"] - owner.x, user["y"] - owner.y)
        if abs(stated - apart) > AGREEMENT * max(stated, apart):
            raise ParameterError(
                f"{where}: distance",
                f"{stated:g} contradicts the positions, which are {apart:g} apart",
                "correct one of them or leave the distance out",
            )
    return user


def _entries(where: str, entry: Any, needed: Iterable[str], more: Iterable[str] = ()) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise ParameterError(where, f"expected a table {{{', '.join(needed)}}}, got {entry!r:.60}")
    known = [*needed, *more]
    for key in entry:
        if key not in known:
            raise UnknownNameError(where, f"no entry '{key}'", suggestion(str(key), known))
    for key in needed:
        if key not in entry:
            raise ParameterError(where, f"'{key}' is missing", "give it a value")
    return entry
