"""What one report says of a cell of a table: its score, unbiased whatever the population, and its moments.

For attributes A with subsets of w_j of k_j values let m_j say whether the j-th value of a cell is in the
report's subset, and u_j = m_j - w_j / k_j. For a user with the answer x and a set S of attributes the mean of
the product of u_j over S is lambda_S times the product of [x_j is the cell's value] - 1/k_j: only sets
that hold the answer count, and these match each attribute or do not
(:class:`~mechdesign.families.marginals.sets.shapes.SetLaw`). So the score

    sum over S in A of (product of 1/k_j over A without S) (product of u_j over S) / lambda_S

has the mean 1 for users in the cell and 0 for all others. It takes one of 2^|A| values, by the pattern m.

:class:`CountedParts` says where the bits of reports and the server's counters stand, and counts reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.collect.codec import Codes
from mechdesign.core.errors import RowError
from mechdesign.exact.bits import Packed, member_counts
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.marginals.sets.shapes import Factor, Pattern, SetLaw
from mechdesign.primitives.oracle import draw_moments, mixed, one_more

Array = NDArray[np.float64]
Moments = tuple[Fraction, ...]
"""E[score^r] for r from 1 to 4."""


def parts_of(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all subsets, from the empty one on.

    Examples
    --------
    >>> list(parts_of([3, 5]))
    [(), (3,), (5,), (3, 5)]
    """
    return chain.from_iterable(combinations(places, count) for count in range(len(places) + 1))


class TableScore(ABC):
    """The score of the cells of one table.

    Attributes
    ----------
    cells : int
        How many the table has.
    patterns : tuple of tuple of bool
        In which attributes another user may agree with a cell; the first is that of users in it.
    """

    cells: int
    patterns: tuple[Pattern, ...]

    @abstractmethod
    def moments(self, pattern: Pattern) -> Moments:
        """Return the moments of the score for users who agree with the cell in these attributes."""

    @abstractmethod
    def square(self) -> Fraction:
        """Return the sum of the squared scores over all cells, which is the same for every report."""

    @property
    @abstractmethod
    def step(self) -> float:
        """The distance of two scores next to each other where there are only two; else 0."""

    @cached_property
    def table(self) -> Array:
        """The second to fourth moments by pattern, shape (patterns, 3)."""
        return np.array([[float(part) for part in self.moments(each)[1:]] for each in self.patterns])


class ProductScore(TableScore):
    """The score of a table of attributes that are a factor each.

    Parameters
    ----------
    law : SetLaw
    include : int
        The weight R.
    places : sequence of int
        The factors.

    Examples
    --------
    >>> score = ProductScore(SetLaw(((2, 1), (3, 1)), 2), TOTAL // 2, [0, 1])
    >>> score.effect((0, 1)), [str(value) for value in score.moments((True, True))[:2]]
    (Fraction(1, 4), ['1', '71/36'])
    """

    def __init__(self, law: SetLaw, include: int, places: Sequence[int]) -> None:
        self.factors: tuple[Factor, ...] = tuple(law.factors[place] for place in places)
        self.cells = math.prod(size for size, _ in self.factors)
        self.share = Fraction(include, TOTAL)
        self._held, self._even = law.chances(places), law.even(places)
        self._own = range(len(self.factors))
        self.patterns = tuple(product((True, False), repeat=len(self.factors)))

    def gain(self, effect: Sequence[int]) -> Fraction:
        """Return lambda of an effect, given by places in the table: 1 of the empty one."""
        if not effect:
            return Fraction(1)
        total = Fraction(0)
        for matched, chance in self._held.items():
            factor = chance
            for place in effect:
                size, width = self.factors[place]
                factor *= Fraction(size - width if matched[place] else -width, size - 1)
            total += factor
        return self.share * total

    def effect(self, effect: Sequence[int]) -> Fraction:
        """Return eta of an effect: which part of the users, in clear, would say as much about it."""
        square = self.gain(effect) ** 2
        for place in effect:
            size, width = self.factors[place]
            square *= Fraction(size - 1, width * (size - width))
        return square

    @cached_property
    def coefficients(self) -> Mapping[tuple[int, ...], Fraction]:
        """By parts of the table: the factors of how often reports hold all values of a cell in that part."""
        moments = dict.fromkeys(parts_of(self._own), Fraction(0))
        for effect in parts_of(self._own):
            start = 1 / self.gain(effect)
            for place in self._own:
                if place not in effect:
                    start /= self.factors[place][0]
            for part in parts_of(effect):
                shares = (Fraction(-self.factors[i][1], self.factors[i][0]) for i in effect if i not in part)
                moments[part] += start * math.prod(shares, start=Fraction(1))
        return moments

    @cached_property
    def values(self) -> Mapping[Pattern, Fraction]:
        """The score by which values of the cell are in the report's subsets."""
        return {
            pattern: sum(
                (
                    factor
                    for part, factor in self.coefficients.items()
                    if all(pattern[place] for place in part)
                ),
                Fraction(0),
            )
            for pattern in self.patterns
        }

    def moments(self, pattern: Pattern) -> Moments:
        chances = {
            matched: self.share * self._held[matched] + (1 - self.share) * self._even[matched]
            for matched in self.patterns
        }
        law = {members: self._members(members, pattern, chances) for members in self.patterns}
        return tuple(
            sum((chance * self.values[members] ** power for members, chance in law.items()), Fraction(0))
            for power in (1, 2, 3, 4)
        )

    def _members(self, members: Pattern, agree: Pattern, chances: Mapping[Pattern, Fraction]) -> Fraction:
        """Return how likely the values of a cell in the report's subsets are exactly these."""
        total = Fraction(0)
        for matched, chance in chances.items():
            for (size, width), inside, same, match in zip(self.factors, members, agree, matched, strict=True):
                held = Fraction(match) if same else Fraction(width - match, size - 1)
                chance *= held if inside else 1 - held
            total += chance
        return total

    def square(self) -> Fraction:
        """Return (1 + the sum over effects of their dimension / eta) / cells."""
        total = Fraction(1)
        for effect in parts_of(self._own):
            if effect:
                total += math.prod(self.factors[place][0] - 1 for place in effect) / self.effect(effect)
        return total / self.cells

    @property
    def step(self) -> float:
        """The distance of two scores next to each other where there are only two; else 0."""
        different = set(self.values.values())
        return float(max(different) - min(different)) if len(different) == 2 else 0.0


