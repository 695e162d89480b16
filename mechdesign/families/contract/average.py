"""What the buyers' reports say: their average, and how near it is to the truth."""

from __future__ import annotations

from dataclasses import dataclass

from mechdesign.families.contract.figures import average_figures
from mechdesign.show.figure import Figure


@dataclass(frozen=True)
class ContractAverage:
    """The average of the buyers' reports.

    Attributes
    ----------
    value : float
    standard_error : float
        From the noise of the bought epsilons, at its worst value; the users are not a sample here.
    alpha, confidence : float
        The true average of the buyers is within alpha with at least this probability (Chebyshev).
    users : int

    Examples
    --------
    >>> ContractAverage(4.8, 0.07, 0.22, 0.9, 300).figures()
    [Figure('Average of 300 buyers', 1 panel)]
    """

    value: float
    standard_error: float
    alpha: float
    confidence: float
    users: int

    def figures(self) -> list[Figure]:
        """Return the average with its standard error, and with what holds at the stated confidence."""
        return average_figures(self.value, self.standard_error, self.alpha, self.confidence, self.users)
