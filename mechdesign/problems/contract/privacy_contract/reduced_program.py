"""The reduced convex program: one IR row, k - 1 local IC rows, monotone epsilon (lemmas 4.3.8-4.3.10)."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.problems.contract.privacy_contract.convex import solve_rows, why_not
from mechdesign.problems.contract.privacy_contract.problem import PrivacyContract
from mechdesign.problems.contract.privacy_contract.rows import reduced_rows


def run(problem: PrivacyContract) -> Outcome:
    """Solve the reduced program."""
    return solve_rows(problem, reduced_rows)


METHOD = Method(
    name="reduced-program",
    problem=PrivacyContract,
    kind="numeric",
    preference=20,
    summary="conic program with the local rows only",
    run=run,
    why_not=lambda problem: why_not(problem) or _too_many(problem),
)

MAX_TYPES = 5000


def _too_many(problem: PrivacyContract) -> str | None:
    size = len(problem.population.types)
    return None if size <= MAX_TYPES else f"{size} types are more than {MAX_TYPES}; use closed-form"
