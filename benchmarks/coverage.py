"""How often 95 % intervals contain the truth: every mechanism and estimator on extreme data.

The lowest coverage over the data, over users at hand and population, and over the numbers of users is printed
for each mechanism and epsilon, as the Markdown tables of ``docs/explanation/coverage.md``; then how
much wider intervals are in ordinary cases than normal ones with the true standard deviation. Single rows,
and other numbers of users ::

    python -m benchmarks.coverage kary-response joint-response
    python -m benchmarks.coverage rsum-kr rsum-rr --users 5 10 20 --repetitions 400
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.coverage_cases import Covered
from benchmarks.coverage_frequencies import FREQUENCIES, frequency_coverage
from benchmarks.coverage_local import LOCAL, ORACLES
from benchmarks.coverage_means import ATTRIBUTES, MEANS, coverage, width
from benchmarks.coverage_registry import MEASURED
from benchmarks.coverage_shuffle import PROTOCOLS
from benchmarks.coverage_survey import FEWEST
from mechdesign.collect import Mechanism

TITLE = "Coverage of 95 % confidence intervals, the lowest over extreme data"

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0)

REPETITIONS = {30: 20_000, 300: 20_000, 3000: 5_000}
"""By the number of users: an entry is the lowest of many measurements, so each has to be sharp."""

CLIENT_EPSILONS = (1.0, 11.0)

CLIENT_REPETITIONS = {30: 400, 300: 150}
"""Where the clients themselves run."""

CLIENTS = (*PROTOCOLS, *LOCAL, "survey", "linear-queries")
"""The types of the table in which the clients themselves run."""

RATES = (0.3, 1.0, 3.0)
"""Expected numbers n e^-epsilon of wrong reports, from which epsilon follows."""

RATE_USERS, RATE_REPETITIONS = 100, 400
"""Users (300 in a survey) and repetitions of the table by wrong reports."""

LONG = {
    **dict.fromkeys(("marginal-release", "pucm", "prhr"), 0.1),
    **dict.fromkeys(("attribute-sampling", "harmony", "joint-response", "range-tree", "survey"), 0.4),
    **dict.fromkeys(("hist-rr", "hist-mm", "hist-flip", "murs", "solh", "rsum-rr", "rsum-dsg", "put"), 0.3),
}
"""Types that take long in the table by wrong reports: the part of its repetitions that they get."""

SLOW = {"hist-mm": 0.25, "prhr": 0.5, "uniformity-dump": 0.25, "pucm": 0.25}
"""Types whose clients or estimators take long: the part of the repetitions that they get."""

PROMISED, DOUBT = 0.93, 1e-4
"""An entry is marked when a measurement is too low for a coverage of the first, with the second's error."""

SEED = 20


def run(quick: bool) -> None:
    """Print the tables."""
    print_rates(100 if quick else RATE_REPETITIONS)
    print_clients({30: 60} if quick else CLIENT_REPETITIONS)
    rng = np.random.default_rng(SEED)
    repetitions = {30: 400, 300: 400} if quick else REPETITIONS
    for users, times in repetitions.items():
        deviation = (0.95 * 0.05 / times) ** 0.5
        print(f"{users} users: {times} repetitions, one standard deviation of 0.95 is {deviation:.4f}")
    print("in brackets: at how many users the lowest was\n")
    print_header("mechanism", EPSILONS)
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
    print_header("mechanism", EPSILONS)
    for name, kind in MEANS.items():
        print_row(name, (f"{width(kind(epsilon), 10_000, 100, rng):.3f}" for epsilon in EPSILONS))


def main() -> None:
    """Print single rows of the table of clients."""
    parser = argparse.ArgumentParser(description="Coverage of single types whose own clients run.")
    parser.add_argument("kinds", nargs="+", choices=sorted(MEASURED), metavar="TYPE")
    parser.add_argument("--users", type=int, nargs="+", help="instead of 30 and 300")
    parser.add_argument("--repetitions", type=int, default=400, help="with --users")
    parser.add_argument("--rates", action="store_true", help="by the expected number of wrong reports")
    given = parser.parse_args()
    if given.rates:
        print_rates(given.repetitions, given.kinds)
        return
    repetitions = dict.fromkeys(given.users, given.repetitions) if given.users else CLIENT_REPETITIONS
    print_clients(repetitions, given.kinds)


def print_clients(repetitions: dict[int, int], kinds: Sequence[str] = CLIENTS) -> None:
    """Print the lowest coverage of the types whose own clients run, with its case."""
    print("in brackets: users and repetitions of the lowest\n")
    print_header("mechanism", CLIENT_EPSILONS)
    for kind in kinds:
        print_row(kind, client_cells(kind, repetitions))
    print()


def print_rates(repetitions: int, kinds: Sequence[str] = tuple(MEASURED)) -> None:
    """Print the lowest coverage of every type where so many reports are expected to be wrong."""
    print(f"{RATE_USERS} users, a survey {FEWEST}; in brackets: repetitions of the lowest\n")
    print_header("mechanism", RATES)
    for kind in kinds:
        print_row(kind, rate_cells(kind, repetitions))
    print()


def rate_cells(kind: str, repetitions: int) -> Iterator[str]:
    """Yield the entries of a type, one a rate; a dash where there is no such mechanism."""
    rng = np.random.default_rng(SEED)
    users = FEWEST if kind == "survey" else RATE_USERS
    times = max(20, int(repetitions * LONG.get(kind, 1.0)))
    for rate in RATES:
        found = MEASURED[kind](math.log(users / rate), users, times, rng)
        if not found:
            yield "-"
            continue
        least = min(found, key=lambda item: item.share)
        yield f"{least.share:.3f} ({least.trials}){' !' if any(map(too_low, found)) else ''}"


def client_cells(kind: str, repetitions: dict[int, int]) -> Iterator[str]:
    """Yield the entries of a type; a dash where there is no such mechanism for any of the users."""
    rng = np.random.default_rng(SEED)
    for epsilon in CLIENT_EPSILONS:
        found: list[tuple[Covered, int]] = []
        for users, times in repetitions.items():
            many = 20_000 if kind in ORACLES else max(20, int(times * SLOW.get(kind, 1.0)))
            found += [(item, users) for item in MEASURED[kind](epsilon, users, many, rng)]
        if not found:
            yield "-"
            continue
        least, users = min(found, key=lambda pair: pair[0].share)
        mark = " !" if any(too_low(item) for item, _ in found) else ""
        yield f"{least.share:.3f} ({users}, {least.trials}){mark}"


def too_low(item: Covered) -> bool:
    """Return whether as few hits have a probability below ``DOUBT`` with the promised coverage."""
    return bool(stats.binom.cdf(item.hits, item.trials, PROMISED) < DOUBT)


def lowest(measure: Callable[..., float], mechanism: Mechanism, repetitions: dict[int, int]) -> str:
    """Return the lowest coverage and the number of users at which it was."""
    share, users = min(
        (measure(mechanism, users, repetitions=times), users) for users, times in repetitions.items()
    )
    return f"{share:.3f} ({users})"


def print_header(first: str, epsilons: tuple[float, ...]) -> None:
    """Print the head of a Markdown table, one column an epsilon."""
    print(f"| {first} | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |")
    print("|---|" + "---|" * len(epsilons), flush=True)


def print_row(name: str, cells: Iterable[str]) -> None:
    """Print a row of a Markdown table."""
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
