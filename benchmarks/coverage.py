"""How often 95 % intervals contain the truth: every mechanism and estimator on extreme data.

The lowest coverage over the data, over users at hand and population, and over the numbers of users is printed
for each mechanism and epsilon, as the Markdown table of ``docs/families/coverage.md``; then how much wider
intervals are in ordinary cases than normal ones with the true standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from benchmarks.coverage_frequencies import FREQUENCIES, TAIL, frequency_coverage, nearly
from mechdesign.core.randomness import BitSource, bit_source
from mechdesign.mechanisms import Mechanism
from mechdesign.mechanisms.intervals import Limits
from mechdesign.mechanisms.mean import (
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Hybrid,
    Laplace,
    MeanMechanism,
    Piecewise,
    SquareWave,
)
from mechdesign.mechanisms.mean.curves import ReportSums
from mechdesign.mechanisms.mean.tally import CodeTally, FloatTally

TITLE = "Coverage of 95 % confidence intervals, the lowest over extreme data"

Array = NDArray[np.float64]

QUANTILE = 1.959963984540054

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0)

REPETITIONS = {30: 20_000, 300: 20_000, 3000: 5_000}
"""By the number of users: an entry is the lowest of many measurements, so each has to be sharp."""

ATTRIBUTES = 10
"""Sampled attributes: every user reports one of so many."""

SEED = 20

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
    """Let every user report with this chance, all of them again in each repetition."""
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
    """Yield y = slope r of so many reports, in pieces."""
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


def run(quick: bool) -> None:
    """Print the tables."""
    repetitions = {30: 400, 300: 400} if quick else REPETITIONS
    rng = np.random.default_rng(SEED)
    for users, times in repetitions.items():
        deviation = (0.95 * 0.05 / times) ** 0.5
        print(f"{users} users: {times} repetitions, one standard deviation of 0.95 is {deviation:.4f}")
    print("in brackets: at how many users the lowest was\n")
    print_header("mechanism")
    for estimator in ("everybody", "self-normalized", "scaled"):
        for name, kind in MEANS.items():
            measure = partial(coverage, estimator=estimator, rng=rng)
            shown = name if estimator == "everybody" else f"{name}, 1 of {ATTRIBUTES}, {estimator}"
            print_row(shown, (lowest(measure, kind(epsilon), repetitions) for epsilon in EPSILONS))
    for name, build in FREQUENCIES.items():
        measure = partial(frequency_coverage, rng=rng)
        print_row(name, (lowest(measure, build(epsilon), repetitions) for epsilon in EPSILONS))
    print(
        "\nMean width of the interval, all values in the middle, 10 000 users, over the ideal normal one:\n"
    )
    print_header("mechanism")
    for name, kind in MEANS.items():
        print_row(name, (f"{width(kind(epsilon), 10_000, 100, rng):.3f}" for epsilon in EPSILONS))


def lowest(measure: Callable[..., float], mechanism: Mechanism, repetitions: dict[int, int]) -> str:
    """Return the lowest coverage and the number of users at which it was."""
    share, users = min(
        (measure(mechanism, users, repetitions=times), users) for users, times in repetitions.items()
    )
    return f"{share:.3f} ({users})"


def print_header(first: str) -> None:
    """Print the head of a Markdown table, one column an epsilon."""
    print(f"| {first} | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " |")
    print("|---|" + "---|" * len(EPSILONS), flush=True)


def print_row(name: str, cells: Iterable[str]) -> None:
    """Print a row of a Markdown table."""
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
