"""Shuffled reports of few users in rational arithmetic: all data of the others, every pair of inputs.

The shuffler shows how often each report came, and nothing else. The law of these counts is enumerated with
whole numbers, so that the hockey-stick divergence is a fraction, and the largest one over all data of the
others is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

from mechdesign.core.errors import ParameterError

Row = tuple[Fraction, ...]
Counts = tuple[int, ...]
Law = dict[Counts, Fraction]


def kary_rows(grown: Fraction, size: int) -> tuple[Row, ...]:
    """Return k-ary response with a rational e^epsilon, a row an input.

    Examples
    --------
    >>> [str(entry) for entry in kary_rows(Fraction(3), 3)[0]]
    ['3/5', '1/5', '1/5']
    """
    total = grown + size - 1
    return tuple(
        tuple(grown / total if report == value else 1 / total for report in range(size))
        for value in range(size)
    )


def states(users: int, reports: int) -> int:
    """Return the number of possible counts of ``reports`` different reports from ``users`` users."""
    return math.comb(users + reports - 1, reports - 1)


def law_of_counts(rows: Sequence[Row]) -> Law:
    """Return the law of how often each report comes when each row gives the law of one user's report.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> {counts: str(chance) for counts, chance in law_of_counts([(half, half)] * 2).items()}
    {(2, 0): '1/4', (1, 1): '1/2', (0, 2): '1/4'}
    """
    if not rows:
        raise ParameterError("rows", "is empty", "give the distribution of at least one report")
    denominators = [math.lcm(*(entry.denominator for entry in row)) for row in rows]
    law: dict[Counts, int] = {(0,) * len(rows[0]): 1}
    for row, unit in zip(rows, denominators, strict=True):
        weights = [(report, int(entry * unit)) for report, entry in enumerate(row) if entry]
        following: dict[Counts, int] = {}
        for counts, chance in law.items():
            for report, weight in weights:
                key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                following[key] = following.get(key, 0) + chance * weight
        law = following
    total = math.prod(denominators)
    return {counts: Fraction(weight, total) for counts, weight in law.items()}


def with_one_more(law: Law, row: Row) -> Law:
    """Return the distribution of the counts when one more user reports."""
    found: Law = {}
    for counts, chance in law.items():
        for report, entry in enumerate(row):
            if entry:
                key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                found[key] = found.get(key, Fraction(0)) + chance * entry
    return found


def exact_hockey_stick(first: Law, second: Law, grown: Fraction) -> Fraction:
    """Return the sum of (first - grown * second)_+ over all counts."""
    nothing = Fraction(0)
    excess = (chance - grown * second.get(counts, nothing) for counts, chance in first.items())
    return sum((item for item in excess if item > 0), nothing)


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


def shuffled_divergence(
    rows: Sequence[Row], others: Sequence[int], pair: tuple[int, int], grown: Fraction
) -> Fraction:
    """Return the divergence of all counts when the others have these inputs and one user has one of the pair.

    Parameters
    ----------
    rows : sequence of rows of Fraction
        The randomizer: Pr[report | input], a row an input.
    others : sequence of int
    pair : (int, int)
        The divergence is that of the first input's counts from the second's.
    grown : Fraction
        e^epsilon.

    Examples
    --------
    >>> str(shuffled_divergence(kary_rows(Fraction(3), 3), (0, 1, 1), (1, 2), Fraction(2)))
    '33/625'
    """
    base = law_of_counts([rows[value] for value in others]) if others else {(0,) * len(rows[0]): Fraction(1)}
    first, second = with_one_more(base, rows[pair[0]]), with_one_more(base, rows[pair[1]])
    return exact_hockey_stick(first, second, grown)


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
    >>> found = worst_divergence(kary_rows(Fraction(3), 2), 3, Fraction(2))
    >>> str(found.delta), found.others, found.pair
    ('9/64', (0, 0), (0, 1))
    """
    best: ExactDivergence | None = None
    for others, pair, first, second in laws_of_all_data(rows, users, symmetric):
        delta = exact_hockey_stick(first, second, grown)
        if best is None or delta > best.delta:
            best = ExactDivergence(delta, others, pair)
    assert best is not None  # there are at least two inputs
    return best


def laws_of_all_data(
    rows: Sequence[Row], users: int, symmetric: bool = False
) -> Iterator[tuple[Counts, tuple[int, int], Law, Law]]:
    """Yield (inputs of the others, pair, law for the first of the pair, law for the second) for all data."""
    for others in compositions(len(rows), users - 1, symmetric):
        chosen = [rows[value] for value in others]
        base = law_of_counts(chosen) if chosen else {(0,) * len(rows[0]): Fraction(1)}
        laws = {
            value: with_one_more(base, row) for value, row in enumerate(rows) if value < 2 or not symmetric
        }
        for pair in [(0, 1)] if symmetric else _pairs(len(rows)):
            yield others, pair, laws[pair[0]], laws[pair[1]]


def compositions(inputs: int, others: int, symmetric: bool) -> Iterator[tuple[int, ...]]:
    """Return the data of the others, in any order of users; if all inputs are alike, one of each orbit."""
    for data in combinations_with_replacement(range(inputs), others):
        rest = [data.count(value) for value in range(2, inputs)]
        if not symmetric or all(more >= fewer for more, fewer in pairwise(rest)):
            yield data


def _pairs(inputs: int) -> list[tuple[int, int]]:
    return [(one, two) for one in range(inputs) for two in range(inputs) if one != two]
