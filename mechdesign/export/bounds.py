"""What the first integer of a step is compared with: the ends of its reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, product

from mechdesign.collect.recipes import DIGITS, Steps
from mechdesign.exact.randomness import TOTAL

MOST_BOUNDS = 4096
"""Bounds of a step that are visited; of more, evenly many of all."""


SOME = 24
"""Ends of a long table that are visited: the first, the last, and evenly many of all between them."""


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
    names = {"sets": "include", "subset": "include", "parity": "even", "hyperplane": "include"}
    return [int(steps[names[kind]], 16)] if kind in names else []


def _pattern_bounds(steps: Steps) -> list[int]:
    """Return the ends of the reports of a few types."""
    size, low, high = steps["types"], numbers(steps["low"]), numbers(steps["high"])
    found: set[int] = set()
    for place in range(0, size, -(-size // 8)):
        held = [int(text[place // 4], 16) >> (3 - place % 4) & 1 for text in steps["sets"]]
        found.update(accumulate(h if own else lo for own, lo, h in zip(held, low, high, strict=True)))
    return some(sorted(found))


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
    found: set[int] = set()
    blanks = numbers(steps["blanks"])
    for number in range(len(blanks)) if steps["slots"] <= 4 else {0, len(blanks) - 1}:
        found.update(_event_ends(steps, number, blanks[number]))
    return sorted(found if len(found) <= 5 * SOME else {*blanks, *some(sorted(found))})


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
