"""``shuffle-amplification`` by the blanket with Bennett's inequality (Balle et al. 2019)."""

from mechdesign.problems.shuffle.amplification.outcomes import closed_form
from mechdesign.problems.shuffle.concentration import BENNETT

METHOD = closed_form(BENNETT, 75, "privacy blanket with Bennett's inequality")