class CellScore(TableScore):
    """The score of a table that is summed from a table of which reports name scattered cells.

    Parameters
    ----------
    law : SetLaw
        Of one factor.
    include : int
    cells : int
        How many the table has; the factor's number is a multiple of it.
    """

    def __init__(self, law: SetLaw, include: int, cells: int) -> None:
        ((self.size, self.width),) = law.factors
        self.cells, self.joined = cells, self.size // cells
        self.share = Fraction(include, TOTAL)
        self.patterns = ((True,), (False,))

    @property
    def gain(self) -> Fraction:
        """By how much likelier a report names the user's cell than another one."""
        return self.share * Fraction(self.size - self.width, self.size - 1)

    def effect(self) -> Fraction:
        """Return eta, which is the same for all effects."""
        return self.gain**2 * Fraction(self.size - 1, self.width * (self.size - self.width))

    @property
    def other(self) -> Fraction:
        """Probability that a report names a cell other than the user's."""
        return Fraction(self.width, self.size) - self.gain / self.size

    def moments(self, pattern: Pattern) -> Moments:
        own, rest, width = self.other + self.gain, self.size - 1, self.width
        if pattern[0]:
            law = mixed(
                own,
                one_more(draw_moments(self.joined - 1, width - 1, rest)),
                draw_moments(self.joined - 1, width, rest),
            )
        else:
            law = mixed(
                own, draw_moments(self.joined, width - 1, rest), draw_moments(self.joined, width, rest)
            )
        start = -self.joined * self.other
        return tuple(
            sum((math.comb(r, j) * law[j] * start ** (r - j) for j in range(r + 1)), Fraction(0))
            / self.gain**r
            for r in (1, 2, 3, 4)
        )

    def square(self) -> Fraction:
        """Return (1 + (cells - 1) / eta) / cells, on average over the reports of a user."""
        return (1 + (self.cells - 1) / self.effect()) / self.cells

    @property
    def step(self) -> float:
        """The distance of two scores next to each other where no cells are summed; else 0."""
        return float(1 / self.gain) if self.joined == 1 else 0.0


View = tuple[int, ...]

BLOCK = 1 << 14
"""Reports that are counted at a time: all their numbers are exact in single precision."""


