"""The experiments of Wang and Meng (2022), section 5, on drawn data: errors, messages and seconds.

    python -m benchmarks.shuffle_experiment --figure 7 --users 100000 --repetitions 10

Every protocol of the package, with the constants of its paper and with exact noise, encodes, is shuffled and
analyzed; beside the measured error stands the predicted one. Figures 7 to 10 are counts of ones, 7 and 11 to
13 histograms of normal categories, 7, 14 and 15 sums of normal numbers. ``--data FILE --column NAME`` takes
categories of a file instead.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mechdesign as md
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.choosing import Choosing, fitted
from mechdesign.families.shuffle.counts import ShuffleCounting, ShuffleHistogram, ShuffleSum
from mechdesign.families.shuffle.papers.choosing import normal_categories, normal_numbers, ones_and_zeros
from mechdesign.families.shuffle.papers.counts import normal_rmse
from mechdesign.families.shuffle.tasks import HistogramProtocol
from mechdesign.show.tables import table

HEADER = ["protocol", "RMSE", "predicted", "messages", "encode (s)", "analyze (s)"]
EPSILONS, SHARES = (0.1, 0.3, 0.5, 0.7, 0.9), (0.1, 0.3, 0.5, 0.7, 0.9)
AT_A_TIME = 4e6
"""Messages that are held at a time."""

MOST_WORK = 3e8
"""Messages of all repetitions; a protocol that sends more runs fewer times, at least once."""

Settings = dict[str, Any]


def settings(figure: int, base: Settings) -> Iterator[tuple[str, Choosing]]:
    """Yield what each table is about, and its problem."""
    count = {"users": base["users"], "epsilon": 0.9, "delta": 1e-6, "ones": 0.5}
    histogram = {key: value for key, value in count.items() if key != "ones"}
    histogram["categories"] = base["categories"]
    total = {"users": base["users"], "epsilon": 0.9, "delta": 1e-6, "precision": 10}
    users = [base["users"] // 100, base["users"] // 10, base["users"]]
    kinds: dict[int, tuple[type[Any], Settings, str, Any]] = {
        8: (ShuffleCounting, count, "epsilon", EPSILONS),
        9: (ShuffleCounting, count, "users", users),
        10: (ShuffleCounting, count, "ones", SHARES),
        11: (ShuffleHistogram, histogram, "epsilon", EPSILONS),
        12: (ShuffleHistogram, histogram, "categories", (10, 20, 50, 100)),
        13: (ShuffleHistogram, histogram, "users", users),
        14: (ShuffleSum, total, "epsilon", EPSILONS),
        15: (ShuffleSum, total, "users", users),
    }
    if figure == 7:
        yield "figure 7(a), counts", ShuffleCounting(**count)
        yield "figure 7(b), histograms", ShuffleHistogram(**histogram)
        yield "figure 7(c), sums, ten steps", ShuffleSum(**total)
        yield "sums, each protocol's own steps", ShuffleSum(**{**total, "precision": None})
        return
    problem, values, name, points = kinds[figure]
    for point in points:
        yield f"figure {figure}, {name} = {point}", problem(**{**values, name: point})


def drawn(problem: Choosing, rng: np.random.Generator, column: np.ndarray | None) -> tuple[np.ndarray, Any]:
    """Return users' values and the truth."""
    values: np.ndarray
    if isinstance(problem, ShuffleCounting):
        values = ones_and_zeros(problem.users, 0.5 if problem.ones is None else problem.ones)
        return values, int(values.sum())
    if isinstance(problem, ShuffleHistogram):
        values = normal_categories(problem.users, problem.categories, rng)
        if column is not None:
            values = rng.choice(column, problem.users) % problem.categories
        return values, np.bincount(values, minlength=problem.categories)
    assert isinstance(problem, ShuffleSum)
    values = normal_numbers(problem.users, rng)
    return values, math.fsum(values.tolist())


def predicted(problem: Choosing, protocol: Protocol, truth: Any) -> float | None:
    """Return the error that is expected on these data."""
    if isinstance(protocol, HistogramProtocol):
        return math.sqrt(float(protocol.squares_at(truth.astype(np.float64)).mean()))
    return normal_rmse(protocol) if isinstance(problem, ShuffleSum) else problem.error_of(protocol)


