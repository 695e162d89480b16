"""What counting protocols have in common: a user holds 0 or 1, and the ones are counted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.mechanisms.labels import Labels
from mechdesign.mechanisms.shuffle.base import Messages, Protocol

BITS = Labels(2)


class CountProtocol(Protocol):
    """A protocol that counts the users who hold 1."""

    quantity: ClassVar[str] = "count"
    value_text: ClassVar[str] = "0 or 1"

    def read_values(self, values: Any) -> NDArray[np.int64]:
        """Return zeros and ones; True and False are taken as well."""
        array = np.asarray(values)
        read = BITS.encode(array.astype(np.int64) if array.dtype.kind == "b" else values, "values")
        if len(read) > self.promise.users:
            raise DataError(
                f"values: {len(read)} for a protocol of {self.promise.users} users; build it for all of them"
            )
        return read

    def rmse_at(self, ones: float) -> float:
        """Return the error when this share of the users holds 1; by default it is the same for all data."""
        return self.rmse

    def messages_at(self, ones: float) -> float:
        """Return the expected messages of a user when this share of the users holds 1."""
        return self.mean_messages

    @property
    def tally_size(self) -> int:
        """One sum."""
        return 1

    @property
    def alphabets(self) -> tuple[int, ...]:
        """A message is a bit."""
        return (2,)

    def tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return how many messages are 1."""
        return np.array([int(messages.sum())], dtype=np.int64)
