"""The methods of ``direct-mechanism``."""

from __future__ import annotations

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.incentives.direct_mechanism import DirectMechanism
from mechdesign.families.incentives.exact_optimum import exact_optimum, needed_lies
from mechdesign.families.incentives.program import adjacent_lies


def exact_program(problem: DirectMechanism) -> Outcome:
    """Solve the linear program exactly; deviations that are not in it are audited and added."""
    return exact_optimum(problem, needed_lies(problem.environment))


def why_not_lotteries(problem: DirectMechanism) -> str | None:
    """Return why a linear program is not enough."""
    return "its outcomes have to be deterministic" if problem.outcomes == "deterministic" else None


def lazy_program(problem: DirectMechanism) -> Outcome:
    """Solve with deviations between neighbors in the lists of types, and add those that pay."""
    return exact_optimum(problem, adjacent_lies(problem.environment))


METHODS = (
    Method("exact-lp", DirectMechanism, "numeric",
           "linear program with the rows that are needed, exact primal and dual",
           exact_program, why_not_lotteries),
    Method("lazy", DirectMechanism, "numeric", "the same from adjacent deviations on, others added as they pay",
           lazy_program, why_not_lotteries),
)  # fmt: skip
