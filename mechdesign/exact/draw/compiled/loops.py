"""The loops, in the part of Python that numba compiles; without it they run as they are, slowly.

Numbers of 64 bits are kept apart from signed ones: numba makes a float of a sum of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def settle_bits(draws: Words, undecided: Words, places: Codes, result: Words, digit: bool) -> int:
    """Compare a binary digit of each number with the limit's; return how many words have an open bit.

    ``places`` are those of the words on the list, empty for all words in order.
    """
    left = 0
    everywhere = len(places) == 0
    for number in range(len(draws)):
        before = undecided[number]
        if digit:
            place = number if everywhere else places[number]
            result[place] |= before & ~draws[number]
            after = before & draws[number]
        else:
            after = before & ~draws[number]
        undecided[number] = after
        if after:
            left += 1
    return left


def shortened(undecided: Words, places: Codes, still: Words, left: Codes) -> None:
    """Write the words that have an open bit, and their places, into two shorter arrays."""
    at = 0
    everywhere = len(places) == 0
    for number in range(len(undecided)):
        if undecided[number]:
            still[at] = undecided[number]
            left[at] = number if everywhere else places[number]
            at += 1


def own_bits(bits: Bytes, size: int, codes: Codes, draws: Codes, limit: int, inside: int) -> None:
    """Set the bit of each row's own category where its number is below a limit, else clear it.

    ``bits`` holds ``size`` bytes a row; ``inside`` is the mask of the last byte's bits of categories.
    """
    for row in range(len(codes)):
        place = row * size + (codes[row] >> 3)
        mask = 128 >> (codes[row] & 7)
        if draws[row] < limit:
            bits[place] = np.uint8(bits[place] | mask)
        else:
            bits[place] = np.uint8(bits[place] & (255 - mask))
        last = row * size + size - 1
        bits[last] = np.uint8(bits[last] & inside)


def corrected(bits: Bytes, size: int, rows: Codes, lacking: Codes, without: Codes, candidates: Codes) -> int:
    """Add the candidates of each row that lacks members; remove those of each row that has too many.

    Row ``rows[i]`` has as many candidates, one after the other, as it lacks members or has too many of them.
    What each lacks afterwards is written over ``rows`` and ``lacking``; returns for how many rows.
    """
    at, left = 0, 0
    for number in range(len(rows)):
        row, lack = rows[number], lacking[number]
        start, own, adds = row * size, without[row], lack > 0
        for _ in range(abs(lack)):
            category = candidates[at]
            at += 1
            place, mask = start + (category >> 3), 128 >> (category & 7)
            if adds and category != own and not bits[place] & mask:
                bits[place] = np.uint8(bits[place] | mask)
                lack -= 1
            elif not adds and bits[place] & mask:
                bits[place] = np.uint8(bits[place] & (255 - mask))
                lack += 1
        if lack:
            rows[left], lacking[left] = row, lack
            left += 1
    return left


def floyd_members(bits: Bytes, size: int, without: Codes, draws: Codes, limits: Codes, ends: Codes) -> bool:
    """Fill empty sets by Floyd's algorithm; return whether all numbers were below the ends of their limits.

    The numbers of all rows for the first limit come first. Where a number is beyond the last multiple of its
    limit, the sets are not to be used.
    """
    count = len(without)
    for row in range(count):
        own, start = without[row], row * size
        for number in range(len(limits)):
            random, limit = draws[number * count + row], limits[number]
            if random >= ends[number]:
                return False
            category = random % limit
            if category >= own:
                category += 1
            place, mask = start + (category >> 3), 128 >> (category & 7)
            if bits[place] & mask:
                category = limit if limit > own else limit - 1
                place, mask = start + (category >> 3), 128 >> (category & 7)
            bits[place] = np.uint8(bits[place] | mask)
    return True


def of_parity(rows: NDArray[Any], even: NDArray[np.bool_], draws: NDArray[Any], reports: Codes) -> None:
    """Write the drawn numbers; where the parity with the row is wrong, the row's lowest digit is flipped."""
    for place in range(len(rows)):
        row, number = int(rows[place]), int(draws[place])
        parity = number & row
        parity ^= parity >> 32
        parity ^= parity >> 16
        parity ^= parity >> 8
        parity ^= parity >> 4
        parity = 0x6996 >> (parity & 15) & 1
        reports[place] = number ^ (row & -row) if parity == even[place] else number


def fitting(own: Codes, steps: Codes, elements: Codes, prime: int, counts: Codes) -> None:
    """Count for each report the elements of its bucket, brought back: every step from its own, modulo P."""
    for report in range(len(own)):
        cell, step = own[report], steps[report]
        for _ in range(elements[report]):
            counts[cell] += 1
            cell += step
            if cell >= prime:
                cell -= prime


def below_heads(
    values: NDArray[np.float64],
    start: float,
    width: float,
    heads: NDArray[np.uint16],
    span: float,
    low: int,
    high: int,
    reports: Bytes,
    undecided: Codes,
) -> int:
    """Write whether each head is below that of low plus a part of the span, which ends at high.

    The part is that of the value in the range from ``start``: the same operations on the same doubles as
    those of numpy, one user after the other. The rows where both heads are equal are written to
    ``undecided``; returns how many.
    """
    count = 0
    for row in range(len(values)):
        unit = min(max((values[row] - start) / width, 0.0), 1.0)
        part = int(unit * span)
        head = (low + (part if part < high - low else high - low)) >> 46
        draws = int(heads[row])
        reports[row] = draws < head
        if draws == head:
            undecided[count] = row
            count += 1
    return count


def loops() -> tuple[Any, ...]:
    """Return all loops."""
    sets = (settle_bits, shortened, own_bits, corrected, floyd_members)
    return (*sets, of_parity, fitting, below_heads)
