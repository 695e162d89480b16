"""``shuffle-local-budget`` by the blanket with Hoeffding's inequality (Balle et al. 2019)."""

from mechdesign.problems.shuffle.concentration import HOEFFDING
from mechdesign.problems.shuffle.local_budget.outcomes import closed_form

METHOD = closed_form(HOEFFDING, 77, "privacy blanket with Hoeffding's inequality, inverted")
