"""The published methods of ``shuffle-local-budget``: never a default, and not counted for agreement."""

from mechdesign.families.shuffle.local_budget.outcomes import theorem_method
from mechdesign.families.shuffle.papers.theorem_2 import THEOREM_2

METHODS = (
    # The constant 1 makes it no theorem.
    theorem_method(THEOREM_2, "theorem 2 of the survey, asymptotic, with the constant 1, inverted"),
)
