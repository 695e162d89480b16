"""The analyzer's counter of messages: sums that many machines add up and merge in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.mechanisms.counts import whole_rows

MOST_MESSAGES = 1 << 45
"""More messages are refused: the sums of split shares would no longer fit into 64 bits."""


class CountedProtocol(Protocol):
    """What a counter needs of a protocol."""

    @property
    def fingerprint(self) -> str:
        """The digest of its content."""

    @property
    def tally_size(self) -> int:
        """How many sums there are."""

    def checked_messages(self, messages: Any) -> NDArray[np.int64]:
        """Return messages of the protocol's alphabet."""

    def tally(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums of checked messages."""

    one_each: ClassVar[bool]
    halves: ClassVar[bool]

    @property
    def most_added(self) -> int:
        """The most that a message adds to a sum."""

    @property
    def modulus(self) -> int | None:
        """The number of elements of the ring in which sums are formed, where they are."""

    def require_messages(self, count: int) -> None:
        """Refuse a number of messages that the users cannot have sent."""

    @property
    def message_range(self) -> tuple[int, int]:
        """The fewest and the most messages that the users can have sent."""

    def estimate_of(self, sums: NDArray[np.int64], messages: int) -> Any:
        """Return the estimate."""


class MessageCounter:
    """Sums over messages.

    Attributes
    ----------
    sums : (k,) int array
    messages : int
        How many were added.
    """

    def __init__(self, protocol: CountedProtocol) -> None:
        self.protocol = protocol
        self.sums = np.zeros(protocol.tally_size, dtype=np.int64)
        self.messages = 0

    def update(self, messages: Any) -> None:
        """Add messages; in any order, in as many parts as wanted."""
        checked = self.protocol.checked_messages(messages)
        self._require(self.messages + len(checked))
        self._add(self.protocol.tally(checked).tolist(), len(checked))

    def merge(self, other: MessageCounter) -> None:
        """Add what another machine has counted of the same protocol."""
        if other.protocol.fingerprint != self.protocol.fingerprint:
            raise DataError("counter", "counts messages of another protocol", "merge those of one protocol")
        self._require(self.messages + other.messages, most=True)
        self._add(other.sums.tolist(), other.messages)

    def estimate(self) -> Any:
        """Return the estimate; refuse a number of messages that the users cannot have sent."""
        self.protocol.require_messages(self.messages)
        return self.protocol.estimate_of(self.sums, self.messages)

    def as_json(self) -> dict[str, Any]:
        """Return the exact sums as plain values."""
        return {
            "mechanism": self.protocol.fingerprint,
            "messages": self.messages,
            "sums": self.sums.tolist(),
        }

    def load(self, document: dict[str, Any]) -> None:
        """Add what :meth:`as_json` of another counter gave.

        Raises
        ------
        DataError
            For counts of another protocol, damaged ones, sums that so many messages cannot have, and more
            messages than the users can have sent; nothing is added then.
        """
        if document.get("mechanism") != self.protocol.fingerprint:
            raise DataError("counter", "counts messages of another protocol", "merge those of one protocol")
        (sums,) = whole_rows([document.get("sums")], len(self.sums), 1, signed=True)
        ((messages,),) = whole_rows([[document.get("messages")]], 1, 1)
        self._require(self.messages + messages, most=True)
        require_sums(self.protocol, sums, messages)
        self._add(sums, messages)

    def _add(self, sums: Sequence[int], messages: int) -> None:
        """Add sums as exact integers, and refuse what does not fit into 64 bits."""
        modulus = self.protocol.modulus
        added = [old + new for old, new in zip(self.sums.tolist(), sums, strict=True)]
        if modulus is not None:
            ring = len(added) // 2 if self.protocol.halves else len(added)
            added[:ring] = [number % modulus for number in added[:ring]]
        if max(added, default=0) >= 1 << 62:
            raise DataError("counter", "a sum is beyond 62 bits", "split the survey")
        self.sums = np.array(added, dtype=np.int64)
        self.messages += messages

    def _require(self, messages: int, most: bool = False) -> None:
        if messages > MOST_MESSAGES:
            raise DataError(
                "counter", f"{messages} messages are more than {MOST_MESSAGES}", "split the survey"
            )
        if most and messages > self.protocol.message_range[1]:
            self.protocol.require_messages(messages)

    def __repr__(self) -> str:
        return f"MessageCounter({self.messages} messages of {self.protocol!r})"


def require_sums(protocol: CountedProtocol, sums: Sequence[int], messages: int) -> None:
    """Raise DataError when so many messages cannot have these sums."""
    counted = sums[len(sums) // 2 :] if protocol.halves else [messages] * len(sums)
    limits = [number * protocol.most_added for number in counted]
    if protocol.modulus is not None:
        limits = [protocol.modulus - 1 if number else 0 for number in counted]
    if protocol.halves:
        limits += counted
    for place, (found, most) in enumerate(zip(sums, limits, strict=True)):
        if not 0 <= found <= most:
            raise DataError(
                "counter",
                f"sum {place} is {found}, and {messages} messages sum to 0 to {most}",
                "count the messages again",
            )
    if (protocol.one_each or protocol.halves) and sum(counted if protocol.halves else sums) != messages:
        raise DataError(
            "counter",
            f"the sums are those of another number of messages than {messages}",
            "count the messages again",
        )
