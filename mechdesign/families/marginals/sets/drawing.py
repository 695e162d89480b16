"""Drawing of sets: exactly with the probabilities that are audited, for all users of a block at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.recipes import Steps, row_hex, whole_hex
from mechdesign.exact.draw.draws import below, draw_subsets
from mechdesign.exact.draw.packed import width as bytes_of
from mechdesign.exact.randomness import BITS, TOTAL, BitSource
from mechdesign.families.marginals.sets.shapes import SetLaw, ways

Member = NDArray[np.bool_]
Packed = NDArray[np.uint8]

BLOCK = 1 << 21
"""Entries of a table of membership that are drawn at a time."""


def draw_sets(law: SetLaw, include: int, codes: Codes, source: BitSource) -> Packed:
    """Return a packed set for the value of every factor, shape (n, factors).

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> law = SetLaw(((2, 1), (3, 1)), 2)
    >>> np.unpackbits(draw_sets(law, TOTAL - 1, np.array([[1, 2]]), bit_source(1)), axis=1, count=5)
    array([[0, 1, 0, 0, 1]], dtype=uint8)
    """
    bits = sum(size for size, _ in law.factors)
    packed = np.empty((len(codes), bytes_of(bits)), dtype=np.uint8)
    rows = 1 << max(0, (BLOCK // bits).bit_length() - 1)
    for start in range(0, len(codes), rows):
        part = codes[start : start + rows]
        packed[start : start + rows] = np.packbits(_members(law, include, part, bits, source), axis=1)
    return packed


def _members(law: SetLaw, include: int, codes: Codes, bits: int, source: BitSource) -> Member:
    """Return membership in the sets of all factors, side by side."""
    held = source.integers(len(codes)) < include
    inside, outside = np.flatnonzero(held), np.flatnonzero(~held)
    matches = draw_matches(law, len(inside), source)
    member = np.zeros((len(codes), bits), dtype=np.bool_)
    start = 0
    for place, (size, width) in enumerate(law.factors):
        table, own = member[:, start : start + size], codes[:, place]
        hit = inside if matches is None else inside[matches[:, place]]
        _fill(table, hit, own[hit], size, width - 1, source)
        table[hit, own[hit]] = True
        if matches is not None:
            miss = inside[~matches[:, place]]
            _fill(table, miss, own[miss], size, width, source)
        _fill(table, outside, None, size, width, source)
        start += size
    return member


def _fill(
    table: Member, rows: Codes, without: Codes | None, size: int, width: int, source: BitSource
) -> None:
    """Put a uniform subset of this width into rows, of all values or of all but one."""
    if width == 0 or not len(rows):
        return
    if without is None:
        if width == 1:
            table[rows, below(size, len(rows), source)] = True
            return
        without, others, last = np.full(len(rows), size, dtype=np.int64), size, size + 1
    else:
        others, last = size - 1, size
        if width == 1:
            draws = below(others, len(rows), source)
            table[rows, draws + (draws >= without)] = True
            return
    if 2 * width <= others:
        table[rows] = draw_subsets(without, last, width, source)[:, :size]
        return
    left = ~draw_subsets(without, last, others - width, source)[
        :, :size
    ]  # fewer draws: those that are left out
    if last == size:
        left[np.arange(len(rows)), without] = False
    table[rows] = left


def sets_steps(law: SetLaw, include: int, joined: Sequence[int] | None) -> Steps:
    """Return how a set is drawn, as plain values for clients; ``joined``: all values are one cell."""
    return {
        "step": "sets",
        "factors": [list(map(int, factor)) for factor in law.factors],
        "include": whole_hex(include),
        "joined": None if joined is None else list(joined),
        "least": law.least,
        "matches": None
        if law.needs_all
        else [_chance_table(law, place) for place in range(len(law.factors))],
    }


def _chance_table(law: SetLaw, place: int) -> Steps:
    """Return the chances of a match, by how many are still needed: 62 binary digits, and the remainder."""
    numerators, now = match_chances(law, place)
    rows = [divmod(many << BITS, of) if of else (0, 0) for many, of in zip(numerators, now, strict=True)]
    rests = [(f"{rest:x}", f"{of:x}") for (_, rest), of in zip(rows, now, strict=True)]
    return {"limits": row_hex([limit for limit, _ in rows]), "rests": [list(pair) for pair in rests]}


def match_chances(law: SetLaw, place: int) -> tuple[list[int], tuple[int, ...]]:
    """Return numerators and denominators of the probabilities that a factor matches, by how many are needed.

    A match is chosen with C(k-1, w-1) after[needed - 1] of the now[needed] ways.
    """
    after, hits = law.tails[place + 1], ways(law.factors[place], True)
    return [hits * after[max(0, left - 1)] for left in range(law.least + 1)], law.tails[place]


def draw_matches(law: SetLaw, count: int, source: BitSource) -> Member | None:
    """Return the factors that match the answer, drawn among the sets that hold it; None where all must match.

    Factor after factor, each with the exact chance that it matches given how many more have to.
    """
    total = len(law.factors)
    if law.needs_all:
        return None
    matches = np.empty((count, total), dtype=np.bool_)
    needed = np.full(count, law.least, dtype=np.int64)
    for place in range(total):
        matches[:, place] = _happens(*match_chances(law, place), needed, source)
        needed = np.maximum(0, needed - matches[:, place])
    return matches


def _happens(
    numerators: Sequence[int], denominators: Sequence[int], which: Codes, source: BitSource
) -> NDArray[np.bool_]:
    """Return for every row whether something with its rational chance happens, exactly.

    A uniform number of 62 binary digits decides, and where it equals the first 62 digits of the chance,
    the next 62 of both do, and so on.

    Parameters
    ----------
    numerators, denominators : sequence of int
        Chances, of any size; those with the denominator 0 are not asked for.
    which : (n,) int array
        The number of the chance of each row.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> _happens([0, 7], [1, 7], np.array([0, 1, 1]), bit_source(1))
    array([False,  True,  True])
    """
    digits, rests = [], []
    for numerator, denominator in zip(numerators, denominators, strict=True):
        digit, rest = divmod(numerator << BITS, denominator) if denominator else (0, 0)
        digits.append(digit)
        rests.append(rest)
    limits = np.array(digits, dtype=np.int64)[which]
    draws = source.integers(len(which))
    happens: NDArray[np.bool_] = draws < limits
    for row in np.flatnonzero((draws == limits) & (limits < TOTAL)).tolist():
        rest, denominator = rests[int(which[row])], denominators[int(which[row])]
        while rest:
            digit, rest = divmod(rest << BITS, denominator)
            more = int(source.integers(1)[0])
            if more != digit:
                happens[row] = more < digit
                break
    return happens
