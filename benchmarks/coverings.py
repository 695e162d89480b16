"""Covering designs: seconds and gaps of the default and of its parts, for the sizes that marginals need."""

from __future__ import annotations

import mechdesign as md
from benchmarks.covering_sizes import shown
from benchmarks.measure import best_of, shown_seconds
from mechdesign.families.marginals.covering_constructions import members, tables
from mechdesign.families.marginals.covering_design import schoenheim
from mechdesign.show.tables import table

TITLE = "Covering designs: views that contain every few attributes together"

CASES = (
    *((32, 3, block) for block in range(4, 9)),
    *((100, 2, block) for block in (3, 5, 10, 20)),
    (16, 3, 6),
    (16, 6, 8),
    (32, 6, 8),
    (32, 8, 16),
)
"""Points, order, block: what is asked for in seconds, then some larger ones."""

QUICK = ((16, 3, 4), (32, 3, 4), (32, 3, 8), (100, 2, 10))

METHODS = ("portfolio", "geometric", "greedy")

NOTES = """\
seconds      of one solution, with the exact check of every subset; nothing is kept from a row to the next
blocks       how many were found
bound        proven: no covering has fewer blocks; Schoenheim: the bound of 1964 alone
above        by which part the blocks exceed the bound"""


def run(quick: bool) -> None:
    """Print a line for each case and method."""
    print(shown())
    print(f"\n{NOTES}")
    for points, order, block in QUICK if quick else CASES:
        rows = [
            line(md.CoveringDesign(points=points, order=order, block=block), method) for method in METHODS
        ]
        print(f"\n{points} points, every {order} of them, blocks of {block}")
        header = ["method", "seconds", "blocks", "bound", "Schoenheim", "above", "status", "how"]
        print(table(header, rows), flush=True)


def line(problem: md.CoveringDesign, name: str) -> list[str]:
    """Return the cells of one method, with everything computed again."""
    method = next(method for method in md.methods_of(md.CoveringDesign) if method.name == name)
    reason = method.why_not(problem)
    if reason is not None:
        return [name, "-", "-", "-", "-", "-", "-", reason]
    tables.cache_clear()
    members.cache_clear()
    solution, seconds = best_of(lambda: md.solve(problem, name), repeats=1)
    bound = solution.bound or 1.0
    return [
        name,
        shown_seconds(seconds),
        f"{solution.value:.0f}",
        f"{bound:.0f}",
        str(schoenheim(problem.points, problem.order, problem.block)),
        f"{100.0 * solution.gap / bound:.1f} %",
        solution.status if all(item.holds for item in solution.certificates) else "BROKEN",
        solution.solver,
    ]
