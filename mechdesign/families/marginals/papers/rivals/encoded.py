"""BE: the release by views (CALM) on attributes that are encoded as bits (Zhang 2019, section 3.4.3).

The encoding (:class:`BinaryEncoding`) serves all methods that know bits only, FT as well. An attribute of c
values takes ceil(log2 c) bits, its number in binary, the highest bit first. Tables of bits have cells that no
value has, unless c is a power of two; they are dropped when a table is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import Rng
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.oracles.best import KINDS
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    CellOracle,
    Codes,
    Rival,
    RivalSetting,
    gibibytes,
    nearest_table,
    spaced,
)
from mechdesign.families.marginals.release import MarginalRelease
from mechdesign.families.marginals.views import effect_errors, effect_variance


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
        valid = tuple(slice(0, self.sizes[attribute]) for attribute in attributes)
        decoded: Array = table.reshape(shape)[valid]
        return decoded


MOST_CELLS = 1 << 16
"""Marginals of bits with more cells are refused."""


@dataclass(frozen=True, eq=False)
class DecodedMarginals:
    """Marginals of attributes from those of their bits."""

    setting: RivalSetting
    encoding: BinaryEncoding
    released: ReleasedMarginals

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the marginal: of its bits, without the cells that no value has, as shares again."""
        places = self.setting.places(attributes)
        cells = 1 << sum(self.encoding.bits[attribute] for attribute in places)
        if cells > MOST_CELLS:
            raise ParameterError(
                "attributes",
                f"their bits have a table of {spaced(cells)} cells, {gibibytes(cells)}",
                f"at most {spaced(MOST_CELLS)} are reconstructed: name fewer attributes, or release them "
                "unencoded",
            )
        table = self.released.marginal(self.encoding.places_of(places)).value
        return nearest_table(self.encoding.decode(table, places))


class BinaryEncoded(Rival):
    """BE: views of bits instead of attributes.

    Parameters
    ----------
    sizes, epsilon, order
        See :class:`~mechdesign.families.marginals.papers.rivals.base.Setting`.
    views : sequence of sequences of int
        Sets of bits, by their numbers in the encoding.
    kinds : sequence of str
        The oracles to choose from, as for ``MarginalRelease.of``.

    Examples
    --------
    >>> rival = BinaryEncoded([3, 2], 1.0, 1, views=[(0, 1), (1, 2)])
    >>> rival.release([[2, 1]] * 4000, rng=1).marginal((0,)).argmax()
    np.int64(2)
    """

    name: ClassVar[str] = "BE"

    def __init__(
        self,
        sizes: Sequence[int],
        epsilon: float,
        order: int,
        views: Sequence[Sequence[int]],
        kinds: Sequence[str] = KINDS,
    ) -> None:
        super().__init__(sizes, epsilon, order)
        bits = [2] * sum(self.encoding.bits)
        self.views_of_bits = MarginalRelease.of(bits, views, self.setting.epsilon, kinds=kinds)

    @cached_property
    def encoding(self) -> BinaryEncoding:
        """The bits of the attributes."""
        return BinaryEncoding(self.setting.sizes)

    def why_not(self) -> str | None:
        cells = 1 << sum(sorted(self.encoding.bits)[-self.setting.order :])
        if cells <= MOST_CELLS:
            return None
        return (
            f"the bits of {self.setting.order} attributes have a table of {spaced(cells)} cells, "
            f"{gibibytes(cells)}; at most {spaced(MOST_CELLS)} are reconstructed: ask for a lower order, or "
            "release the attributes unencoded (MarginalRelease)"
        )

    def certificates(self) -> tuple[Certificate, ...]:
        return self.views_of_bits.certificates()

    def using(self, oracles: Iterable[CellOracle]) -> Self:
        rival = super().using(oracles)
        by_cells = {cells: oracle.mechanism for cells, oracle in rival._oracles.items()}
        release = self.views_of_bits
        chosen = [by_cells[release.attributes.cells(view)] for view in release.views]
        return rival.replaced(views_of_bits=MarginalRelease(release.attributes, release.views, chosen))

    @property
    def group_count(self) -> int:
        """Number of groups that users are split into: one a view."""
        return len(self.views_of_bits.views)

    def group_oracle(self, group: int) -> CellOracle:
        """Return the oracle of a view."""
        oracle: Any = self.views_of_bits.oracles[group]
        return CellOracle(oracle)

    def cells_of(self, codes: Codes, groups: Codes) -> Codes:
        """Return the cell that each person reports, given the numbers of their views."""
        bits, cells = self.encoding.encode(codes), np.zeros(len(codes), dtype=np.int64)
        for group in np.unique(groups).tolist():
            rows = np.flatnonzero(groups == group)
            view = self.views_of_bits.views[group]
            cells[rows] = self.views_of_bits.attributes.cell_of(bits[rows], view)
        return cells

    def answers(self, counts: Mapping[int, Codes], users: Codes) -> DecodedMarginals:
        """Return the estimates from counts of support of each view."""
        release = self.views_of_bits
        every = [
            counts.get(number, np.zeros(oracle.labels.size, dtype=np.int64))
            for number, oracle in enumerate(release.oracles)
        ]
        released = ReleasedMarginals.from_counts(release, every, users.tolist())
        return DecodedMarginals(self.setting, self.encoding, released)

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the predicted squared error of the marginal of bits, of the noise alone, at even data."""
        bits = self.encoding.places_of(self.setting.places(attributes))
        release = self.views_of_bits
        variances = [effect_variance(oracle) for oracle in release.oracles]
        precision = [people / variance for people, variance in zip(users.tolist(), variances, strict=True)]
        return float(effect_errors(bits, release.views, release.attributes.sizes, precision))

    def randomize(self, codes: Any, rng: Rng = None) -> NDArray[Any]:
        bits = self.encoding.encode(self.setting.people(codes))
        return self.views_of_bits.randomize(bits, rng=rng)

    def estimate(self, reports: NDArray[Any]) -> DecodedMarginals:
        return DecodedMarginals(self.setting, self.encoding, self.views_of_bits.estimate(reports))

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Refuse: what consistency saves and reconstruction costs has no formula."""
        raise ParameterError(
            "BE", "the error of a reconstructed marginal has no formula", "simulate it with release"
        )
