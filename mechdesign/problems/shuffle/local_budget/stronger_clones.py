"""``shuffle-local-budget`` by a closed form of the literature that is not proven here."""

from mechdesign.problems.shuffle.local_budget.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import STRONGER_CLONES

METHOD = closed_form(STRONGER_CLONES, 80, "closed form of the stronger clones, from the literature, inverted")
