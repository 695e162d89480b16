"""Which frequency oracle reports the cells of a view: the one of least variance, and its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.randomness import TOTAL
from mechdesign.core.validation import choice, integer, privacy_epsilon
from mechdesign.mechanisms.kary import KaryChannel, KaryResponse
from mechdesign.mechanisms.oracles.base import Shares, SupportOracle
from mechdesign.mechanisms.oracles.subset import SubsetSelection
from mechdesign.mechanisms.oracles.unary import UnaryEncoding

Oracle = SupportOracle | KaryResponse
"""A mechanism for one answer whose reports support cells, the own one likelier than any other."""

KINDS = (KaryResponse.type, UnaryEncoding.type, SubsetSelection.type)
"""The oracles to choose from, each by the word in its file."""


def best_oracle(cells: int, epsilon: float, kinds: Sequence[str] = KINDS) -> Oracle:
    """Return the oracle of least variance for so many cells: randomized response, unary or subsets.

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
        raise ParameterError("kinds: is empty; name at least one oracle")
    made = [_made(choice("kinds", kind, KINDS), count, promise) for kind in kinds]
    return min(made, key=cell_variance)


def _made(kind: str, cells: int, epsilon: float) -> Oracle:
    if kind == KaryResponse.type:
        return KaryResponse.from_channel(KaryChannel(cells, np.arange(cells), epsilon))
    if kind == UnaryEncoding.type:
        return UnaryEncoding.optimised(cells, epsilon)
    wanted = cells / (1.0 + math.exp(min(epsilon, 700.0)))
    sizes = {min(max(size, 1), cells - 1) for size in (math.floor(wanted), math.ceil(wanted))}
    return min((SubsetSelection.of(cells, epsilon, size) for size in sorted(sizes)), key=cell_variance)


def support_shares(oracle: Oracle) -> Shares:
    """Return the exact chances p and q that a report supports the own and another cell."""
    if isinstance(oracle, SupportOracle):
        return oracle.support_shares()
    return Fraction(oracle.weights.own + oracle.weights.high, TOTAL), Fraction(oracle.weights.low, TOTAL)


def cell_variance(oracle: Oracle) -> float:
    """Return users times the variance of the estimated share of a cell, the users' cells being even.

    The users are a draw: the variance of the noise and of who reports, E[s^2] - 1/D^2 for the score s.
    """
    own, other = support_shares(oracle)
    if own <= other:
        return math.inf
    even = Fraction(1, oracle.labels.size)
    mixed = even * own + (1 - even) * other
    return float(mixed * (1 - mixed) / (own - other) ** 2)


def noisiest_variance(oracle: Oracle) -> float:
    """Return users times the largest variance that the estimated share of a cell can have."""
    own, other = support_shares(oracle)
    worst = max(share * (1 - share) for share in (own, other))
    return float(worst / (own - other) ** 2) + 0.25


def require_oracle(number: int, oracle: object, cells: int) -> Oracle:
    """Return an oracle that fits a view of so many cells, or raise ParameterError."""
    where = f"oracles: view {number}"
    if not isinstance(oracle, (SupportOracle, KaryResponse)):
        raise ParameterError(f"{where}: {type(oracle).__name__} is no frequency oracle of this package")
    if isinstance(oracle, KaryResponse):
        if oracle.delta or len(oracle.kept) < oracle.labels.size:
            raise ParameterError(f"{where}: the k-ary response has delta > 0 or keeps some answers only")
        own, other = support_shares(oracle)
        if own <= other:
            raise ParameterError(f"{where}: its reports say nothing about the answers; raise epsilon")
    if oracle.labels.size != cells:
        raise ParameterError(f"{where}: is for {oracle.labels.size} cells, the view has {cells}")
    if oracle.labels.names is not None:
        raise ParameterError(f"{where}: has labels of its own; leave them out, cells are numbers")
    return oracle
