"""What a season keeps, and what its file may hold: bids, members and decisions, each entry checked.

A file whose digest fits may still have been written by something else. Nothing of it is believed that can be
counted: how often a user won, since when it has not, and its virtual queue follow from the decisions.

A season of an online auction: who is there, what is owed to whom in selections, and all decisions so far.

A file holds it. What a slot decided is on the disk before anybody learns of it, in one file that is
replaced as a whole; so a process that is killed at any moment has decided a slot or has not, and a decided
slot is answered from the file, never decided again.

A user who is promised a share D of the slots whatever it asks, up to a price L, earns about D (L - c) a slot
by asking L where it costs c. With ``reserve`` the price is the reserve price, the same for all; the others
learn it from what the other users asked in the slot before, so nobody moves its own.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from hashlib import sha256
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, ModelFileError, unread
from mechdesign.exact.numbers import text_of
from mechdesign.families.auction.slot_rules import MOST_MONEY, MOST_UNITS, UNIT
from mechdesign.work.files import parse_json, read_text, whole_file


@dataclass(frozen=True)
class Bid:
    """Bid of a user in a slot: a cost of sensing, a cost per unit of epsilon, and the tasks it can do."""

    sensing: float
    privacy: float
    tasks: tuple[str, ...]


@dataclass
class Member:
    """A user of the season.

    Attributes
    ----------
    backlog : int
        The virtual queue, in parts of the season's denominator.
    idle : int
        Slots since it last won.
    slots, won : int
        How many slots it took part in, and how many of them it won.
    price : int
        What it asked in the last slot, in units of money.
    """

    backlog: int = 0
    idle: int = 0
    slots: int = 0
    won: int = 0
    price: int = 0


@dataclass(frozen=True)
class Decision:
    """Decision about one slot.

    Attributes
    ----------
    slot : int
        From 1.
    status : {"decided", "infeasible"}
        An infeasible slot changes nothing.
    winners : tuple of str
    payments : tuple of float
        What each winner is paid; exact.
    value : float
        The adjusted objective: the sum over the winners of tradeoff * cost - backlog.
    cost : float
        What the winners cost, by their bids.
    requested : tuple of str
        The tasks that were open.
    covered : tuple of int
        How many winners each of them has.
    bids : str
        A digest of the bids and the open tasks.
    message : str
        Why a slot is infeasible, and what is missing.
    """

    slot: int
    status: str
    winners: tuple[str, ...] = ()
    payments: tuple[float, ...] = ()
    value: float = 0.0
    cost: float = 0.0
    requested: tuple[str, ...] = ()
    covered: tuple[int, ...] = ()
    bids: str = ""
    message: str = ""

    @property
    def paid(self) -> float:
        """Payment of all winners together."""
        return sum(self.payments)

    def __str__(self) -> str:
        if self.status != "decided":
            return f"slot {self.slot}: {self.status}: {self.message}"
        return f"slot {self.slot}: {len(self.winners)} winners, paid {self.paid:.6g}, cost {self.cost:.6g}"

    def as_json(self) -> dict[str, Any]:
        """Return the decision as plain values."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Decision:
        """Return the decision that :meth:`as_json` gave."""
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
        }
        return cls(**plain)


MEMBER_COUNTS = {1: 4, 2: 5}
"""Number of numbers of a member, by version: the first one did not keep what a user had asked."""

LARGEST_SUM = float(1 << 1000)


class StateError(ValueError):
    """Description of an error in the content of a file, as a clause."""


def decisions_of(entries: Any) -> list[Decision]:
    """Return the decisions of a season, each checked entry by entry.

    Raises
    ------
    StateError
        Naming the decision and what is wrong.

    Examples
    --------
    >>> decisions_of([{"slot": 2}])
    Traceback (most recent call last):
    ...
    mechdesign.families.auction.season.StateError: decision 1 lacks an entry, or has one too many
    """
    _require(isinstance(entries, list), "its decisions are not a list")
    return [_decision(entry, number) for number, entry in enumerate(entries, 1)]


def _decision(entry: Any, number: int) -> Decision:
    here = f"decision {number}"
    names = [field.name for field in fields(Decision)]
    _require(
        isinstance(entry, dict) and sorted(entry) == sorted(names),
        f"{here} lacks an entry, or has one too many",
    )
    _require(type(entry["slot"]) is int and entry["slot"] == number, f"{here} is not that of its slot")
    _require(entry["status"] == "decided" and entry["message"] == "", f"{here} is not decided")
    for key in ("winners", "requested"):
        listed = entry[key]
        _require(isinstance(listed, list) and all(map(is_name, listed)), f"{here}: {key} are not names")
        _require(len(set(listed)) == len(listed), f"{here}: {key} name one twice")
    payments, covered = entry["payments"], entry["covered"]
    _require(
        isinstance(payments, list) and len(payments) == len(entry["winners"]),
        f"{here} has not one payment for each winner",
    )
    _require(all(map(_is_payment, payments)), f"{here} has a payment that no slot makes")
    _require(
        isinstance(covered, list)
        and len(covered) == len(entry["requested"])
        and all(map(_is_count, covered)),
        f"{here} has not one count for each task",
    )
    _require(
        all(type(entry[key]) is float and abs(entry[key]) < LARGEST_SUM for key in ("value", "cost"))
        and entry["cost"] >= 0.0,
        f"{here}: value and cost are not finite numbers",
    )
    _require(_is_digest(entry["bids"]), f"{here} has no digest of its bids")
    return Decision.from_json(entry)


