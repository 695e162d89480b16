"""Mean mechanisms: values randomized and aggregated a second, next to diffprivlib and OpenDP, in one run.

    python -m benchmarks mean [--quick]

Seconds are processor seconds of one core, the best of three runs after a first one that is not counted;
simulated users draw from a numpy generator. Rivals that take one value a call get a sample; what is
compared is values a second. The last column is the error of the mean beside the formula's standard error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import rivals
from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    GridMean,
    Harmony,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.means import MeanMechanism
from mechdesign.show.tables import table

TITLE = "Mean mechanisms: values randomized and aggregated a second, beside diffprivlib and OpenDP"

EPSILON = 4.0
REPETITIONS = 3
COLUMNS = 36
COLUMN_USERS = 800_000
SAMPLE = 20_000
FLOOR = {"piecewise": 5.0}
"""Million values a second that are promised; 10 where nothing else is said."""


def mechanisms() -> list[MeanMechanism]:
    """Return every mechanism for one attribute on [0, 1], with the solved channel."""
    kinds: list[Callable[..., MeanMechanism]] = [
        Laplace,
        Duchi,
        Piecewise,
        Hybrid,
        SquareWave,
        DiscretePiecewise,
    ]
    found = [kind(EPSILON, 0.0, 1.0) for kind in kinds]
    return [*found, CensoringInterval.symmetric(EPSILON), solved_channel()]


def solved_channel() -> GridMean:
    """Return the solution of ``mean-channel``."""
    from mechdesign.families.mean.optimal_channel import best_mechanism

    found = best_mechanism(EPSILON, 0.0, 1.0)
    assert found is not None
    return found


def best_seconds(run: Callable[[], object]) -> float:
    """Return the least processor time of some runs, the first one not counted."""
    run()
    seconds = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def single_row(mechanism: MeanMechanism, values: NDArray[np.float64], name: str | None = None) -> list[str]:
    """Measure one mechanism; the verdict says whether the promised speed is reached."""
    generator = np.random.default_rng(1)
    reports = mechanism.randomize(values, rng=generator)
    randomize = best_seconds(lambda: mechanism.randomize(values, rng=generator))
    aggregate = best_seconds(lambda: mechanism.estimate(reports))
    estimate = mechanism.estimate(reports)
    speed = len(values) / (randomize + aggregate) / 1e6
    promised = FLOOR.get(mechanism.type, 10.0)
    return [
        name or mechanism.type,
        f"{len(values) / randomize / 1e6:.1f}",
        f"{len(values) / aggregate / 1e6:.1f}",
        f"{speed:.1f}",
        "yes" if speed >= promised else f"NO: {promised:g} promised",
        f"{abs(estimate.value - values.mean()):.1e} / {estimate.standard_error:.1e}",
    ]


def rival_rows(values: NDArray[np.float64]) -> list[list[str]]:
    """Measure the Laplace mechanisms of the other libraries, each in a process of its own."""
    cases: list[tuple[str, Callable[..., rivals.EstimateRun], NDArray[np.float64], dict[str, bool]]] = [
        ("diffprivlib Laplace, a call a value", rivals.diffprivlib_laplace_mean, values[:SAMPLE], {}),
        (
            "opendp Laplace, a call a value",
            rivals.opendp_laplace_mean,
            values[:SAMPLE],
            {"vectorised": False},
        ),
        (
            "opendp Laplace, one vector",
            rivals.opendp_laplace_mean,
            values[: 10 * SAMPLE],
            {"vectorised": True},
        ),
    ]
    rows = []
    for name, function, sample, options in cases:
        try:
            run = rivals.isolated(120.0, function, sample, 0.0, 1.0, EPSILON, **options)
        except rivals.RivalUnavailable as error:
            rows.append([name, "-", "-", "-", error.reason, "-"])
            continue
        error_of = abs(float(run.estimates[0]) - sample.mean())
        expected = math.sqrt(2.0) / EPSILON / math.sqrt(len(sample))
        rows.append(
            [name, "-", "-", f"{run.values_per_second / 1e6:.3f}", "-", f"{error_of:.1e} / {expected:.1e}"]
        )
    return rows


def column_rows(users: int) -> list[list[str]]:
    """Measure sampled attributes on a table of 36 columns."""
    values = np.random.default_rng(2).random((users, COLUMNS))
    designs = [
        ("harmony", Harmony(EPSILON, COLUMNS, 0.0, 1.0)),
        ("interval, self-normalized", AttributeSampling(CensoringInterval.symmetric(EPSILON), COLUMNS)),
        ("piecewise, k = 2", AttributeSampling.of(Piecewise, EPSILON, COLUMNS, 2, low=0.0, high=1.0)),
        ("mean-channel", AttributeSampling(solved_channel(), COLUMNS)),
    ]
    rows = []
    for name, mechanism in designs:
        generator = np.random.default_rng(3)
        start = time.perf_counter()
        reports = mechanism.randomize(values, rng=generator)
        middle = time.perf_counter()
        found = mechanism.estimate(reports)
        end = time.perf_counter()
        rmse = math.sqrt(float(np.mean((found.value - values.mean(axis=0)) ** 2)))
        rows.append([name, f"{middle - start:.2f}", f"{end - middle:.2f}", f"{rmse:.2e}"])
    return rows


def run(quick: bool) -> None:
    """Print the two tables."""
    count = 200_000 if quick else 1_000_000
    values = np.random.default_rng(0).random(count)
    rows = [
        single_row(mechanism, values, "mean-channel" if mechanism.type == "grid-mean" else None)
        for mechanism in mechanisms()
    ]
    rows += rival_rows(values)
    print(f"one attribute, epsilon = {EPSILON:g}, {count} users, million values a second")
    print(table(["mechanism", "randomize", "aggregate", "both", "as promised", "error / std error"], rows))
    users = min(COLUMN_USERS, count)
    print(f"\n{COLUMNS} attributes, {users} users, seconds")
    print(table(["mechanism", "randomize", "aggregate", "rmse"], column_rows(users)))
