"""Picture of a division of a map: which set a place is most likely released in, next to the prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.spectrum.partition.problem import SpectrumPartition
from mechdesign.show.figure import Figure, Panel
from mechdesign.show.marks import Bars, Heat, Points


def figures(problem: SpectrumPartition, solution: Solution[Any]) -> list[Figure]:
    """Return the likeliest set of each place, by number on a grid and by ends on a line, and the prior."""
    channel, sets = np.asarray(solution.variables["channel"]), np.asarray(solution.variables["sets"])
    likeliest = channel.argmax(axis=1)
    percent = np.round(100.0 * problem.masses, 1)
    if problem.on_line:
        places = np.arange(problem.size)
        ends = sets[likeliest].argmax(axis=1), problem.size - 1 - sets[likeliest][:, ::-1].argmax(axis=1)
        marks = [
            Points(x=places, y=end, label=f"{name} place of its likeliest set")
            for name, end in zip(("first", "last"), ends, strict=True)
        ]
        panels = [
            Panel("place of the owner", "place", marks, title="what is released"),
            Panel("place of the owner", "prior (%)", [Bars(x=places, y=percent)], title="prior"),
        ]
    else:
        cells = Heat(likeliest.astype(np.float64).reshape(problem.shape), label="number of the set")
        prior = Heat(percent.reshape(problem.shape), label="prior (%)")
        panels = [
            Panel("column", "row", [cells], title="likeliest set of a place"),
            Panel("column", "row", [prior], title="prior"),
        ]
    return [
        Figure(
            "Where an owner hides", panels, f"The region that is released; the notion is {problem.notion}."
        )
    ]
