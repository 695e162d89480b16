"""``shuffle-local-budget`` by numeric clones (Feldman, McMillan and Talwar 2021, theorem 3.2)."""

from mechdesign.problems.shuffle.judge import clones
from mechdesign.problems.shuffle.local_budget.outcomes import numeric, why_not_channel

METHOD = numeric(
    "clones",
    40,
    "numeric clones for any randomizer, rounded up",
    "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
    clones,
    why_not_channel,
)
