"""Sets of answers that a report can name, their chances as integers, and the exact drawing of sets.

An answer is one value of each of several attributes. A shape sorts the attributes into *factors*, each with a
number of values k and a width w, the number of them that a report names. A report is one subset of each
factor; it *holds* an answer when at least a required number of factors match it. So there are products of
subsets, scattered cells, and enough matches.

A report is drawn in one of two ways (:class:`SetLaw`), the weight R of the first being out of T = 2**62:
uniformly among the sets that hold the answer, else uniformly among all sets. With N sets in all, of which
N_in hold an answer, whichever it is, a set that holds it has the chance R / (T N_in) + (T - R) / (T N) and
any other one (T - R) / (T N). So all reports have one of two chances for every answer, and the ratio of these
two is the whole story of the privacy: 1 + R N / ((T - R) N_in).

Sets are drawn exactly with the probabilities that are audited, for all users of a block at once.

Uniform subsets: drawn as members or as packed bits, and bits below a weight.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.kernel import Steps, row_hex, whole_hex
from mechdesign.core.errors import ModelFileError, ParameterError, counted
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.bits import Packed, compiled, width as bytes_of
from mechdesign.exact.draws import Again, below
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, exp_written
from mechdesign.families.marginals.oracles.support import ReportClass
from mechdesign.primitives.attributes import Attributes

MEMBER_NANOSECONDS = 10
"""What it takes for a member of a subset, about."""


def draw_subsets(without: Codes, categories: int, size: int, source: BitSource) -> NDArray[np.bool_]:
    """Return for each row a uniform subset of this size of all categories but one (Floyd's algorithm).

    Parameters
    ----------
    without : (n,) int array
        The category that each row leaves out.
    categories, size : int

    Returns
    -------
    (n, categories) bool array
        Membership.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> draw_subsets(np.array([0, 2]), 3, 2, bit_source(1)).astype(int)
    array([[0, 1, 1],
           [1, 1, 0]])
    """
    count, others = len(without), categories - 1
    member = np.zeros((count, categories), dtype=np.bool_)
    flat, start = member.reshape(-1), np.arange(count, dtype=np.int64) * categories
    for last in range(others - size, others):
        draws = below(last + 1, count, source)
        place = start + draws + (draws >= without)
        newest = start + last + (last >= without)
        flat[np.where(flat[place], newest, place)] = True
    return member


def packed_subsets(without: Codes, categories: int, size: int, source: BitSource) -> NDArray[np.uint8]:
    """Return subsets as :func:`draw_subsets` draws them, as packed bits; category 0 is the highest of byte 0.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> np.unpackbits(packed_subsets(np.array([0, 2]), 3, 2, bit_source(1)), axis=1)[:, :3]
    array([[0, 1, 1],
           [1, 1, 0]], dtype=uint8)
    """
    count, others = len(without), categories - 1
    loop = compiled(floyd_members, MEMBER_NANOSECONDS * count * size)
    if loop is None or not count * size:
        return np.packbits(draw_subsets(without, categories, size, source), axis=1)
    draws = source.integers(count * size)
    limits = np.arange(others - size + 1, others + 1, dtype=np.int64)
    bits = np.zeros((count, (categories + 7) // 8), dtype=np.uint8)
    if not loop(bits.reshape(-1), bits.shape[1], without, draws, limits, TOTAL - TOTAL % limits):
        again = Again(draws, source)
        return np.packbits(draw_subsets(without, categories, size, again), axis=1)
    return bits


Factor = tuple[int, int]
"""Number of values, and of those that a report names."""

MOST_CELLS = 1 << 16
"""Cells of the table that a CellSet takes subsets of, at most."""


def floyd_members(bits: Packed, size: int, without: Codes, draws: Codes, limits: Codes, ends: Codes) -> bool:
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


@frozen_value()
class SetShape:
    """Base class of the shapes of reported sets."""

    kind: ClassVar[str]

    @abstractmethod
    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        """Return the attributes of each factor."""

    @abstractmethod
    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        """Return the number of values and the width of each factor; refuse those that do not fit."""

    @abstractmethod
    def least(self, attributes: Attributes) -> int:
        """Return the least number of factors that match an answer in a set that holds it."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return kind and numbers as plain values."""


def _fixed(name: str, widths: Any) -> tuple[Any, ...]:
    if isinstance(widths, str) or not isinstance(widths, Sequence):
        raise ParameterError(name, f"expected a list of integers, got {text_of(widths)}")
    return tuple(widths)


@frozen_value()
class ProductSet(SetShape):
    """A subset of the values of each attribute: the set holds the answers with every value in its subset.

    Parameters
    ----------
    widths : sequence of int
        For each attribute the number w of values in its subset, from 1 to one less than it has.

    Examples
    --------
    >>> ProductSet([1, 4]).factors(Attributes([2, 16]))
    ((2, 1), (16, 4))
    """

    kind: ClassVar[str] = "product"
    widths: Sequence[int] = value_field(_fixed)

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        return tuple((place,) for place in range(attributes.count))

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        return _singles(attributes, self.widths)

    def least(self, attributes: Attributes) -> int:
        return attributes.count

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "widths": [int(width) for width in self.widths]}


