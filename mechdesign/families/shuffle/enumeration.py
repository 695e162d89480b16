"""Shuffled reports of few users in rational arithmetic: all data of the others, every pair of inputs.

The shuffler shows how often each report came, and nothing else. The law of these counts is enumerated with
whole numbers, so that the hockey-stick divergence is a fraction, and the largest one over all data of the
others is exact. From it follow the least central epsilon that holds for all data, and data for which the one
next to it fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.exact.randomness import exp_lower, exp_upper, float_up
from mechdesign.families.shuffle.judge import Setting
from mechdesign.families.shuffle.promise import bisection

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
    longer: Law = {}
    for counts, chance in law.items():
        for report, entry in enumerate(row):
            if entry:
                key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                longer[key] = longer.get(key, Fraction(0)) + chance * entry
    return longer


def exact_hockey_stick(first: Law, second: Law, grown: Fraction) -> Fraction:
    """Return the sum of (first - grown * second)_+ over all counts."""
    nothing = Fraction(0)
    excess = (chance - grown * second.get(counts, nothing) for counts, chance in first.items())
    return sum((item for item in excess if item > 0), nothing)


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


MOST_WORK = 30_000
"""The most counts that are enumerated: data of the others, times pairs of inputs, times counts of reports."""

MOST_BITS = 6_000_000
"""The most bits of the fractions that are enumerated."""

BITS = 64
"""Digits of the rational numbers next to e^local_epsilon."""


def why_not_exact(setting: Setting, times: int = 1) -> str | None:
    """Return why ``times`` full enumerations are too many; None where they are not."""
    randomizer = setting.randomizer
    if randomizer.kind == "any":
        return "there are infinitely many randomizers to enumerate"
    reports = randomizer.size if randomizer.kind == "k-ary" else len(randomizer.rows[0])
    if reports > 64 or setting.users > 400:
        return f"{setting.users} honest users with {randomizer} are too many to enumerate"
    data = math.comb(setting.users + randomizer.size - 2, randomizer.size - 1)
    pairs = 1 if randomizer.kind == "k-ary" else randomizer.size * (randomizer.size - 1)
    work = data * pairs * states(setting.users, reports)
    if times * work > MOST_WORK:
        return f"{times * work} counts would have to be enumerated, {MOST_WORK} are the most"
    digits = BITS if randomizer.kind == "k-ary" else max(_bits(row) for row in randomizer.rows)
    if times * work * digits * setting.users > MOST_BITS:
        length = digits * setting.users
        return f"{times * work} counts with fractions of {length} bits take too long to enumerate"
    return None


def _bits(row: Row) -> int:
    """Return how long the common denominator of a row is."""
    return math.lcm(*(entry.denominator for entry in row)).bit_length()


@dataclass(frozen=True)
class Enumeration:
    """The laws of the counts for all data, from one side: reports a little less, or more, private.

    Attributes
    ----------
    setting : Setting
    upper : bool
        Whether e^local_epsilon is rounded up, for bounds from above: k-ary response with less noise can be
        made into one with more, so that delta grows with it. A channel is what it is.
    """

    setting: Setting
    upper: bool

    @property
    def rows(self) -> tuple[Row, ...]:
        """The randomizer."""
        randomizer = self.setting.randomizer
        if randomizer.kind == "channel":
            return randomizer.rows
        local = self.setting.local_epsilon
        grown = exp_upper(local) * 2**BITS if self.upper else exp_lower(local) * 2**BITS
        rounded = math.ceil(grown) if self.upper else math.floor(grown)
        return kary_rows(Fraction(rounded, 2**BITS), randomizer.size)

    @cached_property
    def laws(self) -> list[tuple[tuple[int, ...], tuple[int, int], Law, Law]]:
        """Data of the others, pair of inputs, and the two laws."""
        symmetric = self.setting.randomizer.kind == "k-ary"
        return list(laws_of_all_data(self.rows, self.setting.users, symmetric))

    def delta(self, epsilon: float) -> tuple[Fraction, int]:
        """Return the largest divergence at a central epsilon, a bound from this side, and where it is."""
        grown = exp_lower(epsilon) if self.upper else exp_upper(epsilon)
        divergences = [exact_hockey_stick(first, second, grown) for _, _, first, second in self.laws]
        place = max(range(len(divergences)), key=divergences.__getitem__)
        return divergences[place], place

    def about(self) -> float:
        """Return about the central epsilon at which delta is as wanted, in doubles."""
        laws = self.laws
        counts = [len(first) for _, _, first, _ in laws]
        first = np.array([float(chance) for law in laws for chance in law[2].values()])
        second = np.array([float(law[3].get(key, 0)) for law in laws for key in law[2]])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

        def enough(epsilon: float) -> bool:
            excess = np.maximum(first - math.exp(epsilon) * second, 0.0)
            return float(np.add.reduceat(excess, starts).max()) <= self.setting.delta

        return bisection(enough, 0.0, self.setting.local_epsilon, rounds=60)[1]


@lru_cache(maxsize=8)
def enumeration(setting: Setting, upper: bool) -> Enumeration:
    """Return the laws for all data; those of a setting are enumerated once."""
    return Enumeration(setting, upper)


def exact_delta(setting: Setting, epsilon: float) -> float:
    """Return the largest divergence over all data at a central epsilon, rounded up."""
    return float_up(enumeration(setting, True).delta(epsilon)[0])


def exact_epsilon(setting: Setting) -> float:
    """Return a central epsilon at which delta is proven exactly, next to the least one."""
    laws = enumeration(setting, True)
    target = Fraction(setting.delta)
    epsilon, step = laws.about(), 1e-13
    while epsilon < setting.local_epsilon and laws.delta(epsilon)[0] > target:
        epsilon, step = epsilon * (1.0 + step) + step * 1e-3, 8.0 * step
    return min(epsilon, setting.local_epsilon)


def exact_attack(setting: Setting, epsilon: float) -> tuple[float, str]:
    """Return a central epsilon below this one that is not enough, and the data that show it; or 0."""
    laws = enumeration(setting, False)
    target = Fraction(setting.delta)
    step = 1e-13
    while step < 1.0:
        low = epsilon * (1.0 - step)
        delta, place = laws.delta(low)
        if delta > target:
            others, pair = laws.laws[place][:2]
            return low, f"inputs {pair[0]} or {pair[1]}, the others {list(others)}"
        step *= 64.0
    return 0.0, "no attack"
