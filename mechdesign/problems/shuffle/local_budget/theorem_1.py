"""``shuffle-local-budget`` by theorem 1 of the survey (Erlingsson et al. 2019)."""

from mechdesign.problems.shuffle.local_budget.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import THEOREM_1

METHOD = closed_form(THEOREM_1, 70, "theorem 1 of the survey, for any randomizer and interaction, inverted")
