"""``shuffle-local-budget`` by eq. (7) of the survey, the relaxed theorem 3."""

from mechdesign.problems.shuffle.local_budget.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import RELAXED_3

METHOD = closed_form(RELAXED_3, 65, "eq. (7) of the survey, a relaxation of theorem 3, inverted")
