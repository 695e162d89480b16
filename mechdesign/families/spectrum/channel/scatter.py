"""Users and owners scattered over a square at random, as in section 6.6: named generators for model files."""

from __future__ import annotations

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer
from mechdesign.families.spectrum.channel_program import positive

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
