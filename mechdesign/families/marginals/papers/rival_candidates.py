"""Other ways to collect the requested marginals, as candidates next to the views: FC, AM, FT, EM and BE.

Their value is the expected squared error of the same marginals for the population that the users are drawn
from, as that of views is, so that they can be compared. The bounds of the methods that choose views are for
releases by views, and say nothing about these.

For attributes of equal size there are formulas: expected squared errors of one requested marginal, summed
over its cells, with users split evenly (fractions of users allowed) and people who are spread evenly over the
cells, the worst case of the sampling error.

    FC    one oracle for all cells:                        2^d Var_0 in (3.1)
    AM    C(d, k) tables, users split:                     2^k C(d, k) Var_0 in (3.2)
    FT    the Fourier coefficients that are needed, split: sum_{s <= k} C(d, s) Var_0 in (3.4)
    EM    every attribute with epsilon / d, unbiased:      no formula in the thesis

The oracles are the integers that the rivals of this folder draw by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.errors import MechDesignError
from mechdesign.core.problem import Outcome
from mechdesign.families.marginals.papers.rivals import BinaryEncoded, MarginalRival, Rival
from mechdesign.families.marginals.papers.rivals.base import CellOracle
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoding
from mechdesign.families.marginals.papers.rivals.mechanism import collection_of, rival_by_name
from mechdesign.families.marginals.papers.rivals.tables import MOST_JOINT_CELLS
from mechdesign.families.marginals.view_errors import View, terms_of
from mechdesign.primitives.attributes import Attributes

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views import MarginalViews


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
    if cells > MOST_JOINT_CELLS:
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
    if case.users < case.tables or case.cells > MOST_JOINT_CELLS:
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
    if case.cells > MOST_JOINT_CELLS:
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
    number = 1 << (case.bits * case.order)
    noise = (number if literal else number - 1) * (1.0 - gain**2) / gain**2 * count / case.users
    return (noise + (number - 1) * _sampling(case, count)) * case.cells / number**2


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
    figures: dict[str, float | int] = {f"{name}_error": error for name, error in errors.items()}
    figures |= {f"{name}_over_var0": error / base for name, error in errors.items()}
    figures |= {
        "fc_count": case.size**case.attributes,
        "am_count": case.tables,
        "ft_count": case.needed,
        "ft_literal_count": case.counted,
        "am_cells": case.tables * case.cells,
        "ft_report_bits": 1 + (case.needed - 1).bit_length(),
    }
    return figures


SCOPE = "collects otherwise than by views, which the bounds are for"


def rival_of(problem: MarginalViews, name: str) -> Rival:
    """Return the rival for the problem's attributes; of BE the views are the bits of the targets."""
    order = max(map(len, problem.targets))
    views = list(_encoded(problem)) if name == BinaryEncoded.name else None
    return rival_by_name(name, problem.sizes, problem.epsilon, order, views)


def _encoded(problem: MarginalViews) -> dict[View, float]:
    """Return the requested marginals of bits with their weights."""
    encoding = BinaryEncoding(problem.sizes)
    weights: dict[View, float] = {}
    for one, weight in problem.targets.items():
        places = encoding.places_of(one)
        weights[places] = weights.get(places, 0.0) + weight
    return weights


def errors(problem: MarginalViews, name: str) -> dict[View, float]:
    """Return the expected squared error of each requested marginal, for groups of equal (fractional) size."""
    rival = rival_of(problem, name)
    if isinstance(rival, BinaryEncoded):
        encoded = _encoded(problem)
        bits = [2] * sum(rival.encoding.bits)
        terms = terms_of(bits, encoded, list(encoded), problem.epsilon, "thesis")
        shares = np.full(len(encoded), 1.0 / len(encoded))
        by_bits = dict(zip(encoded, (terms.errors(shares) / problem.users).tolist(), strict=True))
        return {one: by_bits[rival.encoding.places_of(one)] for one in problem.targets}
    collection = collection_of(rival)
    even: Any = np.full(collection.group_count, problem.users / collection.group_count)
    by_sizes: dict[tuple[int, ...], float] = {}
    result = {}
    for one in problem.targets:
        kind = tuple(sorted(problem.sizes[attribute] for attribute in one))
        if kind not in by_sizes:
            by_sizes[kind] = collection.rival.error_of_groups(one, even)
        result[one] = by_sizes[kind]
    return result


def value(problem: MarginalViews, name: str) -> float:
    """Return the mean error, weighted, or the largest one times its weight over the mean weight.

    The users are drawn from a population, as they are where views are judged: that adds at most 1 - 1/cells,
    divided by the users, to the error for the users themselves. (In the errors of BE it is there already.)
    """
    values = np.array(list(errors(problem, name).values()))
    if name != BinaryEncoded.name:
        cells = np.array([problem.cells(one) for one in problem.targets])
        values = values + (1.0 - 1.0 / cells) / problem.users
    weights = np.array(list(problem.targets.values()))
    weights = weights / weights.sum()
    return float(weights @ values if problem.criterion == "mean" else (weights * values).max() * len(values))


def residuals(problem: MarginalViews, variables: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of requested marginals without an answer and of superfluous groups."""
    unanswered = sum(len(one) > variables["order"] for one in problem.targets)
    return {
        "unanswered": float(unanswered),
        "groups_too_many": float(max(0, variables["count"] - problem.users)),
    }


def mechanism(problem: MarginalViews, name: str) -> MarginalRival:
    """Return the mechanism to run."""
    attributes = Attributes(problem.sizes, problem.names, problem.labels)
    return MarginalRival(attributes, rival_of(problem, name), problem.users)


def runner(name: str) -> Callable[[MarginalViews], Outcome]:
    """Return the method's ``run``."""

    def run(problem: MarginalViews) -> Outcome:
        rival = rival_of(problem, name)
        views = rival.views_of_bits.views if isinstance(rival, BinaryEncoded) else ()
        variables = {
            "rival": name,
            "order": rival.setting.order,
            "count": collection_of(rival).group_count,
            "views": [list(view) for view in views],
        }
        return Outcome(status="feasible", variables=variables, solver="closed form")

    return run


def refusal(name: str) -> Callable[[MarginalViews], str | None]:
    """Return the method's ``why_not``."""

    def why_not(problem: MarginalViews) -> str | None:
        if problem.criterion == "rule":
            return "the value of criterion 'rule' is one of views; take 'mean' or 'worst'"
        if problem.views is not None:
            return "only the given views may be taken"
        if name == BinaryEncoded.name and max(problem.sizes) == 2:
            return "all attributes are bits already"
        try:
            groups = collection_of(rival_of(problem, name)).group_count
        except MechDesignError as error:
            return str(error)
        if groups > problem.users:
            return f"{groups} groups are more than the {problem.users} users"
        return None

    return why_not
