"""The exact answer for few users: all data of the others in rational arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from mechdesign.exact.exponential import exp_lower, exp_upper, float_up
from mechdesign.families.shuffle.audit.shuffle_exact import (
    Law,
    Row,
    exact_hockey_stick,
    kary_rows,
    laws_of_all_data,
    states,
)
from mechdesign.families.shuffle.judge import Setting

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
        found = [exact_hockey_stick(first, second, grown) for _, _, first, second in self.laws]
        place = max(range(len(found)), key=found.__getitem__)
        return found[place], place

    def about(self) -> float:
        """Return about the central epsilon at which delta is as wanted, in doubles."""
        laws = self.laws
        counts = [len(first) for _, _, first, _ in laws]
        first = np.array([float(chance) for law in laws for chance in law[2].values()])
        second = np.array([float(law[3].get(key, 0)) for law in laws for key in law[2]])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        low, high = 0.0, self.setting.local_epsilon
        for _ in range(60):
            middle = (low + high) / 2.0
            excess = np.maximum(first - math.exp(middle) * second, 0.0)
            enough = float(np.add.reduceat(excess, starts).max()) <= self.setting.delta
            low, high = (low, middle) if enough else (middle, high)
        return high


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
    wanted = Fraction(setting.delta)
    found, step = laws.about(), 1e-13
    while found < setting.local_epsilon and laws.delta(found)[0] > wanted:
        found, step = found * (1.0 + step) + step * 1e-3, 8.0 * step
    return min(found, setting.local_epsilon)


def exact_attack(setting: Setting, epsilon: float) -> tuple[float, str]:
    """Return a central epsilon below this one that is not enough, and the data that show it; or 0."""
    laws = enumeration(setting, False)
    wanted = Fraction(setting.delta)
    step = 1e-13
    while step < 1.0:
        low = epsilon * (1.0 - step)
        delta, place = laws.delta(low)
        if delta > wanted:
            others, pair = laws.laws[place][:2]
            return low, f"inputs {pair[0]} or {pair[1]}, the others {list(others)}"
        step *= 64.0
    return 0.0, "no attack"
