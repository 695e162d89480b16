"""The problem ``covering-design``: the fewest blocks that contain every small subset of points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, related, whole
from mechdesign.core.method import Outcome
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import integer
from mechdesign.exact.numbers import plain_int as whole_number
from mechdesign.families.marginals.audit.covering import CoveringAudit, audit_covering, checked_subsets
from mechdesign.families.marginals.covering_design.bounds import lower_bound, schoenheim

MOST_POINTS = 200
"""More points are beyond what the methods are made for."""

MOST_BLOCKS = 1_000_000
"""Blocks that are written down."""


@frozen_problem()
class CoveringDesign(Problem[Mechanism]):
    """The fewest blocks of ``block`` points such that every ``order`` of the points lie in a block together.

    With d attributes, views of l attributes each, and every k-way marginal wanted, the blocks are the
    views: fewer of them leave more users for each (Zhang 2019, chapter 3). The value is the number of
    blocks; the variable ``blocks`` has a row of point numbers for each. Every row and every subset is
    checked exactly.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy; also where checking all subsets, or writing down
        the blocks that are needed at least, would take too much memory.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.CoveringDesign(points=8, order=3, block=4))
    >>> print(solution.value, solution.bound, solution.status)
    14.0 14.0 optimal
    """

    name: ClassVar[str] = "covering-design"
    example: ClassVar[Mapping[str, Any]] = {"points": 8, "order": 2, "block": 4}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "number of views"
    trivial: ClassVar[float | None] = 1.0
    summary: ClassVar[str] = "the fewest blocks (views) that contain every few points (attributes) together"
    compared_with: ClassVar[str] = "all lists of blocks of this size"

    points: int = whole("d, from 1 to 200.", low=1, high=MOST_POINTS)
    order: int = checked(
        "k: how many points are to lie in a block together.", whole_number, limits={"minimum": 1}, form="int"
    )
    block: int = related(
        "l: how many points a block has; order <= block <= points.",
        lambda problem, field, block: integer(field, block, 1, problem.points),
        limits={"minimum": 1},
        form="int",
    )

    def __attrs_post_init__(self) -> None:
        integer("order", self.order, 1, self.block)
        checked_subsets(self.points, self.order)
        needed = schoenheim(self.points, self.order, self.block)
        if needed > MOST_BLOCKS:
            raise ParameterError(
                "block",
                f"{needed} blocks of {self.block} are needed at least, more than {MOST_BLOCKS} that can be "
                "written down",
                "take larger blocks or fewer points",
            )

    def audit(self, variables: Variables) -> CoveringAudit:
        """Return the exact check of the blocks."""
        return audit_covering(variables["blocks"], self.points, self.order, self.block)

    def why_no_mechanism(self) -> str:
        """Return why the result is not a mechanism, and its use."""
        return (
            "its blocks are sets of attributes, which the views of a release can be: build a marginal-views "
            "model with these points as attributes"
        )

    def objective(self, variables: Variables) -> float:
        """Return the number of blocks."""
        return float(len(variables["blocks"]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the number of uncovered subsets, and of blocks that are not sets of ``block`` points."""
        found = self.audit(variables)
        return {"uncovered": float(found.uncovered), "malformed": float(found.malformed)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return that everything is covered, and whether no fewer blocks can do it: both exact."""
        bound = solution.bound
        note = f"bound from {solution.bound_source}" if bound is not None else "no bound is known"
        optimal = bound is not None and solution.value <= bound
        return (
            self.audit(solution.variables).certificate(),
            Certificate("optimality", optimal, True, {"gap": solution.gap}, note=note),
        )


def outcome(
    problem: CoveringDesign, blocks: NDArray[np.int64], solver: str, better: tuple[int, str] = (0, "")
) -> Outcome:
    """Return the outcome of a method: ``optimal`` only where a proven bound is met.

    Parameters
    ----------
    problem : CoveringDesign
    blocks : (m, block) array
    solver : str
    better : (int, str)
        A bound that the method has proven itself, and how.
    """
    bound, source = max(lower_bound(problem.points, problem.order, problem.block), better)
    return Outcome(
        status="optimal" if len(blocks) == bound else "feasible",
        variables={"blocks": blocks},
        bound=float(bound),
        bound_source=source,
        solver=solver,
        notes={"schoenheim": schoenheim(problem.points, problem.order, problem.block)},
    )
