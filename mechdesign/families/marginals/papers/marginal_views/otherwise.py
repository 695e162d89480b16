"""Candidates that collect otherwise than by views, as the problem judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mechdesign.families.marginals.papers.marginal_views import rival_designs
from mechdesign.families.marginals.papers.rivals import MarginalRival

if TYPE_CHECKING:
    from mechdesign.families.marginals.marginal_views.problem import MarginalViews


@dataclass(frozen=True)
class ByRival:
    """One way to collect, for one problem."""

    problem: MarginalViews
    variables: Mapping[str, Any]

    def value(self) -> float:
        """Return the error by the problem's criterion."""
        return rival_designs.value(self.problem, self.variables["rival"])

    def residuals(self) -> dict[str, float]:
        """Return the numbers of requested marginals without an answer and of superfluous groups."""
        return rival_designs.residuals(self.problem, self.variables)

    def mechanism(self) -> MarginalRival:
        """Return the mechanism to run."""
        return rival_designs.mechanism(self.problem, self.variables["rival"])


def otherwise(problem: MarginalViews, variables: Mapping[str, Any]) -> ByRival:
    """Return the evaluation of a candidate that collects by other means than views."""
    return ByRival(problem, variables)
