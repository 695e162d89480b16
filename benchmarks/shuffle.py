"""Amplification by shuffling: seconds, proven epsilons and how much exact attacks leave open."""

from __future__ import annotations

from typing import Any

import mechdesign as md
from benchmarks.measure import best_of, shown_seconds
from mechdesign.families.shuffle import judge
from mechdesign.families.shuffle.papers import theorems
from mechdesign.show.tables import table

TITLE = "Shuffling: certified amplification and exact attacks"

CASES = tuple(
    (users, local) for users in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8) for local in (0.5, 1.0, 2.0, 4.0)
)
"""Users and local epsilon."""

QUICK = ((10**4, 1.0), (10**6, 1.0), (10**6, 4.0), (10**8, 4.0))

RANDOMIZERS: dict[str, Any] = {
    "any": "any",
    "2-ary": {"name": "k-ary", "size": 2},
    "10-ary": {"name": "k-ary", "size": 10},
}

METHODS = ("binary", "blanket", "convolution", "clones", "clones-closed-form", "theorem-4")

NOTES = """\
delta is 1e-6; nothing is kept from a row to the next
bound        seconds of the bound alone
both         seconds of bound and exact attack, as solve takes them
epsilon      proven by this method
open         the part of it that the exact attack leaves open"""


def run(quick: bool) -> None:
    """Print a table for each case."""
    print(NOTES)
    for users, local in QUICK if quick else CASES:
        rows = []
        for name, randomizer in RANDOMIZERS.items():
            problem = md.ShuffleAmplification(
                users=users, local_epsilon=local, delta=1e-6, randomizer=randomizer
            )
            rows += [line(problem, name, method) for method in METHODS]
        print(f"\n{users} users, local epsilon {local:g}")
        print(
            table(["randomizer", "method", "bound", "both", "epsilon", "open"], [row for row in rows if row])
        )


def line(problem: md.ShuffleAmplification, name: str, method: str) -> list[str]:
    """Return the cells of one method, or nothing where it does not apply."""
    known = next(item for item in md.methods_of(md.ShuffleAmplification) if item.name == method)
    if known.why_not(problem) is not None:
        return []
    curves = (judge.blanket, theorems.clones, judge.lattice, judge.binary)
    for kept in (*curves, judge.attacks, judge.attacked_epsilon):
        kept.cache_clear()
    _, both = best_of(lambda: md.solve(problem, method), repeats=1)
    for kept in curves:  # the attack is still known
        kept.cache_clear()
    solution, bound = best_of(lambda: md.solve(problem, method), repeats=1)
    part = 100.0 * solution.gap / solution.value
    times = [shown_seconds(bound), shown_seconds(both)]
    return [name, method, *times, f"{solution.value:.8g}", f"{part:.2f} %"]
