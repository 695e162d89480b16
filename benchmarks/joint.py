"""Joint distributions: seconds until the likelihood is certified, and the paper's EM next to it."""

from __future__ import annotations

import time

import numpy as np

import mechdesign as md
from benchmarks.measure import peak_memory
from mechdesign.families.joint import most_likely
from mechdesign.families.joint.likelihood import climb
from mechdesign.show.tables import table

TITLE = "Joint distributions: seconds until the gap is below 1e-6, and EM as the paper stops it"

SIZES = (
    ([2] * 4, 21_574, 0.5),
    ([7, 6, 2, 5], 45_222, 0.5),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.1),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.5),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.9),
    ([8] * 4, 1_000_000, 0.5),
)


Clocks = tuple[float, float]


def clocks() -> Clocks:
    """Return the time of the wall and of the processors: the second says what other work does not cost."""
    return time.perf_counter(), time.process_time()


def between(start: Clocks, end: Clocks) -> str:
    """Return the seconds between two times, on the wall and of processors."""
    return " / ".join(f"{after - before:.2f}" for before, after in zip(start, end, strict=True))


def run(quick: bool = False) -> None:
    """Print a row for each size: model, EM as printed, and the certified maximum."""
    rows = []
    for sizes, users, f in SIZES[:3] if quick else SIZES:
        given = {"name": "simulated", "distribution": "mixture", "users": users, "seed": 1}
        problem = md.JointDistribution(attributes=sizes, redraw=f, keep=0.75, add=0.5, reports=given)
        start = clocks()
        model = problem.model
        built = clocks()
        uniform = np.full(model.cells, 1.0 / model.cells)
        printed, steps, _ = climb(model, uniform, 2000, change=1e-3)
        climbed = clocks()
        found = most_likely(model)
        solved = clocks()
        gap = float(model.ratios(model.densities(printed)).max()) - 1.0
        rows.append(
            [
                " x ".join(map(str, sizes)),
                str(users),
                f"{f}",
                str(len(model.counts)),
                between(start, built),
                between(built, climbed),
                str(steps),
                f"{gap:.1e}",
                between(climbed, solved),
                str(found.steps),
                f"{found.ratio - 1.0:.1e}",
            ]
        )
    header = [
        "attributes",
        "users",
        "f",
        "reports",
        "model",
        "EM",
        "steps",
        "EM's gap",
        "certified",
        "steps",
        "gap",
    ]
    print(table(header, rows))
    print("seconds: on the wall / of processors")
    print(f"peak memory {peak_memory() / 2**30:.2f} GiB")
