"""``shuffle-amplification`` by the closed form of the clones (Feldman, McMillan and Talwar 2021)."""

from mechdesign.problems.shuffle.amplification.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import CLONES

METHOD = closed_form(CLONES, 60, "closed form of the clones, for any randomizer")
