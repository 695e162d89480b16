"""Messages of a protocol: how devices encode and a shuffler mixes them, and the sums that count them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.server import on_table
from mechdesign.core.errors import DataError, RowError
from mechdesign.data.frames import is_table
from mechdesign.data.intake import array_of
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.shuffle.noise import Messages, Noise
from mechdesign.families.shuffle.promise import Promise

PIECE = 1 << 16
"""Users that are encoded at a time; their noise does not depend on how a table is cut into blocks."""


class MessageProtocol(Mechanism):
    """A protocol as its devices, shufflers and counters see it: messages, and sums of them."""

    noise: Noise
    promise: Promise

    quantity: ClassVar[str]
    _value_text: ClassVar[str]
    _message_parts: ClassVar[tuple[str, ...]] = ("message",)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the parts of a message."""
        return self._message_parts

    @property
    def most_messages(self) -> int:
        """The most messages that a user may send."""
        return self.noise.most_messages

    @property
    def _message_range(self) -> tuple[int, int]:
        """The fewest and the most messages that an analyzer may get."""
        return self.promise.users * self.noise.least_messages, self.promise.users * self.most_messages

    # Client and shuffler

    @abstractmethod
    def _read_values(self, values: Any) -> NDArray[Any]:
        """Return users' values as the client takes them, or raise DataError naming the row."""

    def _require_users(self, count: int) -> None:
        """Raise DataError for more users than the protocol is for."""
        if count > self.promise.users:
            raise DataError(
                "values", f"{count} for a protocol of {self.promise.users} users", "build it for all of them"
            )

    def _encode_piece(self, values: NDArray[Any], source: BitSource) -> Messages:
        """Return the messages of some users, checked values given; shape (messages, columns)."""
        return self.noise.encode(values, source)

    def encode(self, values: Any, rng: Rng = None) -> Messages:
        """Return the messages of these users, in their order: to be shuffled before anyone sees them.

        Parameters
        ----------
        values : (n,) array, series or data frame
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's generator by default.

        Returns
        -------
        (messages, columns) int array
        """
        if is_table(values):
            return on_table(self, "encode", values, rng=rng)
        checked, source = self._read_values(values), self.source(rng)
        pieces = [
            self._encode_piece(checked[start : start + PIECE], source)
            for start in range(0, len(checked), PIECE)
        ]
        return np.concatenate(pieces) if pieces else np.zeros((0, len(self.columns)), dtype=np.int64)

    def shuffle(self, messages: Any, rng: Rng = None) -> Messages:
        """Return the messages sorted: a set of messages without order says no more than that.

        Random numbers are drawn only where a protocol's shuffler adds messages of its own.

        Raises
        ------
        DataError
            For a message outside the alphabet, or a number of messages that these users cannot have sent.
        """
        if is_table(messages):
            return on_table(self, "shuffle", messages, rng=rng)
        checked = self.with_fakes(self._checked_messages(messages), rng)
        self._require_messages(len(checked))
        if checked.shape[1] == 1:
            return np.sort(checked, axis=0)
        return checked[np.lexsort(checked.T[::-1])]

    def with_fakes(self, messages: Messages, rng: Rng) -> Messages:
        """Return the messages with those that the shuffler adds; by default none."""
        return messages

    # Sums

    @abstractmethod
    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sums that the estimate needs of checked messages; sums of parts add up."""

    _one_each: ClassVar[bool] = False
    """Whether each message adds 1 to one of the sums and 0 to the others."""

    _halves: ClassVar[bool] = False
    """Whether the second half of the sums counts the messages that were added up in the first one."""

    @property
    def _most_added(self) -> int:
        """The most that a message adds to a sum."""
        return 1

    @property
    def _ring(self) -> int | None:
        """The number of elements of the ring in which sums are formed, where they are; counts are not."""
        return None

    @property
    @abstractmethod
    def _tally_size(self) -> int:
        """Number of sums."""

    @abstractmethod
    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> Any:
        """Return the estimate from the sums over all messages."""

    def _checked_messages(self, messages: Any) -> Messages:
        """Return messages as an int64 array of the right width; refuse what is outside the alphabet."""
        kind = array_of(messages, "messages")
        if kind.ndim == 1:
            kind = kind.reshape(-1, 1)
        if kind.ndim != 2 or kind.shape[1] != len(self.columns):
            raise DataError(
                "messages",
                f"expected {len(self.columns)} column(s) ({', '.join(self.columns)})",
                "give what encode or shuffle returned",
            )
        if kind.size == 0:
            return np.zeros((0, len(self.columns)), dtype=np.int64)
        checked = wholes("messages", kind, 2)
        for place, size in enumerate(self.noise.alphabets):
            column = checked[:, place]
            if int(column.min()) >= 0 and int(column.max()) < size:
                continue
            row = int(np.argmax((column < 0) | (column >= size)))
            raise RowError(
                "messages",
                row,
                f"{int(column[row])} is outside the alphabet of '{self.columns[place]}', 0 to {size - 1}",
                "use the messages of this protocol's clients",
            )
        return checked

    def _require_messages(self, count: int) -> None:
        """Raise DataError when these users cannot have sent ``count`` messages."""
        low, high = self._message_range
        if low <= count <= high:
            return
        expected = str(low) if low == high else f"{low} to {high}"
        raise DataError(
            "messages",
            f"{count}, and {self.promise.users} users send {expected}",
            "give those of all users, each once",
        )
