"""Make a solver's channel feasible before anyone sees it, and say what that cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.repair import cleaned, constant_rows, least_mixing, merged_rows
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

Array = NDArray[np.float64]


def polished(problem: RandomizedResponse, channel: Array) -> tuple[Array, dict[str, Any]]:
    """Return the channel with the least constant noise that satisfies the constraints, and the notes.

    Solvers stop within a tolerance and may leave a zero facing a positive entry. Of the two noise
    rows (uniform over the reported symbols, average row) the one that costs less utility is mixed in.

    Returns
    -------
    channel : (n, m) array
    notes : dict
        ``mixing`` and ``utility_given_up``, and whether the solver left zeros facing positive entries.
    """
    clean = merged_rows(cleaned(channel), problem.target())
    before = problem.objective({"channel": clean})
    target = problem.target()
    candidates = []
    for constant in constant_rows(clean):
        mixing = least_mixing(clean, constant, target)
        mixed = (1.0 - mixing) * clean + mixing * constant
        candidates.append((problem.objective({"channel": mixed}), mixing, mixed))
    value, mixing, mixed = max(candidates, key=lambda candidate: candidate[0])
    with np.errstate(divide="ignore"):
        lows = clean.min(axis=0)
        zeros = bool(((lows == 0) & (clean.max(axis=0) > 0)).any())
    notes: dict[str, Any] = {"mixing": mixing, "utility_given_up": before - value}
    if zeros and problem.delta == 0.0:
        notes["solver_left"] = "zeros facing positive entries (true epsilon infinite), repaired"
    return mixed, notes
