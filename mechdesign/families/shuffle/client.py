"""The client of a shuffle protocol in integers: parts, each of which makes messages of a value.

A value is a category, a bit, or a number in [0, 1] that is rounded at random to a whole number of steps. The
parts read random bits one after the other; the messages of a user are sorted, so that their order tells
nothing. The parts are stated in ``docs/reference/mechanism_file.md``.

All draws are exact: bits of a probability out of 2^62, and small numbers from tables of 124 binary digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import marked
from mechdesign.collect.recipes import Answer, AskedChoice, AskedNumber, Recipe, Steps, row_hex, whole_hex
from mechdesign.core.errors import CertificateError, MethodError
from mechdesign.exact.draws import bernoulli_words
from mechdesign.exact.numbers import plain_int
from mechdesign.exact.randomness import TOTAL, BitSource

if TYPE_CHECKING:
    from mechdesign.families.shuffle.noise import Noise

EXACT = 1 << 53
"""Messages with larger numbers are written as texts of digits: other languages round such numbers."""

LARGEST_RING = 1 << 52
"""Of larger rings the sum of two numbers is not exact in every language."""


class ProtocolClient(Mechanism):
    """Texts of a protocol for the author of its client."""

    noise: Noise

    def recipe(self) -> Recipe:
        """Return how a client draws the messages of one value, which go to a shuffler."""
        if getattr(self.noise, "modulus", 0) > LARGEST_RING:
            raise MethodError(
                "export", f"shares of this {self.type} are beyond 2^52", "build it with a smaller precision"
            )
        name = self.data_columns[0] if self.data_columns else None
        precision, labels = getattr(self, "precision", None), getattr(self, "labels", None)
        question: AskedChoice | AskedNumber = AskedNumber(name, 0.0, 1.0)
        if isinstance(labels, Labels):
            question, precision = AskedChoice.of(labels, name), None
        elif precision == 1 and self.noise.size == 2 and getattr(self, "quantity", "") == "count":
            question, precision = AskedChoice(name, 2), None
        parts = self.noise.client_parts()
        steps = {"step": "messages", "round": precision, "texts": self._texts, "parts": parts}
        columns = tuple(marked(part, self.survey_digest) for part in getattr(self, "columns", ("message",)))
        return Recipe((question,), columns, steps, True, True)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return the messages of one value in sorted order, from the bits of a source."""
        read: Any = self
        messages = read._encode_piece(read._read_values([answer]), source)
        listed: list[list[int]] = sorted(messages.tolist())
        return [list(map(str, row)) for row in listed] if self._texts else listed

    @property
    def _texts(self) -> bool:
        """Whether the numbers of messages are written as texts."""
        return max(self.noise.alphabets) > EXACT


def part(make: str, **numbers: Any) -> Steps:
    """Return a part that makes messages; weights have been written as hexadecimal digits."""
    return {"make": make, **numbers}


def flips_part(size: int, own: str, named: bool, flip: int) -> Steps:
    """Return the part of bits of which some are 1 by the value, each flipped."""
    return part("flips", size=size, ones=own, named=named, flip=whole_hex(flip))


def response_ends(alphabet: int, other: int) -> dict[str, Any]:
    """Return where the weights of a randomized response end."""
    return {"own": whole_hex(TOTAL - alphabet * other), "other": whole_hex(other)}


def levels_part(sizes: Sequence[int], others: Sequence[int], scales: Sequence[int]) -> Steps:
    """Return the part of a randomized response to each digit of the steps, the coarsest digit first."""
    levels = [
        {"scale": int(scale), **response_ends(size, other)}
        for size, other, scale in zip(sizes, others, scales, strict=True)
    ]
    return part("levels", levels=levels)


def dummies_part(own: Steps, trials: int, weight: int, alphabet: int, start: int = 0) -> Steps:
    """Return the part of one message by the value, and of dummies that are uniform below the alphabet.

    ``own`` is what the value becomes: shifted to the right, 1 where it equals a number, or hashed.
    """
    return part(
        "dummies", own=own, trials=trials, weight=whole_hex(weight), alphabet=alphabet, start=int(start)
    )


Codes = NDArray[np.int64]


def bits(count: int, weight: int, source: BitSource) -> Codes:
    """Return independent bits, each 1 with the probability weight / 2**62 exactly.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> drawn = bits(100_000, 1 << 60, bit_source(1))
    >>> drawn.dtype, bool(abs(drawn.mean() - 0.25) < 0.01)
    (dtype('int64'), True)
    """
    return flags(count, weight, source).astype(np.int64)


def flags(count: int, weight: int, source: BitSource) -> NDArray[np.uint8]:
    """Return the same as bytes."""
    words = bernoulli_words((count + 63) // 64, weight, source)
    return np.unpackbits(words.view(np.uint8), count=count)


def checked_weight(field: str, value: Any, low: int, high: int) -> int:
    """Return a weight out of 2**62 within limits; a file that says otherwise is refused."""
    result = plain_int(field, value)
    if not low <= result <= high:
        raise CertificateError(field, f"a weight is not from {low} to {high}")
    return result


class Table:
    """Integers 0, 1, ... by weights out of 2**124: what tails of 2**-62 would not resolve.

    Parameters
    ----------
    weights : list of int
        They sum to 2**124.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> table = Table([TOTAL * TOTAL // 4, 3 * TOTAL * TOTAL // 4])
    >>> bool(abs(table.draw(10_000, bit_source(1)).mean() - 0.75) < 0.03)
    True
    """

    def __init__(self, weights: list[int]) -> None:
        if sum(weights) != TOTAL * TOTAL or min(weights) < 0:
            raise CertificateError("table", "the weights are not 2**124 in all")
        self.weights = tuple(weights)
        ends, total = [], 0
        for weight in weights[:-1]:
            total += weight
            ends.append(total)
        self._ends = ends
        self._high = np.array([min(end // TOTAL, TOTAL - 1) for end in ends], dtype=np.int64)

    def client_rows(self) -> dict[str, str]:
        """Return the ends of the weights in two rows of 62 binary digits each, as clients get them."""
        highs = self._high.tolist()
        lows = [min(end - high * TOTAL, TOTAL) for end, high in zip(self._ends, highs, strict=True)]
        return {"high": row_hex(highs), "low": row_hex(lows)}

    def draw(self, count: int, source: BitSource) -> Codes:
        """Return independent numbers; a second word decides where the first one is at an end."""
        words = source.integers(count)
        places = np.searchsorted(self._high, words, side="left")
        if len(self._high) == 0:
            return places
        at_end = np.flatnonzero(self._high[np.minimum(places, len(self._high) - 1)] == words)
        for row in at_end.tolist():
            number = int(words[row]) * TOTAL + int(source.integers(1)[0])
            place = int(places[row])
            while place < len(self._ends) and self._ends[place] <= number:
                place += 1
            places[row] = place
        return places
