"""One frequency oracle for the cells of a table: the thesis's adaptive one, with what its counts are worth.

Randomized response while D - 2 < 3 e^epsilon, else optimised unary encoding (Zhang 2019, section 3.3.2). For
both, a report supports its own cell with probability p and any other one with q, so that the estimate of a
cell is (share of supporting reports - q) / (p - q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.randomness import TOTAL, BitSource
from mechdesign.mechanisms.kary import KaryChannel, KaryResponse
from mechdesign.mechanisms.oracles import UnaryEncoding

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class CellOracle:
    """Reports about one of D cells, counted and estimated without intervals.

    Parameters
    ----------
    mechanism : KaryResponse or UnaryEncoding

    Examples
    --------
    >>> [type(CellOracle.adaptive(cells, 1.0).mechanism).__name__ for cells in (4, 64)]
    ['KaryResponse', 'UnaryEncoding']
    """

    mechanism: KaryResponse | UnaryEncoding

    @classmethod
    def response(cls, cells: int, epsilon: float) -> CellOracle:
        """Return randomized response."""
        kept = np.arange(cells, dtype=np.int64)
        return cls(KaryResponse.from_channel(KaryChannel(cells, kept, epsilon))).useful()

    @classmethod
    def adaptive(cls, cells: int, epsilon: float) -> CellOracle:
        """Return the oracle of the thesis's rule."""
        if (cells - 2) * math.exp(-epsilon) < 3.0:
            return cls.response(cells, epsilon)
        return cls(UnaryEncoding.optimised(cells, epsilon)).useful()

    def useful(self) -> CellOracle:
        """Return it, or raise ParameterError where reports say nothing."""
        if self.own <= self.other:
            raise ParameterError("epsilon: is so small that reports say nothing; give a larger one")
        return self

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.mechanism.labels.size

    @property
    def is_unary(self) -> bool:
        """Whether a report is a set of cells, each decided on its own."""
        return isinstance(self.mechanism, UnaryEncoding)

    @cached_property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The probabilities p and q, exactly, for the integers that are drawn by."""
        if isinstance(self.mechanism, UnaryEncoding):
            return self.mechanism.support_shares()
        weights = self.mechanism.weights
        return Fraction(weights.own + weights.high, TOTAL), Fraction(weights.low, TOTAL)

    @property
    def own(self) -> float:
        """The probability p that a report supports the own cell."""
        return float(self.shares[0])

    @property
    def other(self) -> float:
        """The probability q that it supports another one."""
        return float(self.shares[1])

    @property
    def gain(self) -> float:
        """The difference p - q, computed exactly before it is rounded."""
        return float(self.shares[0] - self.shares[1])

    def certificate(self) -> Certificate:
        """Return the exact certificate of privacy of one report."""
        return self.mechanism.audit().certificate()

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a report for each cell's number."""
        return self.mechanism.draw(codes, source)

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return how many reports support each cell."""
        if isinstance(self.mechanism, UnaryEncoding):
            return self.mechanism.count(reports)
        return np.bincount(reports, minlength=self.cells).astype(np.int64)

    def simulate(self, people: Codes, generator: np.random.Generator) -> Codes:
        """Return counts of support drawn from their exact law, given how many people have each cell.

        The same distribution as counting drawn reports, in O(D) instead of O(n D): for simulations.
        """
        users = int(people.sum())
        if self.is_unary:
            kept = generator.binomial(people, self.own)
            added: Codes = kept + generator.binomial(users - people, self.other)
            return added
        told = generator.binomial(people, self.gain)  # with p - q the truth, else any cell alike
        guessed: Codes = told + generator.multinomial(users - told.sum(), np.full(self.cells, 1 / self.cells))
        return guessed

    def estimate(self, counts: Codes, users: int) -> Array:
        """Return the unbiased estimates of the shares of people."""
        estimates: Array = (counts / users - self.other) / self.gain
        return estimates

    def summed_variance(self, cells: int | None = None) -> float:
        """Return users times the summed variance of a marginal table of so many cells, for fixed people.

        A cell of the marginal is the sum of D / ``cells`` cells. Whoever has it adds P (1 - P), the cells
        that he has not Q (1 - Q) each; so the sum does not depend on the data.

        Examples
        --------
        >>> oracle = CellOracle.adaptive(256, 0.5)
        >>> exact = 256 * 4 * math.exp(0.5) / math.expm1(0.5) ** 2 + 1
        >>> abs(oracle.summed_variance(8) / exact - 1) < 1e-12  # 2^d Var_0 of (3.1), and 1
        True
        """
        wanted = self.cells if cells is None else cells
        own, other = self.shares
        if self.is_unary:
            spread = own * (1 - own) + (self.cells - 1) * other * (1 - other)
        else:
            merged = self.cells // wanted
            high, low = own + (merged - 1) * other, merged * other
            spread = high * (1 - high) + (wanted - 1) * low * (1 - low)
        return float(spread / (own - other) ** 2)
