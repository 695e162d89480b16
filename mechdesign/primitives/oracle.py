"""Frequency oracles: one answer goes in, and the report supports some of the categories.

A user's own category is supported with probability p, any other one with q < p, whichever it is ("pure"
protocols, Wang et al. 2017). So a category that a share s of all reports supports has the unbiased estimate
(s - q) / (p - q), and one user adds to its variance p (1 - p) / (p - q)^2 or q (1 - q) / (p - q)^2.

As a score, a category has (1 - q)/(p - q) where a report supports it, else -q/(p - q). Given what is
supported, no answer among the supported ones, and none among the others, is likelier than another;
:meth:`Oracle.weight_ratio` is the ratio between the two. Tables of many categories are not made: there the
scores are a :class:`SupportTable`, which sums and gives columns in pieces.

Where reports are subsets of categories, their best size depends on the frequency in question. For a rare
category the variance is least at one size, for a category as frequent as all others at a size that is often
one more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.report_scores import MOST_ENTRIES, ReportScores, question_of
from mechdesign.exact.randomness import BitSource

if TYPE_CHECKING:
    from mechdesign.collect.estimate import FrequencyEstimate  # noqa: F401 (named in a text below)

Array = NDArray[np.float64]

Moments = tuple[Fraction, ...]
"""E[N^r] for r from 0 to 4."""

STIRLING = ((1,), (0, 1), (0, 1, 1), (0, 1, 3, 1), (0, 1, 7, 6, 1))
"""N^r as a sum of falling factorials."""


def bernoulli(chance: Fraction) -> Moments:
    """Return the moments of a number that is 1 with this probability, else 0."""
    return (Fraction(1), chance, chance, chance, chance)


@lru_cache(maxsize=1024)
def draw_moments(among: int, count: int, total: int) -> Moments:
    """Return the moments of how many of ``among`` things are in a random set of ``count`` out of ``total``.

    Examples
    --------
    >>> draw_moments(1, 2, 3)[1]
    Fraction(2, 3)
    """
    return from_factorials(
        [
            Fraction(falling_product(among, r) * falling_product(count, r), falling_product(total, r) or 1)
            for r in range(5)
        ]
    )


def one_more(law: Moments) -> Moments:
    """Return the moments of N + 1."""
    return tuple(sum((comb(r, j) * law[j] for j in range(r + 1)), Fraction(0)) for r in range(5))


@lru_cache(maxsize=1024)
def of_sets(own: Fraction, total: int, size: int, cells: int) -> tuple[Moments, Moments]:
    """Return the moments of how many of ``cells`` categories a random set of ``size`` categories holds.

    First for users whose category is among them, then for the others. The set holds the own category with the
    chance ``own``, and is uniform otherwise.

    Examples
    --------
    >>> own, other = of_sets(Fraction(2, 3), 4, 2, 1)
    >>> own[1], other[1]
    (Fraction(2, 3), Fraction(4, 9))
    """
    others = total - 1
    rest, less = draw_moments(cells - 1, size, others), draw_moments(cells - 1, size - 1, others)
    without, fewer = draw_moments(cells, size, others), draw_moments(cells, size - 1, others)
    return mixed(own, one_more(less), rest), mixed(own, fewer, without)


def mixed(share: Fraction, first: Moments, second: Moments) -> Moments:
    """Return the moments of a number of the first distribution with this probability, else of the second."""
    return tuple(share * a + (1 - share) * b for a, b in zip(first, second, strict=True))


def share_in(epsilon: float, part: float) -> float:
    """Return rho, the share of users whose set is drawn around their answer.

    With t the part of all answers that a set holds, rho = (E - 1) t / (1 + (E - 1) t), E = e^epsilon: then a
    set that holds the answer is E times as likely as one that does not.

    Examples
    --------
    >>> round(share_in(2.0, 0.25), 6)
    0.614979
    """
    excess = part * -math.expm1(-epsilon)
    return excess / (math.exp(-epsilon) + excess)


def falling_product(number: int, length: int) -> int:
    """Return number (number - 1) ... with ``length`` factors."""
    product = 1
    for step in range(length):
        product *= number - step
    return product


def from_factorials(factorial: Sequence[Fraction]) -> Moments:
    """Return moments from factorial moments."""
    return tuple(
        sum((Fraction(count) * factorial[j] for j, count in enumerate(row)), Fraction(0)) for row in STIRLING
    )


Shares = tuple[Fraction, Fraction]
"""p and q."""


class Oracle(AnswerMechanism["FrequencyEstimate"]):
    """A mechanism for one answer whose reports support categories, the user's own likelier than any other."""

    epsilon: float
    _fixed_support: ClassVar[bool] = False
    """Whether every report supports as many categories, so that estimates sum to 1."""

    @abstractmethod
    def support_shares(self) -> Shares:
        """Return p and q, the exact probabilities that a report supports the own and another category."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """The length of the shortest code of fixed length for its reports."""

    @abstractmethod
    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a report for the number of each category."""

    @abstractmethod
    def read(self, reports: Any) -> NDArray[Any]:
        """Return reports, or their texts from a table, as :meth:`draw` gives them; refuse impossible ones."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """Number of counters that the server keeps."""

    @abstractmethod
    def count(self, reports: NDArray[Any]) -> Codes:
        """Return the increments of the server's counters for these reports."""

    def supports(self, counts: Codes, users: int) -> Codes:
        """Return the number of reports that support each category, from the server's counters."""
        return counts

    @abstractmethod
    def aggregator(self) -> Any:
        """Return an empty counter; counters of many servers can be merged."""

    # Scores of reports

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        return (supported_scores(self, reports),)

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        """Return which categories each report supports.

        Parameters
        ----------
        read : array
            n reports as :meth:`read` gives them.
        place : int, optional
            The number of one category; by default all of them.

        Returns
        -------
        (n, k) or (n, 1) bool array

        Examples
        --------
        >>> from mechdesign.families.marginals.oracles import LocalHashing
        >>> oracle = LocalHashing.of(6, 1.0, buckets=3)
        >>> table = oracle.supported_by(np.arange(40))
        >>> bool((table.sum(axis=0) == oracle.supports(oracle.count(np.arange(40)), 40)).all())
        True
        """
        distinct, rows = np.unique(read, axis=0, return_inverse=True)
        one = [np.asarray(self.supports(self.count(distinct[[row]]), 1)) > 0 for row in range(len(distinct))]
        table = np.stack(one)[rows.ravel()] if one else np.zeros((0, self.labels.size), dtype=bool)
        return table if place is None else table[:, [place]]

    def weight_ratio(self) -> float | None:
        """Return how likely an answer that a report does not support is, next to one that it supports.

        None where answers that a report supports are not equally likely, or it is not known: then reports
        have scores, but no likelihood.
        """
        return None

    # Accuracy

    def variance(self, frequency: float = 0.0) -> float:
        """Return users times the variance of the estimate of a category of this frequency.

        Infinite where the integers of all answers are the same: 62 bits do not tell apart what differs less.

        Examples
        --------
        >>> from mechdesign.families.marginals.oracles import UnaryEncoding
        >>> oracle = UnaryEncoding.optimised(64, 1.0)
        >>> round(oracle.variance(), 6)  # 4 e / (e - 1)^2
        3.682694
        """
        own, other = self.support_shares()
        if own == other:
            return math.inf
        share = Fraction(frequency)
        spread = share * own * (1 - own) + (1 - share) * other * (1 - other)
        return float(spread / (own - other) ** 2)

    def supported(self, cells: int) -> tuple[Moments, Moments] | None:
        """Return the moments of how many of ``cells`` categories a report supports, None where not known.

        First for users whose own category is among them, then for the others.
        """
        return (
            (bernoulli(self.support_shares()[0]), bernoulli(self.support_shares()[1])) if cells == 1 else None
        )


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