@frozen_value()
class MatchSet(SetShape):
    """A subset of the values of each attribute: the set holds the answers with enough matches.

    Parameters
    ----------
    widths : sequence of int
        As of a :class:`ProductSet`.
    matches : int
        How many attributes have to match, from 1 to all of them.

    Examples
    --------
    >>> MatchSet([1, 1, 1], matches=2).least(Attributes([2, 2, 2]))
    2
    """

    kind: ClassVar[str] = "matches"
    widths: Sequence[int] = value_field(_fixed)
    matches: int

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        return tuple((place,) for place in range(attributes.count))

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        return _singles(attributes, self.widths)

    def least(self, attributes: Attributes) -> int:
        return integer("matches", self.matches, 1, attributes.count)

    def as_json(self) -> dict[str, Any]:
        widths = [int(width) for width in self.widths]
        return {"kind": self.kind, "widths": widths, "matches": int(self.matches)}


@frozen_value()
class CellSet(SetShape):
    """Any ``width`` cells of the table of all attributes, wherever they lie: subset selection of cells.

    Parameters
    ----------
    width : int
        The number of cells in the set, from 1 to one less than the table has.

    Examples
    --------
    >>> CellSet(3).factors(Attributes([4, 4]))
    ((16, 3),)
    """

    kind: ClassVar[str] = "cells"
    width: int

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(attributes.count)),)

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        cells = attributes.cells(range(attributes.count))
        if cells > MOST_CELLS:
            raise ParameterError("sets", f"a table of {cells} cells", f"give at most {MOST_CELLS}")
        return ((cells, integer("width", self.width, 1, cells - 1)),)

    def least(self, attributes: Attributes) -> int:
        return 1

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "width": int(self.width)}


def _singles(attributes: Attributes, widths: Sequence[int]) -> tuple[Factor, ...]:
    if len(widths) != attributes.count:
        raise ParameterError(
            "widths", f"{counted(len(widths), 'number')} for {attributes.count} attributes", "give one each"
        )
    return tuple(
        (size, integer(f"widths: attribute '{name}'", width, 1, size - 1))
        for name, size, width in zip(attributes.shown(), attributes.sizes, widths, strict=True)
    )


def shape_of(document: Mapping[str, Any]) -> SetShape:
    """Return the shape that :meth:`SetShape.as_json` wrote.

    Examples
    --------
    >>> shape_of({"kind": "cells", "width": 2})
    CellSet(width=2)
    """
    kinds: tuple[type[SetShape], ...] = (ProductSet, MatchSet, CellSet)
    content = {key: value for key, value in document.items() if key != "kind"}
    for kind in kinds:
        if kind.kind == document["kind"]:
            return kind(**content)
    raise ModelFileError("sets", f"no kind '{text_of(document['kind'])}'", "rebuild it")


Pattern = tuple[bool, ...]
"""Which of some factors match."""

KINDS = ("a set with both", "a set with the first only", "a set with the second only", "a set with neither")


