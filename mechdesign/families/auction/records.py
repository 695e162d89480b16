"""What a season keeps: bids come in, members are counted, decisions stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


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
