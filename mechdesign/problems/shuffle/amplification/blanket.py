"""``shuffle-amplification`` by the blanket, bounded in binomial sums: any randomizer, or k-ary response.

For any randomizer the blanket is that of the pair of inputs, e^-eps0 times the larger of their two laws; no
pair does worse than binary randomized response (docs/families/shuffle.md, theorem A).
"""

from mechdesign.problems.shuffle.amplification.outcomes import numeric
from mechdesign.problems.shuffle.amplification.problem import ShuffleAmplification
from mechdesign.problems.shuffle.judge import blanket, why_no_lattice


def why_not(problem: ShuffleAmplification) -> str | None:
    """Say why it does not apply, if so."""
    if problem.setting.randomizer.kind == "channel" and why_no_lattice(problem.setting) is None:
        return "a channel has a blanket of its own: see convolution"
    return None


METHOD = numeric(
    "blanket",
    20,
    "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
    "proven here; rounding and omitted tails are added",
    blanket,
    why_not,
)
