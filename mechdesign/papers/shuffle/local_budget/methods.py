"""The published methods of ``shuffle-local-budget``: never a default, and not counted for agreement."""

from mechdesign.papers.shuffle.theorem_2 import THEOREM_2
from mechdesign.problems.shuffle.local_budget.outcomes import theorem_method

METHODS = (
    # The constant 1 makes it no theorem.
    theorem_method(THEOREM_2, "theorem 2 of the survey, asymptotic, with the constant 1, inverted"),
)
