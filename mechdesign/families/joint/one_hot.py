"""One-hot reports as packed bits: layout, sources, and the unbiased estimates of joint cells from them.

**Unbiased products.**
For a user's report T, t_j[b] = (T_j[b] - p*) / (q* - p*) has the mean 1 where the user's value is b, else 0.
Every user has one value of each attribute, so that

    u_j[b] = t_j[b] - (sum_c t_j[c] - 1) / k_j

has the same means; it is the nearest point to t_j with sum 1. The noise of different attributes is
independent, so the product of u_j[b_j] over some attributes has the mean 1 in the user's own cell and 0 in
every other: its mean over users estimates the share of the cell without bias, whatever the joint
distribution. A conditional share is the quotient of two of them. With s_1 and s_0 the variances of t for a
true 1 and a true 0, the variances of u sum over the values of an attribute to (1 - 1/k) (s_1 + (k - 1) s_0).

Reports of ``joint-distribution`` are patterns with counts, a file, or those of simulated users.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import mark_in
from mechdesign.core.errors import DataError, ParameterError, counted, unread
from mechdesign.core.validation import integer, probability_vector
from mechdesign.exact.bits import Packed, read_sets
from mechdesign.families.joint.one_bit import bit_places, bit_starts, bit_widths
from mechdesign.primitives.attributes import Attributes
from mechdesign.work.files import read_text

PackedBits = NDArray[np.uint8]
Bits = NDArray[np.uint8]
Codes = NDArray[np.int64]


def titles(attributes: Attributes) -> list[str]:
    """Return the headings of tables: the attributes' names, or their numbers.

    Examples
    --------
    >>> titles(Attributes([2, 3])), titles(Attributes([2, 3], ["smokes", "income"]))
    (['attribute 0', 'attribute 1'], ['smokes', 'income'])
    """
    text = attributes.shown()
    return text if attributes.names is not None else [f"attribute {number}" for number in text]


def one_hot(codes: Codes, sizes: Sequence[int], one_bit: bool = False) -> PackedBits:
    """Return the bits of values, one group an attribute, packed; with ``one_bit`` two values are one bit.

    Examples
    --------
    >>> one_hot(np.array([[1, 2], [0, 0]]), [2, 3]).tolist()
    [[72], [160]]
    >>> one_hot(np.array([[1, 2], [0, 0]]), [2, 3], one_bit=True).tolist()
    [[144], [64]]
    """
    starts = bit_starts(sizes, one_bit)
    bits = np.zeros((len(codes), starts[-1]), dtype=np.uint8)
    rows = np.arange(len(codes))
    for place, width in enumerate(bit_widths(sizes, one_bit)):
        if width == 1:
            bits[rows, starts[place]] = codes[:, place]
        else:
            bits[rows, starts[place] + codes[:, place]] = 1
    return np.packbits(bits, axis=1)


def grouped(packed: PackedBits, counts: Codes) -> tuple[PackedBits, Codes]:
    """Return the different rows and the sums of their counts.

    Examples
    --------
    >>> grouped(np.array([[3], [1], [3]], dtype=np.uint8), np.array([1, 1, 5]))
    (array([[1],
           [3]], dtype=uint8), array([1, 6]))
    """
    if not len(packed):
        return packed, counts
    order = np.argsort(keys(packed), kind="stable")
    ordered = packed[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    return ordered[starts], np.add.reduceat(counts[order], starts)


def keys(packed: PackedBits) -> NDArray[Any]:
    """Return a key for every row that is equal for equal rows: a number where it has at most 64 bits."""
    rows, width = packed.shape
    if width > 8:
        return np.ascontiguousarray(packed).view(np.dtype((np.void, width))).ravel()
    filled = np.zeros((rows, 8), dtype=np.uint8)
    filled[:, :width] = packed
    return filled.view(np.uint64).ravel()


def bits_of(packed: PackedBits, sizes: Sequence[int], view: Sequence[int], one_bit: bool = False) -> Bits:
    """Return the bits of some attributes, group after group, one row a report.

    Examples
    --------
    >>> bits_of(np.array([[72]], dtype=np.uint8), [2, 3], [1])
    array([[0, 0, 1]], dtype=uint8)
    """
    unpacked = np.unpackbits(packed, axis=1, count=bit_starts(sizes, one_bit)[-1])
    bits: Bits = np.ascontiguousarray(unpacked[:, bit_places(sizes, view, one_bit)])
    return bits


Array = NDArray[np.float64]

NUMBERS_AT_ONCE = 1 << 21
"""Numbers of a block of products."""


@dataclass(frozen=True)
class BitNoise:
    """What the server knows of the noise of a bit, of R reports linked to their user.

    Attributes
    ----------
    own, other : float
        q* and p*: the probability that a report has a 1 where the true bit is 1, and where it is 0.
    sequences : (2, R + 1) array, optional
        The probability of each sequence of R reports by its number of ones, for a true 1 and a true 0; those
        of one report by default.
    """

    own: float
    other: float
    sequences: Array | None = None

    @property
    def chances(self) -> Array:
        """The probability of each sequence of R reports, (2, R + 1)."""
        if self.sequences is not None:
            return self.sequences
        return np.array([[1.0 - self.own, self.own], [1.0 - self.other, self.other]])

    @property
    def reports(self) -> int:
        """R."""
        return int(self.chances.shape[1]) - 1

    @property
    def visible(self) -> Array:
        """The chances, 1 for a number of ones that is never seen."""
        return np.where(self.chances[1] > 0.0, self.chances, 1.0)

    def debiased(self, ones: Bits | Array) -> Array:
        """Return an unbiased estimate of the true bit from numbers of ones."""
        estimate: Array = (ones / self.reports - self.other) / (self.own - self.other)
        return estimate

    def spreads(self) -> tuple[float, float]:
        """Return the variances of a debiased bit of one report: of a true 1, and of a true 0."""
        gain = (self.own - self.other) ** 2
        return self.own * (1.0 - self.own) / gain, self.other * (1.0 - self.other) / gain


class NoisyBits(Protocol):
    """What estimates use of the mechanism that made the reports."""

    attributes: Attributes

    @property
    def one_bit(self) -> bool:
        """Whether an attribute with two values has one bit."""

    def bit_noise(self, linked: int = 1) -> tuple[BitNoise, BitNoise | None]:
        """Return the noise of one-hot bits and of single ones, of several reports linked to their user."""


@dataclass(frozen=True)
class AttributeBits:
    """The bits of one attribute in a report, and what they say of its values.

    Attributes
    ----------
    size : int
        Number of values.
    width : int
        Number of bits: one a value, or one for two values.
    start : int
        Place of the first one.
    noise : BitNoise

    Examples
    --------
    >>> alone = AttributeBits(2, 1, 0, BitNoise(0.75, 0.25))
    >>> alone.debiased(np.array([[1], [0]])).tolist(), alone.factors(np.array([[1]])).tolist()
    ([[-0.5, 1.5], [1.5, -0.5]], [[1.0, 3.0]])
    """

    size: int
    width: int
    start: int
    noise: BitNoise

    @property
    def alone(self) -> bool:
        """Whether one bit says both values."""
        return self.width < self.size

    def of(self, reports: Bits | Array) -> Any:
        """Return the columns of these bits."""
        return reports[:, self.start : self.start + self.width]

    def debiased(self, reports: Bits | Array) -> Array:
        """Return the debiased bit of each value, (n, size); those of one bit sum to 1."""
        estimates = self.noise.debiased(self.of(reports))
        return np.concatenate([1.0 - estimates, estimates], axis=1) if self.alone else estimates

    def summed_to_one(self, reports: Bits | Array) -> Array:
        """Return the nearest point to the debiased bits with the sum 1, (n, size)."""
        group = self.debiased(reports)
        nearest: Array = group - (group.sum(axis=1, keepdims=True) - 1.0) / self.size
        return nearest

    def factors(self, reports: Bits) -> Array:
        """Return what each value multiplies the probability of the bits with, over that of true bits 0."""
        chances = self.noise.visible
        ratios: Array = (chances[0] / chances[1])[self.of(reports)]
        return np.concatenate([np.ones_like(ratios), ratios], axis=1) if self.alone else ratios

    def spreads(self) -> tuple[float, float]:
        """Return the variances of an estimated value from one report: of the user's own value, and another.

        Those of one bit are averages over the two values.
        """
        true, false = self.noise.spreads()
        if self.alone:
            return (true + false) / 2.0, (true + false) / 2.0
        return single_spreads(true, false, self.size)


def attribute_bits(
    sizes: Sequence[int], noise: BitNoise, bit: BitNoise | None = None
) -> tuple[AttributeBits, ...]:
    """Return the bits of all attributes, in their order.

    Parameters
    ----------
    sizes : sequence of int
    noise : BitNoise
        Of the one-hot bits.
    bit : BitNoise, optional
        Of the one bit of an attribute with two values; without it such an attribute has two one-hot bits.
    """
    one_bit = bit is not None
    starts = bit_starts(sizes, one_bit)
    return tuple(
        AttributeBits(size, width, starts[place], noise if bit is None or width > 1 else bit)
        for place, (size, width) in enumerate(zip(sizes, bit_widths(sizes, one_bit), strict=True))
    )


def products(reports: Bits | Array, attributes: Sequence[AttributeBits]) -> Array:
    """Return the products of sum-to-one debiased bits, or of means over a user's reports, (n, cells)."""
    rows = np.ones((len(reports), 1))
    for attribute in attributes:
        group = attribute.summed_to_one(reports)
        rows = (rows[:, :, None] * group[:, None, :]).reshape(len(reports), -1)
    return rows


