"""Coverage of the intervals of means; see :mod:`benchmarks.coverage`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from benchmarks.coverage_frequencies import TAIL, nearly
from mechdesign.collect.intervals import Limits
from mechdesign.exact.randomness import BitSource, bit_source
from mechdesign.families.mean import (
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.means import MeanMechanism
from mechdesign.families.mean.tally import CodeTally, FloatTally
from mechdesign.primitives.mean_limits import ReportSums

Array = NDArray[np.float64]

QUANTILE = 1.959963984540054

ATTRIBUTES = 10
"""Sampled attributes: every user reports one of this number."""

CASES: dict[str, Callable[[int], tuple[tuple[float, int], ...]]] = {
    "all low": lambda n: ((0.0, n),),
    "all high": lambda n: ((1.0, n),),
    "half at each end": lambda n: ((0.0, n // 2), (1.0, n - n // 2)),
    "one user elsewhere": lambda n: ((0.0, n - 1), (1.0, 1)),
    "all in the middle": lambda n: ((0.5, n),),
    "all at a quarter": lambda n: ((0.25, n),),
}
"""Values in [0, 1] with their numbers of users."""


def solved_channel(epsilon: float) -> GridMean:
    """Return the solved channel, on few inputs."""
    found = md.solve(md.MeanChannel(epsilon=epsilon, inputs=11)).mechanism()
    assert isinstance(found, GridMean)
    return found


MEANS: dict[str, Callable[[float], MeanMechanism]] = {
    "duchi": Duchi,
    "one-bit interval [0, d], delta = 0.1": lambda epsilon: CensoringInterval.from_interval(
        0.0, 0.1, epsilon, 0.1
    ),
    "one-bit interval, symmetric": CensoringInterval.symmetric,
    "discrete-piecewise": DiscretePiecewise,
    "mean-channel, 11 inputs": solved_channel,
    "laplace": Laplace,
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "square-wave": SquareWave,
}


@dataclass(frozen=True)
class Simulated:
    """Repetitions: how many reports, the sums of y = slope r, and the true mean about the offset."""

    reports: NDArray[np.int64]
    total: Array
    square: Array
    truth: float


def simulate(
    mechanism: MeanMechanism,
    case: str,
    users: int,
    chance: float,
    population: bool,
    repetitions: int,
    rng: np.random.Generator,
) -> Simulated:
    """Let every user report with this probability, all of them again in each repetition."""
    groups = CASES[case](users)
    truth = sum(value * count for value, count in groups) / users
    sizes = np.tile([count for _, count in groups], (repetitions, 1))
    if population:
        sizes = rng.multinomial(users, [count / users for _, count in groups], size=repetitions)
    if chance < 1.0:
        sizes = rng.binomial(sizes, chance)
    total, square = np.zeros(repetitions), np.zeros(repetitions)
    source = bit_source(int(rng.integers(1 << 62)))
    for (value, _), counts in zip(groups, sizes.T, strict=True):
        place = np.repeat(np.arange(repetitions), counts)
        done = 0
        for y in scores(mechanism, value, len(place), source):
            part = place[done : done + len(y)]
            total += np.bincount(part, weights=y, minlength=repetitions)
            square += np.bincount(part, weights=y * y, minlength=repetitions)
            done += len(y)
    domain = mechanism.domain
    centred = domain.low + truth * domain.width - float(mechanism.offset)
    return Simulated(sizes.sum(axis=1), total, square, centred)


def scores(mechanism: MeanMechanism, value: float, count: int, source: BitSource) -> Iterator[Array]:
    """Yield y = slope r of ``count`` reports, in pieces."""
    tally, slope = mechanism.tally(), float(mechanism.slope)
    table = np.array([float(score) for score in tally.scores]) if isinstance(tally, CodeTally) else None
    centre = tally.centre if isinstance(tally, FloatTally) else 0.0
    for start in range(0, count, 1 << 16):
        drawn = mechanism.draw(np.full(min(1 << 16, count - start), value), source)
        yield slope * (drawn - centre if table is None else table[drawn])


def limits_of(
    mechanism: MeanMechanism, estimator: str, users: int, population: bool, sums: Simulated
) -> tuple[Array, Limits]:
    """Return estimates (about the offset) and their limits, all repetitions at once.

    This is what ``AttributeSampling.column_values`` does with exact sums, one repetition a column.
    """
    times = float(ATTRIBUTES) if estimator == "scaled" else 1.0
    count = np.full(len(sums.total), users) if estimator == "scaled" else np.maximum(sums.reports, 1)
    mean, square = times * sums.total / count, times**2 * sums.square / count
    share = np.zeros(len(count)) if population else sums.reports / users
    if estimator != "self-normalized" and not population:
        share = np.ones(len(count))
    limits = mechanism.limits(ReportSums(count, mean, square, share), 0.0, times)
    return mean, limits


def coverage(
    mechanism: MeanMechanism, users: int, estimator: str, repetitions: int, rng: np.random.Generator
) -> float:
    """Return the lowest coverage over the cases and both kinds of truth.

    An attribute that nobody reported has the whole range for an interval, which covers.
    """
    chance = 1.0 if estimator == "everybody" else 1.0 / ATTRIBUTES
    least = 1.0
    for case in CASES:
        sums = None
        for population in (False, True):
            if sums is None or len(CASES[case](users)) > 1:  # a draw of users with one value changes nothing
                sums = simulate(mechanism, case, users, chance, population, repetitions, rng)
            mean, limits = limits_of(mechanism, estimator, users, population, sums)
            difference = nearly(sums.truth - mean, 1e-12 * mechanism.domain.width)
            inside = limits.reach(difference, TAIL)
            if estimator == "self-normalized":
                inside |= sums.reports == 0
            least = min(least, float(inside.mean()))
    return least


def width(mechanism: MeanMechanism, users: int, repetitions: int, rng: np.random.Generator) -> float:
    """Return the mean width when all values are in the middle, in that of the ideal normal interval."""
    sums = simulate(mechanism, "all in the middle", users, 1.0, False, repetitions, rng)
    down, up = limits_of(mechanism, "everybody", users, False, sums)[1].distances(TAIL)
    ideal = 2.0 * QUANTILE * np.sqrt(mechanism.variance(mechanism.domain.middle) / users)
    return float((down + up).mean() / ideal)
