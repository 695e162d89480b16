"""``shuffle-amplification`` by theorem 2 of the survey with the constant 1, which is no theorem."""

from mechdesign.problems.shuffle.amplification.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import THEOREM_2

METHOD = closed_form(THEOREM_2, 90, "theorem 2 of the survey, asymptotic, with the constant 1")
