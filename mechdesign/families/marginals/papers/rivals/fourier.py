"""FT: the Fourier (Hadamard) coefficients that the k-way marginals need (Zhang 2019, section 3.2.5).

With bits x the coefficient of a set of bits, a mask, is the mean of (-1)^(number of ones of x in the mask). A
marginal table of b bits is 2^-b times the Hadamard transform of the coefficients of its 2^b masks. Each user
reports one coefficient by randomized response on its sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError
from mechdesign.core.validation import user_count
from mechdesign.exact.randomness import Rng, bit_source, numpy_generator
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    CellOracle,
    Codes,
    Rival,
    RivalSetting,
    gibibytes,
    spaced,
)
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoding
from mechdesign.families.marginals.papers.rivals.tables import elementary, sampled

MOST_COEFFICIENTS = 1 << 20
"""More coefficients are refused; each needs a group of users."""

MOST_BITS = 62
"""Masks are integers of 64 bits."""


@dataclass(frozen=True)
class SignReports:
    """Reports of the users: the number of a coefficient, which does not depend on them, and a random sign."""

    coefficients: Codes
    odd: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The estimated coefficients, in the increasing order of their masks."""

    setting: RivalSetting
    encoding: BinaryEncoding
    masks: Codes
    values: Array

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the marginal table, whose cells sum to 1 where sizes are powers of two."""
        attribute_places = self.setting.places(attributes, self.setting.order)
        places = self.encoding.places_of(attribute_places)
        needed = submasks(places, sum(self.encoding.bits))
        masks = needed if self.masks[0] == 0 else needed[1:]
        values = np.ones(len(needed))
        values[len(needed) - len(masks) :] = self.values[np.searchsorted(self.masks, masks)]
        if np.isnan(values).any():
            raise DataError(
                "FT",
                f"no user reported a coefficient of attributes {list(attribute_places)}",
                "collect from more",
            )
        return self.encoding.decode(transform(values) / len(needed), attribute_places)


class FourierCoefficients(Rival):
    r"""FT: the users are split evenly over the coefficients, and each reports the sign of one.

    Parameters
    ----------
    sizes, epsilon, order
        See :class:`Setting`.
    literal : bool
        Whether to ask for more than is needed, as the thesis counts: the constant coefficient, which is 1
        for everybody, and of encoded attributes all masks of at most as many bits as k attributes have.

    Notes
    -----
    (3.4) states the variance :math:`\sum_{s \le k} \binom ds \mathrm{Var}_0`. For bits it is, exactly,

    .. math::

        2^{-k} \sum_\alpha \left[ \frac{1 - g^2}{g^2 n_\alpha}
        + (1 - \theta_\alpha^2) \frac{n - n_\alpha}{n_\alpha (n - 1)} \right], \; g = \tanh(\varepsilon/2)

    over the coefficients of the marginal that are asked for. Where the constant is asked for, the first part
    is :math:`m \mathrm{Var}_0`, as stated; else :math:`(1 - 2^{-k}) m \mathrm{Var}_0`, with m one less.

    Examples
    --------
    >>> [FourierCoefficients([2] * 8, 1.0, 3, literal).count for literal in (True, False)]
    [93, 92]
    >>> [FourierCoefficients([3] * 8, 1.0, 3, literal).count for literal in (True, False)]
    [14893, 1788]
    """

    name: ClassVar[str] = "FT"

    def __init__(self, sizes: Sequence[int], epsilon: float, order: int, literal: bool = False) -> None:
        self.literal = literal
        super().__init__(sizes, epsilon, order)

    @cached_property
    def encoding(self) -> BinaryEncoding:
        """The bits of the attributes."""
        return BinaryEncoding(self.setting.sizes)

    @property
    def heaviest(self) -> int:
        """Largest number of bits of ``order`` attributes."""
        return sum(sorted(self.encoding.bits)[-self.setting.order :])

    @property
    def count(self) -> int:
        """Number of requested coefficients."""
        if self.literal:
            total = sum(self.encoding.bits)
            return sum(math.comb(total, weight) for weight in range(self.heaviest + 1))
        others = [(1 << width) - 1 for width in self.encoding.bits]
        return sum(elementary(others, order) for order in range(1, self.setting.order + 1))

    def why_not(self) -> str | None:
        total = sum(self.encoding.bits)
        if total <= MOST_BITS and self.count <= MOST_COEFFICIENTS:
            return None
        return (
            f"{spaced(self.count)} coefficients of {total} bits, {gibibytes(self.count)}, and a group of "
            f"users for each; at most {spaced(MOST_COEFFICIENTS)} coefficients of {MOST_BITS} bits are held: "
            "ask for a lower order, or take views (MarginalRelease)"
        )

    @cached_property
    def masks(self) -> Codes:
        """The masks of the coefficients that are asked for, increasing."""
        if self.literal:
            total = sum(self.encoding.bits)
            chosen = (
                subset for size in range(self.heaviest + 1) for subset in combinations(range(total), size)
            )
            return np.sort(
                np.fromiter((sum(1 << place for place in subset) for subset in chosen), dtype=np.int64)
            )
        total = sum(self.encoding.bits)
        own = [submasks(places, total)[1:] for places in self.encoding.places]
        privacy = [
            _sums([own[attribute] for attribute in subset])
            for size in range(1, self.setting.order + 1)
            for subset in combinations(range(self.setting.attributes), size)
        ]
        return np.sort(np.concatenate(privacy))

    @cached_property
    def oracle(self) -> CellOracle:
        """Randomized response on a sign."""
        return self.oracle_for(2)

    def make_oracle(self, cells: int) -> CellOracle:
        return CellOracle.response(cells, self.setting.epsilon)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the exact certificate of a report; who is asked for which coefficient is public."""
        return (self.oracle.certificate(),)

    def group_users(self, users: int) -> Codes:
        """Return the number of users of each coefficient: as equal as possible."""
        if users < self.count:
            raise DataError(
                self.name,
                f"{spaced(users)} users for {spaced(self.count)} coefficients",
                f"at least {spaced(self.count)} are needed",
            )
        return users // self.count + (np.arange(self.count) < users % self.count)

    @property
    def group_count(self) -> int:
        """Number of groups that users are split into."""
        return self.count

    def group_oracle(self, group: int) -> CellOracle:
        """Return the oracle of a sign, the same for all groups."""
        return self.oracle

    def cells_of(self, codes: Codes, groups: Codes) -> Codes:
        """Return 1 for each person whose sign is -1, given the numbers of their coefficients."""
        numbers = packed(self.encoding.encode(codes))
        odd: Codes = (np.bitwise_count(numbers & self.masks[groups]) & 1).astype(np.int64)
        return odd

    def answers(self, counts: Mapping[int, Codes], users: Codes) -> Coefficients:
        """Return the estimates from counts of both signs of each group; NaN where nobody reported."""
        values = np.full(self.count, np.nan)
        for number, (_, odd) in counts.items():
            values[number] = (1.0 - 2.0 * float(odd) / float(users[number])) / self.oracle.gain
        return Coefficients(self.setting, self.encoding, self.masks, values)

    def randomize(self, codes: Any, rng: Rng = None) -> SignReports:
        people = self.setting.people(codes)
        groups = np.repeat(np.arange(self.count), self.group_users(len(people)))
        assignment = numpy_generator(rng, "groups").permutation(groups)
        return SignReports(assignment, self.oracle.draw(self.cells_of(people, assignment), bit_source(rng)))

    def estimate(self, reports: SignReports) -> Coefficients:
        users = np.bincount(reports.coefficients, minlength=self.count)
        odd = np.bincount(reports.coefficients, weights=reports.odd, minlength=self.count)
        if (users == 0).any():
            raise DataError(
                self.name, f"no user reported coefficient {int(np.argmin(users))}", "give all reports"
            )
        values = (1.0 - 2.0 * odd / users) / self.oracle.gain
        return Coefficients(self.setting, self.encoding, self.masks, values)

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the expected squared error.

        Exact with the people's table when sizes are powers of two; otherwise the covariances of the samples,
        at most 1 / (n - 1) each, are left out.
        """
        return self.error_of_groups(attributes, self.group_users(user_count(users)), table)

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal, given how many users each coefficient has."""
        view = self.setting.places(attributes, self.setting.order)
        n = int(users.sum())
        needed = submasks(self.encoding.places_of(view), sum(self.encoding.bits))
        masks = needed if self.literal else needed[1:]
        people = users[np.searchsorted(self.masks, masks)]
        if (people == 0).any():
            return math.inf
        gain = self.oracle.gain
        noise = (1.0 - gain**2) / (gain**2 * people)
        spread = np.ones(len(needed)) if table is None else 1.0 - self._true(table, view) ** 2
        if self.literal:
            spread[0] = 0.0
        sampling = spread[-len(masks) :] * [sampled(n, group) for group in people.tolist()]
        return float((noise + sampling).sum()) * self.setting.cells(view) / len(needed) ** 2

    def _true(self, table: Array, view: Sequence[int]) -> Array:
        """Return the people's coefficients from their table."""
        padded = np.zeros([1 << self.encoding.bits[attribute] for attribute in view])
        padded[tuple(slice(0, size) for size in table.shape)] = table
        return transform(padded.ravel())


