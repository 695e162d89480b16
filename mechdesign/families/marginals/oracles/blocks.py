"""Oracles that report a block of a design, likelier one with the own category: subsets and Hadamard response.

Of b blocks r go through each point and lambda through each two, whichever they are. With a weight w out of
T = 2**62 the block is uniform among those through the own point, else among the others, so that one through
it is w (b - r) / ((T - w) r) times as likely as one that is not. The chances of support, the audit and the
best weight follow from b, r and lambda; a design adds only which blocks there are. In a symmetric design of
v points b is v, and r is the size k of a block (Park, Nam, Lee 2023).

Subset selection reports k categories (Ye, Barg 2018); Hadamard response a number whose parity with the own
category is likelier even (Acharya et al.).

**Uniform subsets of one size, many at a time**: independent bits, then exact repair of the size. Bits that
are 1 with the same probability each make every set of a size equally likely, whatever that probability is.
Adding a uniform one of the members that a set lacks, or removing a uniform one of those that it has, keeps
this so. So the sets are uniform exactly; the probability decides only how much there is to repair.

Categories are drawn until enough of them could be added or removed: in a round each row draws as many as it
lacks, all rows in order, and those that could not be used are drawn again in the next round.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.errors import DataError, RowError, counted
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.data.intake import Values
from mechdesign.exact.bits import as_texts, compiled, member_counts, read_sets, unpacked_members, width
from mechdesign.exact.draws import FEW, TAIL, below, bernoulli_words, heads, tails_below
from mechdesign.exact.randomness import TOTAL, BitSource, exp_written, weight
from mechdesign.families.marginals.oracles.support import (
    ReportClass,
    SupportOracle,
    corrected,
    hadamard_transform,
    is_odd,
    of_parity,
)
from mechdesign.families.marginals.sets.shapes import packed_subsets
from mechdesign.primitives.oracle import Moments, Shares, of_sets

Packed = NDArray[np.uint8]

FEWEST = 64
"""Categories from which on it pays."""

MASK_NANOSECONDS = 30
"""What numpy takes for a category that is drawn for the repair, about."""


def digits(width: int, count: int, source: BitSource) -> NDArray[Any]:
    """Return independent uniform numbers of this many binary digits, as short as these allow.

    Parameters
    ----------
    width : int
        From 0 to 62.

    Returns
    -------
    (count,) array of uint8, uint16, uint32 or int64

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> digits(3, 1000, bit_source(1)).dtype, int(digits(3, 100, bit_source(1)).max())
    (dtype('uint8'), 7)
    """
    if count < FEW:
        return source.integers(count) & ((1 << width) - 1)
    size = next(size for size in (1, 2, 4, 8) if width <= 8 * size)
    kind = np.dtype(np.int64) if size == 8 else np.dtype(f"u{size}")
    draws: NDArray[Any] = source.words(-(-count * size // 8)).view(kind)[:count] & kind.type((1 << width) - 1)
    return draws


def below_weight(weight: int, count: int, source: BitSource) -> NDArray[np.bool_]:
    """Return independent decisions, each True with probability weight / 2**62 exactly.

    Parameters
    ----------
    weight : int
        From 0 to 2**62.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> round(float(below_weight(1 << 60, 100_000, bit_source(1)).mean()), 2)
    0.25
    """
    if count < FEW:
        return np.less(source.integers(count), weight)
    draws = heads(count, source)
    result: NDArray[np.bool_] = draws < weight >> TAIL
    undecided = np.flatnonzero(draws == weight >> TAIL)
    if len(undecided):
        result[undecided] = tails_below(weight, len(undecided), source)
    return result


def set_sizes(packed: Packed) -> NDArray[np.int64]:
    """Return the number of members of each set.

    Examples
    --------
    >>> set_sizes(np.array([[0b10100000, 1], [0, 255]], dtype=np.uint8)).tolist()
    [3, 8]
    """
    whole = packed.shape[1] % 8 == 0 and packed.flags.c_contiguous
    words = packed.view(np.uint64) if whole else packed
    sizes: NDArray[np.int64] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return sizes


def is_dense(categories: int, size: int) -> bool:
    """Whether subsets of this size are drawn sooner so than member by member.

    Examples
    --------
    >>> is_dense(1024, 276), is_dense(4, 1), is_dense(65536, 10)
    (True, False, False)
    """
    return categories >= FEWEST and 2 * math.sqrt(categories) <= 4 * size <= 3 * categories


def share_of(categories: int, size: int) -> int:
    """Return the weight out of 2**62 of a bit: size / categories in few binary digits, which are quick.

    It is about half a standard deviation of the size too small, as adding takes fewer draws than removing.
    """
    digits = math.ceil(math.log2(categories) / 2) + 2
    aim = size - math.sqrt(size * (categories - size) / categories) / 2
    return math.floor(aim / categories * (1 << digits)) * (TOTAL >> digits)


def dense_subsets(without: Codes, sizes: Codes, categories: int, share: int, source: BitSource) -> Packed:
    """Return for each row a uniform subset of its size of all categories but one, as packed bits.

    Parameters
    ----------
    without : (n,) int array
        The category that each row leaves out.
    sizes : (n,) int array
        The number of members of each row's set.
    categories : int
    share : int
        The probability of a bit before the repair, out of 2**62.
    source : BitSource

    Returns
    -------
    (n, 8 w) uint8 array
        With w words of 64 bits a row; category 0 is the highest bit of the first byte.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> sets = dense_subsets(np.array([0, 5]), np.array([2, 3]), 6, TOTAL // 2, bit_source(1))
    >>> np.unpackbits(sets, axis=1)[:, :6].sum(axis=1).tolist(), int(sets[0, 0] >> 7)
    ([2, 3], 0)
    """
    words = -(-categories // 64)
    draws = bernoulli_words(len(without) * words, share, source).reshape(-1, words)
    bits = draws.view(np.uint8)
    bits &= _inside(categories, words)
    bits[np.arange(len(without)), without >> 3] &= ~_mask(without)
    rows, lacking = _lacking(bits, np.arange(len(without)), sizes)
    while len(rows):
        candidates = below(categories, int(np.abs(lacking).sum()), source)
        loop = compiled(corrected, MASK_NANOSECONDS * len(candidates))
        if loop is None:
            _correct(bits, rows, lacking, without, candidates)
            rows, lacking = _lacking(bits, rows, sizes)
        else:
            left = loop(bits.reshape(-1), bits.shape[1], rows, lacking, without, candidates)
            rows, lacking = rows[:left], lacking[:left]
    return bits


def _lacking(bits: Packed, rows: Codes, sizes: Codes) -> tuple[Codes, Codes]:
    """Return those of these rows whose sets have not their size, and how many members each lacks."""
    sets = bits if len(rows) == len(bits) else bits[rows]
    lacking = sizes[rows] - np.bitwise_count(sets.view(np.uint64)).sum(axis=1, dtype=np.int64)
    wrong = np.flatnonzero(lacking)
    return rows[wrong], lacking[wrong]


def _correct(bits: Packed, rows: Codes, lacking: Codes, without: Codes, candidates: Codes) -> None:
    """Add the candidates of each row that lacks members; remove those of each row that has too many."""
    owner = np.repeat(np.arange(len(rows)), np.abs(lacking))
    row, adds = rows[owner], lacking[owner] > 0
    place, mask = row * bits.shape[1] + (candidates >> 3), _mask(candidates)
    flat = bits.reshape(-1)
    new, old = adds & (candidates != without[row]), ~adds
    np.bitwise_or.at(flat, place[new], mask[new])
    np.bitwise_and.at(flat, place[old], ~mask[old])


def _mask(categories: Codes) -> Packed:
    """Return the bit of each category in its byte."""
    masks: Packed = np.right_shift(128, categories & 7).astype(np.uint8)
    return masks


def _inside(categories: int, words: int) -> Packed:
    """Return the bytes of a row in which the bit of every category is 1."""
    return np.packbits(np.arange(64 * words) < categories)


@dataclass(frozen=True)
class BlockDesign:
    """Number of blocks, in all, through each point and through each two points; up to a common factor.

    Examples
    --------
    >>> fano = BlockDesign(7, 3, 1)
    >>> fano.support_shares(Fraction(3, 4))  # 3/4 * 1/3 + 1/4 * 2/4
    (Fraction(3, 4), Fraction(3, 8))
    """

    blocks: int
    through: int
    both: int

    def support_shares(self, through: Fraction) -> Shares:
        """Return how likely a block is through the own and through another point, given the former."""
        beside = Fraction(self.through - self.both, self.blocks - self.through)
        return through, through * Fraction(self.both, self.through) + (1 - through) * beside

    def largest_weight(self, epsilon: float) -> int:
        """Return the largest weight of the blocks through the user's point that keeps the guarantee."""
        inside = self.through * exp_written(epsilon)
        return math.floor(TOTAL * inside / (inside + self.blocks - self.through))

    def classes(self, include: int, names: Sequence[str]) -> tuple[ReportClass, ...]:
        """Return the blocks by which of two points they go through: both, the first, the second, neither."""
        inside, outside = include * (self.blocks - self.through), (TOTAL - include) * self.through
        one, neither = self.through - self.both, self.blocks - 2 * self.through + self.both
        sides = ((inside, inside), (inside, outside), (outside, inside), (outside, outside))
        counts = (self.both, one, one, neither)
        return tuple(
            ReportClass(name, count, *side) for name, count, side in zip(names, counts, sides, strict=True)
        )


class BlockOracle(SupportOracle):
    """Base class of the oracles of a block design.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    design : BlockDesign
    include : int
        The weight, out of 2**62, of the blocks through the own point.
    labels : sequence of str, optional
    """

    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]]
    """What blocks through both of two points, the first, the second and neither are called."""
    _weight_name: ClassVar[str] = "include"

    def _set_design(self, design: BlockDesign, include: int) -> None:
        self.design, self.include = design, weight(self._weight_name, include)
        self._require_private()

    def weights(self) -> dict[str, int]:
        return {self._weight_name: self.include}

    def support_shares(self) -> Shares:
        return self.design.support_shares(Fraction(self.include, TOTAL))

    def weight_ratio(self) -> float:
        """Return the weight of a block without the answer over that of a block with it."""
        own, design = self.support_shares()[0], self.design
        inside, outside = own / design.through, (1 - own) / (design.blocks - design.through)
        return float(outside / inside)

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the blocks by which of two categories they hold."""
        return self.design.classes(self.include, self._kinds_of_blocks)


class NumberedBlocks(BlockOracle):
    """Base class of the oracles whose blocks have numbers: the server counts how often each is reported."""

    @property
    def report_bits(self) -> int:
        return (self.design.blocks - 1).bit_length()

    @property
    def _report_text(self) -> str:
        return f"a number from 0 to {self.design.blocks - 1}"

    def read(self, reports: Any) -> NDArray[Any]:
        return Labels(self.design.blocks).encode(reports, "reports")

    @property
    def counters(self) -> int:
        return self.design.blocks

    def count(self, reports: NDArray[Any]) -> Codes:
        return np.bincount(reports, minlength=self.counters).astype(np.int64)

    @abstractmethod
    def supports(self, counts: Codes, users: int) -> Codes:
        """Return the number of reported blocks through each point."""

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless there are as many reports as users."""
        if sum(counts) != users:
            raise DataError(
                "aggregator",
                "the counts are damaged: not as many reports as users",
                "count the reports again",
            )