PIECE = 1 << 22
"""Entries of a table that is made in pieces, at a time."""


@dataclass(frozen=True, eq=False)
class SupportTable:
    """Scores of reports that support categories, made in pieces: memory does not grow with the categories.

    Attributes
    ----------
    oracle : Oracle
    read : array
        Reports as the oracle reads them.
    """

    oracle: Oracle
    read: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of reports and of categories."""
        return len(self.read), self.oracle.labels.size

    @property
    def levels(self) -> tuple[float, float]:
        """The score of a category that a report supports, and of one that it does not."""
        own, other = map(float, self.oracle.support_shares())
        return (1.0 - other) / (own - other), -other / (own - other)

    def pieces(self) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        """Yield rows, and which categories these reports support."""
        users, categories = self.shape
        step = max(1, PIECE // categories)
        for start in range(0, users, step):
            rows = slice(start, min(start + step, users))
            yield rows, self.oracle.supported_by(self.read[rows])

    def column(self, place: int) -> Array:
        """Return the scores of one category, (n,)."""
        high, low = self.levels
        users = self.shape[0]
        supported = np.empty(users, dtype=bool)
        for start in range(0, users, PIECE):
            rows = slice(start, start + PIECE)
            supported[rows] = self.oracle.supported_by(self.read[rows], place)[:, 0]
        return np.where(supported, high, low)

    def support_sums(self, weights: Array) -> Array:
        """Return for each category the sum of the weights (n,) or (n, m) of the reports that support it."""
        flat = weights.reshape(len(weights), -1)
        total = np.zeros((flat.shape[1], self.shape[1]))
        for rows, supported in self.pieces():
            total += flat[rows].T @ supported
        return total[0] if weights.ndim == 1 else total

    def sums(self, weights: Array) -> Array:
        """Return the weighted sums of the scores of each category, (k,).

        Examples
        --------
        >>> from mechdesign.families.marginals.oracles import LocalHashing
        >>> oracle = LocalHashing.of(50, 2.0, buckets=8)
        >>> read = oracle.read(oracle.randomize([3, 4] * 50, rng=1))
        >>> sums = SupportTable(oracle, read).sums(np.ones(100))
        >>> bool(np.allclose(sums / 100, oracle.estimate(read).value))
        True
        """
        high, low = self.levels
        return (high - low) * self.support_sums(weights) + low * float(weights.sum())

    def squares(self, weights: Array, middle: Array) -> Array:
        """Return for each category the sum of weight times (score - middle)^2, (k,)."""
        high, low = self.levels
        inside = self.support_sums(weights)
        result: Array = inside * (high - middle) ** 2 + (float(weights.sum()) - inside) * (low - middle) ** 2
        return result

    def dense(self) -> Array:
        """Return the whole table, (n, k)."""
        high, low = self.levels
        return np.asarray(np.where(self.oracle.supported_by(self.read), high, low))


def supported_scores(oracle: Oracle, reports: Any) -> ReportScores:
    """Return the scores of reports that support categories; in pieces where the table would be large."""
    labels, read = tuple(map(str, oracle.labels.shown())), oracle.read(reports)
    table, name, even = SupportTable(oracle, read), question_of(oracle), np.ones(len(read))
    if len(read) * len(labels) > MOST_ENTRIES:
        return ReportScores(name, labels, np.zeros((len(read), 0)), even, None, support=table)
    values, likelihood = supported_tables(oracle, read)
    return ReportScores(name, labels, values, even, likelihood, support=table)


def supported_tables(oracle: Oracle, read: Any) -> tuple[Array, Array | None]:
    """Return scores and likelihoods, both (n, k), of reports that support categories.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(4, 1.0, size=2)
    >>> scores, likelihood = supported_tables(oracle, oracle.read(["xc0"]))
    >>> likelihood.round(3)  # the two supported answers are e times as likely
    array([[1.   , 1.   , 0.368, 0.368]])
    """
    table, ratio = SupportTable(oracle, read), oracle.weight_ratio()
    supported = oracle.supported_by(read)
    high, low = table.levels
    likelihood = None if ratio is None else np.where(supported, 1.0, ratio)
    return np.asarray(np.where(supported, high, low)), likelihood


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
    result: NDArray[np.float64] = (1.0 - frequency) * others + frequency * own
    return result


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
