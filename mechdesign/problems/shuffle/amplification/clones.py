"""``shuffle-amplification`` by numeric clones (Feldman, McMillan and Talwar 2021, theorem 3.2)."""

from mechdesign.problems.shuffle.amplification.outcomes import numeric
from mechdesign.problems.shuffle.judge import clones

METHOD = numeric(
    "clones",
    40,
    "numeric clones for any randomizer, rounded up",
    "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
    clones,
    lambda problem: None,
)