def once(protocol: Protocol, values: np.ndarray, seed: int) -> tuple[np.ndarray, int, tuple[float, float]]:
    """Return the estimate, the number of messages, and the seconds of the users and of the analyzer.

    Where there are many messages a few users are encoded at a time; the analyzer's sums need no more.
    """
    rng, counter, encoding, analyzing = np.random.default_rng(seed), protocol.counter(), 0.0, 0.0
    few = len(values) if protocol.most_messages <= 20 else max(1, int(AT_A_TIME / protocol.mean_messages))
    for start in range(0, len(values), few):
        clock = time.perf_counter()
        sent = protocol.encode(values[start : start + few], rng=rng)
        if few == len(values):
            sent = protocol.with_fakes(sent, rng)
        encoding, clock = encoding + time.perf_counter() - clock, time.perf_counter()
        counter.update(sent)
        analyzing += time.perf_counter() - clock
    clock = time.perf_counter()
    found = np.asarray(counter.estimate().value, dtype=np.float64)
    return found, counter.messages, (encoding, analyzing + time.perf_counter() - clock)


def row(
    problem: Choosing, name: str, protocol: Protocol, data: list[tuple[np.ndarray, Any]], most: float
) -> list[str]:
    """Return the line of one protocol."""
    squares, spent, messages = [], [0.0, 0.0], 0
    work = protocol.mean_messages * protocol.promise.users
    for turn, (values, truth) in enumerate(data[: max(1, int(most / work))]):
        found, messages, seconds = once(protocol, values, turn + 1)
        spent = [total + more for total, more in zip(spent, seconds, strict=True)]
        squares.append(float(np.mean((found - truth) ** 2)))
    expected = predicted(problem, protocol, data[0][1])
    return [
        name,
        f"{math.sqrt(float(np.mean(squares))):.2f}",
        "-" if expected is None else f"{expected:.2f}",
        f"{messages / len(data[0][0]):.3f}",
        *(f"{seconds / len(squares):.3f}" for seconds in spent),
    ]


def show(title: str, problem: Choosing, options: argparse.Namespace, column: np.ndarray | None) -> None:
    """Print the table of all protocols of a problem: those that are registered, whoever adds them."""
    rng = np.random.default_rng(options.seed)
    data = [drawn(problem, rng, column) for _ in range(options.repetitions)]
    rows, left = [], []
    for kind in problem.kinds:
        protocol = fitted(kind, problem.case)
        if isinstance(protocol, Protocol):
            rows.append(row(problem, kind.name, protocol, data, options.messages))
        else:
            left.append(f"{kind.name}: {protocol}")
    solution = md.solve(problem)  # type: ignore[type-var]
    local, central = (solution.quantities[key] for key in ("local_rmse", "laplace_rmse"))
    rows += [["local model", "-", f"{local:.2f}"], ["central model", "-", f"{central:.2f}"]]
    rows = [line + ["-"] * (len(HEADER) - len(line)) for line in rows]
    print(f"\n{title}: {problem.case.promise}, {options.repetitions} data sets")
    print(table(HEADER, rows))
    for text in left:
        print(f"  not here, {text}")


def main() -> None:
    """Read the arguments and print one table a setting."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.shuffle_experiment", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--figure", type=int, choices=range(7, 16), default=7)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--categories", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--messages", type=float, default=MOST_WORK, help="the most messages of all runs")
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--data", type=Path, help="a CSV file with categories, drawn from with replacement")
    parser.add_argument("--column")
    options, column = parser.parse_args(), None
    if options.data is not None:
        import pandas

        frame = pandas.read_csv(options.data, skipinitialspace=True)
        column = frame[options.column or frame.columns[0]].astype("category").cat.codes.to_numpy(np.int64)
    for title, problem in settings(options.figure, vars(options)):
        show(title, problem, options, column)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{peak:.0f} MiB at most")


if __name__ == "__main__":
    main()
