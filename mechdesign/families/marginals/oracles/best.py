"""The best frequency oracle: of a kind its best parameters, and of several kinds the best one.

What is best depends on the frequency in question. For a rare category the variance of subset selection is
least at one size of the subsets, for a category as frequent as all others at a size that is often one more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer, one_of, privacy_epsilon
from mechdesign.families.marginals.oracles.base import SupportOracle
from mechdesign.families.marginals.oracles.hadamard import HadamardResponse
from mechdesign.families.marginals.oracles.hashing import LocalHashing
from mechdesign.families.marginals.oracles.projective import ProjectiveGeometry
from mechdesign.families.marginals.oracles.subset import SubsetSelection
from mechdesign.families.marginals.oracles.unary import UnaryEncoding

BUILT: dict[str, Callable[..., Oracle]] = {
    "randomized-response": KaryResponse.of,
    "subset-selection": SubsetSelection.of,
    "local-hashing": LocalHashing.of,
    "optimised-unary": UnaryEncoding.optimised,
    "symmetric-unary": UnaryEncoding.symmetric,
    "hadamard": HadamardResponse.of,
    "projective-geometry": ProjectiveGeometry.of,
}
"""What builds an oracle from categories, epsilon and its parameters by name, with exact integer weights."""

KINDS = (KaryResponse.type, UnaryEncoding.type, SubsetSelection.type)
"""The oracles to choose from for the cells of a table, each by the word in its file."""

TOLD_APART = 2.0**-64
"""Below this epsilon integers out of 2**62 are the same for all answers."""

MOST_EXACT = 1 << 12
"""With at most this many categories, the number of subsets is computed exactly."""


def subset_variance(
    categories: int, sizes: NDArray[np.int64], epsilon: float, frequency: float = 0.0
) -> NDArray[np.float64]:
    """Return users times the variance of subset selection for each size k and a category of this frequency.

    With e = e^epsilon it is ((k - 1) e + D - k) (k e + D - 1 - k) / (k (D - k) (e - 1)^2) for those who have
    another category, and e (D - 1)^2 / (k (D - k) (e - 1)^2) for those who have this one; written in
    e^-epsilon, so that nothing overflows or cancels. Size 1 is randomized response: (D - 2 + e) / (e - 1)^2.
    See docs/families/marginals_oracles.md.

    Examples
    --------
    >>> subset_variance(3, np.array([1, 2]), math.log(2.0)).round(12)  # 3/1 and (2 + 1) (4)/(2 1)
    array([3., 6.])
    """
    k, rest = sizes.astype(float), (categories - sizes).astype(float)
    w, loss = math.exp(-epsilon), -math.expm1(-epsilon)
    others: NDArray[np.float64] = ((k - 1.0 + rest * w) / k) * ((k + (rest - 1.0) * w) / rest) / loss**2
    if frequency == 0.0:
        return others
    own = w * (categories - 1.0) ** 2 / (k * rest) / loss**2
    found: NDArray[np.float64] = (1.0 - frequency) * others + frequency * own
    return found


def subset_bits(categories: int, size: int) -> int:
    """Return the bits that number all subsets of a size; for many categories, at most one bit too many.

    Examples
    --------
    >>> subset_bits(64, 1), subset_bits(64, 17)
    (6, 51)
    """
    if categories <= MOST_EXACT:
        return (math.comb(categories, size) - 1).bit_length()
    logarithm = math.lgamma(categories + 1) - math.lgamma(size + 1) - math.lgamma(categories - size + 1)
    return math.ceil(logarithm / math.log(2.0) * (1.0 + 2.0**-40) + 2.0**-20)


def best_size(
    categories: int, epsilon: float, most_bits: int | None = None, frequency: float = 0.0
) -> int | None:
    """Return the size of the subsets of least variance whose number needs at most ``most_bits`` bits.

    None when not even single categories do.

    Examples
    --------
    >>> best_size(64, 1.0), best_size(64, 1.0, most_bits=10), best_size(64, 1.0, most_bits=5)
    (17, 1, None)
    >>> best_size(6, 1.0), best_size(6, 1.0, frequency=1 / 6)
    (1, 2)
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    values = subset_variance(categories, sizes, epsilon, frequency)
    if most_bits is None:
        return int(sizes[np.argmin(values)])
    by_value = sizes[np.argsort(values, kind="stable")]
    fitting = (int(size) for size in by_value if subset_bits(categories, int(size)) <= most_bits)
    return next(fitting, None)


def prefers_response(categories: int, epsilon: float) -> bool:
    """Whether the thesis's rule takes randomized response: D - 2 < 3 e^epsilon (Zhang 2019, section 3.3.2).

    Examples
    --------
    >>> prefers_response(10, 1.0), prefers_response(11, 1.0)
    (True, False)
    """
    return (categories - 2) * math.exp(-epsilon) < 3.0


def best_oracle(cells: int, epsilon: float, kinds: Sequence[str] = KINDS) -> Oracle:
    """Return the oracle of least variance for ``cells`` cells: randomized response, unary or subsets.

    Parameters
    ----------
    cells : int
    epsilon : float
    kinds : sequence of str
        Those to choose from; of equals the first. With the first two it is the rule of the thesis:
        randomized response where cells - 2 < 3 e^epsilon.

    Examples
    --------
    >>> best_oracle(4, 1.0, KINDS[:2]), best_oracle(64, 1.0, KINDS[:2])
    (KaryResponse(4 answers, epsilon=1), UnaryEncoding(64 categories, epsilon=1))
    """
    count, promise = integer("cells", cells, 2), privacy_epsilon(epsilon)
    if not kinds:
        raise ParameterError("kinds", "is empty", "name at least one oracle")
    made = [_best_of(one_of("kinds", kind, KINDS), count, promise) for kind in kinds]
    return min(made, key=cell_variance)


def _best_of(kind: str, cells: int, epsilon: float) -> Oracle:
    if kind == KaryResponse.type:
        return KaryResponse.of(cells, epsilon)
    if kind == UnaryEncoding.type:
        return UnaryEncoding.optimised(cells, epsilon)
    if cells > SupportOracle.most_categories or epsilon < TOLD_APART:
        return SubsetSelection.of(cells, epsilon, 1)  # which says what is wrong
    size = best_size(cells, epsilon, frequency=1.0 / cells)
    assert size is not None  # no limit on the report's bits
    return SubsetSelection.of(cells, epsilon, size)


def cell_variance(oracle: Oracle) -> float:
    """Return users times the variance of the estimated share of a cell, the users' cells being even.

    The users are a draw: the variance of the noise and of who reports, E[s^2] - 1/D^2 for the score s.
    """
    own, other = oracle.support_shares()
    if own <= other:
        return math.inf
    even = Fraction(1, oracle.labels.size)
    mixed = even * own + (1 - even) * other
    return float(mixed * (1 - mixed) / (own - other) ** 2)
