"""The convex program exactly as stated in problems 4.3.2 and 4.3.7: every IR and every IC row."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.contract.privacy_contract.convex import solve_rows, why_not
from mechdesign.problems.contract.privacy_contract.problem import PrivacyContract
from mechdesign.problems.contract.privacy_contract.rows import full_rows

MAX_TYPES = 120
"""k (k - 1) rows: 14 280 for 120 types."""


def run(problem: PrivacyContract) -> Outcome:
    """Solve the program as stated."""
    return solve_rows(problem, full_rows)


def _too_many(problem: PrivacyContract) -> str | None:
    size = len(problem.population.types)
    if size <= MAX_TYPES or problem.information == "complete":
        return None
    return f"{size} types make {size * (size - 1)} rows; use reduced-program or closed-form"


METHOD = Method(
    name="full-program",
    problem=PrivacyContract,
    kind="numeric",
    preference=30,
    summary="conic program with all IC and IR rows, as stated",
    run=run,
    why_not=lambda problem: why_not(problem) or _too_many(problem),
)
