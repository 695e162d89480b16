"""What a season keeps, and what its file may hold: bids, members and decisions, each entry checked.

A file whose digest fits may still have been written by something else. Nothing of it is believed that can be
counted: how often a user won, since when it has not, and its virtual queue follow from the decisions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from mechdesign.exact.numbers import text_of
from mechdesign.families.auction.slot_rules import MOST_MONEY, MOST_UNITS, UNIT


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
    asked : int
        What it asked in the last slot, in units of money.
    """

    backlog: int = 0
    idle: int = 0
    slots: int = 0
    won: int = 0
    asked: int = 0


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
    mechdesign.families.auction.season_records.StateError: decision 1 lacks an entry, or has one too many
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
        _require(member.asked <= MOST_UNITS, f"user {text_of(name)} asked for more than any user may")
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
