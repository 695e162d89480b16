"""Picture of a division of a map: which set a place is most likely released in, next to the prior."""

from __future__ import annotations

import numpy as np

from mechdesign.core.figure import Figure, Panel
from mechdesign.core.marks import Heat
from mechdesign.core.problem import Candidate
from mechdesign.problems.spectrum.partition.problem import SpectrumPartition


def figures(problem: SpectrumPartition, solution: Candidate) -> list[Figure]:
    """Return the number of the likeliest set of each place, and the prior."""
    channel = np.asarray(solution.variables["channel"])
    cells = channel.argmax(axis=1).astype(np.float64).reshape(problem.shape)
    panels = [
        Panel("column", "row", [Heat(cells, label="number of the set")], title="likeliest set of a place"),
        Panel("column", "row", [Heat(problem.masses.reshape(problem.shape), label="prior")], title="prior"),
    ]
    return [Figure("Where an owner hides", panels, "All places of a set are told apart by no answer.")]
