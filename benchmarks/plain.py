"""Reports and counts in a few lines of plain numpy, with numpy's fastest generator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

RANDOM = np.random.Generator(np.random.SFC64(1))


def kary(answers: Codes, k: int, epsilon: float) -> Codes:
    """Randomized response: the user's answer, else one of the others."""
    keep = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    other = RANDOM.integers(0, k - 1, len(answers))
    other += other >= answers
    return np.bincount(np.where(RANDOM.random(len(answers)) < keep, answers, other), minlength=k)


def unary(answers: Codes, k: int, epsilon: float) -> Codes:
    """One bit per category, in blocks that fit the cache."""
    counts = np.zeros(k, dtype=np.int64)
    for start in range(0, len(answers), max(1, (1 << 18) // k)):
        part = answers[start : start + max(1, (1 << 18) // k)]
        bits = RANDOM.random((len(part), k), dtype=np.float32) < 1 / (np.exp(epsilon) + 1)
        bits[np.arange(len(part)), part] = RANDOM.random(len(part)) < 0.5
        counts += bits.sum(axis=0)
    return counts


def subset(answers: Codes, k: int, size: int, epsilon: float) -> Codes:
    """Sets by the order of random numbers, in blocks."""
    counts = np.zeros(k, dtype=np.int64)
    include = size * np.exp(epsilon) / (size * np.exp(epsilon) + k - size)
    for start in range(0, len(answers), max(1, (1 << 18) // k)):
        part = answers[start : start + max(1, (1 << 18) // k)]
        numbers = RANDOM.random((len(part), k), dtype=np.float32)
        numbers[np.arange(len(part)), part] = np.where(RANDOM.random(len(part)) < include, -1, 2)
        chosen = np.argpartition(numbers, size - 1, axis=1)[:, :size]
        counts += np.bincount(chosen.ravel(), minlength=k)
    return counts


def hadamard(answers: Codes, order: int, epsilon: float) -> Codes:
    """A number whose parity with the user's row is even with the probability e^epsilon / (e^epsilon + 1)."""
    rows = answers + 1
    drawn = RANDOM.integers(0, order, len(answers))
    odd = (np.bitwise_count(drawn & rows) & 1).astype(bool)
    wanted = RANDOM.random(len(answers)) >= np.exp(epsilon) / (np.exp(epsilon) + 1)
    return np.bincount(drawn ^ np.where(odd != wanted, rows & -rows, 0), minlength=order)


def duchi(values: NDArray[np.float64], epsilon: float) -> int:
    """One bit of a number in [-1, 1]."""
    slope = (np.exp(epsilon) - 1) / (np.exp(epsilon) + 1)
    return int(np.count_nonzero(RANDOM.random(len(values)) < 0.5 + values * (slope / 2)))


def hashing(seeds: Codes, values: Codes, prime: int, buckets: int, k: int) -> Codes:
    """Reports of local hashing counted by hashing every category for every report, in blocks."""
    counts, numbers = np.zeros(k, dtype=np.int64), np.arange(k)
    for start in range(0, len(seeds), max(1, (1 << 16) // k)):
        part = slice(start, start + max(1, (1 << 16) // k))
        slopes, shifts = np.divmod(seeds[part, None], prime)
        fits = ((slopes + 1) * numbers + shifts) % prime % buckets == values[part, None]
        counts += np.count_nonzero(fits, axis=0)
    return counts
