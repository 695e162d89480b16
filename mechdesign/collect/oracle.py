"""What every frequency oracle is: one answer goes in, and the report supports some of the categories.

A user's own category is supported with probability p, any other one with q < p, whichever it is ("pure"
protocols, Wang et al. 2017). So a category that a share s of all reports supports has the unbiased estimate
(s - q) / (p - q), and one user adds to its variance p (1 - p) / (p - q)^2 or q (1 - q) / (p - q)^2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from mechdesign.collect.categories import CategoryMechanism
from mechdesign.collect.labels import Codes
from mechdesign.collect.moments import Moments, bernoulli
from mechdesign.core.tables import Values
from mechdesign.exact.randomness import BitSource

if TYPE_CHECKING:
    from mechdesign.collect.frequency_estimate import FrequencyEstimate  # noqa: F401 (named in a text below)

Shares = tuple[Fraction, Fraction]
"""p and q."""


class Oracle(CategoryMechanism["FrequencyEstimate"]):
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

    @property
    @abstractmethod
    def _report_text(self) -> str:
        """Content of a column of reports."""

    @abstractmethod
    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return a report for the number of each category."""

    @abstractmethod
    def read(self, reports: Any) -> NDArray[Any]:
        """Return reports, or their texts from a table, as :meth:`draw` gives them; refuse impossible ones."""

    @abstractmethod
    def written(self, reports: NDArray[Any]) -> Values:
        """Return reports as they stand in a table."""

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
