"""Known-answer vectors: (answer, random bytes, report), over the first and the last integer of every report.

What decides a report are comparisons of a 62-bit integer with bounds: the ends of a cumulative row, a weight.
For each bound b the integers b - 1 and b are put at the place of the stream where they are compared with it;
the rest of the stream is pseudorandom and the same for ever. The report is what the mechanism's own ``draw``
makes of these bytes.

What the first integer of a step is compared with: the ends of its reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.kernel import DIGITS, Recipe, Steps
from mechdesign.core.errors import DataError, counted
from mechdesign.exact.randomness import BITS, TOTAL

MOST_BOUNDS = 4096
"""Bounds of a step that are visited; of more, evenly many of all."""


SOME = 24
"""Ends of a long table that are visited: the first, the last, and evenly many of all between them."""


class ByteSource:
    """A stream of random bytes, read as every client reads it: this is the specification, byte for byte.

    A word is 8 bytes, the first one the lowest ("little endian"). A uniform integer below 2**62 is a word
    without its two lowest bits: ``word >> 2``. Nothing else is ever read from the stream; what is drawn
    from words and integers is stated in ``docs/project/mechanism_file.md``.

    Parameters
    ----------
    take : callable
        ``take(count)`` returns the next ``count`` bytes.

    Raises
    ------
    DataError
        When the stream returns another number of bytes.

    Examples
    --------
    >>> import io
    >>> source = ByteSource(io.BytesIO(bytes(range(16))).read)
    >>> [hex(int(number)) for number in source.words(1)], [hex(int(number)) for number in source.integers(1)]
    (['0x706050403020100'], ['0x3c3834302c28242'])
    """

    def __init__(self, take: Callable[[int], bytes]) -> None:
        self.take = take

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        return (self.words(count) >> np.uint64(64 - BITS)).view(np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        taken = self.take(8 * count)
        if len(taken) != 8 * count:
            raise DataError(
                "source",
                f"returned {counted(len(taken), 'byte')}, not {8 * count}",
                "give a stream without an end",
            )
        return np.frombuffer(taken, dtype="<u8").astype(np.uint64)


def ends_of(compared: Sequence[int]) -> Iterator[int]:
    """Yield 0, the integers on both sides of every bound, and the largest integer."""
    step = -(-len(compared) // MOST_BOUNDS)
    near = {0, TOTAL - 1, *(b + side for b in list(compared)[::step] for side in (-1, 0))}
    yield from sorted(number for number in near if 0 <= number < TOTAL)


def numbers(row: str) -> list[int]:
    """Return the numbers of a row of hexadecimal digits."""
    return [int(row[start : start + DIGITS], 16) for start in range(0, len(row), DIGITS)]


def _kary_bounds(steps: Steps) -> list[int]:
    own, end, low = (int(steps[name], 16) for name in ("own", "delegate", "low"))
    if not low:
        return [own, end]
    shares = min((TOTAL - end) // low, 1 << 20)
    return [own, *range(end, end + shares * low + 1, max(1, shares // MOST_BOUNDS) * low)]


def step_bounds(steps: Steps) -> list[int]:
    """Return the bounds that the first integer of a step is compared with."""
    kind = steps["step"]
    if kind == "row":
        rows = steps["rows"][:: -(-len(steps["rows"]) // 64)]
        return sorted({number for row in rows for number in numbers(row)})
    if kind == "kary":
        return _kary_bounds(steps)
    if kind == "patterns":
        return _pattern_bounds(steps)
    if kind == "orbits":
        return _orbit_bounds(steps)
    if kind == "events":
        return _event_bounds(steps)
    if kind == "bit":
        low, high = int(steps["lo"], 16), int(steps["hi"], 16)
        return [low, low + min(int(float(high - low)), high - low)]  # what doubles make of the ends
    if kind == "view":
        return numbers(steps["ends"])
    if kind == "survey":
        return numbers(steps["ends"])
    names = {
        "sets": "include",
        "subset": "include",
        "items": "include",
        "set-hashing": "include",
        "parity": "even",
        "hyperplane": "include",
    }
    return [int(steps[names[kind]], 16)] if kind in names else []


def _pattern_bounds(steps: Steps) -> list[int]:
    """Return the ends of the reports of a few types."""
    size, low, high = steps["types"], numbers(steps["low"]), numbers(steps["high"])
    bounds: set[int] = set()
    for place in range(0, size, -(-size // 8)):
        held = [int(text[place // 4], 16) >> (3 - place % 4) & 1 for text in steps["sets"]]
        bounds.update(accumulate(h if own else lo for own, lo, h in zip(held, low, high, strict=True)))
    return some(sorted(bounds))


def _orbit_bounds(steps: Steps) -> list[int]:
    """Return the ends of the blocks, and of the first and the last member of each."""
    ends = [0, *numbers(steps["ends"])]
    weights = [
        each for pair in zip(numbers(steps["high"]), numbers(steps["low"]), strict=True) for each in pair
    ]
    inner = [end for place, w in enumerate(weights) for end in (ends[place] + w, ends[place + 1] - w)]
    return some(sorted({*ends[1:], *inner}))


def _event_bounds(steps: Steps) -> list[int]:
    """Return the ends of all reports of a small mechanism; of a larger one the blank report's and some."""
    bounds: set[int] = set()
    blanks = numbers(steps["blanks"])
    for number in range(len(blanks)) if steps["slots"] <= 4 else {0, len(blanks) - 1}:
        bounds.update(_event_ends(steps, number, blanks[number]))
    return sorted(bounds if len(bounds) <= 5 * SOME else {*blanks, *some(sorted(bounds))})


