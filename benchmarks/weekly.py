"""The same question every week, against multi-freq-ldpy: L-GRR, L-SUE to L-SOUE, LOLOHA, dBitFlipPM.

Probabilities and the variance of one week are those of the library's own functions; over T weeks a user keeps
the first round, so that n Var = V + (V' - V)/T for each of them. Every rival is given the same two promises.

Two promises mean different things for some:

- dBitFlipPM has one round: each report is as private as all of them, so it runs at the epsilon of one week;
  with all bits, which is its best.
- LOLOHA (here L-LH) and dBitFlipPM are made for answers that change. Where an answer does not change, LOLOHA
  reveals one bucket, at the same total as the others. The second table is for answers that change: all at the
  same stated total, with the epsilon of a permanent report, and buckets or bits, that are best for each.

Simulated errors are of a week, by the library's clients, and over five weeks where its clients can be called
for the second round alone (L-GRR, LOLOHA, dBitFlipPM); the estimate is the unbiased one, before the library
clips it. The result is kept in ``benchmarks/results/weekly.csv``.

    python -m benchmarks weekly
"""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import mechdesign as md
from benchmarks.rivals import RivalUnavailable
from mechdesign.show.tables import table

TITLE = "The same question every week: error of many weeks, of one, and of answers that change"

RESULT = Path(__file__).parent / "results" / "weekly.csv"
SIZES = (2, 5, 10, 20, 100, 1000)
PAIRS = ((1.0, 0.5), (2.0, 1.0), (2.0, 1.5), (4.0, 2.0), (4.0, 3.0), (6.0, 3.0))
WEEKS = (1, 2, 5, 10, 26, 52)
LIBRARY = "multi_freq_ldpy"
UNARY = ("SUE", "OUE", "OSUE", "SOUE")

ROUNDING = 1e-9
"""By how much of its value a variance may be above a rival's by rounding alone."""


@dataclass(frozen=True)
class Rounds:
    """Probabilities of two rounds, as the library computes them."""

    own: float
    other: float
    keep: float
    add: float

    def variance(self, weeks: int) -> float:
        """Return n Var of a rare answer over so many weeks; of one week by the library's formula."""
        one = _module("long_freq_est.Variance_LONG_PURE").VAR_Long_Pure(*vars(self).values())
        last = self.other * (1.0 - self.other) / (self.own - self.other) ** 2
        return float(last + (one - last) / weeks)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"{LIBRARY}.{name}")
    except ImportError as error:
        raise RivalUnavailable(f"multi-freq-ldpy is not installed ({error})") from None


def rounds(name: str, k: int, every: float, week: float, **options: Any) -> Rounds | None:
    """Return the probabilities that the library's server takes; None where it has none."""
    module = _module(f"long_freq_est.L_{name}")
    seen: list[tuple[float, ...]] = []

    def inverse(counts: Any, users: int, *chances: float) -> Any:
        seen.append(chances)
        return counts

    real, module.MI_long = module.MI_long, inverse
    server = getattr(module, f"L_{name}_Aggregator_MI")
    try:
        if name in UNARY:
            server([np.zeros(2), np.zeros(2)], every, week)
        else:
            server([(0, 1)] if name == "LH" else [0], 2 if name == "LH" else k, every, week, **options)
    except ValueError:  # its probabilities are negative
        return None
    finally:
        module.MI_long = real
    return Rounds(*seen[0]) if np.isfinite(seen[0]).all() else None


def symmetric(epsilon: float) -> float:
    """Return n Var of bits that are all flipped with the same probability."""
    half = math.exp(epsilon / 2.0)
    return half / (half - 1.0) ** 2


def rival_variances(k: int, every: float, week: float, weeks: int) -> dict[str, float]:
    """Return n Var of a rare answer that does not change, by rival."""
    found = {}
    for name in ("GRR", *UNARY, "LH"):
        known = rounds(name, k, every, week)
        if known is not None:
            found["LOLOHA" if name == "LH" else f"L-{name}"] = known.variance(weeks)
    return {**found, "dBitFlipPM": symmetric(week)}


