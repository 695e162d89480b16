"""``shuffle-local-budget`` by the blanket, bounded in binomial sums: any randomizer, or k-ary response."""

from mechdesign.problems.shuffle.judge import blanket
from mechdesign.problems.shuffle.local_budget.outcomes import numeric, why_not_channel

METHOD = numeric(
    "blanket",
    20,
    "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
    "proven here; rounding and omitted tails are added",
    blanket,
    why_not_channel,
)