def _event_ends(steps: Steps, kind: int, end: int) -> Iterator[int]:
    """Yield the ends of all reports for a state of a kind, its fullest slots first."""
    base, slots = steps["most"] + 1, steps["slots"]
    events = [*steps["kinds"][kind], *[0] * (slots - len(steps["kinds"][kind]))]
    yield end
    for named, tables in zip(steps["named"], steps["weights"], strict=True):
        weights = numbers(tables[kind])
        for places in product(range(slots), repeat=named):
            if len(set(places)) == named:
                number = 0
                for place in places:
                    number = number * base + events[place]
                end += weights[number]
                yield end


def some(ends: list[int]) -> list[int]:
    """Return a few of many ends, the first and the last among them."""
    return [*ends[:: -(-len(ends) // SOME)], ends[-1]] if len(ends) > SOME else ends


Vector = tuple[Any, str, Any]
"""The answer, the bytes that were used in hexadecimal digits, and the report."""

LEAST = 1000
"""Smallest number of vectors that are written."""

ONE_INTEGER = ("row", "kary", "patterns", "orbits", "events", "bit")
"""Steps that read nothing after the integer that is compared."""


class Tape:
    """A stream of bytes that begins with given words and goes on pseudorandomly; it records what was taken.

    Examples
    --------
    >>> tape = Tape("example", [5])
    >>> int.from_bytes(tape(8), "little"), len(tape(8)), len(tape.taken)
    (5, 8, 16)
    """

    def __init__(self, name: str, words: Sequence[int] = ()) -> None:
        self._waiting = b"".join(word.to_bytes(8, "little") for word in words)
        self._name, self._block = name, 0
        self.taken = b""

    def __call__(self, count: int) -> bytes:
        """Return the next bytes, and record them."""
        while len(self._waiting) < count:
            seed = f"{self._name} {self._block}".encode()
            self._waiting += hashlib.sha512(seed).digest()
            self._block += 1
        result, self._waiting = self._waiting[:count], self._waiting[count:]
        self.taken += result
        return result


def vectors(mechanism: Mechanism, least: int = LEAST) -> list[Vector]:
    """Return vectors over all corners, and pseudorandom ones until there are enough.

    Parameters
    ----------
    mechanism : Mechanism
    least : int

    Raises
    ------
    MethodError
        For a mechanism whose reports are not drawn in whole numbers.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> document = vectors(KaryResponse.of(3, 1.0))
    >>> len(document), document[0]
    (1000, (0, '0000000000000000', 0))
    """
    recipe = mechanism.recipe()
    result: list[Vector] = []
    answers = list(_answers(recipe))
    for words in _corners(recipe.steps):
        for answer in answers if len(answers) * len(words) <= 64 else answers[:3]:
            result.append(_vector(mechanism, answer, f"corner {len(result)}", words))
    while len(result) < least:
        answer = answers[len(result) % len(answers)]
        result.append(_vector(mechanism, answer, f"random {len(result)}", []))
    return result


def self_check(mechanism: Mechanism, most: int = 24) -> list[Vector]:
    """Return the few vectors that stand inside a client: the first corners of several answers, and others."""
    recipe = mechanism.recipe()
    answers = list(islice(_answers(recipe), 6))
    words = list(islice(_corners(recipe.steps), most // 2))
    result = [
        _vector(mechanism, answers[place % len(answers)], f"corner {place}", word)
        for place, word in enumerate(words)
    ]
    while len(result) < most:
        result.append(_vector(mechanism, answers[len(result) % len(answers)], f"random {len(result)}", []))
    return result


def _vector(mechanism: Mechanism, answer: Any, name: str, words: Sequence[int]) -> Vector:
    tape = Tape(name, words)
    report = mechanism.draw_recipe(answer, ByteSource(tape))
    return answer, tape.taken.hex(), report


# Answers


def _answers(recipe: Recipe) -> Iterator[Any]:
    """Yield answers: every category up to 64, the ends and parts of a range, and mixtures of several."""
    each = [entry.examples() for entry in recipe.inputs]
    if recipe.single:
        yield from each[0]
        return
    for turn in range(max(map(len, each))):
        yield [values[turn % len(values)] for values in each]
        yield [values[(turn + place) % len(values)] for place, values in enumerate(each)]


# Corners: streams that begin with given words


def _word(integer: int) -> int:
    """Return the word that an integer below 2**62 is read from; its two lowest bits are not used."""
    return min(max(integer, 0), TOTAL - 1) << 2


def _corners(steps: Steps) -> Iterator[list[int]]:
    """Yield what streams begin with, so that every comparison is tried at both of its sides."""
    kind = steps["step"]
    if kind == "hash":
        seeds, own, other = (
            steps["prime"] * (steps["prime"] - 1),
            int(steps["own"], 16),
            int(steps["other"], 16),
        )
        buckets = [own + place * other for place in range(min(steps["buckets"], MOST_BOUNDS) + 1)]
        for end in ends_of(buckets):
            yield [_word(3 * end % seeds), _word(end)]
        yield [
            _word(TOTAL - 1),
            _word(seeds - 1),
            _word(TOTAL - 1),
        ]  # the first one is drawn again, if it has to
    elif kind == "prefix":
        own, other = int(steps["own"], 16), int(steps["other"], 16)
        values = [own + place * other for place in range((1 << steps["buckets"]) + 1)]
        for group in ends_of(numbers(steps["ends"])):
            for end in (values[0], values[-1]):
                yield [_word(group), (1 << 64) - 1, _word(end - 1)]
        for end in ends_of(values):
            yield [_word(0), 0x0123456789ABCDEF, _word(end)]
    elif kind == "messages":
        yield from _message_corners(steps)
    elif kind == "sets" and steps["matches"] is not None:
        yield from _match_corners(steps)
    elif kind == "grid":
        for end in ends_of(step_bounds({"step": "row", "rows": steps["rows"]})):
            yield [_word(0), _word(end)]
            yield [_word(TOTAL - 1), _word(end)]
    elif kind == "bits":
        yield from _flag_corners(steps["size"], int(steps["keep"], 16), int(steps["add"], 16))
    elif kind == "joint":
        size = sum(1 if "bit" in steps and size == 2 else size for size in steps["sizes"])
        for name in ("flip", "keep", "add"):
            for kind in (steps, steps.get("bit")):
                if kind is not None and kind[name] is not None:
                    yield from _flag_corners(size, 0, int(kind[name], 16))
    elif kind == "weekly":
        yield from _weekly_corners(steps)
    elif kind == "sample":
        for inner in _corners(steps["each"]):
            for place in range(4):
                yield [*(_word(place + turn) for turn in range(steps["per_user"])), *inner]
    elif kind == "survey":
        for end, parts in zip(numbers(steps["ends"]), steps["designs"], strict=True):
            for inner in islice(_corners(parts[0]["draw"]), 64):
                yield [_word(end - 1), *inner]
        for end in ends_of(step_bounds(steps)):
            yield [_word(end)]
    elif kind == "view":
        for place, end in enumerate(numbers(steps["ends"])):
            oracle = steps["oracles"][steps["oracle_of_view"][place]]
            for inner in islice(_corners(oracle), 64):
                yield [_word(end - 1), *inner]
        for end in ends_of(step_bounds(steps)):
            yield [_word(end)]
    else:
        for end in ends_of(step_bounds(steps)):
            yield [_word(end)]
            if kind not in ONE_INTEGER:
                yield [_word(end), _word(TOTAL - 1), _word(0)]


def _match_corners(steps: Steps) -> Iterator[list[int]]:
    """Yield words at both sides of every chance of a match, and at the chance itself: more is drawn there."""
    for end in ends_of([int(steps["include"], 16)]):
        yield [_word(end)]
    for place, table in enumerate(steps["matches"]):
        for limit in sorted(set(numbers(table["limits"]))):
            for draws in (limit - 1, limit, limit + 1):
                for first in (0, TOTAL - 1):  # the factors before match, or do not
                    yield [_word(0), *[_word(first)] * place, _word(draws)]
                    yield [_word(0), *[_word(first)] * place, _word(draws), _word(0)]


def _message_corners(steps: Steps) -> Iterator[list[int]]:
    """Yield words at both sides of every bound of the parts, behind the word that rounds a number."""
    rounding = [] if steps["round"] is None else [_word(0)]
    for part in steps["parts"][:64]:
        entries = [part, *part.get("levels", [])]
        names = ("own", "other", "flip", "silent", "weight")
        weights = [
            int(entry[name], 16) for entry in entries for name in names if isinstance(entry.get(name), str)
        ]
        weights += numbers(part.get("row", ""))
        for end in some(numbers(part.get("high", ""))):
            weights += [end, end + 1]  # at an end itself more is drawn
        for end in ends_of(weights):
            for before in range(3):
                yield [*rounding, *[_word(0)] * before, _word(end)]
        for size in (part.get("size", 1), part.get("trials", 1)):
            for weight in weights[:1]:
                yield from ([*rounding, *words] for words in _flag_corners(size, 0, weight))


def _flag_corners(size: int, keep: int, add: int) -> Iterator[list[int]]:
    """Yield words whose bits all follow the digits of the weight, so that they are decided last or never."""
    words, ones = (size + 63) // 64, (1 << 64) - 1
    for number in (0, TOTAL - 1, add - 1, add, add + 1):
        digits = [ones if number >> digit & 1 else 0 for digit in range(61, -1, -1)]
        tape = [word for word in digits for _ in range(words)]
        for last in (keep - 1, keep):
            yield [*tape[: words * _digits_read(add)], _word(last)]


def _digits_read(weight: int) -> int:
    """Return how many digits are read of bits that stay undecided: to the lowest 1 of the weight."""
    return 62 - ((weight & -weight).bit_length() - 1) if weight else 0


def _weekly_corners(steps: Steps) -> Iterator[list[int]]:
    """Yield the sides of both weights; what lies between them is drawn for the permanent set."""
    front = {"answers": 0, "hashed": 1, "bins": steps.get("bins", 0)}[steps["cells"]]
    include, near = (int(steps[name], 16) for name in ("include", "near"))
    for first in ends_of([include]):
        members = steps["size"] - (first < include)
        for second in ends_of([near]):
            yield [0] * front + [_word(first)] + [0] * members + [_word(second)]
