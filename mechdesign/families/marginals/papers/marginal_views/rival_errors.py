r"""What other ways to release the same marginals would cost: their errors, for attributes of equal size.

Expected squared errors of one wanted marginal, summed over its cells, with users split evenly (fractions of
users allowed) and people who are spread evenly over the cells: the worst case of the sampling error.

    FC    one oracle for all cells:                        2^d Var_0 in (3.1)
    AM    C(d, k) tables, users split:                     2^k C(d, k) Var_0 in (3.2)
    FT    the Fourier coefficients that are needed, split: sum_{s <= k} C(d, s) Var_0 in (3.4)
    EM    every attribute with epsilon / d, unbiased:      no formula in the thesis

The oracles are the integers that the rivals of ``papers.marginals.rivals`` draw by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.core.errors import MechDesignError
from mechdesign.families.marginals.papers.rivals.cells import CellOracle
from mechdesign.families.marginals.papers.rivals.contingency import MOST_CELLS


@dataclass(frozen=True)
class RivalCase:
    """Attributes of equal size, the order of the marginals, users and epsilon."""

    attributes: int
    size: int
    order: int
    users: int
    epsilon: float

    @property
    def cells(self) -> int:
        """The cells of a requested marginal."""
        cells: int = self.size**self.order
        return cells

    @property
    def bits(self) -> int:
        """The bits of an encoded attribute."""
        return (self.size - 1).bit_length()

    @property
    def tables(self) -> int:
        """Number of tables that AM collects."""
        return math.comb(self.attributes, self.order)

    @property
    def needed(self) -> int:
        """Number of coefficients that the marginals need: those of bits of at most k attributes."""
        others = (1 << self.bits) - 1
        return sum(math.comb(self.attributes, s) * others**s for s in range(1, self.order + 1))

    @property
    def counted(self) -> int:
        """Number of coefficients that the thesis counts: all of at most as many bits as k attributes have."""
        total = self.attributes * self.bits
        return sum(math.comb(total, s) for s in range(self.order * self.bits + 1))


def unit(case: RivalCase) -> float:
    """Return Var_0 of (3.5): 4 e / (e - 1)^2 / n, what unary encoding has in a cell."""
    return 4.0 * math.exp(-case.epsilon) / math.expm1(-case.epsilon) ** 2 / case.users


def full_table(case: RivalCase) -> float:
    """Return the error of FC, infinite where the table is too large.

    Examples
    --------
    >>> case = RivalCase(8, 2, 3, 65536, 0.2)
    >>> round(full_table(case) / unit(case), 3)
    256.01
    """
    cells = case.size**case.attributes
    if cells > MOST_CELLS:
        return math.inf
    return CellOracle.adaptive(cells, case.epsilon).summed_variance(case.cells) / case.users


def all_tables(case: RivalCase) -> float:
    """Return the error of AM, infinite where there are fewer users than tables.

    Examples
    --------
    >>> case = RivalCase(8, 2, 3, 65536, 0.2)
    >>> round(all_tables(case) / unit(case), 3)
    449.045
    """
    if case.users < case.tables or case.cells > MOST_CELLS:
        return math.inf
    noise = CellOracle.adaptive(case.cells, case.epsilon).summed_variance(case.cells)
    return noise * case.tables / case.users + (1.0 - 1.0 / case.cells) * _sampling(case, case.tables)


def all_tables_by_all(case: RivalCase) -> float:
    """Return the error of AM where every user reports every table, each with its part of epsilon.

    Examples
    --------
    >>> case = RivalCase(8, 2, 3, 65536, 0.2)
    >>> round(all_tables_by_all(case) / all_tables(case), 1)
    56.1
    """
    if case.cells > MOST_CELLS:
        return math.inf
    try:
        oracle = CellOracle.adaptive(case.cells, case.epsilon / case.tables)
    except MechDesignError:  # a part of epsilon so small that reports say nothing
        return math.inf
    return oracle.summed_variance(case.cells) / case.users


def coefficients(case: RivalCase, literal: bool = False) -> float:
    """Return the error of FT, by the letter or with what is needed; infinite where users are too few.

    Examples
    --------
    >>> case = RivalCase(8, 2, 3, 65536, 0.2)
    >>> round(coefficients(case) / unit(case), 3), round(coefficients(case, literal=True) / unit(case), 3)
    (81.299, 93.808)
    """
    count = case.counted if literal else case.needed
    if case.users < count:
        return math.inf
    gain = CellOracle.response(2, case.epsilon).gain
    asked = 1 << (case.bits * case.order)
    noise = (asked if literal else asked - 1) * (1.0 - gain**2) / gain**2 * count / case.users
    return (noise + (asked - 1) * _sampling(case, count)) * case.cells / asked**2


def shared_budget(case: RivalCase) -> float:
    """Return the error of EM's unbiased estimate.

    Examples
    --------
    >>> round(shared_budget(RivalCase(8, 2, 3, 65536, 0.5)))
    2058
    """
    one = 1.0 + CellOracle.response(case.size, case.epsilon / case.attributes).summed_variance()
    return float((one**case.order - 1.0) / case.users)


def _sampling(case: RivalCase, groups: int) -> float:
    """Return (n - g) / (g (n - 1)) for groups of g = n / groups users."""
    return (groups - 1) / (case.users - 1) if case.users > 1 else 0.0


def quantities_of_rivals(
    sizes: Sequence[int], order: int | None, users: int, epsilon: float
) -> dict[str, float | int]:
    """Return :func:`rival_quantities` where there are an order and attributes of equal size, else nothing."""
    if order is None or len(set(sizes)) > 1:
        return {}
    return rival_quantities(RivalCase(len(sizes), sizes[0], order, users, epsilon))


def rival_quantities(case: RivalCase) -> dict[str, float | int]:
    """Return the errors, in units of Var_0 as well, and how much each has to collect and to keep."""
    try:
        errors = {
            "fc": full_table(case),
            "am": all_tables(case),
            "am_by_all": all_tables_by_all(case),
            "ft": coefficients(case),
            "ft_literal": coefficients(case, literal=True),
            "em": shared_budget(case),
        }
    except MechDesignError:  # epsilon so small that reports say nothing
        return {}
    base = unit(case)
    found: dict[str, float | int] = {f"{name}_error": error for name, error in errors.items()}
    found |= {f"{name}_over_var0": error / base for name, error in errors.items()}
    found |= {
        "fc_count": case.size**case.attributes,
        "am_count": case.tables,
        "ft_count": case.needed,
        "ft_literal_count": case.counted,
        "am_cells": case.tables * case.cells,
        "ft_report_bits": 1 + (case.needed - 1).bit_length(),
    }
    return found
