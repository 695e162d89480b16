"""Views for marginals: seconds and proven gaps of the split of users, and what it gains over even splits."""

from __future__ import annotations

import numpy as np

import mechdesign as md
from benchmarks.measure import best_of, shown_seconds
from mechdesign.show.tables import table

TITLE = "Views for marginals: the split of users over all views"

SIZES = [2, 3, 4, 5, 6, 2, 9, 3]

NOTES = """\
seconds   of one solution
views     in the solution
gap       by which part the mean expected error is above the proven bound
gain      the mean expected error of an even split over the wanted marginals, over that of the solution"""


def cases(quick: bool) -> list[tuple[str, md.MarginalViews]]:
    """Return named problems."""
    rng = np.random.default_rng(20190601)
    triples = sorted({tuple(sorted(rng.choice(24, 3, replace=False).tolist())) for _ in range(120)})
    found = [
        ("8 unequal, all pairs", md.MarginalViews(attributes=SIZES, users=10**6, epsilon=1.0, order=2)),
        ("16 unequal, all pairs", md.MarginalViews(attributes=SIZES * 2, users=10**6, epsilon=1.0, order=2)),
        (
            "24 unequal, 119 triples",
            md.MarginalViews(attributes=SIZES * 3, users=10**6, epsilon=1.0, workload=triples),
        ),
        (
            "32 binary, all triples",
            md.MarginalViews(attributes=32, users=10**6, epsilon=1.0, order=3, criterion="mean"),
        ),
    ]
    larger = [
        (
            "16 unequal, all triples",
            md.MarginalViews(attributes=SIZES * 2, users=10**6, epsilon=1.0, order=3),
        ),
        (
            "100 unequal, all pairs",
            md.MarginalViews(attributes=[2, 3, 4, 5] * 25, users=10**6, epsilon=1.0, order=2),
        ),
    ]
    return found if quick else found + larger


def run(quick: bool) -> None:
    """Print a line for each problem and method."""
    print(NOTES)
    rows = []
    for name, problem in cases(quick):
        even = md.solve(problem, "even")
        solution, seconds = best_of(lambda problem=problem: md.solve(problem), repeats=1)
        gap = "-" if not solution.bound else f"{solution.gap / solution.bound:.1e}"
        rows.append(
            [
                name,
                solution.method,
                shown_seconds(seconds),
                str(solution.variables["count"]),
                gap,
                f"{even.value / solution.value:.3f}",
                solution.status,
            ]
        )
    print(table(["problem", "method", "seconds", "views", "gap", "gain", "status"], rows), flush=True)