@dataclass(frozen=True)
class SetLaw:
    """The sets of some factors of which at least ``least`` match.

    Parameters
    ----------
    factors : tuple of (int, int)
        The number of values k and the width w of each.
    least : int
        How many have to match for a set to hold an answer.

    Examples
    --------
    >>> law = SetLaw(((2, 1), (4, 2)), 2)
    >>> law.sets, law.holding, law.both  # of 12 sets 3 hold an answer; none holds two that differ everywhere
    (12, 3, 0)
    >>> SetLaw(((2, 1), (2, 1), (2, 1)), 2).chances([0])[(True,)]  # of the 4 sets that hold, 3 match here
    Fraction(3, 4)
    """

    factors: tuple[Factor, ...]
    least: int

    @cached_property
    def sets(self) -> int:
        """The number N of all sets."""
        return math.prod(math.comb(size, width) for size, width in self.factors)

    @cached_property
    def holding(self) -> int:
        """The number N_in of sets that hold an answer."""
        if self.needs_all:
            return math.prod(ways(factor, True) for factor in self.factors)
        return self.tails[0][self.least]

    @property
    def needs_all(self) -> bool:
        """Whether every factor has to match: the sets are products."""
        return self.least == len(self.factors)

    @cached_property
    def tails(self) -> tuple[tuple[int, ...], ...]:
        """By factor j and number s: the choices from factor j on with at least s matches there."""
        return _tails(self.factors, self.least)

    @cached_property
    def both(self) -> int:
        """Number of sets that hold both of two answers that differ in every factor."""
        counts: dict[tuple[int, int], int] = {(0, 0): 1}
        for place, (size, width) in enumerate(self.factors):
            left = len(self.factors) - place - 1
            steps = [
                (1, 1, math.comb(size - 2, width - 2) if width >= 2 else 0),
                (1, 0, math.comb(size - 2, width - 1)),
                (0, 1, math.comb(size - 2, width - 1)),
                (0, 0, math.comb(size - 2, width)),
            ]
            ways: dict[tuple[int, int], int] = {}
            for (first, second), count in counts.items():
                for one, two, choices in steps:
                    key = (min(self.least, first + one), min(self.least, second + two))
                    if choices and min(key) + left >= self.least:  # else one of them cannot be held any more
                        ways[key] = ways.get(key, 0) + count * choices
            counts = ways
        return counts.get((self.least, self.least), 0)

    def chances(self, places: Sequence[int]) -> dict[Pattern, Fraction]:
        """Return how likely each pattern of matches in some factors is among the sets that hold an answer."""
        if self.needs_all:
            patterns = product((True, False), repeat=len(places))
            return {pattern: Fraction(int(all(pattern))) for pattern in patterns}
        chosen = [self.factors[place] for place in places]
        rest = tuple(factor for place, factor in enumerate(self.factors) if place not in set(places))
        tails = _tails(rest, self.least)[0]
        chances = {}
        for pattern in product((True, False), repeat=len(chosen)):
            count = math.prod(ways(factor, match) for factor, match in zip(chosen, pattern, strict=True))
            needed = max(0, self.least - sum(pattern))
            chances[pattern] = Fraction(count * tails[needed], self.holding)
        return chances

    def even(self, places: Sequence[int]) -> dict[Pattern, Fraction]:
        """Return how likely each pattern of matches is among all sets."""
        chosen = [Fraction(self.factors[place][1], self.factors[place][0]) for place in places]
        return {
            pattern: math.prod(
                (share if match else 1 - share for share, match in zip(chosen, pattern, strict=True)),
                start=Fraction(1),
            )
            for pattern in product((True, False), repeat=len(chosen))
        }

    def largest_weight(self, epsilon: float) -> int:
        """Return the largest weight R, out of 2**62, that keeps the guarantee."""
        excess = (exp_written(epsilon) - 1) * self.holding
        return math.floor(TOTAL * excess / (excess + self.sets))

    def weights(self, include: int) -> tuple[int, int]:
        """Return the weights of a set that holds the answer and of one that does not, in a common unit."""
        outside = (TOTAL - include) * self.holding
        return include * self.sets + outside, outside

    def classes(self, include: int) -> tuple[ReportClass, ...]:
        """Return the sets by which of two answers they hold.

        The two differ in every factor. For any other two the numbers of sets are others, and the weights the
        same: the worst ratio is that of these weights for all pairs of answers.
        """
        inside, outside = self.weights(include)
        one = self.holding - self.both
        counts = (self.both, one, one, self.sets - 2 * self.holding + self.both)
        sides = ((inside, inside), (inside, outside), (outside, inside), (outside, outside))
        return tuple(
            ReportClass(name, count, *side) for name, count, side in zip(KINDS, counts, sides, strict=True)
        )


def ways(factor: Factor, match: bool) -> int:
    """Return the number of subsets of a factor that hold a value, or that do not."""
    size, width = factor
    return math.comb(size - 1, width - 1) if match else math.comb(size - 1, width)


def _tails(factors: Sequence[Factor], least: int) -> tuple[tuple[int, ...], ...]:
    """Return by factor j and number s <= least the choices from j on with at least s matches."""
    after = (1,) + (0,) * least
    tails = [after]
    for factor in reversed(factors):
        hit, miss = ways(factor, True), ways(factor, False)
        more = (hit * after[needed - 1] + miss * after[needed] for needed in range(1, least + 1))
        after = ((hit + miss) * after[0], *more)
        tails.append(after)
    return tuple(tails[::-1])


Member = NDArray[np.bool_]
Packed_shapes = NDArray[np.uint8]

BLOCK = 1 << 21
"""Entries of a table of membership that are drawn at a time."""


def draw_sets(law: SetLaw, include: int, codes: Codes, source: BitSource) -> Packed_shapes:
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
