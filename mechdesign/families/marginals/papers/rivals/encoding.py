"""Attributes of any size as bits, for the methods that know bits only (FT and BE).

An attribute of c values takes ceil(log2 c) bits, its number in binary, the highest bit first. Tables of bits
have cells that no value has, unless c is a power of two; they are dropped when a table is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mechdesign.families.marginals.papers.rivals.cells import Array, Codes


@dataclass(frozen=True)
class BinaryEncoding:
    """The bits of attributes.

    Parameters
    ----------
    sizes : tuple of int
        How many values each attribute has.

    Examples
    --------
    >>> encoding = BinaryEncoding((3, 2))
    >>> encoding.bits, encoding.places, encoding.encode(np.array([[2, 1]])).tolist()
    ((2, 1), ((0, 1), (2,)), [[1, 0, 1]])
    >>> encoding.decode(np.array([0.1, 0.2, 0.3, 0.4]), (0,))
    array([0.1, 0.2, 0.3])
    """

    sizes: tuple[int, ...]

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """Number of bits of each attribute."""
        return tuple((size - 1).bit_length() for size in self.sizes)

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the bits of each attribute."""
        ends = np.cumsum((0, *self.bits)).tolist()
        return tuple(tuple(range(start, end)) for start, end in pairwise(ends))

    def places_of(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of the bits of some attributes, in their order."""
        return tuple(place for attribute in attributes for place in self.places[attribute])

    def encode(self, codes: Codes) -> Codes:
        """Return the bits of users' values, shape (n, bits)."""
        columns = [
            codes[:, attribute] >> (width - 1 - digit) & 1
            for attribute, width in enumerate(self.bits)
            for digit in range(width)
        ]
        return np.column_stack(columns).astype(np.int64)

    def decode(self, table: Array, attributes: Sequence[int]) -> Array:
        """Return the table of some attributes from that of their bits, without cells that no value has."""
        shape = [1 << self.bits[attribute] for attribute in attributes]
        kept = tuple(slice(0, self.sizes[attribute]) for attribute in attributes)
        decoded: Array = table.reshape(shape)[kept]
        return decoded
