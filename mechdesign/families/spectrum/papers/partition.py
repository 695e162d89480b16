"""What an attacker who knows the prior makes of the released sets, and what the whole map would cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.partition import SpectrumPartition


def quantities(problem: SpectrumPartition, solution: Solution[Any]) -> dict[str, Any]:
    """Return the attacker's errors and the loss of the coarsest answer.

    ``mean_error`` is the least expected distance of a guess, in steps, ``guessed`` the probability that the
    best guess is right, ``told_apart`` the largest total variation between neighboring places. ``whole_map``
    is the loss where nothing is told.
    """
    channel = np.asarray(solution.variables["channel"])
    y, x = np.divmod(np.arange(problem.size), problem.shape[1])
    apart = np.hypot(y[:, None] - y, x[:, None] - x)
    joint = problem.masses[:, None] * channel
    first, second = np.argwhere(apart == 1.0).T
    variation = np.abs(channel[first] - channel[second]).sum(axis=1) / 2.0
    return {
        "mean_error": math.fsum((apart @ joint).min(axis=0).tolist()),
        "guessed": math.fsum(joint.max(axis=0).tolist()),
        "told_apart": float(variation.max(initial=0.0)),
        "whole_map": problem.objective_scale(),
    }
