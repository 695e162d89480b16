"""Coverage of the intervals of frequencies; see :mod:`benchmarks.coverage`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mechdesign.primitives import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget

Array = NDArray[np.float64]

TAIL = 0.025


def binary(epsilon: float) -> FiniteChannel:
    """Return randomized response for two answers as a table of integers."""
    channel = np.asarray(KaryChannel(2, np.arange(2), epsilon))
    return FiniteChannel.from_floats(channel, PrivacyTarget(epsilon))


def line(epsilon: float) -> FiniteChannel:
    """Return geometric noise on a line of four answers, cut off at its ends; epsilon between neighbours."""
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    channel = np.exp(-epsilon * distance)
    return FiniteChannel.from_floats(
        channel / channel.sum(axis=1, keepdims=True), PrivacyTarget(6.0 * epsilon)
    )


def whole(size: int, kept: int, epsilon: float, delta: float = 0.0) -> FiniteChannel:
    """Return a k-ary response as the table of its integers; tests check that both give the same estimates."""
    response = KaryResponse.from_channel(KaryChannel(size, np.arange(kept), epsilon, delta))
    weights = np.zeros((size, size), dtype=np.int64)
    weights[:, :kept] = response.weights.low
    weights[np.arange(size), np.where(np.arange(size) < kept, np.arange(size), 0)] = response.weights.high
    weights[np.arange(size), np.arange(size)] += response.weights.own
    return FiniteChannel(weights, PrivacyTarget(epsilon, delta))


FREQUENCIES: dict[str, Callable[[float], FiniteChannel]] = {
    "frequencies, 2 answers, finite-channel": binary,
    "frequencies, 4 on a line, finite-channel": line,
    "frequencies, 4 answers, kary-response": partial(whole, 4, 4),
    "frequencies, 3 of 5 kept, delta = 0.05, kary-response": partial(whole, 5, 3, delta=0.05),
}


def cases(size: int, users: int) -> list[NDArray[np.int64]]:
    """Return how many users give each answer: all the first, all the last, half and half, one, all alike."""
    tables = []
    for first, last in ((users, 0), (0, users), (users // 2, users - users // 2), (users - 1, 1)):
        table = np.zeros(size, dtype=np.int64)
        table[0] += first
        table[-1] += last
        tables.append(table)
    tables.append(np.full(size, users // size, dtype=np.int64))
    tables[-1][0] += users % size
    return tables


def drawn_reports(
    answers: NDArray[np.int64],
    channel: NDArray[np.float64],
    population: bool,
    repetitions: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the counts of reports, a row a repetition."""
    if population:
        return rng.multinomial(answers.sum(), answers / answers.sum() @ channel, size=repetitions)
    found = [rng.multinomial(n, row, size=repetitions) for n, row in zip(answers, channel, strict=True)]
    return np.sum(found, axis=0)


def frequency_coverage(
    mechanism: FiniteChannel, users: int, repetitions: int, rng: np.random.Generator
) -> float:
    """Return the lowest coverage over the cases, both kinds of truth and the answers."""
    channel, least = mechanism.channel, 1.0
    for answers in cases(len(channel), users):
        truth = answers / users
        for population in (False, True):
            counts = drawn_reports(answers, channel, population, repetitions, rng)
            value = counts / users @ mechanism.scores.matrix.T
            inside = mechanism.scores.limits(value, users, population).reach(nearly(truth - value), TAIL)
            least = min(least, float(inside.mean(axis=0).min()))
    return least


def nearly(difference: Array, slack: float = 1e-12) -> Array:
    """Return differences less a rounding error: where nothing is random, the truth is the limit itself."""
    shorter: Array = np.sign(difference) * np.maximum(np.abs(difference) - slack, 0.0)
    return shorter
