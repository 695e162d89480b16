"""Blocks of neighbouring types, or of attributes of a table, and the patterns that report them."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.linear_queries.designs import cell_sets
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.simple_reports import best_subset_size
from mechdesign.families.workload.value import Sets

Labels = NDArray[np.int64]

MOST_KINDS = 40

MOST_PATTERNS = 8
"""Patterns per type that one partition adds to a search, at most."""


def partitions_of(problem: LinearQueries) -> list[tuple[str, Labels]]:
    """Return the partitions of the types into blocks, named, the finest last.

    Examples
    --------
    >>> problem = LinearQueries(workload={"name": "prefix", "size": 6}, epsilon=1.0)
    >>> [name for name, _ in partitions_of(problem)]
    ['2 blocks', '4 blocks', '6 blocks']
    """
    sizes = _sizes(problem)
    named = problem.queries.named is not None and problem.queries.given["name"] == "marginals"
    levels = [[1, size] if named else _levels(size) for size in sizes]
    chosen = list(itertools.product(*levels))
    if named:
        order = int(problem.queries.given["order"])
        whole = tuple(sizes)
        chosen = [part for part in chosen if sum(count > 1 for count in part) == order or part == whole]
    chosen = sorted((part for part in chosen if math.prod(part) > 1), key=math.prod)[-MOST_KINDS:]
    places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    found = []
    for part in chosen:
        blocks = [place * count // size for place, count, size in zip(places, part, sizes, strict=True)]
        found.append((f"{'x'.join(map(str, part))} blocks", np.ravel_multi_index(tuple(blocks), part)))
    return found


def _sizes(problem: LinearQueries) -> tuple[int, ...]:
    """Return the numbers of values of the attributes; one attribute where the types are no table."""
    if problem.queries.named is not None and "sizes" in problem.queries.given:
        return tuple(int(size) for size in problem.queries.given["sizes"])
    return (problem.queries.size,)


def _levels(size: int) -> list[int]:
    """Return 1, 2, 4, ... and the size itself."""
    powers = [1 << level for level in range(size.bit_length())]
    return [count for count in powers if count < size] + [size]


def block_patterns(problem: LinearQueries) -> Sets:
    """Return the patterns of subset selection of blocks of neighbouring types, where they are few.

    Examples
    --------
    >>> found = block_patterns(LinearQueries(workload={"name": "prefix", "size": 4}, epsilon=6.0))
    >>> found.astype(int).tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    power, most = math.exp(problem.epsilon), MOST_PATTERNS * problem.queries.size
    found = [np.zeros((0, problem.queries.size), dtype=bool)]
    for _, labels in partitions_of(problem):
        cells = int(labels.max()) + 1
        if math.comb(cells, best_subset_size(cells, power)) <= most:
            found.append(cell_sets(cells, power)[0][:, labels])
    return np.vstack(found)
