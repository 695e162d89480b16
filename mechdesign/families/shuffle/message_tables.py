"""Messages of a protocol in tables, and the sums that count them.

The operations ``encode``, ``shuffle`` and ``analyze`` read and write tables of messages. A counter adds
messages up in sums, which many servers can make and merge in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import (
    COLUMN,
    SEED,
    UNMARKED,
    Column,
    Operation,
    Settings,
    data_column,
    located,
    mark_in,
    mark_of,
    marked,
    other_reports,
    require_columns,
)
from mechdesign.collect.server import Server, whole_rows
from mechdesign.core.errors import DataError, RowError, option
from mechdesign.core.tables import Block, Source, Values

if TYPE_CHECKING:
    from mechdesign.families.shuffle.protocol import Protocol

Messages = NDArray[np.int64]


def protocol_operations(protocol: Protocol) -> tuple[Operation, ...]:
    """Return ``encode``, ``shuffle`` and ``analyze`` of a protocol."""
    takes = Column("value", protocol._value_text, any_name=True)
    names = _marked(protocol)
    gives = tuple(
        Column(name, f"0 to {size - 1}") for name, size in zip(names, protocol.noise.alphabets, strict=True)
    )
    return (
        Operation(
            "encode",
            "the messages of users' devices, a row each, still in the users' order: shuffle them next",
            (takes,),
            gives,
            lambda sources, settings: _encoded(protocol, sources, settings),
            (COLUMN, SEED),
        ),
        Operation(
            "shuffle",
            "all messages in sorted order, which reveals how often each was sent and nothing else",
            gives,
            gives,
            lambda sources, settings: _shuffled(protocol, sources, settings),
            (SEED, UNMARKED),
            several=True,
        ),
        Operation(
            "analyze",
            f"the {protocol.quantity}, with standard errors and intervals",
            gives,
            (),
            lambda sources, settings: _analyzed(protocol, sources, settings),
            (UNMARKED,),
            several=True,
        ),
    )


def _marked(protocol: Protocol) -> list[str]:
    return [marked(name, protocol.survey_digest) for name in protocol.columns]


def _encoded(protocol: Protocol, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    (source,) = sources
    column, users = data_column(source, settings, protocol), 0
    rng = protocol.seeded(settings["seed"])
    for block in source.blocks([column]):
        users += len(block[column])
        if users > protocol.promise.users:
            raise DataError(
                source.name,
                f"has more rows than the protocol has users ({protocol.promise.users})",
                "build it for all of them",
            )
        with located(source, column):
            messages = protocol.encode(block[column], rng=rng)
        yield _block(protocol, messages)
    settings.count(f"of {protocol.promise.users} users encoded", users)


def _shuffled(protocol: Protocol, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    unmarked = bool(settings["unmarked"])
    read = [part for source in sources for part in message_blocks(protocol, source, unmarked)]
    empty = np.zeros((0, len(protocol.columns)), dtype=np.int64)
    yield _block(protocol, protocol.shuffle(np.concatenate([empty, *read]), rng=settings["seed"]))


def _analyzed(protocol: Protocol, sources: Sequence[Source], settings: Settings) -> Any:
    counter = protocol.counter()
    for source in sources:
        counter.take(source, settings)
    return counter.estimate()


def _block(protocol: Protocol, messages: Messages) -> Block:
    return dict(zip(_marked(protocol), messages.T, strict=True))


def message_blocks(protocol: Protocol, source: Source, unmarked: bool) -> Iterator[Messages]:
    """Yield the messages of a table, read and checked."""
    names = _message_columns(protocol, source, unmarked)
    for block in source.blocks(names):
        with located(source):
            parts = [
                _column(block[name], part, size)
                for name, part, size in zip(names, protocol.columns, protocol.noise.alphabets, strict=True)
            ]
        yield np.stack(parts, axis=1)


def _column(values: Values, name: str, size: int) -> NDArray[np.int64]:
    try:
        return Labels(size).encode(values, f"messages: column '{name}'")
    except RowError as error:
        value = np.asarray(values)[error.row : error.row + 1].tolist()[0]
        raise error.changed(what=f"outside the alphabet: {value}") from None


def _message_columns(protocol: Protocol, source: Source, unmarked: bool) -> list[str]:
    """Return the table's columns with the parts of a message; refuse those of another protocol."""
    own = mark_of(protocol.survey_digest)
    mine = {name.casefold().strip(): name for name in source.columns}
    marked_names = _marked(protocol)
    if all(name.casefold() in mine for name in marked_names):
        names = [mine[name.casefold()] for name in marked_names]
        require_columns(source, names)
        return names
    others = [mark for name in source.columns if (mark := mark_in(name)) and mark != own]
    if others:
        raise DataError(
            source.name,
            f"holds messages of {other_reports(protocol, others[0], 'protocol')}",
            "use the mechanism file they were made with",
        )
    if unmarked and all(name in mine for name in protocol.columns):
        names = [mine[name] for name in protocol.columns]
        require_columns(source, names)
        return names
    raise DataError(
        source.name,
        f"lacks the column(s) {', '.join(marked_names)}",
        "use a file written by encode or shuffle, or " + option("unmarked", True) + " with the column(s) "
        f"{', '.join(protocol.columns)}",
    )


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
    for place, (total, most) in enumerate(zip(sums, limits, strict=True)):
        if not 0 <= total <= most:
            raise DataError(
                "counter",
                f"sum {place} is {total}, and {messages} messages sum to 0 to {most}",
                "count the messages again",
            )
    if (protocol._one_each or protocol._halves) and sum(counted if protocol._halves else sums) != messages:
        raise DataError(
            "counter",
            f"the sums are those of another number of messages than {messages}",
            "count the messages again",
        )
