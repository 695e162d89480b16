"""Mechanisms made of others: parts by chance or by question, and the kinds of parts that families offer.

**Parts by chance** (:class:`Split`). One of several branches is drawn for each user without looking at the
data, and is named in the report. Given the branch its parts are independent reports about different questions
of the same user. So the guarantees of a branch add up, and the whole is as private as its weakest branch,
whatever the shares are.

**Kinds of parts** (:class:`QuestionKind`). A kind designs the mechanism of a part, and says what its reports
are worth; a survey asks for it by its word. A new one is a class of a family, found soonest in its module
``question.py``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import composed, weakest
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.about import Sealed
from mechdesign.collect.base import mechanism_packages, mechanism_types
from mechdesign.collect.codec import Codes, Domain
from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.kernel import row_hex
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import UnknownNameError
from mechdesign.core.extensions import class_with
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, view_weights

Array = NDArray[np.float64]
PartT = TypeVar("PartT")

PIECE = 1 << 16
"""Users whose reports are drawn at a time; blocks of files are a multiple of it."""


class Split(Sealed, Generic[PartT]):
    """Branches, one of which each user reports, and the parts of each, all of which are reported.

    Parameters
    ----------
    branches : sequence of sequences of parts
    shares : sequence of numbers, optional
        In which proportion the branches are drawn, exactly; even by default.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> split = Split([["a", "b"], ["c"]], [1, 3])
    >>> split.share(1), [numbers.tolist() for _, numbers in split.draw(5, bit_source(1))]
    (0.75, [[1, 1, 0, 1, 1]])
    >>> half = Proof(Guarantee("0.5"), true_epsilon="0.5", pairs=2)
    >>> split.proof(Guarantee(1), [[half, half], [half]]).true_epsilon
    Fraction(1, 1)
    """

    def __init__(self, branches: Sequence[Sequence[PartT]], shares: Sequence[Any] | None = None) -> None:
        self.branches = tuple(tuple(parts) for parts in branches)
        self.weights = view_weights(len(self.branches), shares)

    def share(self, number: int) -> float:
        """Return the probability of a branch."""
        return self.weights[number] / TOTAL

    def ends(self) -> str:
        """Return the cumulative weights as the steps of a client have them."""
        return row_hex(list(accumulate(self.weights)))

    def draw(self, users: int, source: BitSource) -> Iterator[tuple[int, Codes]]:
        """Yield the first of the next users, and the numbers of their branches."""
        limits = np.cumsum(np.array(self.weights, dtype=np.int64))[:-1]
        for start in range(0, users, PIECE):
            yield start, np.searchsorted(limits, source.integers(min(PIECE, users - start)), side="right")

    def counters(self) -> list[list[Any]]:
        """Return an empty counter for each part of each branch."""
        branches: Any = self.branches
        return [[part.aggregator() for part in parts] for parts in branches]

    def proof(self, promise: Guarantee, proofs: Sequence[Sequence[Proof]]) -> Proof:
        """Return what the proofs of all parts prove: by question the sum, by chance the largest."""
        return weakest(promise, [composed(promise, list(parts)) for parts in proofs])

    def curve(self, curves: Sequence[Sequence[LossCurve | None]]) -> LossCurve | None:
        """Return the curve of delta of the whole: of all parts of a branch, and mixed over the branches.

        None where that of a part is not known.
        """
        products: dict[tuple[LossCurve, ...], LossCurve] = {}
        shares: dict[LossCurve, Fraction] = {}
        for weight, parts in zip(self.weights, curves, strict=True):
            known = tuple(part for part in parts if part is not None)
            if len(known) < len(parts):
                return None
            if known not in products:
                products[known] = LossCurve.product(known)
            shares[products[known]] = shares.get(products[known], Fraction(0)) + Fraction(weight, TOTAL)
        return LossCurve.mixed([(share, curve) for curve, share in shares.items()])

    def normalization(self) -> Certificate:
        """Return the certificate that the probabilities of the branches add up to 1."""
        total = sum(self.weights)
        return Certificate("normalization", total == TOTAL, True, {"share_sum": f"2**{BITS}"})


@dataclass(frozen=True)
class QuestionForm:
    """What one report is about: sizes of the questions, the range of a number, sizes of reported sets.

    A number that is asked for its mean has the size 2, for the ends of its range.
    """

    sizes: tuple[int, ...]
    domain: Domain | None = None
    sets: tuple[int, ...] = ()


class QuestionKind(ABC):
    """One way to report the answers of a user to some questions together, by its word in solutions."""

    question_kind: ClassVar[str]

    @abstractmethod
    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> Any:
        """Return the mechanism that is private at the promised epsilon, or None.

        A channel is solved for ``epsilon``; kinds in closed form take the promised one alone.
        """

    def variance(self, size: int, epsilon: float) -> float:
        """Return the variance of a report about a question of this size; infinite where it is not known."""
        return math.inf

    def variances(self, size: int, epsilons: Array) -> Array:
        """Return the variances for a plan; infinite where another kind is known to have a smaller one."""
        return np.array([self.variance(size, epsilon) for epsilon in epsilons.tolist()])

    def slope(self, size: int, epsilon: float) -> float:
        """Return the derivative of the variance in epsilon, of a channel that is solved at each."""
        return math.nan

    def solved(self, size: int) -> tuple[Array, Array]:
        """Return the epsilons at which channels are solved already, in order, and their variances."""
        return np.empty(0), np.empty(0)

    def best_sets(self, sizes: Sequence[int], epsilon: float, prices: Sequence[float]) -> list[list[int]]:
        """Return the sizes of sets that are worth most at prices of effective shares, the best ones first."""
        return []


class CellsKind(QuestionKind):
    """One cell of a table by k-ary response, whose report supports no other cell."""

    question_kind: ClassVar[str] = "cells"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> KaryResponse:
        return KaryResponse.of(math.prod(form.sizes), promised)


@cache
def question_kind(word: str) -> QuestionKind:
    """Return the kind of this word; no other family than the one that offers it is imported.

    Examples
    --------
    >>> question_kind("number").mechanism(QuestionForm((2,), Domain(0, 1)), 1.0, 1.0).audit().holds
    True
    """
    places = QuestionKind.__subclasses__, "question_kind", word, mechanism_packages()
    kind = class_with(*places)
    if kind is None and mechanism_types():  # which imports what other distributions bring
        kind = class_with(*places)
    if kind is None:
        raise UnknownNameError("designs", f"no family reports questions by '{word}'")
    return kind()
