"""The methods of ``privacy-contract``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method, Outcome
from mechdesign.families.contract.privacy_contract.closed_form import solve_closed_form, why_not_closed_form
from mechdesign.families.contract.privacy_contract.convex import solve_rows, why_not_convex
from mechdesign.families.contract.privacy_contract.problem import PrivacyContract
from mechdesign.families.contract.privacy_contract.rows import all_rows, reduced_rows

MOST_TYPES = 5000
MOST_TYPES_IN_FULL = 120
"""k (k - 1) rows: 14 280 for 120 types."""


def reduced_program(problem: PrivacyContract) -> Outcome:
    """Solve with one IR row, k - 1 local IC rows and a monotone epsilon (lemmas 4.3.8-4.3.10)."""
    return solve_rows(problem, reduced_rows)


def why_not_reduced(problem: PrivacyContract) -> str | None:
    """Return why the reduced program does not apply, or None."""
    size = len(problem.population.types)
    too_many = f"{size} types are more than {MOST_TYPES}; use closed-form" if size > MOST_TYPES else None
    return why_not_convex(problem) or too_many


def full_program(problem: PrivacyContract) -> Outcome:
    """Solve exactly as stated in problems 4.3.2 and 4.3.7: every IR and every IC row."""
    return solve_rows(problem, all_rows)


def why_not_full(problem: PrivacyContract) -> str | None:
    """Return why the full program does not apply, or None."""
    size = len(problem.population.types)
    fits = size <= MOST_TYPES_IN_FULL or problem.information == "complete"
    too_many = f"{size} types make {size * (size - 1)} rows; use reduced-program or closed-form"
    return why_not_convex(problem) or (None if fits else too_many)


METHODS = (
    Method("closed-form", PrivacyContract, "analytic",
           "ironed virtual costs (theorems 4.3.5 and 4.3.12, corrected), exact payments",
           solve_closed_form, why_not_closed_form),
    Method("reduced-program", PrivacyContract, "numeric", "conic program with the local rows only",
           reduced_program, why_not_reduced),
    Method("full-program", PrivacyContract, "numeric", "conic program with all IC and IR rows, as stated",
           full_program, why_not_full),
)  # fmt: skip
