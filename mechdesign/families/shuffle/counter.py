"""The analyzer's counter of messages: sums that many servers add up and merge in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mechdesign.collect.counts import whole_rows
from mechdesign.collect.operations import Settings
from mechdesign.collect.server import Server
from mechdesign.core.errors import DataError
from mechdesign.core.tables import Source
from mechdesign.families.shuffle.tables import message_blocks

if TYPE_CHECKING:
    from mechdesign.families.shuffle.base import Protocol

MOST_MESSAGES = 1 << 45
"""More messages are refused: the sums of split shares would no longer fit into 64 bits."""


class MessageCounter(Server["Protocol"]):
    """Sums over messages; what an analyzer keeps of them.

    Attributes
    ----------
    sums : (k,) int array
    messages : int
        How many were added.
    """

    kept: ClassVar[str] = "sums"
    unit: ClassVar[str] = "messages"
    merged: ClassVar[str] = "sums of one protocol"
    operation: ClassVar[str] = "analyze"

    def __init__(self, protocol: Protocol) -> None:
        super().__init__(protocol)
        self.sums = np.zeros(protocol._tally_size, dtype=np.int64)
        self.messages = 0

    @property
    def protocol(self) -> Protocol:
        """The protocol whose messages are counted."""
        return self.mechanism

    @property
    def users(self) -> int:
        """Number of messages that were added: a user may have sent several."""
        return self.messages

    def _count(self, messages: Any) -> None:
        """Add messages; in any order, in any number of parts."""
        checked = self.protocol._checked_messages(messages)
        self._require(self.messages + len(checked))
        self._add(self.protocol._tally(checked).tolist(), len(checked))

    def count_table(self, source: Source, settings: Settings) -> None:
        """Add the messages of a table with their columns."""
        for messages in message_blocks(self.protocol, source, bool(settings["unmarked"])):
            self.update(messages)

    def _merge(self, other: Self) -> None:
        self._require(self.messages + other.messages, most=True)
        self._add(other.sums.tolist(), other.messages)

    def estimate(self) -> Any:
        """Return the estimate; refuse a number of messages that the users cannot have sent."""
        self.protocol._require_messages(self.messages)
        return self.protocol._estimate_of(self.sums, self.messages)

    def _written(self) -> dict[str, Any]:
        return {"messages": self.messages, "sums": self.sums.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        (sums,) = whole_rows([document.get("sums")], len(self.sums), 1, signed=True)
        ((messages,),) = whole_rows([[document.get("messages")]], 1, 1)
        self._require(messages, most=True)
        require_sums(self.protocol, sums, messages)
        self._add(sums, messages)

    def load(self, document: Mapping[str, Any]) -> None:
        """Add what :meth:`as_json` of another counter gave.

        Raises
        ------
        DataError
            For counts of another protocol, damaged ones, sums that their number of messages cannot have, and
            more messages than the users can have sent; nothing is added then.
        """
        self.merge(type(self).from_json(self.protocol, document))

    def _add(self, sums: Sequence[int], messages: int) -> None:
        """Add sums as exact integers, and refuse what does not fit into 64 bits."""
        modulus = self.protocol._ring
        added = [old + new for old, new in zip(self.sums.tolist(), sums, strict=True)]
        if modulus is not None:
            ring = len(added) // 2 if self.protocol._halves else len(added)
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
        if most and messages > self.protocol._message_range[1]:
            self.protocol._require_messages(messages)


def require_sums(protocol: Protocol, sums: Sequence[int], messages: int) -> None:
    """Raise DataError when ``messages`` messages cannot have these sums."""
    counted = sums[len(sums) // 2 :] if protocol._halves else [messages] * len(sums)
    limits = [number * protocol._most_added for number in counted]
    if protocol._ring is not None:
        limits = [protocol._ring - 1 if number else 0 for number in counted]
    if protocol._halves:
        limits += counted
    for place, (found, most) in enumerate(zip(sums, limits, strict=True)):
        if not 0 <= found <= most:
            raise DataError(
                "counter",
                f"sum {place} is {found}, and {messages} messages sum to 0 to {most}",
                "count the messages again",
            )
    if (protocol._one_each or protocol._halves) and sum(counted if protocol._halves else sums) != messages:
        raise DataError(
            "counter",
            f"the sums are those of another number of messages than {messages}",
            "count the messages again",
        )
