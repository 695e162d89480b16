"""Write the ladder of solved channels for cumulative shares from which surveys start.

    python -m benchmarks.prefix_ladder

All patterns are priced for every rung, so that each is optimal; some minutes in all.
"""

from __future__ import annotations

import numpy as np

from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array, Sets
from mechdesign.families.workload.prefix import FILE, one_of_each, prefix_mechanism, weighed
from mechdesign.solvers.solve import solve

SIZES = range(3, 17)

RUNGS = (*(number / 4 for number in range(1, 17)), *(number / 2 for number in range(9, 17)))

NEGLIGIBLE = 1e-7
"""Patterns with a smaller part of the largest weight are left out."""


def rung(size: int, epsilon: float) -> tuple[Sets, float]:
    """Return the patterns of the best channel, one of each pair, and the error of its integers."""
    problem = LinearQueries(workload={"name": "prefix", "size": size}, epsilon=epsilon)
    sets = one_of_each(np.asarray(solve(problem).variables["patterns"], dtype=bool))
    both, amounts, _ = weighed(sets, epsilon)
    kept = one_of_each(both[amounts > NEGLIGIBLE * float(amounts.max())])
    return kept, prefix_mechanism(kept, epsilon, epsilon).average_error


def main() -> None:
    """Solve every rung and write the file."""
    numbers: list[Array] = []
    errors = np.zeros((len(SIZES), len(RUNGS)))
    for row, size in enumerate(SIZES):
        for column, epsilon in enumerate(RUNGS):
            sets, errors[row, column] = rung(size, epsilon)
            numbers.append(sets @ (1 << np.arange(size)))
    np.savez_compressed(
        FILE,
        sizes=np.array(SIZES),
        epsilons=np.array(RUNGS),
        errors=errors,
        starts=np.cumsum([0, *map(len, numbers)]),
        patterns=np.concatenate(numbers).astype(np.uint32),
    )


if __name__ == "__main__":
    main()
