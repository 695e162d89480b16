"""The change of an estimate between two waves, with an interval made of those of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mechdesign.analysis.student import difference_distances

Row = tuple[float, float, float, float]
"""An estimate, its standard error, and the ends of its interval."""


@dataclass(frozen=True)
class Change:
    """The change of one estimate between two waves.

    Attributes
    ----------
    question, category : str
    value : float
        The later estimate minus the earlier one.
    standard_error, low, high : float
        Its standard error, and the ends of its interval.
    """

    question: str
    category: str
    value: float
    standard_error: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether its interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0


def change_between(question: str, category: str, first: Row, second: Row) -> Change:
    """Return the change from one estimate to a later one.

    Parameters
    ----------
    question, category : str
    first, second : (estimate, standard error, low, high)

    Examples
    --------
    >>> change_between("smokes", "yes", (0.2, 0.03, 0.14, 0.26), (0.3, 0.04, 0.22, 0.38))
    Change(question='smokes', category='yes', value=0.09999..., standard_error=0.05, low=-0.0, high=0.2)
    """
    (a, error_a, low_a, high_a), (b, error_b, low_b, high_b) = first, second
    value = b - a
    down, up = map(float, difference_distances((b - low_b, high_b - b), (a - low_a, high_a - a)))
    return Change(question, category, value, math.hypot(error_a, error_b), value - down, value + up)