def unbiased_cells(reports: Bits | Array, counts: Codes, attributes: Sequence[AttributeBits]) -> Array:
    """Return the unbiased estimates of the cells of some attributes, one axis each."""
    sizes = tuple(attribute.size for attribute in attributes)
    cells, users = math.prod(sizes), int(counts.sum())
    mean, step = np.zeros(cells), max(1, NUMBERS_AT_ONCE // cells)
    for start in range(0, len(reports), step):
        rows = products(reports[start : start + step], attributes)
        mean += counts[start : start + step] / users @ rows
    return mean.reshape(sizes)


def unbiased(bits: Bits | Array, counts: Codes, sizes: Sequence[int], own: float, other: float) -> Array:
    """Return the unbiased estimates of the cells of some one-hot attributes, one axis each.

    Parameters
    ----------
    bits : (n, bits) array
        Of these attributes only.
    counts : (n,) array
        Users of each row.
    sizes : sequence of int
    own, other : float
        q* and p*.

    Examples
    --------
    >>> unbiased(np.array([[1, 0], [0, 1]], dtype=np.uint8), np.array([3, 1]), [2], 0.75, 0.25)
    array([1., 0.])
    """
    return unbiased_cells(bits, counts, attribute_bits(sizes, BitNoise(own, other)))


def conditionals(tables: Array, inner: int) -> Array:
    """Return tables (first axis) divided by their sums over the next axes, ``inner`` many; NaN where 0.

    Examples
    --------
    >>> conditionals(np.array([[[0.5, 0.0], [0.25, 0.0]]]), 1)
    array([[[0.66666667,        nan],
            [0.33333333,        nan]]])
    """
    sums = tables.sum(axis=tuple(range(1, inner + 1)), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums > 0.0, tables / sums, np.nan)


def single_spreads(own: float, other: float, size: int) -> tuple[float, float]:
    """Return the variances of a sum-to-one debiased bit: of the user's own value, and of another one.

    Of u[b] = (1 - 1/k) t[b] - (sum of the other t)/k + 1/k; over all values of the attribute they sum to
    (1 - 1/k) (s1 + (k - 1) s0), half of that of the bits t where k = 2.

    Parameters
    ----------
    own, other : float
        s1 and s0, the variances of a debiased bit t where the true one is 1, and where it is 0.
    size : int
        k.

    Examples
    --------
    >>> single_spreads(0.75, 0.75, 2)
    (0.375, 0.375)
    """
    keep, drop = (1.0 - 1.0 / size) ** 2, 1.0 / size**2
    return keep * own + (size - 1) * drop * other, keep * other + drop * (own + (size - 2) * other)


def joint_spread(attributes: Sequence[AttributeBits]) -> float:
    """Return the variances of all joint cells of some attributes together, at evenly frequent values.

    A product of independent factors has the product of their second moments: it is
    prod_j (1 + (1 - 1/k_j) (s1 + (k_j - 1) s0)) - 1 of one-hot bits, and 1 + 2 s of one symmetric bit: with
    these it is the same for every distribution.

    Examples
    --------
    >>> noise = BitNoise(0.75, 0.25)  # s1 = s0 = 0.75
    >>> [joint_spread(attribute_bits([2] * count, noise)) for count in (1, 2)]
    [0.75, 2.0625]
    """
    total = 1.0
    for attribute in attributes:
        inside, outside = attribute.spreads()
        total *= 1.0 + inside + (attribute.size - 1) * outside
    return total - 1.0


LARGEST_FILE = 1 << 28
MOST_USERS = 1 << 24
USERS_AT_ONCE = 1 << 17
CLASSES = 6
"""Latent classes of the distribution ``mixture``."""


@dataclass(frozen=True)
class FileReports:
    """Reports in a CSV file: one column of texts as ``randomize`` of a joint response writes them.

    Attributes
    ----------
    path : str
    mechanism : str, optional
        The file of the mechanism that made the reports.
    """

    path: str
    mechanism: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the generator that names it."""
        named = {} if self.mechanism is None else {"mechanism": self.mechanism}
        return {"name": "file", "path": self.path, **named}

    def mark(self) -> str | None:
        """Return the mark of a mechanism and survey in the column's name; None without one."""
        with open(self.path, encoding="utf-8", newline="") as lines:
            header = next(row for row in csv.reader(lines) if row)
        return mark_in(header[0])

    def patterns(self, attributes: Sequence[AttributeBits]) -> tuple[Packed, Codes]:
        """Return the different reports and how many users sent each."""
        bits = attributes[-1].start + attributes[-1].width
        try:
            text = read_text(Path(self.path), LARGEST_FILE, DataError)
        except OSError as error:
            raise DataError(self.path, unread(error), "check the path") from None
        rows = list(csv.reader(io.StringIO(text)))
        rows = [row for row in rows if row]
        if len(rows) < 2:
            raise DataError(self.path, "is empty", "give a header line and one report a line")
        if len(rows[0]) != 1:
            raise DataError(
                self.path,
                f"has {counted(len(rows[0]), 'column')}",
                "give a file with the column of reports alone",
            )
        if any(len(row) != 1 for row in rows):
            raise DataError(self.path, "a line has more than one field", "give one report a line")
        if rows[0][0].startswith("permanent__m"):
            raise DataError(self.path, "holds permanent responses", "name the file that 'report' wrote")
        try:
            packed = read_sets(np.array([row[0] for row in rows[1:]], dtype=object), bits)
        except DataError as error:
            raise error.within(str(self.path)) from None
        return grouped(packed, np.ones(len(packed), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """Reports of simulated users, whose values are drawn from a distribution over the joint cells.

    Attributes
    ----------
    distribution : array or "mixture"
        One probability a joint cell, the last attribute fastest; or a mixture of six classes in which the
        attributes are independent, each with probabilities drawn from a Dirichlet law (1/2, ..., 1/2).
    users, seed : int
    """

    distribution: Any
    users: int
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Return the generator that names it."""
        distribution = self.distribution
        listed = distribution if isinstance(distribution, str) else np.asarray(distribution).tolist()
        return {"name": "simulated", "distribution": listed, "users": self.users, "seed": self.seed}

    def values(self, sizes: Sequence[int]) -> Codes:
        """Return the users' values, shape (users, d)."""
        rng = np.random.default_rng([0, self.seed])
        if isinstance(self.distribution, str):
            return _mixture(sizes, self.users, rng)
        cells = rng.choice(len(self.distribution), size=self.users, p=self.distribution)
        return np.stack(np.unravel_index(cells, tuple(sizes)), axis=1)

    def truth(self, sizes: Sequence[int]) -> Array:
        """Return the shares of the joint cells among the users."""
        cells = np.ravel_multi_index(tuple(self.values(sizes).T), tuple(sizes))
        return np.bincount(cells, minlength=math.prod(sizes)) / self.users

    def patterns(self, attributes: Sequence[AttributeBits]) -> tuple[Packed, Codes]:
        """Return the different reports and how many users sent each."""
        values = self.values([attribute.size for attribute in attributes])
        rng = np.random.default_rng([1, self.seed])
        parts = []
        for start in range(0, self.users, USERS_AT_ONCE):
            block = values[start : start + USERS_AT_ONCE]
            groups = []
            for place, attribute in enumerate(attributes):
                names = np.array([1]) if attribute.alone else np.arange(attribute.size)
                noise, uniform = attribute.noise, rng.random((len(block), attribute.width), dtype=np.float32)
                groups.append(uniform < np.where(names == block[:, place, None], noise.own, noise.other))
            parts.append(np.packbits(np.concatenate(groups, axis=1), axis=1))
        return grouped(np.concatenate(parts), np.ones(self.users, dtype=np.int64))


def _mixture(sizes: Sequence[int], users: int, rng: np.random.Generator) -> Codes:
    classes = rng.integers(0, CLASSES, users)
    columns = []
    for size in sizes:
        limits = np.cumsum(rng.dirichlet(np.full(size, 0.5), size=CLASSES), axis=1)
        values = (rng.random(users)[:, None] > limits[classes, :-1]).sum(axis=1)
        columns.append(values)
    return np.stack(columns, axis=1).astype(np.int64)


def from_file(path: str, mechanism: str | None = None) -> FileReports:
    """Return the reports of a CSV file with one column, and the file of the mechanism that made them."""
    name: Any = path
    if not isinstance(name, str) or not name:
        raise ParameterError("reports", "'path' is not a string", "give the path of a CSV file")
    maker: Any = mechanism
    if maker is not None and (not isinstance(maker, str) or not maker):
        raise ParameterError("reports", "'mechanism' is not a string", "give the path of a mechanism file")
    return FileReports(path, mechanism)


def simulated(distribution: Any, users: int, seed: int) -> SimulatedReports:
    """Return reports of simulated users with values drawn from the distribution, or from ``mixture``."""
    if isinstance(distribution, str):
        if distribution != "mixture":
            raise ParameterError(
                "reports", f"distribution '{distribution}' is not known", "give 'mixture', or a number a cell"
            )
        shares: Any = distribution
    else:
        shares = probability_vector("reports: distribution", distribution)
    return SimulatedReports(
        shares, integer("reports: users", users, 1, MOST_USERS), integer("reports: seed", seed, 0)
    )


GENERATORS: Mapping[str, Callable[..., Any]] = {"file": from_file, "simulated": simulated}
