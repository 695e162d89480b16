"""Random sampling plus fake data (RS+FD, RS+RFD): one attribute is randomized, all others are made up.

A user's client draws one of d attributes evenly, reports it through a randomizer of a larger epsilon' with
e^epsilon' = d (e^epsilon - 1) + 1, and reports fake values for the other d - 1; which attribute was drawn is
not said. With P_j(y_j | x_j) the chance of the part y_j of a report and F_j(y_j) that of a fake part, a
report y has the chance (prod_i F_i(y_i)) (1/d) sum_j r_j(y_j | x_j), with r_j = P_j / F_j.

For two users who differ in every attribute the ratio of their chances is sum_j r_j(y_j | x_j) / sum_j
r_j(y_j | x'_j). Each term is at most e^epsilon' times the one below it, and a report that speaks for x in all
its parts makes all of them this large: the true epsilon is epsilon', not epsilon. For users who differ in one
attribute only, the parts of the others stand above and below, at their least.

Sources: Arcolezi, Couchot, Al Bouna, Xiao (2021), with the clients and variances of multi-freq-ldpy;
Arcolezi, Gambs, Couchot, Palamidessi (2023) with realistic fakes, here drawn evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from mechdesign.exact.exponential import exp_lower, exp_upper, float_up, log_ratio

Randomizer = Literal["GRR", "OUE-z", "OUE-r"]
"""k-ary response with even fakes; unary bits with fakes made of no value, or of a random one."""


@dataclass(frozen=True)
class FakeData:
    """RS+FD for attributes of these sizes, each with its randomizer.

    Examples
    --------
    >>> pair = FakeData((2, 3), 1.0, ("GRR", "GRR"))
    >>> print(f"{pair.true_epsilon:.4f} {math.exp(pair.one_changed):.4f}")  # promised: 1, and e = 2.7183
    1.4900 2.9206
    """

    sizes: tuple[int, ...]
    epsilon: float
    randomizers: tuple[Randomizer, ...]

    @property
    def count(self) -> int:
        """The number d of attributes."""
        return len(self.sizes)

    def amplified(self, power: Fraction) -> Fraction:
        """Return e^epsilon' for e^epsilon: d (e^epsilon - 1) + 1."""
        return self.count * (power - 1) + 1

    # Privacy

    @property
    def true_epsilon(self) -> float:
        """The least epsilon for any two users, rounded up: ln(d (e^epsilon - 1) + 1)."""
        ratio = self.amplified(exp_upper(self.epsilon))
        return float_up(log_ratio(ratio.numerator, ratio.denominator))

    @property
    def is_private(self) -> bool:
        """Whether any two users are as hard to tell apart as promised; exact."""
        return self.amplified(exp_lower(self.epsilon)) <= exp_upper(self.epsilon)

    @property
    def one_changed(self) -> float:
        """The least epsilon for two users who differ in one attribute, rounded up."""
        ratio = max(self._ratio_of_one(place, exp_upper(self.epsilon)) for place in range(self.count))
        return float_up(log_ratio(ratio.numerator, ratio.denominator))

    @property
    def is_private_for_one(self) -> bool:
        """Whether users who differ in one attribute are; up to the digits of e^epsilon, of which 48 agree."""
        power = exp_lower(self.epsilon)
        return max(self._ratio_of_one(place, power) for place in range(self.count)) <= power

    def _ratio_of_one(self, place: int, power: Fraction) -> Fraction:
        """Return the largest ratio when only this attribute differs, all other parts at their least."""
        amplified = self.amplified(power)
        rest = sum(
            (
                least_part(kind, size, amplified)
                for other, (kind, size) in enumerate(zip(self.randomizers, self.sizes, strict=True))
                if other != place
            ),
            Fraction(0),
        )
        high, low = parts(self.randomizers[place], self.sizes[place], amplified)
        return (high + rest) / (low + rest)

    def witness(self) -> dict[str, list[int]]:
        """Return two users and a report: each part names, or has a single 1 at, the first user's value."""
        mine = [0] * self.count
        return {"input": mine, "other": [1] * self.count, "report": mine}

    # Accuracy

    def errors(self) -> list[float]:
        """Return users times the squared error of each attribute, summed over its values, at even answers."""
        return [
            variance(kind, size, self.count, self.epsilon)
            for kind, size in zip(self.randomizers, self.sizes, strict=True)
        ]


def parts(kind: Randomizer, size: int, amplified: Fraction) -> tuple[Fraction, Fraction]:
    """Return r for the part of a report that tells two values apart best: for the one, and for the other.

    k-ary: k p and k q. Bits, the first user's 1 and all others 0: fakes without a value have the chance q of
    each 1, those of a random value the average.
    """
    if kind == "OUE-z":
        return (amplified + 1) / 2, (amplified + 1) / (2 * amplified)
    return size * amplified / (amplified + size - 1), size / (amplified + size - 1)


def least_part(kind: Randomizer, size: int, amplified: Fraction) -> Fraction:
    """Return the least r of a part: another value, a 0 at the user's value, or that and a 1 at all others."""
    if kind == "OUE-r":
        return size / ((size - 1) * amplified + 1)
    return parts(kind, size, amplified)[1]


def variance(kind: Randomizer, size: int, count: int, epsilon: float) -> float:
    """Return users times the summed variance as published, d^2 g (1 - g)/(p - q)^2 a value, at even answers.

    g is the chance that a value is reported: (1/d)(q + (p - q)/k) + (1 - 1/d) times that of a fake.

    Examples
    --------
    >>> round(variance("OUE-z", 2, 10, 2.0), 3)
    32.217
    """
    power = count * math.expm1(epsilon) + 1.0
    if kind == "GRR":
        gain = (power - 1.0) / (power + size - 1.0)
        reported = 1.0 / size
    else:
        q = 1.0 / (power + 1.0)
        gain = 0.5 - q
        reported = q + gain / size / (count if kind == "OUE-z" else 1)
    return size * count**2 * reported * (1.0 - reported) / gain**2


def adaptive(sizes: Sequence[int], epsilon: float, kinds: Sequence[Randomizer]) -> FakeData:
    """Return the one whose randomizers have the smaller variance, for each attribute by itself.

    Examples
    --------
    >>> adaptive([2, 16], 1.0, ("GRR", "OUE-z")).randomizers
    ('GRR', 'OUE-z')
    """

    def best(size: int) -> Randomizer:
        return min(kinds, key=lambda kind: variance(kind, size, len(sizes), epsilon))

    return FakeData(tuple(sizes), epsilon, tuple(map(best, sizes)))