def _members_of(entries: Any, decisions: list[Decision], share: Fraction, version: int) -> dict[str, Member]:
    """Return the users of a season, if their counts are those that the decisions come to.

    Raises
    ------
    StateError
        Naming the user and what is wrong.
    """
    _require(isinstance(entries, dict), "its users are not a table")
    won: dict[str, list[int]] = {}
    for decision in decisions:
        for name in decision.winners:
            won.setdefault(name, []).append(decision.slot)
    result = {}
    for name, counts in entries.items():
        _require(is_name(name), f"{text_of(name)} is not a name of a user")
        _require(
            isinstance(counts, list)
            and len(counts) == MEMBER_COUNTS[version]
            and all(map(_is_count, counts)),
            f"user {text_of(name)} has not its {MEMBER_COUNTS[version]} counts >= 0",
        )
        member = Member(*counts)
        _require(1 <= member.slots <= len(decisions), f"user {text_of(name)} took part in too many slots")
        _require(member.price <= MOST_UNITS, f"user {text_of(name)} asked for more than any user may")
        again = user_counts(won.get(name, []), member.slots, len(decisions), share)
        there = (member.backlog, member.idle, member.won)
        _require(there == again, f"the counts of user {text_of(name)} are not those of the decisions")
        result[name] = member
    if decisions:
        gone = [name for name in decisions[-1].winners if name not in result]
        _require(not gone, "a winner of its last slot is not there")
    return result


def user_counts(won: list[int], slots: int, last: int, share: Fraction) -> tuple[int, int, int]:
    """Return queue, idle slots and wins of a user who took part in the last ``slots`` of ``last`` slots.

    The queue is in parts of the share's denominator: q <- max(q - x, 0) + D, slot after slot.

    Parameters
    ----------
    won : list of int
        The slots that it won, increasing.
    slots, last : int
    share : Fraction
        D.

    Examples
    --------
    >>> user_counts([2], 3, 3, Fraction(1, 4))
    (2, 1, 1)
    """
    queue, before = 0, last - slots
    wins = won[bisect_left(won, before + 1) :]
    for slot in wins:
        queue += share.numerator * (slot - 1 - before)
        queue = max(queue - share.denominator, 0) + share.numerator
        before = slot
    queue += share.numerator * (last - before)
    return queue, last - before, len(wins)


def is_name(value: Any) -> bool:
    """Whether a value is a text that can be a user's or a task's name, also in a file."""
    return (
        isinstance(value, str) and value != "" and not any("\ud800" <= letter <= "\udfff" for letter in value)
    )


def _is_payment(value: Any) -> bool:
    if type(value) is not float or not 0.0 <= value <= MOST_MONEY:
        return False
    return math.ldexp(value, UNIT.denominator.bit_length() - 1).is_integer()


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise StateError(text)


def season_parts(
    content: Mapping[str, Any], share: Fraction, version: int
) -> tuple[Any, list[Decision], str]:
    """Return users, decisions and identity of a season from the content of its file.

    Raises
    ------
    StateError
        Saying what is wrong.
    """
    known = {"auction", "share", "members", "decisions", *(["identity"] if version > 1 else [])}
    _require(set(content) == known, "it lacks an entry, or has one too many")
    identity = content.get("identity", "")
    _require(version == 1 or is_name(identity), "it has no identity")
    decisions = decisions_of(content["decisions"])
    return _members_of(content["members"], decisions, share, version), decisions, identity


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

    def record(self, decision: Decision, online: Sequence[str], prices: Sequence[int]) -> None:
        """Take up a decision: q <- max(q - x, 0) + D for all who took part; the others have left.

        Parameters
        ----------
        decision : Decision
        online : sequence of str
            Who took part.
        prices : sequence of int
            What each of them asked, in units of money.
        """
        one, share = self.share.denominator, self.share.numerator
        winners = set(decision.winners)
        members = {}
        for name, price in zip(online, prices, strict=True):
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
    >>> from mechdesign.families.auction.season import Member
    >>> prices = {"ann": 5 << 30, "bob": 3 << 30, "cat": 1 << 30}
    >>> members = {name: Member(price=price) for name, price in prices.items()}
    >>> season = Season("", Fraction(1, 5), members)
    >>> [float(price) for price in price_limits(season, ["ann", "bob", "cat", "new"], "highest", None)]
    [3.0, 5.0, 5.0, 5.0]
    >>> [float(price) for price in price_limits(season, ["ann", "bob", "cat", "new"], "median", None)]
    [3.0, 5.0, 5.0, 3.0]
    """
    if owed == "reserve":
        return None
    prices = sorted(member.price for member in season.members.values())
    limits = []
    for name in names:
        member = season.members.get(name)
        count = len(prices) - (member is not None)  # the others
        if count == 0:
            limits.append(Fraction(0))
            continue
        place = count - 1 if owed == "highest" else count // 2
        price = prices[place]
        if member is not None and member.price <= price:
            price = prices[place + 1]  # its own is left out
        limits.append((price if reserve is None else min(price, reserve)) * UNIT)
    return limits
