"""Cells: what a permanent report is drawn for, where a user's answers change.

The device has a permanent report for each cell and draws a week's report from that of the week's answer. All
weeks together are as private as the permanent reports that were used: so many times their epsilon as there
are distinct cells among the user's answers.

- :class:`AnswerCells`: every answer is a cell. The device counts the distinct ones, and refuses one too many.
- :class:`BucketCells`: a hash function that is drawn once puts the answers into g buckets (LOLOHA, Arcolezi
  et al. 2023). However often the answer changes there are at most g.
- :class:`BinCells`: the device names d bins once, drawn at random, and tells them and "another one" apart
  (d-bit flip, Ding et al. 2017): at most d + 1 cells, and d/k of the users say something about a bin.

What is drawn once stands at the front of each report. It does not depend on the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.core.errors import ParameterError, RowError
from mechdesign.core.validation import integer
from mechdesign.exact.bits import Packed, member_counts, width
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import prime_from
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.sets.shapes import packed_subsets
from mechdesign.primitives.hashing import AffineFamily, collision

Members = NDArray[np.bool_]

KINDS = ("answers", "hashed", "bins")
"""What a permanent report is drawn for: each answer, each bucket of a hash, or some bins and the rest."""

SEED_BYTES = 7
"""Bytes of the number of a hash function: it is below 2**53, which every program keeps."""

MOST_SEEDS = 1 << 53

REMEDY = "use the mechanism file the reports were made with"


@dataclass(frozen=True)
class Cells(ABC):
    """From answers to cells, with something public that is drawn once.

    Attributes
    ----------
    categories : int
        Number of answers k.
    """

    kind: ClassVar[str]
    categories: int

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of cells."""

    @property
    def alike(self) -> Fraction:
        """The probability that two answers have the same cell, over what is drawn once."""
        return Fraction(0)

    @property
    def share(self) -> Fraction:
        """The probability that a user's reports are about an answer."""
        return Fraction(1)

    @property
    def front(self) -> int:
        """Number of bytes of a report that hold what is drawn once."""
        return 0

    def draw(self, users: int, source: BitSource) -> Packed:
        """Return what is drawn once for each user, as bytes (users, front)."""
        return np.zeros((users, 0), dtype=np.uint8)

    def require_front(self, front: Packed) -> None:
        """Raise RowError for bytes that are never drawn."""
        assert front.shape[1] == self.front

    @abstractmethod
    def of(self, front: Packed, codes: Codes) -> Codes:
        """Return the cell of each user's answer."""

    def supports(self, front: Packed, sets: Packed) -> tuple[Members, Members | None]:
        """Return which answers a reported set fits, (n, k), and which the report is about, None for all."""
        cells = np.arange(self.categories, dtype=np.int64)
        member = np.unpackbits(sets, axis=1, count=self.count).astype(np.bool_)
        return np.take_along_axis(member, self._cells(front, cells), axis=1), None

    def _cells(self, front: Packed, answers: Codes) -> Codes:
        """Return the cells of all answers for each user, (n, k)."""
        return np.stack([self.of(front, np.full(len(front), answer)) for answer in answers.tolist()], axis=1)

    def counts(self, front: Packed, sets: Packed) -> Codes:
        """Return how many of the reports fit each answer, and behind that how many are about each."""
        fits, about = self.supports(front, sets)
        counted = fits.sum(axis=0, dtype=np.int64)
        return counted if about is None else np.concatenate([counted, about.sum(axis=0, dtype=np.int64)])

    @property
    def counters(self) -> int:
        """Number of counters of a server."""
        return self.categories

    def steps(self) -> dict[str, Any]:
        """Return how a client finds the cell, as plain values."""
        return {"cells": self.kind}


@dataclass(frozen=True)
class AnswerCells(Cells):
    """Every answer is a cell of its own.

    Examples
    --------
    >>> cells = AnswerCells(3)
    >>> cells.count, cells.counts(np.zeros((2, 0), np.uint8), np.array([[128], [192]], np.uint8))
    (3, array([2, 1, 0]))
    """

    kind: ClassVar[str] = "answers"

    @property
    def count(self) -> int:
        return self.categories

    def of(self, front: Packed, codes: Codes) -> Codes:
        return codes

    def supports(self, front: Packed, sets: Packed) -> tuple[Members, Members | None]:
        return np.unpackbits(sets, axis=1, count=self.count).astype(np.bool_), None

    def counts(self, front: Packed, sets: Packed) -> Codes:
        return member_counts(sets, self.count)