SUBSET_BLOCK = 1 << 19
"""Entries of a table of membership that are drawn at a time."""

DENSE_BLOCK = 1 << 22
"""Bits of sets that are drawn at a time where sets are large."""


class SubsetSelection(BlockOracle):
    """Report k of the D categories: the user's own and k - 1 others with weight include, else k others.

    Which others is uniform; the weight is out of T = 2**62. A set that holds the own category is
    include (D - k) / ((T - include) k) times as likely as one that does not.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    size : int
        k, from 1 to D - 1.
    include : int
        A weight out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Ye, Barg (2018), eq. (7); Wang et al. (2016).

    Examples
    --------
    >>> oracle = SubsetSelection.of(6, 1.0, size=2)
    >>> oracle.audit().holds, round(oracle.variance(), 6)
    (True, 2.399634)
    """

    type: ClassVar[str] = "subset-selection"
    _fixed_support: ClassVar[bool] = True
    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]] = (
        "a set with both",
        "a set with the first only",
        "a set with the second only",
        "a set with neither",
    )

    def __init__(
        self, categories: int, epsilon: float, size: int, include: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.size = integer("size", size, 1, self.labels.size - 1)
        self._set_design(subset_design(self.labels.size, self.size), include)

    @classmethod
    def of(cls, categories: int, epsilon: float, size: int, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        count = integer("categories", categories, 2)
        chosen = integer("size", size, 1, count - 1)
        return cls(
            count,
            privacy_epsilon(epsilon),
            chosen,
            subset_design(count, chosen).largest_weight(epsilon),
            labels,
        )

    def parameters(self) -> dict[str, int]:
        return {"size": self.size}

    def supported(self, cells: int) -> tuple[Moments, Moments]:
        return of_sets(self.support_shares()[0], self.labels.size, self.size, cells)

    @property
    def report_bits(self) -> int:
        return (math.comb(self.labels.size, self.size) - 1).bit_length()

    @property
    def _report_text(self) -> str:
        digits = 2 * width(self.labels.size)
        return f"'x' and {digits} hexadecimal digits: a bit a category, {self.size} of them 1"

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return packed sets, shape (n, bytes), for the number of each category."""
        reports = np.empty((len(codes), width(self.labels.size)), dtype=np.uint8)
        dense = is_dense(self.labels.size, self.size)
        entries = DENSE_BLOCK if dense else SUBSET_BLOCK
        rows = 1 << max(0, (entries // self.labels.size).bit_length() - 1)
        for start in range(0, len(codes), rows):
            part = codes[start : start + rows]
            draws = self._dense if dense and len(part) > 1 else self._one_by_one
            reports[start : start + rows] = draws(part, source)
        return reports

    def _one_by_one(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return sets as a client draws them."""
        draws = np.empty((len(codes), width(self.labels.size)), dtype=np.uint8)
        included = source.integers(len(codes)) < self.include
        for own in (True, False):
            where = np.flatnonzero(included == own)
            part = codes[where]
            sets = packed_subsets(part, self.labels.size, self.size - own, source)
            if own:
                sets[np.arange(len(where)), part >> 3] |= np.right_shift(128, part & 7).astype(np.uint8)
            draws[where] = sets
        return draws

    def _dense(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return sets of many members, many sets at a time."""
        included = source.integers(len(codes)) < self.include
        share = share_of(self.labels.size, self.size)
        sets = dense_subsets(codes, self.size - included.astype(np.int64), self.labels.size, share, source)
        bit = np.where(included, np.right_shift(128, codes & 7), 0).astype(np.uint8)
        sets[np.arange(len(codes)), codes >> 3] |= bit
        return sets[:, : width(self.labels.size)]

    def _client_steps(self) -> Steps:
        shape = {"categories": self.labels.size, "size": self.size}
        return {"step": "subset", **shape, "include": whole_hex(self.include)}

    def read(self, reports: Any) -> NDArray[Any]:
        packed = read_sets(reports, self.labels.size)
        sizes = set_sizes(packed)
        if (sizes != self.size).any():
            row = int(np.argmax(sizes != self.size))
            raise RowError(
                "reports",
                row,
                f"a set of {int(sizes[row])} categories, not of {self.size}",
                "use the mechanism file the reports were made with",
            )
        return packed

    def count(self, reports: NDArray[Any]) -> Codes:
        return member_counts(reports, self.labels.size)

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        return unpacked_members(read, self.labels.size, place)

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError unless the counts add up to k a report."""
        if sum(counts) != self.size * users:
            raise DataError(
                "aggregator",
                f"the counts are damaged: not {counted(self.size, 'category')} a report",
                "count the reports again",
            )

    def written(self, reports: NDArray[Any]) -> Values:
        return as_texts(reports)


def subset_design(categories: int, size: int) -> BlockDesign:
    """Return the design of all subsets of k of D categories: k/D of them hold a category.

    Examples
    --------
    >>> subset_design(3, 2)  # six times half of the three sets, of which two hold a category, one holds two
    BlockDesign(blocks=6, through=4, both=2)
    """
    others = categories - 1
    return BlockDesign(categories * others, size * others, size * (size - 1))


HADAMARD_BLOCK = 1 << 16
"""Reports that are drawn at a time."""

PARITY_NANOSECONDS = 12
"""What numpy takes for a report, about."""


class HadamardResponse(NumberedBlocks):
    """Report a number y below K, a power of two above D: one that the user's row marks with even / 2**62.

    Row x + 1 of the Hadamard matrix of order K marks the half of all y with an even number of common binary
    digits; any two rows mark half of each other's. Reports have log2 K bits only.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise, audited here.
    even : int
        A weight out of 2**62.
    labels : sequence of str, optional

    Notes
    -----
    Source: Acharya, Sun, Zhang (2019), section 3, the scheme for high privacy.

    Examples
    --------
    >>> oracle = HadamardResponse.of(6, 1.0)
    >>> oracle.order, oracle.report_bits, round(oracle.variance(), 6)  # ((e + 1)/(e - 1))^2
    (8, 3, 4.682694)
    """

    type: ClassVar[str] = "hadamard-response"
    most_categories: ClassVar[int] = 1 << 20
    _weight_name: ClassVar[str] = "even"
    _kinds_of_blocks: ClassVar[tuple[str, str, str, str]] = (
        "a number that both rows mark",
        "a number that the first row marks",
        "a number that the second row marks",
        "a number that neither row marks",
    )

    def __init__(
        self, categories: int, epsilon: float, even: int, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.order = 1 << self.labels.size.bit_length()
        self._set_design(hadamard_design(self.order), even)

    @classmethod
    def of(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        return cls(categories, privacy_epsilon(epsilon), hadamard_design(4).largest_weight(epsilon), labels)

    @property
    def even(self) -> int:
        """The weight of the half that the user's row marks."""
        return self.include

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), HADAMARD_BLOCK):
            even = below_weight(self.even, len(codes[start : start + HADAMARD_BLOCK]), source)
            draws = digits(self.order.bit_length() - 1, len(even), source)
            row = codes[start : start + HADAMARD_BLOCK].astype(draws.dtype) + draws.dtype.type(1)
            loop = compiled(of_parity, PARITY_NANOSECONDS * len(row))
            if loop is None:
                reports[start : start + HADAMARD_BLOCK] = self._with_parity(row, draws, even)
            else:
                loop(row, even, draws, reports[start : start + HADAMARD_BLOCK])
        return reports

    @staticmethod
    def _with_parity(row: NDArray[Any], numbers: NDArray[Any], even: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the drawn numbers, those with the lowest digit of the row flipped whose parity is wrong.

        Flipping that digit changes the parity: a bijection of the two halves.
        """
        wrong = is_odd(numbers & row) == even
        reports: NDArray[Any] = numbers ^ (row & -row) * wrong
        return reports

    def _client_steps(self) -> Steps:
        return {"step": "parity", "order": self.order, "even": whole_hex(self.even)}

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        rows = np.arange(1, self.labels.size + 1) if place is None else np.array([place + 1])
        return ~is_odd(np.asarray(read)[:, None] & rows)

    def supports(self, counts: Codes, users: int) -> Codes:
        """Return the number of reports that each row supports: (users + transform) / 2."""
        return (users + hadamard_transform(counts)[1 : self.labels.size + 1]) // 2


def hadamard_design(order: int) -> BlockDesign:
    """Return the design whose blocks are the numbers below K, each of the rows that mark it."""
    return BlockDesign(order, order // 2, order // 4)
