"""``shuffle-amplification`` by a closed form of the literature for k-ary response that is not proven here."""

from mechdesign.problems.shuffle.amplification.outcomes import closed_form
from mechdesign.problems.shuffle.theorems import STRONGER_KARY

METHOD = closed_form(
    STRONGER_KARY, 78, "closed form of the stronger clones for k-ary response, from the literature"
)
