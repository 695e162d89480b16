"""``shuffle-local-budget`` by the blanket with Bennett's inequality (Balle et al. 2019)."""

from mechdesign.problems.shuffle.concentration import BENNETT
from mechdesign.problems.shuffle.local_budget.outcomes import closed_form

METHOD = closed_form(BENNETT, 75, "privacy blanket with Bennett's inequality, inverted")
