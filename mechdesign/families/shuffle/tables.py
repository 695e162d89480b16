"""Operations ``encode``, ``shuffle`` and ``analyze`` of a protocol on tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import (
    data_column,
    located,
    mark_in,
    mark_of,
    marked,
    other_reports,
    require_columns,
)
from mechdesign.collect.labels import Labels
from mechdesign.collect.operations import COLUMN, SEED, UNMARKED, Column, Operation, Settings
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Source, Values

if TYPE_CHECKING:
    from mechdesign.families.shuffle.base import Protocol

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
    wanted = _marked(protocol)
    if all(name.casefold() in mine for name in wanted):
        names = [mine[name.casefold()] for name in wanted]
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
        f"lacks the column(s) {', '.join(wanted)}",
        "use a file written by encode or shuffle, or --unmarked with the column(s) "
        f"{', '.join(protocol.columns)}",
    )
