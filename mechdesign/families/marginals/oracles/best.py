"""The best frequency oracle: of a kind its best parameters, of several kinds the best one; their variances.

What is best depends on the frequency in question. For a rare category the variance of subset selection is
least at one size of the subsets, for a category as frequent as all others at a size that is often one more.

Variances are those of the estimate of a category whose frequency tends to 0, times the users. With p the
chance that a report supports the own category and q that it supports another one, it is q (1 - q) / (p -
q)^2. All formulas are written in w = e^-epsilon and 1 - w, so that nothing overflows or cancels.

No oracle can beat :func:`variance_lower_bound`. The proof is in docs/families/marginals_oracles.md: the
columns of a private channel are mixtures of columns that are e^epsilon on a subset of the categories and 1
off it; the channel's information about a category of frequency 0, averaged over the categories, is convex in
the columns, so it is at most a mixture over the sizes of subsets; and subset selection of the best size
attains the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.combine import QuestionForm, QuestionKind
from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle, best_size, cell_variance, subset_variance
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer, one_of, privacy_epsilon
from mechdesign.exact.numbers import prime_from
from mechdesign.families.marginals.oracles.blocks import HadamardResponse, SubsetSelection
from mechdesign.families.marginals.oracles.hashing import LocalHashing
from mechdesign.families.marginals.oracles.projective import ProjectiveGeometry
from mechdesign.families.marginals.oracles.support import SupportOracle
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
    oracles = [_best_of(one_of("kinds", kind, KINDS), count, promise) for kind in kinds]
    return min(oracles, key=cell_variance)


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


class TableKind(QuestionKind):
    """One cell of the table of some questions of a survey, by the oracle of least variance."""

    question_kind: ClassVar[str] = "table"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> Oracle:
        return best_oracle(math.prod(form.sizes), promised)


Array = NDArray[np.float64]
Index = NDArray[np.int64]


def optimised_unary_variance(epsilon: float) -> float:
    """Return 4 e^epsilon / (e^epsilon - 1)^2: the own bit kept with 1/2, others set with 1/(e^epsilon + 1).

    Examples
    --------
    >>> round(optimised_unary_variance(math.log(3.0)), 12)
    3.0
    """
    return 4.0 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2


def symmetric_unary_variance(epsilon: float) -> float:
    """Return e^(epsilon/2) / (e^(epsilon/2) - 1)^2: every bit flipped with 1/(e^(epsilon/2) + 1).

    Examples
    --------
    >>> round(symmetric_unary_variance(2.0 * math.log(3.0)), 12)
    0.75
    """
    return math.exp(-epsilon / 2.0) / math.expm1(-epsilon / 2.0) ** 2


def hadamard_variance(epsilon: float) -> float:
    """Return ((e^epsilon + 1) / (e^epsilon - 1))^2.

    Examples
    --------
    >>> round(hadamard_variance(math.log(3.0)), 12)
    4.0
    """
    return ((1.0 + math.exp(-epsilon)) / math.expm1(-epsilon)) ** 2


def local_hashing_variance(categories: int, buckets: Index, epsilon: float) -> Array:
    """Return the variance of randomized response on buckets of the affine hash family, for each number.

    Two categories share a bucket with the chance c of the family, a little below 1/g. With 1/g it would be
    (e - 1 + g)^2 / ((e - 1)^2 (g - 1)), which is 4 e / (e - 1)^2 at g = e + 1 (Wang et al. 2017, eq. (11)).

    Examples
    --------
    >>> local_hashing_variance(1024, np.array([2, 4, 8]), 1.0).round(4)
    array([4.6736, 3.6824, 4.5562])
    """
    prime = prime_from(categories)
    small, larger = np.divmod(prime, buckets)[0].astype(float), (prime % buckets).astype(float)
    g = buckets.astype(float)
    alike = (larger * (small + 1.0) * small + (g - larger) * small * (small - 1.0)) / (prime * (prime - 1.0))
    w, loss = math.exp(-epsilon), -math.expm1(-epsilon)
    own = 1.0 / (1.0 + (g - 1.0) * w)
    other = own * (w + alike * loss)
    gain = own * loss * (1.0 - alike)
    variances: Array = other * (1.0 - other) / gain**2
    return variances


SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""


def variance_lower_bound(categories: int, epsilon: float) -> float:
    """Return a lower bound of users times the variance, for every private channel and any reports.

    Examples
    --------
    >>> bound = variance_lower_bound(64, 1.0)
    >>> 3.5 < bound < 4 * np.e / (np.e - 1) ** 2
    True
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    return float(subset_variance(categories, sizes, epsilon).min()) * (1.0 - SAFETY)


def least_bits(categories: int) -> int:
    """Return the bits of a report that can take as many values as there are categories.

    With fewer the frequencies are not determined: D distributions of fewer than D reports are dependent.
    """
    return (categories - 1).bit_length()
