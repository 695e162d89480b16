"""Frequency oracles written out: the probability of every report for every answer, from their definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from mechdesign.exact.randomness import TOTAL
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle

Table = dict[Any, list[Fraction]]
"""For each report, a tuple of members or a number, its probability for each answer."""


def whole_channel(oracle: Oracle) -> Table:
    """Return the channel of a small oracle; nothing is taken from the code that samples or audits."""
    size = oracle.labels.size
    if isinstance(oracle, UnaryEncoding):
        return {
            bits: [_unary(oracle, bits, answer) for answer in range(size)]
            for bits in product((0, 1), repeat=size)
        }
    if isinstance(oracle, SubsetSelection):
        own = Fraction(oracle.include, TOTAL)
        inside = own / comb(size - 1, oracle.size - 1)
        outside = (1 - own) / comb(size - 1, oracle.size)
        return {
            tuple(int(place in chosen) for place in range(size)): [
                inside if answer in chosen else outside for answer in range(size)
            ]
            for chosen in combinations(range(size), oracle.size)
        }
    if isinstance(oracle, KaryResponse):
        own, high, low = (Fraction(getattr(oracle.weights, name), TOTAL) for name in ("own", "high", "low"))
        return {
            report: [own + high if answer == report else low for answer in range(size)]
            for report in range(size)
        }
    if isinstance(oracle, HadamardResponse):
        half = oracle.order // 2
        even, odd = Fraction(oracle.even, TOTAL) / half, Fraction(TOTAL - oracle.even, TOTAL) / half
        return {
            report: [odd if (report & (answer + 1)).bit_count() % 2 else even for answer in range(size)]
            for report in range(oracle.order)
        }
    if isinstance(oracle, ProjectiveGeometry):
        return _projective(oracle)
    assert isinstance(oracle, LocalHashing)
    return _hashing(oracle)


def _unary(oracle: UnaryEncoding, bits: tuple[int, ...], answer: int) -> Fraction:
    result = Fraction(1)
    for place, bit in enumerate(bits):
        chance = Fraction(oracle.keep if place == answer else oracle.add, TOTAL)
        result *= chance if bit else 1 - chance
    return result


def _hashing(oracle: LocalHashing) -> Table:
    prime, buckets, size = oracle.family.prime, oracle.family.buckets, oracle.labels.size
    seeds = prime * (prime - 1)
    own = Fraction(TOTAL - (buckets - 1) * oracle.other, TOTAL * seeds)
    other = Fraction(oracle.other, TOTAL * seeds)
    table: Table = {}
    for slope, shift, bucket in product(range(1, prime), range(prime), range(buckets)):
        report = ((slope - 1) * prime + shift) * buckets + bucket
        table[report] = [
            own if (slope * answer + shift) % prime % buckets == bucket else other for answer in range(size)
        ]
    return table


def points(oracle: ProjectiveGeometry) -> list[tuple[int, ...]]:
    """Return the vectors of all points, in the order of their numbers, found by search."""
    field, digits = oracle.space.field, oracle.space.digits
    vectors = [vector[::-1] for vector in product(range(field), repeat=digits)]  # the lowest digit first
    return [vector for vector in vectors if [digit for digit in vector if digit][-1:] == [1]]


def _incident(oracle: ProjectiveGeometry, point: tuple[int, ...], plane: tuple[int, ...]) -> bool:
    return sum(one * other for one, other in zip(point, plane, strict=True)) % oracle.space.field == 0


def _projective(oracle: ProjectiveGeometry) -> Table:
    every = points(oracle)
    through = sum(_incident(oracle, every[0], plane) for plane in every)
    inside = Fraction(oracle.include, TOTAL) / through
    outside = Fraction(TOTAL - oracle.include, TOTAL) / (len(every) - through)
    return {
        report: [
            inside if _incident(oracle, every[answer], plane) else outside
            for answer in range(oracle.labels.size)
        ]
        for report, plane in enumerate(every)
    }


def supported(oracle: Oracle, report: Any) -> list[int]:
    """Return which categories a report supports, 1 or 0 each, from the definition."""
    size = oracle.labels.size
    if isinstance(report, tuple):
        return list(report)
    if isinstance(oracle, KaryResponse):
        return [int(report == answer) for answer in range(size)]
    if isinstance(oracle, HadamardResponse):
        return [1 - (report & (answer + 1)).bit_count() % 2 for answer in range(size)]
    if isinstance(oracle, ProjectiveGeometry):
        every = points(oracle)
        return [int(_incident(oracle, every[answer], every[report])) for answer in range(size)]
    assert isinstance(oracle, LocalHashing)
    seed, bucket = divmod(report, oracle.family.buckets)
    slope, shift = 1 + seed // oracle.family.prime, seed % oracle.family.prime
    hashed = [
        (slope * answer + shift) % oracle.family.prime % oracle.family.buckets for answer in range(size)
    ]
    return [int(value == bucket) for value in hashed]


def names_of(oracle: Oracle, reports: Any) -> list[Any]:
    """Return drawn reports as the keys of :func:`whole_channel`."""
    if reports.ndim == 1:
        return reports.tolist()
    bits = np.unpackbits(reports, axis=1)[:, : oracle.labels.size]
    return [tuple(row) for row in bits.tolist()]


def small_oracles(epsilon: float = 1.0) -> dict[str, Oracle]:
    """Return one of every kind, small enough to be written out."""
    return {
        "optimised unary": UnaryEncoding.optimised(4, epsilon),
        "symmetric unary": UnaryEncoding.symmetric(3, epsilon),
        "subsets of 1": SubsetSelection.of(4, epsilon, 1),
        "subsets of 2": SubsetSelection.of(5, epsilon, 2),
        "subsets of all but one": SubsetSelection.of(4, epsilon, 3),
        "hashing, 2 buckets": LocalHashing.of(5, epsilon, 2),
        "hashing, 3 buckets": LocalHashing.of(4, epsilon, 3),
        "hashing, a bucket an element": LocalHashing.of(5, epsilon, 5),
        "hashing, two categories": LocalHashing.of(2, epsilon, 2),
        "projective plane": ProjectiveGeometry.of(7, epsilon, 2),
        "projective space, some points": ProjectiveGeometry.of(9, epsilon, 3),
        "projective line": ProjectiveGeometry.of(4, epsilon, 5),
        "k-ary": KaryResponse.of(4, epsilon),
        "k-ary, two categories": KaryResponse.of(2, epsilon),
        "hadamard": HadamardResponse.of(6, epsilon),
        "hadamard, two categories": HadamardResponse.of(2, epsilon),
    }
