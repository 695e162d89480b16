"""Up to which price a backlog counts: what a user may be owed depends on others, never on itself.

A user who is promised a share D of the slots whatever it asks, up to a price L, earns about D (L - c) a slot
by asking L where it costs c. With ``reserve`` the price is the reserve price, the same for all; the others
learn it from what the other users asked in the slot before, so nobody moves its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mechdesign.families.auction.season import Season
from mechdesign.families.auction.slot_rules import UNIT

OWED = ("reserve", "highest", "median")
"""A backlog counts up to the reserve price; or to the highest, or the median, of what others asked before."""


def price_limits(
    season: Season, names: Sequence[str], owed: str, reserve: int | None
) -> list[Fraction] | None:
    """Return for each user the price up to which its backlog counts; None where nothing limits it.

    Parameters
    ----------
    season : Season
        Before the slot: only what was asked in the slot before counts, and only by others.
    names : sequence of str
    owed : {"reserve", "highest", "median"}
        The median is the upper one of an even number.
    reserve : int or None
        In units; nothing above it counts.

    Examples
    --------
    >>> from mechdesign.families.auction.season import Member
    >>> asked = {"ann": 5 << 30, "bob": 3 << 30, "cat": 1 << 30}
    >>> members = {name: Member(asked=price) for name, price in asked.items()}
    >>> season = Season("", Fraction(1, 5), members)
    >>> [float(price) for price in price_limits(season, ["ann", "bob", "cat", "new"], "highest", None)]
    [3.0, 5.0, 5.0, 5.0]
    >>> [float(price) for price in price_limits(season, ["ann", "bob", "cat", "new"], "median", None)]
    [3.0, 5.0, 5.0, 3.0]
    """
    if owed == "reserve":
        return None
    asked = sorted(member.asked for member in season.members.values())
    found = []
    for name in names:
        member = season.members.get(name)
        count = len(asked) - (member is not None)  # the others
        if count == 0:
            found.append(Fraction(0))
            continue
        place = count - 1 if owed == "highest" else count // 2
        price = asked[place]
        if member is not None and member.asked <= price:
            price = asked[place + 1]  # its own is left out
        found.append((price if reserve is None else min(price, reserve)) * UNIT)
    return found
