"""A season of an online auction: who is there, what is owed to whom in selections, and all decisions so far.

A file holds it. What a slot decided is on the disk before anybody learns of it, in one file that is
replaced as a whole; so a process that is killed at any moment has decided a slot or has not, and a decided
slot is answered from the file, never decided again.

A user who is promised a share D of the slots whatever it asks, up to a price L, earns about D (L - c) a slot
by asking L where it costs c. With ``reserve`` the price is the reserve price, the same for all; the others
learn it from what the other users asked in the slot before, so nobody moves its own.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError, ModelFileError, unread
from mechdesign.exact.numbers import text_of
from mechdesign.families.auction.season_records import Decision, Member, StateError, season_parts
from mechdesign.families.auction.slot_rules import UNIT
from mechdesign.work.files import read_text, whole_file

FORMAT, VERSION = "mechdesign-season", 2

LARGEST = 1 << 30


@dataclass
class Season:
    """The state of an online auction between slots.

    Attributes
    ----------
    auction : str
        The fingerprint of the auction it belongs to.
    share : Fraction
        The participation that is promised; backlogs are counted in parts of its denominator.
    members : dict of str to Member
        Those who took part in the last slot.
    decisions : list of Decision
        One for each slot.
    identity : str
        What tells it from other seasons of the same auction: a name that it was given, else drawn at random.
    """

    auction: str
    share: Fraction
    members: dict[str, Member] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    identity: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def slot(self) -> int:
        """Number of slots that have been decided."""
        return len(self.decisions)

    def backlog(self, name: str) -> Fraction:
        """Return the virtual queue of a user; 0 for one who is not there."""
        member = self.members.get(name)
        return Fraction(0) if member is None else Fraction(member.backlog, self.share.denominator)

    def idle(self, name: str) -> int:
        """Return for how many slots a user has not won; 0 for one who is not there."""
        member = self.members.get(name)
        return 0 if member is None else member.idle

    def record(self, decision: Decision, online: Sequence[str], asked: Sequence[int]) -> None:
        """Take up a decision: q <- max(q - x, 0) + D for all who took part; the others have left.

        Parameters
        ----------
        decision : Decision
        online : sequence of str
            Who took part.
        asked : sequence of int
            What each of them asked, in units of money.
        """
        one, share = self.share.denominator, self.share.numerator
        winners = set(decision.winners)
        members = {}
        for name, price in zip(online, asked, strict=True):
            member = self.members.get(name, Member())
            won = name in winners
            members[name] = Member(
                max(member.backlog - one * won, 0) + share,
                0 if won else member.idle + 1,
                member.slots + 1,
                member.won + won,
                price,
            )
        self.members = members
        self.decisions.append(decision)

    def decided(self, slot: int, bids: str) -> Decision | None:
        """Return the decision of a slot that has one; None for the next slot.

        Raises
        ------
        DataError
            When the slot was decided with other bids, or is not the next one.
        """
        if 1 <= slot <= self.slot:
            result = self.decisions[slot - 1]
            if result.bids != bids:
                raise DataError(
                    f"slot {slot}",
                    "was decided already, with other bids",
                    f"the next slot is {self.slot + 1}",
                )
            return result
        if slot != self.slot + 1:
            raise DataError(f"slot {slot}", "is not the next one", f"{self.slot + 1} is")
        return None

    def participation(self) -> Certificate:
        """Certify sum x >= D * slots - backlog for all who are there, which follows from the queues."""
        worst: tuple[Fraction, str] | None = None
        short = Fraction(0)
        for name, member in self.members.items():
            slack = member.won - self.share * member.slots + self.backlog(name)
            short = max(short, self.share * member.slots - member.won)
            if worst is None or slack < worst[0]:
                worst = (slack, name)
        figures = {
            "participation": float(self.share),
            "largest_backlog": max((float(self.backlog(name)) for name in self.members), default=0.0),
            "largest_shortfall": float(short),
        }
        if worst is None:
            return Certificate("participation", True, True, figures, {}, "no user is present")
        return Certificate("participation", worst[0] >= 0, True, figures, {"user": worst[1]})

    # The file

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "auction": self.auction,
            "share": [self.share.numerator, self.share.denominator],
            "members": {name: list(asdict(member).values()) for name, member in self.members.items()},
            "decisions": [decision.as_json() for decision in self.decisions],
            "identity": self.identity,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state; it is on the disk, whole, when this returns."""
        content = self.as_json()
        document = {"format": FORMAT, "version": VERSION, "content": content, "sha256": _digest(content)}
        with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
            temporary.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], auction: str, share: Fraction, identity: str | None = None
    ) -> Season:
        """Read the state of a season of this auction.

        Parameters
        ----------
        path : path
        auction : str
            The fingerprint of the auction.
        share : Fraction
            Its participation.
        identity : str, optional
            That of the season that is meant; by default any.

        Raises
        ------
        ModelFileError
            When it cannot be read, was changed, is not a state that a season can be in, or belongs to another
            auction or season.
        """
        try:
            document = parse_json(read_text(path, LARGEST, ModelFileError))
            content, version = document["content"], document["version"]
            if document["format"] != FORMAT or type(version) is not int or not 1 <= version <= VERSION:
                raise ModelFileError(path, "is not a season of this release", "name another file")
            if document["sha256"] != _digest(content):
                raise ModelFileError(
                    path, "was changed after it was written (sha256 differs)", "restore it from a copy"
                )
            if content["auction"] != auction or content["share"] != [share.numerator, share.denominator]:
                raise ModelFileError(path, "is a season of another auction", "name its own state file")
            members, decisions, own = season_parts(content, share, version)
        except ModelFileError:
            raise
        except OSError as error:
            raise ModelFileError(path, unread(error), "name the state file") from None
        except StateError as error:
            raise ModelFileError(
                path, f"is not a state that a season can be in ({error})", "restore it from a copy"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ModelFileError(path, "is not a state file of a season", "name another file") from None
        if identity is not None and own != identity:
            called = f"is that of {text_of(own)}" if own else "has no identity"
            raise ModelFileError(
                path,
                f"is the state of another season ({called}, not of {text_of(identity)})",
                "name the state file of this season",
            )
        return cls(auction, share, members, decisions, own)


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


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
    >>> from mechdesign.families.auction.season_records import Member
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
    prices = sorted(member.asked for member in season.members.values())
    limits = []
    for name in names:
        member = season.members.get(name)
        count = len(prices) - (member is not None)  # the others
        if count == 0:
            limits.append(Fraction(0))
            continue
        place = count - 1 if owed == "highest" else count // 2
        price = prices[place]
        if member is not None and member.asked <= price:
            price = prices[place + 1]  # its own is left out
        limits.append((price if reserve is None else min(price, reserve)) * UNIT)
    return limits
