"""Attacks on shuffled reports that are evaluated exactly but for rounding, and rounded down.

All other users have the same input, of which each report has the law nu; the victim's report has the law
mu_0 or mu_1. Reports are merged into three kinds: a, b and the rest. Then (docs/families/shuffle.md)

    delta(eps) = 1/n  E ( sum over n reports of L )_+ ,   L = (mu_0 - e^eps mu_1) / nu  of the report's kind,

is the hockey-stick divergence of the counts of the three kinds: what this attack achieves, no less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

import numpy as np

from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.families.shuffle.sum_divergence import (
    CHEAP,
    GROUPS,
    MANY_GROUPS,
    MOST_USERS,
    Excess,
    deviation,
    groups,
)


@dataclass(frozen=True)
class Kinds:
    """Probabilities of the kinds a, b and rest for the three inputs; each true up to 8 units of rounding.

    Attributes
    ----------
    others, first, second : (float, float, float)
        nu, mu_0 and mu_1. A kind that nobody reports has probability 0 in all three.
    description : str
        Who has which input, in a few words.
    """

    others: tuple[float, float, float]
    first: tuple[float, float, float]
    second: tuple[float, float, float]
    description: str

    @property
    def information(self) -> float:
        """The squared difference of the two laws in units of the noise of one report: more is stronger."""
        total = 0.0
        for other, one, two in zip(self.others, self.first, self.second, strict=True):
            total += (one - two) ** 2 / other if other > 1e-12 else 0.0
        return total


def kary_attacks(local_epsilon: float, size: int) -> list[Kinds]:
    """Return attacks on k-ary response: all others have the first input, the second, or a third one.

    Examples
    --------
    >>> [attack.description for attack in kary_attacks(1.0, 3)]
    ['all others have the second input', 'all others have the first input', 'all others have a third input']
    """
    grown = math.exp(local_epsilon)
    total = math.expm1(local_epsilon) + size
    true, false, rest = grown / total, 1.0 / total, (size - 2) / total
    first, second = (true, false, rest), (false, true, rest)
    attacks = [
        Kinds(second, first, second, "all others have the second input"),
        Kinds(first, first, second, "all others have the first input"),
    ]
    if size > 2:
        third = (false, false, (math.expm1(local_epsilon) + (size - 2)) / total)
        attacks.append(Kinds(third, first, second, "all others have a third input"))
    return attacks


def channel_attacks(rows: Sequence[Sequence[Fraction]], most: int = 6) -> list[Kinds]:
    """Return the most informative attacks on a finite channel.

    For every pair of inputs and every input of the others, the reports with the largest ratios of the two
    laws are the kind a, those with the smallest the kind b, at every place to divide them.
    """
    inputs = range(len(rows))
    attacks = []
    for first, second, other in product(inputs, inputs, inputs):
        if first == second:
            continue
        order = sorted(
            (report for report in range(len(rows[0])) if rows[first][report] > 0),
            key=lambda report: rows[second][report] / rows[first][report],
        )
        laws = [
            list(accumulate((float(rows[x][report]) for report in order), initial=0.0))
            for x in (other, first, second)
        ]
        for top in range(1, len(order)):
            for bottom in range(1, len(order) - top + 1):
                attacks.append(
                    (_information(laws, top, bottom), first, second, other, top, bottom, tuple(order))
                )
    attacks.sort(key=lambda item: -item[0])
    return [_kinds(rows, *item[1:]) for item in attacks[:most]]


def _information(laws: Sequence[list[float]], top: int, bottom: int) -> float:
    """Return the squared difference of the merged laws in units of the noise of one report."""
    parts = [(law[top], law[-1] - law[-1 - bottom], law[-1 - bottom] - law[top]) for law in laws]
    total = 0.0
    for other, one, two in zip(*parts, strict=True):
        if other > 1e-12:
            total += (one - two) ** 2 / other
    return total


def _kinds(
    rows: Sequence[Sequence[Fraction]],
    first: int,
    second: int,
    other: int,
    top: int,
    bottom: int,
    order: tuple[int, ...],
) -> Kinds:
    pieces = order[:top], order[len(order) - bottom :], order[top : len(order) - bottom]

    def law(x: int) -> tuple[float, float, float]:
        a, b, rest = (float(sum(rows[x][report] for report in piece)) for piece in pieces)
        return a, b, rest

    text = f"input {first} or {second}, all others have input {other}"
    return Kinds(law(other), law(first), law(second), text)


class ShuffleAttack:
    """The delta that an attack achieves, rounded down, as a function of the central epsilon.

    Parameters
    ----------
    users : int
        n, at least 1. With more than 10^9 users no attack is computed: the result is 0.
    kinds : Kinds
    delta : float
        The delta that matters.
    """

    def __init__(self, users: int, kinds: Kinds, delta: float) -> None:
        self.users, self.kinds = users, kinds
        if users > MOST_USERS:
            return
        a, b, rest = kinds.others
        ratios = [one / other for one, other in zip(kinds.first, kinds.others, strict=True) if other > 0.0]
        tail = 1e-6 * delta / max(1.0, *ratios)
        ranges: list[tuple[int, int, float, float]] = [(users, users, 1.0, 0.0)]
        outside = 1.0
        if rest > 0.0:
            outer = binomial_window(users, (a + b) / rest, tail)
            ranges = groups(outer, MANY_GROUPS if deviation(outer) <= CHEAP else GROUPS)
            outside = outer.lower
        low, high, share, part = (np.array(column) for column in zip(*ranges, strict=True))
        # The tails of a group count with its share.
        tails = np.minimum(tail / share, 1e-3) if rest > 0.0 else np.array([tail])
        self.excess = Excess(low.tolist(), a / b, tails.tolist(), upper=False)
        self.trials, self.pairs = low.astype(np.float64), low + part * (high - low)
        self.weights = share * outside * self.excess.factor

    def __call__(self, epsilon: float) -> float:
        """Return a lower bound of the delta that the attack achieves at a central epsilon >= 0."""
        if self.users > MOST_USERS:
            return 0.0
        kinds, grown = self.kinds, math.exp(epsilon)
        gains, sizes = [], []
        for one, two, other in zip(kinds.first, kinds.second, kinds.others, strict=True):
            gains.append((one - grown * two) / other if other > 0.0 else 0.0)
            sizes.append((one + grown * two) / other if other > 0.0 else 0.0)
        step = (gains[0] - gains[1]) - 64.0 * UNIT * (sizes[0] + sizes[1])
        if step <= 0.0:
            return 0.0
        pairs, rest = self.pairs, self.users - self.pairs
        fixed = gains[1] * pairs + gains[2] * rest
        slack = 128.0 * UNIT * ((sizes[0] + sizes[1]) * pairs + sizes[2] * rest + np.abs(fixed))
        # A group of numbers of pairs has the law of the least; the pairs beyond count with their mean.
        chance = kinds.others[0] / (kinds.others[0] + kinds.others[1]) * (1.0 - 32.0 * UNIT)
        thresholds = (slack - fixed) / step - (pairs - self.trials) * chance
        thresholds += 64.0 * UNIT * (np.abs(thresholds) + self.users)
        total = float((self.weights * self.excess.bound(thresholds)).sum())
        return max(0.0, step * total * (1.0 - 4.0 * (len(pairs) + 32) * UNIT) / self.users * (1.0 - 1e-12))
