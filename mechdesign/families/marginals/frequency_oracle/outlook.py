"""What solving and building say of short reports: the oracle of least variance, if another is taken."""

from __future__ import annotations

from mechdesign.collect.oracle import Oracle
from mechdesign.core.remark import Remark
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle


def outlook(problem: FrequencyOracle, solution: Solution[Oracle], users: int | None = None) -> Remark | None:
    """Return the alternative with longer reports and less variance; None where there is none."""
    name = solution.notes.get("least_variance")
    if name is None:
        return None
    bits, longer = solution.notes["report_bits"], solution.notes["its_report_bits"]
    excess = solution.notes["excess"]
    text = (
        f"reports of {counted(bits, 'bit')} for {100.0 * excess:.2g}% more variance than the least: "
        f"'{name}' has that, with {counted(longer, 'bit')} (--method {name}, or max_excess = 0)"
    )
    return Remark(text, {"alternative": name, "alternative_bits": longer, "excess": excess})
