"""``shuffle-local-budget`` by theorem 4 of the survey: k-ary response (Balle et al. 2019)."""

from mechdesign.problems.shuffle.local_budget.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import THEOREM_4

METHOD = closed_form(THEOREM_4, 50, "theorem 4 of the survey, for k-ary response, inverted")
