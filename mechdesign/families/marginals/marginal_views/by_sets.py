"""Collections by sets of answers, as ``marginal-views`` judges them: their mean error, and what runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.attributes import Attributes
from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.families.marginals.sets import CellSet, MatchSet, ProductSet, SetResponse, SetShape
from mechdesign.families.marginals.sets.products import match_share, product_shares, share_in

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views.problem import MarginalViews

Array = NDArray[np.float64]


def mean_error(problem: MarginalViews, sets: Sequence[Mapping[str, Any]], shares: Array) -> float:
    """Return users times the weighted mean of the tables' squared errors, at even data.

    A table of K cells has the sum over its parts S of dim_S / (K eta_S); eta_S is averaged over the sets.
    """
    told = [_of_parts(problem, column) for column in sets]
    total, weights = 0.0, sum(problem.wanted.values())
    for table, weight in problem.wanted.items():
        for count in range(1, len(table) + 1):
            for part in combinations(table, count):
                dimension = math.prod(problem.sizes[place] - 1 for place in part)
                eta = sum(float(share) * each(part) for share, each in zip(shares, told, strict=True))
                cells = problem.cells(table)
                total += weight / weights * (dimension / cells / eta if eta > 0.0 else math.inf)
    return total


def _of_parts(problem: MarginalViews, column: Mapping[str, Any]) -> Callable[[tuple[int, ...]], float]:
    """Return the function from a part to its eta."""
    if "cells" in column:
        cells, width = math.prod(problem.sizes), column["cells"]
        same = share_in(problem.epsilon, width / cells) ** 2 * (cells - width) / (width * (cells - 1))
        return lambda _: same
    widths = column["widths"]
    if "matches" in column:
        size, count = problem.sizes[0], len(widths)
        alone_share = match_share(size, count, column["matches"], problem.epsilon)
        return lambda part: alone_share if len(part) == 1 else 0.0
    share = math.prod(d / k for d, k in zip(widths, problem.sizes, strict=True))
    square = share_in(problem.epsilon, share) ** 2
    alone = [eta / square for eta in product_shares(problem.sizes, widths, problem.epsilon)]
    return lambda part: square * math.prod(alone[place] for place in part)


@dataclass(frozen=True)
class BySets:
    """A way to collect by sets of answers, for one problem."""

    problem: MarginalViews
    sets: Sequence[Mapping[str, Any]]
    shares: Array

    def value(self) -> float:
        """Return the mean error."""
        return mean_error(self.problem, self.sets, self.shares) / self.problem.users

    def residuals(self) -> dict[str, float]:
        """Return the number of marginals without an answer, and the shares' distance from a split."""
        told = [_of_parts(self.problem, column) for column in self.sets]
        left = [table for table in self.problem.wanted if not any(each(table) > 0.0 for each in told)]
        return {"unanswered": float(len(left)), "shares": abs(math.fsum(self.shares) - 1.0)}

    def mechanism(self) -> Mechanism:
        """Return one set response, or the survey whose users get one of several."""
        if len(self.sets) == 1 and all(
            d < k for d, k in zip(self.sets[0].get("widths", ()), self.problem.sizes, strict=False)
        ):
            return self._one()
        return self._several()

    def _one(self) -> SetResponse:
        (column,) = self.sets
        shape: SetShape
        if "cells" in column:
            shape = CellSet(column["cells"])
        elif "matches" in column:
            shape = MatchSet(column["widths"], column["matches"])
        else:
            shape = ProductSet(column["widths"])
        tables = None if "cells" in column else [table for table in self.problem.wanted if len(table) > 1]
        attributes = Attributes(self.problem.sizes, self.problem.names, self.problem.labels)
        return SetResponse.of(attributes, self.problem.epsilon, shape, tables=tables)

    def _several(self) -> Mechanism:
        problem = self.problem
        asked = sorted({i for one in self.sets for i, d in enumerate(one["widths"]) if d < problem.sizes[i]})
        questions = {_name(problem, place): _labels(problem, place) for place in asked}
        designs = []
        for column in self.sets:
            places = [n for n, i in enumerate(asked) if column["widths"][i] < problem.sizes[i]]
            widths = [column["widths"][asked[n]] for n in places]
            sizes = [problem.sizes[asked[n]] for n in places]
            response = SetResponse.of(sizes, problem.epsilon, ProductSet(widths), tables=[])
            designs.append((places, response))
        survey: Any = mechanism_type("survey")
        mechanism: Mechanism = survey.of_sets(
            questions, problem.epsilon, designs, self.shares.tolist(), problem.users
        )
        return mechanism


def _name(problem: MarginalViews, place: int) -> str:
    return str(place) if problem.names is None else str(problem.names[place])


def _labels(problem: MarginalViews, place: int) -> tuple[str, ...]:
    if problem.labels is not None:
        return tuple(problem.labels[place])
    return tuple(str(value) for value in range(problem.sizes[place]))
