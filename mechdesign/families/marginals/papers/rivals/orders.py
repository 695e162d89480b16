"""Which marginals of an order can have different errors: one of each combination of sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

MOST_KINDS = 2000
"""Combinations of sizes that are looked at."""


def extreme_marginals(sizes: Sequence[int], order: int) -> list[tuple[int, ...]]:
    """Return one marginal of each combination of sizes, for the first MOST_KINDS combinations.

    Examples
    --------
    >>> extreme_marginals([2, 3, 2, 2], 2)
    [(0, 2), (0, 1)]
    """
    places = {size: [place for place, own in enumerate(sizes) if own == size] for size in sorted(set(sizes))}

    def chosen(left: list[int], wanted: int) -> Iterator[dict[int, int]]:
        if not left:
            if wanted == 0:
                yield {}
            return
        size, *rest = left
        for many in range(min(wanted, available[size]), -1, -1):
            for other in chosen(rest, wanted - many):
                yield {size: many, **other}

    available = Counter(sizes)
    return [
        tuple(sorted(place for size, many in one.items() for place in places[size][:many]))
        for one in islice(chosen(list(places), order), MOST_KINDS)
    ]
