"""The methods of ``frequency-oracle``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.marginals.frequency_oracle import best, staircase
from mechdesign.families.marginals.frequency_oracle.oracles import KINDS, OracleKind
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle, candidate, why_not


def oracle(kind: OracleKind) -> Method:
    """Return the method of one oracle: its best parameters, next to the bound for every oracle."""
    return Method(
        name=kind.name,
        problem=FrequencyOracle,
        kind="analytic",
        summary=kind.summary,
        run=lambda problem: candidate(problem, kind),
        why_not=lambda problem: why_not(problem, kind),
    )


METHODS = (
    Method("best", FrequencyOracle, "analytic",
           "the shortest reports among the oracles within max_excess of the least variance", best.run),
    *map(oracle, KINDS),
    Method("staircase-lp", FrequencyOracle, "numeric", "linear program over all staircase channels",
           staircase.run, staircase.why_not),
)  # fmt: skip
