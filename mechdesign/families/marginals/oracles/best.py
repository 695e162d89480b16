"""The best frequency oracle of several kinds for the cells of a table, and what builds each kind.

What is best depends on the frequency in question. For a rare category the variance of subset selection is
least at one size of the subsets, for a category as frequent as all others at a size that is often one more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer, one_of, privacy_epsilon
from mechdesign.families.marginals.oracles.blocks import HadamardResponse, SubsetSelection
from mechdesign.families.marginals.oracles.hashing import LocalHashing
from mechdesign.families.marginals.oracles.projective import ProjectiveGeometry
from mechdesign.families.marginals.oracles.support import SupportOracle
from mechdesign.families.marginals.oracles.unary import UnaryEncoding
from mechdesign.primitives.combine import QuestionForm, QuestionKind
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle, best_size, cell_variance

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
