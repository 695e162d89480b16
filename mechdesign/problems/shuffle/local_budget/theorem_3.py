"""``shuffle-local-budget`` by theorem 3 of the survey: binary randomized response (Cheu et al. 2019)."""

from mechdesign.problems.shuffle.local_budget.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import THEOREM_3

METHOD = closed_form(THEOREM_3, 55, "theorem 3 of the survey, for binary randomized response, inverted")
