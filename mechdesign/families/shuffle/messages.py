"""Messages of a protocol in tables, and the sums that count them.

The operations ``encode``, ``shuffle`` and ``analyze`` read and write tables of messages. A counter adds
messages up in sums, which many servers can make and merge in any order.

The shuffler's batch: messages wait until there are enough, and how many there are can be hidden.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.channel import audit_channel
from mechdesign.collect.base import Mechanism
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
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.errors import DataError, ParameterError, RowError, option
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.validation import in_range, integer, one_of
from mechdesign.data.intake import Block, Source, Values, array_of
from mechdesign.exact.draws import Again
from mechdesign.exact.randomness import TOTAL, BitSource, Rng
from mechdesign.families.shuffle.encoding import MessageProtocol
from mechdesign.show.figure import Figure, Line, Panel

Messages = NDArray[np.int64]


def one_below(limit: int, source: BitSource | Again) -> int:
    """Return one number as :func:`below` draws it.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> from mechdesign.exact.draws import below
    >>> one_below(3, bit_source(1)) == int(below(3, 1, bit_source(1))[0])
    True
    """
    end = TOTAL - TOTAL % limit
    while (draws := int(source.integers(1)[0])) >= end:
        pass
    return draws % limit


def protocol_operations(protocol: MessageProtocol) -> tuple[Operation, ...]:
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


def _marked(protocol: MessageProtocol) -> list[str]:
    return [marked(name, protocol.survey_digest) for name in protocol.columns]


def _encoded(protocol: MessageProtocol, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
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


def _shuffled(protocol: MessageProtocol, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
    unmarked = bool(settings["unmarked"])
    read = [part for source in sources for part in message_blocks(protocol, source, unmarked)]
    empty = np.zeros((0, len(protocol.columns)), dtype=np.int64)
    yield _block(protocol, protocol.shuffle(np.concatenate([empty, *read]), rng=settings["seed"]))


def _analyzed(protocol: MessageProtocol, sources: Sequence[Source], settings: Settings) -> Any:
    counter = MessageCounter(protocol)
    for source in sources:
        counter.take(source, settings)
    return counter.estimate()


def _block(protocol: MessageProtocol, messages: Messages) -> Block:
    return dict(zip(_marked(protocol), messages.T, strict=True))


def message_blocks(protocol: MessageProtocol, source: Source, unmarked: bool) -> Iterator[Messages]:
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


def _message_columns(protocol: MessageProtocol, source: Source, unmarked: bool) -> list[str]:
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


class MessageCounter(Server[MessageProtocol]):
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

    def __init__(self, protocol: MessageProtocol) -> None:
        super().__init__(protocol)
        self.sums = np.zeros(protocol._tally_size, dtype=np.int64)
        self.messages = 0

    @property
    def protocol(self) -> MessageProtocol:
        """The protocol whose messages are counted."""
        return self.mechanism

    @property
    def users(self) -> int:
        """Number of messages that were added: a user may have sent several."""
        return self.messages

    def _count(self, messages: Any) -> None:
        checked = self.protocol._checked_messages(messages)
        self._require(self.messages + len(checked))
        self._add(self.protocol._tally(checked).tolist(), len(checked))

    def count_table(self, source: Source, settings: Settings) -> None:
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


def require_sums(protocol: MessageProtocol, sums: Sequence[int], messages: int) -> None:
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


HIDES = ("nothing", "release", "amount")

LEAST_EPSILON, LEAST_DELTA = 0.01, 1e-12
"""Smaller ones are refused: the table of the dropped messages would get long, or its tail too coarse."""

MOST_IN_BATCH = 1 << 26

MESSAGES, CHANCE = "messages that have arrived", "probability that they are released"


class BatchShuffler(Mechanism):
    """A shuffler that releases a batch, in sorted order, once it has as many messages as its threshold.

    The number of messages tells whether somebody took part. With ``hide = "amount"`` a random number of them
    is dropped, those of users drawn at random, so that the number that is left is private. With ``hide =
    "release"`` only the decision to release is: the threshold is noised, a released batch shows its number.

    Parameters
    ----------
    threshold : int
        The fewest messages of a batch.
    hide : {"nothing", "release", "amount"}
    epsilon, delta : float, optional
        Of the number, or of the decision, for one user more or less with one message; from 0.01 and 1e-12.
    columns : sequence of str
        The columns of a message.

    Raises
    ------
    ParameterError
        Naming the parameter.

    Notes
    -----
    Source: the survey of the shuffle model (2022), section 1.1; Bittau and others (2017), where the drop is
    rounded normal noise. Here it is X on 0 .. 2 D with probabilities that fall by about e^epsilon for
    each step away from D, as integers out of 2**62, and D the least with the wanted delta.

    Examples
    --------
    >>> shuffler = BatchShuffler(100, "amount", 1.0, 1e-6)
    >>> shuffler.most_dropped, len(shuffler.release(np.arange(500), rng=1))
    (28, 487)
    >>> len(shuffler.release(np.arange(99), rng=1))
    0
    """

    type: ClassVar[str] = "batch-shuffler"
    exact_alternative = (
        "it runs on a server: build 'kary-response' or another client, and shuffle its reports"
    )

    def __init__(
        self,
        threshold: int,
        hide: str = "nothing",
        epsilon: float | None = None,
        delta: float | None = None,
        columns: Sequence[str] = ("message",),
    ) -> None:
        self.threshold = integer("threshold", threshold, 1, MOST_IN_BATCH)
        self.hide = one_of("hide", hide, HIDES)
        self.columns = _names(columns)
        self.epsilon = self.delta = 0.0
        if self.hide == "nothing":
            if epsilon is not None or delta is not None:
                raise ParameterError("epsilon", "is for hide = 'release' or 'amount'", "drop it, or hide one")
        elif epsilon is None or delta is None:
            raise ParameterError("epsilon", f"hide = '{self.hide}' needs epsilon and delta", "give both")
        else:
            self.epsilon = in_range("epsilon", epsilon, LEAST_EPSILON, 10.0)
            self.delta = in_range("delta", delta, LEAST_DELTA, 0.5)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Out of 2**62, how often 0, 1, ... messages are dropped."""
        return (TOTAL,) if self.hide == "nothing" else dropped(self.epsilon, self.delta)

    @property
    def most_dropped(self) -> int:
        """The largest number of messages that may be dropped, 2 D."""
        return len(self.weights) - 1

    def release(self, messages: Any, rng: Rng = None) -> NDArray[Any]:
        """Return the messages of a batch in sorted order; none of them when the batch has to wait.

        Every call gives epsilon away again: call it once for each batch.

        Parameters
        ----------
        messages : (n,) or (n, columns) array
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's generator by default.
        """
        messages_array = array_of(messages, "messages")
        if messages_array.ndim not in (1, 2) or len(messages_array) > MOST_IN_BATCH:
            raise DataError(
                "messages", f"expected a row each, at most {MOST_IN_BATCH} of them", "split the batch"
            )
        places = self.released_places(len(messages_array), self.source(rng, "release"))
        rows = messages_array[places]
        return rows[np.lexsort(rows.T[::-1])] if rows.ndim == 2 else np.sort(rows)

    kept = FormerAttribute("released_places")

    def released_places(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Return the places of the released messages, out of ``count`` messages."""
        everything = np.arange(count, dtype=np.int64)
        if self.hide == "nothing":
            return everything if count >= self.threshold else everything[:0]
        fewer = int(np.searchsorted(np.cumsum(np.array(self.weights)), int(source.integers(1)[0]), "right"))
        if self.hide == "release":  # the decision of the noised number, whose mean is the true one
            return everything if count - fewer + self.most_dropped // 2 >= self.threshold else everything[:0]
        if count - fewer < self.threshold:
            return everything[:0]
        again = Again(source.integers(fewer) if fewer else everything[:0], source)
        for place in range(fewer):  # who is dropped is drawn evenly, one after the other
            other = place + one_below(count - place, again)
            everything[place], everything[other] = everything[other], everything[place]
        return everything[fewer:]

    # What it promises

    def chance(self, count: int) -> float:
        """Return the probability that a batch is released when ``count`` messages have arrived.

        Examples
        --------
        >>> shuffler = BatchShuffler(100, "amount", 1.0, 1e-6)
        >>> shuffler.chance(99), round(shuffler.chance(114), 4), shuffler.chance(128)
        (0.0, 0.7311, 1.0)
        """
        raised = self.most_dropped // 2 if self.hide == "release" else 0
        most = count + raised - self.threshold  # the most drops with which it is still released
        return sum(self.weights[: max(most + 1, 0)]) / TOTAL

    def figures(self) -> list[Figure]:
        """Return how likely a batch is released, for numbers of messages around the threshold."""
        around = max(self.most_dropped, 5)
        counts = range(max(0, self.threshold - around), self.threshold + 2 * around)
        curve = Line(list(counts), [self.chance(count) for count in counts], dots=True)
        return [Figure(f"When a batch is released: {self._figures()}", [Panel(MESSAGES, CHANCE, [curve])])]

    @cached_property
    def _audit_of_number(self) -> PrivacyAudit:
        """The exact audit of the number that is left, with one message more or less."""
        return _audit(self.weights, self.epsilon, self.delta)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return certificates about the number of messages; the messages are the protocol's concern."""
        if self.hide == "nothing":
            note = "the number of messages is seen; the protocol protects their content"
            return (Certificate("batch", True, True, {"threshold": self.threshold}, note=note),)
        certificate = self._audit_of_number.certificate()
        hidden = "the number released" if self.hide == "amount" else "the decision to release; not the number"
        note = f"{hidden}, for one message more or less, each time a batch is offered"
        figures = {
            **certificate.figures,
            "threshold": self.threshold,
            "most_dropped": self.most_dropped * (self.hide == "amount"),
        }
        return (
            Certificate(
                "number_privacy", certificate.holds, True, figures, {}, note, proof=certificate.proof
            ),
        )

    def operations(self) -> tuple[Operation, ...]:
        takes = tuple(Column(name, "as the devices sent it") for name in self.columns)
        summary = "the messages of a batch in sorted order, or none when they are too few"
        return (Operation("release", summary, takes, takes, self._released, (SEED,), several=True),)

    def _released(self, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        parts: list[list[NDArray[Any]]] = [[] for _ in self.columns]
        for source in sources:
            lacking = [name for name in self.columns if name not in source.columns]
            if lacking:
                raise DataError(
                    source.name,
                    f"lacks the column '{lacking[0]}'",
                    "name the columns of a message when the shuffler is made",
                )
            for block in source.blocks(self.columns):
                for part, name in zip(parts, self.columns, strict=True):
                    part.append(np.asarray(block[name]))
        columns = [np.concatenate(part) if part else np.zeros(0, dtype=np.int64) for part in parts]
        if len(columns[0]) > MOST_IN_BATCH:
            raise DataError("messages", f"more than {MOST_IN_BATCH}", "split the batch")
        places = self.released_places(len(columns[0]), self.source(settings["seed"], "release"))
        settings.count("batch withheld", int(not len(places)))
        order = (
            np.lexsort([column[places].astype(str) for column in columns[::-1]]) if len(places) else places
        )
        yield {name: column[places][order] for name, column in zip(self.columns, columns, strict=True)}

    # Files

    def content(self) -> dict[str, Any]:
        hidden = {} if self.hide == "nothing" else {"epsilon": self.epsilon, "delta": self.delta}
        return {"threshold": self.threshold, "hide": self.hide, **hidden, "columns": list(self.columns)}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(**content)

    def _figures(self) -> str:
        hidden = "" if self.hide == "nothing" else f", epsilon={self.epsilon:g}, delta={self.delta:g}"
        return f"threshold {self.threshold}, hides {self.hide}{hidden}"


@lru_cache(maxsize=32)
def dropped(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return the integer weights of the shortest table whose divergence for a shift by one is small enough.

    Examples
    --------
    >>> weights = dropped(1.0, 1e-6)
    >>> len(weights), sum(weights) == TOTAL, weights[14] == max(weights)
    (29, True, True)
    """
    peak = math.tanh(epsilon / 2.0)  # of the untruncated law; its part at the end has to be below delta
    half = max(1, math.floor(math.log(max(peak / delta, 1.0)) / epsilon) - 2)
    while True:
        weights = _peak(epsilon, half)
        if _audit(weights, epsilon, delta).holds:
            return weights
        half += 1


def _audit(weights: Sequence[int], epsilon: float, delta: float) -> PrivacyAudit:
    """Return the exact audit of a number that is dropped, for one more or less."""
    rows = np.zeros((2, len(weights) + 1), dtype=np.int64)
    rows[0, :-1] = rows[1, 1:] = weights
    return audit_channel(rows, epsilon, delta)


def _peak(epsilon: float, half: int) -> tuple[int, ...]:
    """Return weights in proportion to e^(-epsilon |k - half|), a little flatter, 2**62 in all."""
    ratio = math.exp(-epsilon * (1.0 - 2.0**-20))
    shares = ratio ** np.abs(np.arange(2 * half + 1) - half, dtype=np.float64)
    weights = [int(share * TOTAL) for share in (shares / shares.sum() * (1.0 - 2.0**-50)).tolist()]
    each, over = divmod(TOTAL - sum(weights), len(weights))
    weights = [weight + each for weight in weights]
    weights[half] += over
    return tuple(weights)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    names = tuple(columns) if isinstance(columns, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ParameterError("columns", "expected a list of different names", 'give for instance ["message"]')
    return names
