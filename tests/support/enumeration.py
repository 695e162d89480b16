"""The largest divergence of shuffled reports of few users: all data of the others, every pair of inputs.

In whole numbers, with counts of reports as the digits of one number; the package enumerates fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import lcm

from mechdesign.families.shuffle.enumeration import Row, compositions
from tests.support.protocols import Whole, added


@dataclass(frozen=True)
class ExactDivergence:
    """The largest divergence, and the data that attain it.

    Attributes
    ----------
    delta : Fraction
    others : tuple of int
        The inputs of the other users.
    pair : (int, int)
        The inputs of the user who is looked at.
    """

    delta: Fraction
    others: tuple[int, ...]
    pair: tuple[int, int]


def worst_divergence(
    rows: Sequence[Row], users: int, grown: Fraction, symmetric: bool = False
) -> ExactDivergence:
    """Return the largest divergence over all data of the others and all pairs of inputs.

    Parameters
    ----------
    rows : sequence of rows of Fraction
    users : int
        n, at least 1; one of them is looked at.
    grown : Fraction
        e^epsilon.
    symmetric : bool
        Whether all inputs are alike, as those of k-ary response: the pair is then 0 and 1, and the rest of
        the inputs are used in falling order of their number.

    Examples
    --------
    >>> from mechdesign.families.shuffle.enumeration import kary_rows
    >>> found = worst_divergence(kary_rows(Fraction(3), 2), 3, Fraction(2))
    >>> str(found.delta), found.others, found.pair
    ('9/64', (0, 0), (0, 1))
    """
    unit = lcm(*(entry.denominator for row in rows for entry in row))
    singles = [
        {(users + 1) ** report: int(entry * unit) for report, entry in enumerate(row) if entry}
        for row in rows
    ]
    inputs = range(2 if symmetric else len(rows))
    pairs = [(0, 1)] if symmetric else list(permutations(inputs, 2))
    above, below = grown.as_integer_ratio()
    crowds: dict[tuple[int, ...], Whole] = {(): {0: 1}}

    def crowd(values: tuple[int, ...]) -> Whole:
        if values not in crowds:
            crowds[values] = added(crowd(values[:-1]), singles[values[-1]])
        return crowds[values]

    worst, data = -1, ((), (0, 1))
    for others in compositions(len(rows), users - 1, symmetric):
        laws = [added(crowd(others), singles[value]) for value in inputs]
        for first, second in pairs:
            there = laws[second]
            excess = (below * share - above * there.get(key, 0) for key, share in laws[first].items())
            total = sum(part for part in excess if part > 0)
            if total > worst:
                worst, data = total, (others, (first, second))
    return ExactDivergence(Fraction(worst, below * unit**users), *data)