def packed(bits: Codes) -> Codes:
    """Return rows of bits as integers, the first bit the highest.

    Examples
    --------
    >>> packed(np.array([[1, 0, 1]])).tolist()
    [5]
    """
    numbers = np.zeros(len(bits), dtype=np.int64)
    for column in bits.T:
        numbers = numbers << 1 | column
    return numbers


def submasks(places: Sequence[int], total: int) -> Codes:
    """Return the masks of all sets of some bits out of ``total``, the set of the last bit second.

    Examples
    --------
    >>> submasks((0, 2), 3).tolist()
    [0, 1, 4, 5]
    """
    masks = np.zeros(1, dtype=np.int64)
    for place in places:
        masks = np.concatenate([masks[:, None], masks[:, None] | 1 << (total - 1 - place)], axis=1).ravel()
    return masks


def transform(values: Array) -> Array:
    """Return the Hadamard transform of values whose number is a power of two.

    Examples
    --------
    >>> transform(np.array([0.5, 0.25, 0.25, 0.0])).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    sums, half = values, 1
    while half < len(sums):
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return sums


def _sums(parts: Sequence[Codes]) -> Codes:
    """Return all sums of one number of each part."""
    sums = np.zeros(1, dtype=np.int64)
    for part in parts:
        sums = (sums[:, None] + part).ravel()
    return sums