@dataclass(frozen=True)
class BucketCells(Cells):
    """The buckets of a hash function of the affine family, drawn once for each user.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> cells = BucketCells(100, 4)
    >>> front = cells.draw(1, bit_source(1))
    >>> front.shape, float(cells.alike), cells.of(front, np.array([7])) < 4
    ((1, 7), 0.24257425742574257, array([ True]))
    """

    kind: ClassVar[str] = "hashed"
    buckets: int

    def __post_init__(self) -> None:
        prime = prime_from(self.categories)
        integer("cells", self.buckets, 2, prime)
        if prime * (prime - 1) > MOST_SEEDS:
            what = f"{self.categories} answers are too many to hash"
            raise ParameterError("categories", what, "give fewer")

    @cached_property
    def family(self) -> AffineFamily:
        """The hash functions."""
        return AffineFamily(prime_from(self.categories), self.buckets)

    @property
    def count(self) -> int:
        return self.buckets

    @property
    def alike(self) -> Fraction:
        return collision(self.family.prime, self.buckets)

    @property
    def front(self) -> int:
        return SEED_BYTES

    def draw(self, users: int, source: BitSource) -> Packed:
        seeds = below(self.family.seeds, users, source)
        return seeds.astype(">u8").view(np.uint8).reshape(users, 8)[:, 8 - SEED_BYTES :].copy()

    def _seeds(self, front: Packed) -> Codes:
        padded = np.zeros((len(front), 8), dtype=np.uint8)
        padded[:, 8 - SEED_BYTES :] = front
        return padded.view(">u8").astype(np.int64).ravel()

    def require_front(self, front: Packed) -> None:
        wrong = self._seeds(front) >= self.family.seeds
        if wrong.any():
            what = "names a hash function that does not exist"
            raise RowError("reports", int(np.argmax(wrong)), what, REMEDY)

    def of(self, front: Packed, codes: Codes) -> Codes:
        return self.family.buckets_of(self._seeds(front), codes)

    def _cells(self, front: Packed, answers: Codes) -> Codes:
        return self.family.buckets_of(self._seeds(front)[:, None], answers)

    def steps(self) -> dict[str, Any]:
        return {"cells": self.kind, "prime": self.family.prime, "buckets": self.buckets}


@dataclass(frozen=True)
class BinCells(Cells):
    """Some of the answers, drawn once for each user, and one cell for all others.

    Examples
    --------
    >>> cells = BinCells(10, 3)
    >>> cells.count, cells.share, cells.of(np.array([[0b01000100, 0b01000000]], np.uint8), np.array([5]))
    (4, Fraction(3, 10), array([1]))
    """

    kind: ClassVar[str] = "bins"
    bins: int

    def __post_init__(self) -> None:
        integer("cells", self.bins, 1, self.categories - 1)

    @property
    def count(self) -> int:
        return self.bins + 1

    @property
    def share(self) -> Fraction:
        return Fraction(self.bins, self.categories)

    @property
    def front(self) -> int:
        return width(self.categories)

    @property
    def counters(self) -> int:
        return 2 * self.categories

    def draw(self, users: int, source: BitSource) -> Packed:
        phantom = np.full(users, self.categories, dtype=np.int64)  # the one left out: all others are answers
        packed = packed_subsets(phantom, self.categories + 1, self.bins, source)
        return packed[:, : self.front].copy()

    def require_front(self, front: Packed) -> None:
        inside = np.packbits(np.ones(self.categories, dtype=np.uint8))
        wrong = (np.bitwise_count(front).sum(axis=1) != self.bins) | (front & ~inside).any(axis=1)
        if wrong.any():
            raise RowError("reports", int(np.argmax(wrong)), f"does not name {self.bins} bins", REMEDY)

    def of(self, front: Packed, codes: Codes) -> Codes:
        rows = np.arange(len(front))
        return self._cells(front, np.arange(self.categories))[rows, codes]

    def _cells(self, front: Packed, answers: Codes) -> Codes:
        named = np.unpackbits(front, axis=1, count=self.categories).astype(np.int64)
        ranks = named.cumsum(axis=1) - 1
        return np.where(named > 0, ranks, self.bins)

    def supports(self, front: Packed, sets: Packed) -> tuple[Members, Members | None]:
        fits, _ = super().supports(front, sets)
        about = np.unpackbits(front, axis=1, count=self.categories).astype(np.bool_)
        return fits & about, about

    def steps(self) -> dict[str, Any]:
        return {"cells": self.kind, "bins": self.bins}


def cell_map(kind: str, categories: int, cells: int) -> Cells:
    """Return the cells of a kind: ``answers``, ``hashed`` into so many buckets, or so many ``bins``."""
    if kind == BucketCells.kind:
        return BucketCells(categories, cells)
    if kind == BinCells.kind:
        return BinCells(categories, cells)
    return AnswerCells(categories)
