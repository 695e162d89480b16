"""One frequency oracle for the cells of a table: the thesis's adaptive one, with what its counts are worth.

Randomized response while D - 2 < 3 e^epsilon, else optimised unary encoding (Zhang 2019, section 3.3.2). For
both, a report supports its own cell with probability p and any other one with q, so that the estimate of a
cell is (share of supporting reports - q) / (p - q).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle, Shares
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.oracles import UnaryEncoding
from mechdesign.families.marginals.oracles.best import prefers_response

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

    mechanism: Oracle

    @classmethod
    def response(cls, cells: int, epsilon: float) -> CellOracle:
        """Return randomized response."""
        return cls(KaryResponse.of(cells, epsilon)).useful()

    @classmethod
    def adaptive(cls, cells: int, epsilon: float) -> CellOracle:
        """Return the oracle of the thesis's rule."""
        if prefers_response(cells, epsilon):
            return cls.response(cells, epsilon)
        return cls(UnaryEncoding.optimised(cells, epsilon)).useful()

    def useful(self) -> CellOracle:
        """Return it, or raise ParameterError where reports say nothing."""
        if self.own <= self.other:
            raise ParameterError("epsilon", "is so small that reports contain no information", "raise it")
        return self

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.mechanism.labels.size

    @property
    def is_unary(self) -> bool:
        """Whether a report is a set of cells, each decided on its own."""
        return isinstance(self.mechanism, UnaryEncoding)

    @cached_property
    def shares(self) -> Shares:
        """The probabilities p and q, exactly, for the integers that are drawn by."""
        return self.mechanism.support_shares()

    @property
    def own(self) -> float:
        """The probability p that a report supports the user's cell."""
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
        return self.mechanism.certificates()[0]

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a report for each cell's number."""
        return self.mechanism.draw(codes, source)

    def count(self, reports: NDArray[Any]) -> Codes:
        """Return the number of reports that support each cell."""
        return self.mechanism.count(reports)

    def simulate(self, people: Codes, generator: np.random.Generator) -> Codes:
        """Return counts of support drawn from their exact law, given how many people have each cell.

        The same distribution as counting drawn reports, in O(D) instead of O(n D): for simulations.
        """
        users = int(people.sum())
        if self.is_unary:
            kept = generator.binomial(people, self.own)
            added: Codes = kept + generator.binomial(users - people, self.other)
            return added
        told = generator.binomial(people, self.gain)  # with p - q the truth, else a uniform cell
        guessed: Codes = told + generator.multinomial(users - told.sum(), np.full(self.cells, 1 / self.cells))
        return guessed

    def estimate(self, counts: Codes, users: int) -> Array:
        """Return the unbiased estimates of the shares of people."""
        estimates: Array = (counts / users - self.other) / self.gain
        return estimates

    def summed_variance(self, cells: int | None = None) -> float:
        """Return users times the summed variance of a marginal table of ``cells`` cells, for fixed people.

        A cell of the marginal is the sum of D / ``cells`` cells. Whoever has it adds P (1 - P), the cells
        that he has not Q (1 - Q) each; so the sum does not depend on the data.

        Examples
        --------
        >>> oracle = CellOracle.adaptive(256, 0.5)
        >>> exact = 256 * 4 * np.exp(0.5) / np.expm1(0.5) ** 2 + 1
        >>> bool(abs(oracle.summed_variance(8) / exact - 1) < 1e-12)  # 2^d Var_0 of (3.1), and 1
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
