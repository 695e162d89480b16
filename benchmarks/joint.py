"""Joint distributions: seconds until the likelihood is certified, and the paper's EM beside it."""

from __future__ import annotations

import time

import numpy as np

import mechdesign as md
from benchmarks.measure import peak_memory
from mechdesign.core.text import table
from mechdesign.mechanisms.joint import most_likely
from mechdesign.problems.joint.distribution.expectation import climb

TITLE = "Joint distributions: seconds until the gap is below 1e-6, and EM as the paper stops it"

SIZES = (
    ([2] * 4, 21_574, 0.5),
    ([7, 6, 2, 5], 45_222, 0.5),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.1),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.5),
    ([2, 2, 5, 6, 7, 7], 45_222, 0.9),
    ([8] * 4, 1_000_000, 0.5),
)


def run(quick: bool = False) -> None:
    """Print a row for each size: model, EM as printed, and the certified maximum."""
    rows = []
    for sizes, users, f in SIZES[:3] if quick else SIZES:
        given = {"name": "simulated", "distribution": "mixture", "users": users, "seed": 1}
        problem = md.JointDistribution(sizes, f, 0.75, 0.5, reports=given)
        start = time.perf_counter()
        model = problem.model
        built = time.perf_counter()
        uniform = np.full(model.cells, 1.0 / model.cells)
        printed, steps, _ = climb(model, uniform, 2000, change=1e-3)
        climbed = time.perf_counter()
        found = most_likely(model)
        solved = time.perf_counter()
        gap = float(model.ratios(model.densities(printed)).max()) - 1.0
        rows.append(
            [
                " x ".join(map(str, sizes)),
                str(users),
                f"{f}",
                str(len(model.counts)),
                f"{built - start:.2f}",
                f"{climbed - built:.2f}",
                str(steps),
                f"{gap:.1e}",
                f"{solved - climbed:.2f}",
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
    print(f"peak memory {peak_memory() / 2**30:.2f} GiB")