def unchanging(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of answers, pair of epsilons and number of weeks."""
    sizes = SIZES[::2] if quick else SIZES
    for k, (every, week), weeks in product(sizes, PAIRS, WEEKS):
        problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=weeks)
        solution = md.solve(problem)
        here = float(solution.mechanism().law_variance(weeks))
        yield row("unchanging", problem, here, rival_variances(k, every, week, weeks))


def row(kind: str, problem: md.Weekly, here: float, rivals: dict[str, float]) -> dict[str, Any]:
    """Return a row of the result."""
    best = min(rivals, key=rivals.__getitem__)
    return {
        "kind": kind,
        "answers": problem.categories,
        "epsilon_all": problem.epsilon_all,
        "epsilon_week": problem.epsilon_week,
        "weeks": problem.weeks,
        "distinct": problem.distinct,
        "here": f"{here:.8g}",
        "bound": f"{problem.lower_bound():.8g}",
        "best_rival": best,
        "rival": f"{rivals[best]:.8g}",
        "rival_over_here": f"{rivals[best] / here:.6g}",
        "all_rivals": "; ".join(f"{name} {value:.6g}" for name, value in rivals.items()),
    }


# Answers that change: the same stated total


def changing_rivals(problem: md.Weekly) -> dict[str, float]:
    """Return n Var at the stated total, with the best epsilon, buckets or bits for each rival."""
    k, week, weeks = problem.categories, problem.epsilon_week, problem.weeks
    total, most = problem.epsilon_all, problem.distinct
    found: dict[str, float] = {}

    def better(name: str, value: float) -> None:
        found[name] = min(value, found.get(name, math.inf))

    for name in ("GRR", *UNARY):
        known = rounds(name, k, total / most, week) if week < total / most else None
        if known is not None:
            better(f"L-{name}", known.variance(weeks))
    for each, optimal in product(np.linspace(total / 40.0, total, 400), (True, False)):
        first = min(week, 0.999 * each)  # its second round has to be less than its first
        known = rounds("LH", k, float(each), first, optimal=optimal)
        if known is not None and min(round(1.0 / known.other), most) * each <= total + 1e-12:
            better("LOLOHA", known.variance(weeks))
    for bits in range(1, k + 1):
        cells = bits + (bits < k)
        better("dBitFlipPM", k / bits * symmetric(min(week, total / min(cells, most))))
    return found


def changing(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of answers, of different answers of a user, and of weeks."""
    sizes = (5, 20) if quick else (3, 5, 20, 100)
    for k, (total, week), weeks in product(sizes, ((4.0, 0.5), (6.0, 1.0), (8.0, 2.0)), (1, 10, 52)):
        for most in sorted({2, min(5, k), k}):
            problem = md.Weekly(
                categories=k, epsilon_all=total, epsilon_week=week, weeks=weeks, distinct=most
            )
            here = float(md.solve(problem).mechanism().law_variance(weeks))
            yield row("changing", problem, here, changing_rivals(problem))


# Simulated


Clients = Callable[[int, np.random.Generator], Any]


def simulated(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield simulated errors of rare answers, all users having the first answer."""
    users, repetitions = 200, FEW if quick else MANY
    for k, (every, week), weeks in product((2, 5, 20), ((2.0, 1.0), (4.0, 2.0)), (1, 5)):
        problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=weeks)
        mechanism = md.solve(problem).mechanism()
        rng = np.random.default_rng(k)
        np.random.seed(k)  # noqa: NPY002 - the library draws from it
        errors = [_here(mechanism, users, weeks, rng) for _ in range(repetitions)]
        rivals = {}
        for name in ("GRR", "LH", "OSUE", "dBitFlipPM") if weeks == 1 else ("GRR", "LH"):
            known = [_rival(name, k, every, week, users, weeks) for _ in range(repetitions)]
            rivals["LOLOHA" if name == "LH" else name if name == "dBitFlipPM" else f"L-{name}"] = (
                users * float(np.mean(np.square(known)))
            )
        yield row("simulated", problem, users * float(np.mean(np.square(errors))), rivals)


def _here(mechanism: Any, users: int, weeks: int, rng: np.random.Generator) -> Any:
    memory = mechanism.remember(np.zeros(users, dtype=np.int64), rng=rng)
    tables = [memory.report(rng=rng) for _ in range(weeks)]
    return mechanism.estimate_weeks(tables).value[1:]


def _rival(name: str, k: int, every: float, week: float, users: int, weeks: int) -> Any:
    """Return the errors of the rare answers, by the library's clients and the unbiased estimate."""
    counts = np.zeros(k)
    if name == "dBitFlipPM":
        client = _module("long_freq_est.dBitFlipPM").dBitFlipPM_Client
        bits = sum(client(0, k, k, k, week) for _ in range(users))
        keep = math.exp(week / 2.0) / (math.exp(week / 2.0) + 1.0)
        return ((bits / users - (1.0 - keep)) / (2.0 * keep - 1.0))[1:]
    known = rounds(name, k, every, week)
    assert known is not None
    high = known.own * known.keep + (1.0 - known.own) * known.add
    low = known.other * known.keep + (1.0 - known.other) * known.add
    if name == "OSUE":
        client = _module("long_freq_est.L_OSUE").L_OSUE_Client
        counts = sum(client(0, k, every, week) for _ in range(users))
    elif name == "GRR" and weeks == 1:
        client = _module("long_freq_est.L_GRR").L_GRR_Client
        for _ in range(users):
            counts[client(0, k, every, week)] += 1
    elif name == "LH" and weeks == 1:
        client, hashed = _module("long_freq_est.L_LH").L_LH_Client, importlib.import_module("xxhash").xxh32
        buckets = round(1.0 / known.other)
        for _ in range(users):
            value, seed = client(0, k, every, week)
            counts += [hashed(str(v), seed=seed).intdigest() % buckets == value for v in range(k)]
    else:
        counts = _rounds_apart(name, k, every, known, users, weeks)
    return ((counts / (users * weeks) - low) / (high - low))[1:]


def _rounds_apart(name: str, k: int, every: float, known: Rounds, users: int, weeks: int) -> Any:
    """Return counts of several weeks: the first round once, the second every week."""
    client, counts = _module("pure_frequency_oracles.GRR").GRR_Client, np.zeros(k)
    size = k if name == "GRR" else round(1.0 / known.other)
    second = math.log(known.keep / known.add)
    for _ in range(users):
        place = np.arange(k)
        if name == "LH":
            hashed = importlib.import_module("xxhash").xxh32
            seed = int(np.random.randint(0, 1 << 31))  # noqa: NPY002
            place = np.array([hashed(str(v), seed=seed).intdigest() % size for v in range(k)])
        first = client(int(place[0]), size, every)
        for _ in range(weeks):
            counts += place == client(int(first), size, second)
    return counts


FEW, MANY = 20, 400
"""Repetitions of a simulation."""


def _is_worse(each: dict[str, Any], repetitions: int) -> bool:
    """Whether a rival has less variance, beyond rounding; of simulated ones beyond their noise.

    The logarithm of a quotient of two mean squares of so many errors has the standard error 2 / sqrt(n).
    """
    noise = 1.0 - math.exp(-3.0 * 2.0 / math.sqrt(repetitions))
    return float(each["rival_over_here"]) < 1.0 - (noise if each["kind"] == "simulated" else ROUNDING)


def run(quick: bool = False) -> None:
    """Print the cells in which a rival is better, and how much worse the best rival is in the others."""
    try:
        rows = [*unchanging(quick), *changing(quick), *simulated(quick)]
    except RivalUnavailable as error:
        print(error.reason)
        return
    lines, repetitions = [], FEW if quick else MANY
    for kind in ("unchanging", "changing", "simulated"):
        ratios = [float(each["rival_over_here"]) for each in rows if each["kind"] == kind]
        worse = sum(_is_worse(each, repetitions) for each in rows if each["kind"] == kind)
        texts = [f"{number:.3f}" for number in (min(ratios), float(np.median(ratios)), max(ratios))]
        lines.append([kind, str(len(ratios)), str(worse), *texts])
    header = ["answers", "cells", "a rival is better in", "least", "median", "largest ratio of best rival"]
    print(table(header, lines))
    for each in rows:
        if _is_worse(each, repetitions):
            print({name: each[name] for name in each if name != "all_rivals"})
    if not quick:
        RESULT.parent.mkdir(exist_ok=True)
        with RESULT.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
