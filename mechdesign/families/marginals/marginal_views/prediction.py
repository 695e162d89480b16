"""The expected squared error of a marginal that is summed up from the reports about one view.

Exact for every distribution of the users but for the sampling part, which is bounded: see
docs/families/marginals_views.md. All figures are for one report; with n w users divide by n w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from mechdesign.collect.subset_sizes import best_size
from mechdesign.families.marginals.oracles.best import prefers_response

ORACLES = ("best", "thesis")


@dataclass(frozen=True)
class Plan:
    """The frequency oracle that is planned for a view.

    Attributes
    ----------
    kind : str
        ``subset-selection``, ``randomized-response`` (which is subset selection of size 1) or
        ``optimised-unary``.
    cells : int
    epsilon : float
    size : int
        Of the subsets; 0 for unary encoding.
    """

    kind: str
    cells: int
    epsilon: float
    size: int

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the oracle besides categories and epsilon."""
        return {"size": self.size} if self.kind == "subset-selection" else {}


@cache
def planned(cells: int, epsilon: float, oracle: str) -> Plan:
    """Return the oracle for a view with this number of cells: the best of all, or the thesis's choice.

    Subset selection of the best size has the least variance of all private channels; its pairs of cells are
    interchangeable, so that the error of sums of cells is known exactly.

    Examples
    --------
    >>> planned(16, 1.0, "best").size, planned(16, 1.0, "thesis").kind, planned(4, 1.0, "best").kind
    (4, 'optimised-unary', 'randomized-response')
    """
    if oracle == "thesis":
        if prefers_response(cells, epsilon):
            return Plan("randomized-response", cells, epsilon, 1)
        return Plan("optimised-unary", cells, epsilon, 0)
    size = best_size(cells, epsilon)
    assert size is not None  # no limit on the report's bits
    return Plan("subset-selection" if size > 1 else "randomized-response", cells, epsilon, size)


@cache
def marginal_noise(plan: Plan, marginal_cells: int) -> float:
    """Return the noise of a marginal, summed over its cells, for one report.

    With c cells of the marginal, a user's support of the g = L / c cells that make up one of them has the
    variance V1 where the own cell is among them, else V0: (V1 + (c - 1) V0) / (p - q)^2, whatever the
    distribution.

    Examples
    --------
    >>> round(marginal_noise(planned(2, math.log(3.0), "best"), 2), 12)  # 2 * 3 / (3 - 1)^2
    1.5
    """
    group = plan.cells // marginal_cells
    if plan.kind == "optimised-unary":
        off, own, gain = _unary_moments(plan.epsilon, group)
    else:
        off, own, gain = _subset_moments(plan, group)
    return (own + (marginal_cells - 1) * off) / gain / gain


def _unary_moments(epsilon: float, group: int) -> tuple[float, float, float]:
    w = math.exp(-epsilon)
    each = w / (1.0 + w) ** 2
    return group * each, 0.25 + (group - 1) * each, -math.expm1(-epsilon) / (2.0 * (1.0 + w))


def _subset_moments(plan: Plan, group: int) -> tuple[float, float, float]:
    """Return V0, V1 and p - q: the subset is drawn from the other cells once it is known to have the own."""
    cells, size = plan.cells, plan.size
    w, others = math.exp(-plan.epsilon), plan.cells - 1
    rest = cells - size
    p = size / (size + rest * w)
    not_p = rest * w / (size + rest * w)

    def drawn(number: int) -> float:
        """Return the mean variance of how many of ``number`` other cells are in the subset."""
        if others == 1:
            return 0.0
        spread = number * (others - number) / others / others / (others - 1)
        return spread * (p * (size - 1) * (others - size + 1) + not_p * size * (others - size))

    off = drawn(group) + p * not_p * (group / others) ** 2
    own = drawn(group - 1) + p * not_p * (1.0 - (group - 1) / others) ** 2
    gain = size * rest * -math.expm1(-plan.epsilon) / (size + rest * w) / others
    return off, own, gain


def one_report(plan: Plan, marginal_cells: int) -> float:
    """Return noise and sampling together; sampling adds 1 - sum f^2, at most 1 - 1/cells.

    Examples
    --------
    >>> round(one_report(planned(2, math.log(3.0), "best"), 2), 12)
    2.0
    """
    return marginal_noise(plan, marginal_cells) + 1.0 - 1.0 / marginal_cells