class CountedParts(Sealed):
    """The counters of the reported sets: how many hold each cell of each counted part.

    Parameters
    ----------
    factors : sequence of (int, int)
    tables : sequence of tuple of int
        Sets of factors of which the cells are counted, and all their parts with them.

    Examples
    --------
    >>> layout = CountedParts([(2, 1), (3, 2)], [(0, 1)])
    >>> layout.parts, layout.counters
    (((0,), (1,), (0, 1)), 11)
    >>> layout.count(np.array([[0b01011000]], dtype=np.uint8))
    array([0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1])
    """

    def __init__(self, factors: Sequence[Factor], tables: Sequence[View]) -> None:
        self.factors = tuple(factors)
        sizes = [size for size, _ in self.factors]
        self.starts: tuple[int, ...] = (0, *accumulate(sizes))
        self.bits: int = self.starts[-1]
        single = {(place,) for place in range(len(sizes))}
        all_parts = single | {part for table in tables for part in parts_of(table) if part}
        self.parts: tuple[View, ...] = tuple(sorted(all_parts, key=lambda part: (len(part), part)))
        cells = [self.cells(part) for part in self.parts]
        ends = np.cumsum(cells).tolist()
        self.places = {
            part: slice(end - size, end) for part, size, end in zip(self.parts, cells, ends, strict=True)
        }
        self.counters: int = ends[-1]

    def cells(self, part: View) -> int:
        """Return the number of cells of the table over some factors."""
        return math.prod(self.factors[place][0] for place in part)

    def held(self, part: View) -> int:
        """Return the number of cells of a part that every report holds."""
        return math.prod(self.factors[place][1] for place in part)

    def group(self, place: int) -> slice:
        """Return the bits of a factor."""
        return slice(self.starts[place], self.starts[place + 1])

    def require_widths(self, packed: Packed) -> None:
        """Raise RowError for a report with another number of values of some factor."""
        for rows in self._blocks(packed):
            bits = np.unpackbits(packed[rows], axis=1, count=self.bits)
            sums = np.add.reduceat(bits, self.starts[:-1], axis=1, dtype=np.int64)
            wrong = sums != np.array([width for _, width in self.factors])
            if wrong.any():
                row = int(np.argmax(wrong.any(axis=1)))
                place = int(np.argmax(wrong[row]))
                raise RowError(
                    "reports",
                    rows.start + row,
                    f"holds {int(sums[row, place])} values of attribute {place}, "
                    f"not {self.factors[place][1]}",
                    "use the mechanism file the reports were made with",
                )

    def count(self, packed: Packed) -> Codes:
        """Return for each cell of each part how many reports hold it."""
        counts = np.zeros(self.counters, dtype=np.int64)
        counts[: self.bits] = member_counts(packed, self.bits)
        if len(self.parts) == len(self.factors):
            return counts
        for rows in self._blocks(packed):
            bits = np.unpackbits(packed[rows], axis=1, count=self.bits).astype(np.float32)
            for first, seconds in self._pairs:
                left, right = bits[:, self.group(first)], bits[:, self._columns[first]]
                both = (left.T @ right).astype(np.int64)
                start = 0
                for second in seconds:
                    size = self.factors[second][0]
                    counts[self.places[first, second]] += both[:, start : start + size].ravel()
                    start += size
            for part in self.parts:
                if len(part) > 2:
                    product = self._product(bits, part[:-1])
                    held = product.T @ bits[:, self.group(part[-1])]
                    counts[self.places[part]] += held.astype(np.int64).ravel()
        return counts

    @cached_property
    def _pairs(self) -> list[tuple[int, list[int]]]:
        """The counted pairs by their first factor."""
        blocks: dict[int, list[int]] = {}
        for part in self.parts:
            if len(part) == 2:
                blocks.setdefault(part[0], []).append(part[1])
        return list(blocks.items())

    @cached_property
    def _columns(self) -> dict[int, list[int]]:
        """The bits of all second factors of a first one, side by side."""
        return {
            first: [bit for second in seconds for bit in range(self.starts[second], self.starts[second + 1])]
            for first, seconds in self._pairs
        }

    def _product(self, bits: NDArray[np.float32], part: View) -> NDArray[np.float32]:
        """Return whether each report holds each cell of a part, (n, cells)."""
        members = bits[:, self.group(part[0])]
        for place in part[1:]:
            members = (members[:, :, None] * bits[:, None, self.group(place)]).reshape(len(bits), -1)
        return members

    @staticmethod
    def _blocks(packed: Packed) -> Iterator[slice]:
        for start in range(0, len(packed), BLOCK):
            yield slice(start, min(len(packed), start + BLOCK))
