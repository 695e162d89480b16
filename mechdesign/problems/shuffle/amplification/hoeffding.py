"""``shuffle-amplification`` by the blanket with Hoeffding's inequality (Balle et al. 2019)."""

from mechdesign.problems.shuffle.amplification.outcomes import closed_form
from mechdesign.problems.shuffle.concentration import HOEFFDING

METHOD = closed_form(HOEFFDING, 77, "privacy blanket with Hoeffding's inequality")
