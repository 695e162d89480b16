"""What is shown after collection against published post-processing, from the same reports or the same users.

::

    python -m benchmarks.after [--part shares numbers marginals] [--collections 20] [--save FOLDER]

Three tables, a row a setting. The quantity is the one that a method is for: the squared error of shares, the
Wasserstein and Kolmogorov distances of a number's distribution, and the absolute error of marginals. The last
column divides ours by the best of the others: below 1 ours has the smaller error.

- shares: subset selection, Zipf or even shares; the projection on the simplex and the thresholds of pure-ldp
  1.2 (``normalization`` 1 to 3), clipping and normalising as multi-freq-ldpy 0.2 does, and the cut at a
  significance level (Wang and others 2020, "base-cut"). They get the unbiased values of the same reports.
- numbers: prefix queries of bins, smoothed, against the square wave with EMS (Li and others 2020) on the same
  users at the same epsilon, and against the projection of the same reports.
- marginals: the default penalty against mbi's mirror descent on the same reports; it needs ``mbi``.
- coverage: how often 95 % intervals of each kind hold the truth of the population, in ten times as many.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis import regress
from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.groups import by_group
from mechdesign.analysis.shrinkage import METHODS, shrunk
from mechdesign.analysis.waves import wave_changes
from mechdesign.analysis.weights import raked, weighted_estimate
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.families.mean import SquareWave
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import best_size
from mechdesign.show.tables import table

Array = NDArray[np.float64]

SHARES = [
    (5, 1.0, 500, "zipf"),
    (20, 1.0, 2_000, "zipf"),
    (100, 1.0, 20_000, "zipf"),
    (1_000, 1.0, 20_000, "zipf"),
    (1_000, 3.0, 20_000, "zipf"),
    (1_000, 1.0, 200_000, "zipf"),
    (1_000, 1.0, 200_000, "even"),
    (10_000, 3.0, 100_000, "zipf"),
]
"""Categories, epsilon, users, shares."""

NUMBERS = [
    (shape, users)
    for shape in ("bell", "skewed", "two humps", "flat with a step")
    for users in (2_000, 5_000, 50_000)
]
BINS, NUMBER_EPSILON, FINE = 24, 1.0, 240

MARGINALS = [
    (8, 30_000, 1.0, "chain"),
    (8, 100_000, 1.0, "chain"),
    (8, 300_000, 1.0, "chain"),
    (12, 200_000, 2.0, "chain"),
    (8, 30_000, 1.0, "trait"),
    (8, 100_000, 1.0, "trait"),
    (8, 30_000, 1.0, "independent"),
]
"""Columns, users, epsilon, and how they depend on one another."""

STEPS = 500
"""Of mbi's mirror descent."""


def clipped(value: Array) -> Array:
    """Return what multi-freq-ldpy shows: values of at least 0, divided by their sum."""
    positive = np.maximum(value, 0.0)
    return positive / positive.sum()


def additive(value: Array) -> Array:
    """Return pure-ldp's additive normalisation: the same amount to every value above 0, as it is written."""
    inside = value > 0.0
    return np.where(inside, value + (1.0 - value[inside].sum()) / inside.sum(), 0.0)


def simplex(value: Array) -> Array:
    """Return the nearest point of the simplex, by sorting."""
    ordered = np.sort(value)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(value) + 1)
    return np.maximum(value - excess[ordered > excess][-1], 0.0)


def threshold(value: Array) -> Array:
    """Return pure-ldp's cut: the largest values until their sum is above 1."""
    order = np.argsort(-value)
    beyond = np.cumsum(value[order]) > 1.0
    result = value.copy()
    if beyond.any():
        result[order[int(np.argmax(beyond)) :]] = 0.0
    return result


OTHERS: dict[str, Callable[[Array], Array]] = {
    "clip + normalise": clipped,
    "additive": additive,
    "simplex": simplex,
    "threshold": threshold,
}


def share_rows(collections: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each setting of shares: squared errors over that of the projection."""
    for size, epsilon, users, kind in SHARES:
        truth = 1.0 / np.arange(1, size + 1) if kind == "zipf" else np.ones(size)
        truth /= truth.sum()
        oracle = SubsetSelection.of(size, epsilon, size=best_size(size, epsilon))
        errors: dict[str, list[float]] = {}
        for seed in range(collections if size < 10_000 else max(3, collections // 4)):
            answers = np.random.default_rng(seed).choice(size, users, p=truth)
            estimate = oracle.estimate(oracle.randomize(answers, rng=seed))
            shares = {name: method(np.asarray(estimate.value)) for name, method in OTHERS.items()}
            for name in METHODS[:3]:
                shares[name] = shrunk(estimate, name).value
            for name, value in shares.items():
                errors.setdefault(name, []).append(float(((value - truth) ** 2).sum()))
        means = {name: float(np.mean(values)) for name, values in errors.items()}
        ratios = {name: mean / means["simplex"] for name, mean in means.items()}
        best = min(ratios[name] for name in (*OTHERS, "cut"))
        row = {"categories": size, "epsilon": epsilon, "users": users, "shares": kind}
        yield {**row, **ratios, "average / best other": ratios["average"] / best}


def draw_number(shape: str, users: int, rng: np.random.Generator) -> Array:
    """Return numbers in [0, 1] of a shape."""
    if shape == "bell":
        values = rng.normal(0.5, 0.15, users)
    elif shape == "skewed":
        values = rng.beta(2.0, 7.0, users)
    elif shape == "two humps":
        values = np.where(rng.random(users) < 0.4, rng.normal(0.25, 0.07, users), rng.normal(0.7, 0.1, users))
    else:
        values = np.where(rng.random(users) < 0.7, 0.4 * rng.random(users), 0.4 + 0.6 * rng.random(users))
    return np.clip(values, 0.0, 1.0)


def cumulative(shares: Array) -> Array:
    """Return the distribution function at FINE places of [0, 1], of even bins."""
    places = np.arange(1, FINE + 1) / FINE
    edges = np.arange(len(shares) + 1) / len(shares)
    return np.interp(places, edges, np.concatenate([[0.0], np.cumsum(shares)]))


def number_rows(collections: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each shape: distances over those of the projection."""
    import mechdesign as md

    queries = md.LinearQueries(workload={"name": "prefix", "size": BINS}, epsilon=NUMBER_EPSILON)
    release, wave = md.solve(queries).mechanism(), SquareWave(NUMBER_EPSILON, 0.0, 1.0)
    for shape, users in NUMBERS:
        distances: dict[str, list[tuple[float, float]]] = {}
        for seed in range(collections):
            values = draw_number(shape, users, np.random.default_rng(seed))
            truth = np.searchsorted(np.sort(values), np.arange(1, FINE + 1) / FINE, side="right") / users
            codes = np.minimum((values * BINS).astype(np.int64), BINS - 1)
            estimate = release.estimate(release.randomize(codes, rng=seed))
            ems = wave.distribution(wave.randomize(values, rng=seed)).probability
            for name, shares in (
                ("smooth", shrunk(estimate).value),
                ("projection", estimate.projected()),
                ("square wave, EMS", np.asarray(ems)),
            ):
                apart = np.abs(cumulative(shares) - truth)
                distances.setdefault(name, []).append((float(apart.mean()), float(apart.max())))
        means = {name: np.mean(pairs, axis=0) for name, pairs in distances.items()}
        best = np.minimum(means["projection"], means["square wave, EMS"])
        row: dict[str, Any] = {"shape": shape, "users": users}
        for place, quantity in enumerate(("W1", "KS")):
            for name, mean in means.items():
                row[f"{quantity} {name}"] = float(mean[place])
            row[f"{quantity} smooth / best other"] = float(means["smooth"][place] / best[place])
        yield row


def draw_people(kind: str, columns: int, users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return yes/no columns: each copies the one before with 0.7, or all a hidden trait, or none."""
    fresh = rng.integers(0, 2, (users, columns))
    if kind == "independent":
        return (rng.random((users, columns)) < rng.uniform(0.1, 0.9, columns)).astype(np.int64)
    if kind == "trait":
        hidden = rng.random((users, 1)) < 0.4
        return (rng.random((users, columns)) < np.where(hidden, 0.75, 0.25)).astype(np.int64)
    copies = rng.random((users, columns)) < 0.7
    for column in range(1, columns):
        fresh[:, column] = np.where(copies[:, column], fresh[:, column - 1], fresh[:, column])
    return fresh


def marginal_rows(collections: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each setting of marginals: mean absolute errors summed over the cells of a triple."""
    from benchmarks.marginals_estimates import by_mbi, tables_of, views_of

    for columns, users, epsilon, kind in MARGINALS:
        triples = list(combinations(range(columns), 3))
        release = MarginalRelease.of([2] * columns, views_of(columns), epsilon)
        errors: dict[str, list[tuple[float, float]]] = {}
        for seed in range(max(3, collections // 4)):
            people = draw_people(kind, columns, users, np.random.default_rng(seed))
            truth = [
                np.bincount(people[:, triple] @ np.array([4, 2, 1]), minlength=8) / users
                for triple in triples
            ]
            reports = release.randomize(people, rng=seed)
            default, fixed = release.estimate(reports), release.estimate(reports, penalty=30)
            for name, values in (
                ("default", tables_of(default, triples)),
                ("penalty 30", tables_of(fixed, triples)),
                ("mbi", by_mbi(default, triples, STEPS)),
            ):
                off = [np.ravel(value) - right for value, right in zip(values, truth, strict=True)]
                sums = (
                    float(np.mean([np.abs(one).sum() for one in off])),
                    float(np.mean([one @ one for one in off])),
                )
                errors.setdefault(name, []).append(sums)
        means = {name: np.mean(pairs, axis=0) for name, pairs in errors.items()}
        row: dict[str, Any] = {"columns": columns, "users": users, "epsilon": epsilon, "data": kind}
        for place, quantity in enumerate(("L1", "SSE")):
            for name, mean in means.items():
                row[f"{quantity} {name}"] = float(mean[place])
            row[f"{quantity} default / mbi"] = float(means["default"][place] / means["mbi"][place])
        yield row


COVERED = (
    *("group", "difference", "weights", "raking", "strata", "clusters", "skipped mean"),
    *("linear", "logit", "change"),
)
USERS = 800
ANSWER = KaryResponse.of(2, 2.0)
SKIPPED = SurveyMechanism.of([Question("hours", "number", low=0, high=60, skip=True)], 4.0)


def draw_ends(kind: str, seed: int) -> tuple[float, float, float]:
    """Return the truth and the ends of one interval of a kind, from a collection of its own.

    Of the population 0.3 say yes in group a and 0.5 in b, which has half of the people and three quarters of
    the reports; clusters of four share a tendency.
    """
    rng = np.random.default_rng(seed)
    group = rng.random(USERS) < 0.75
    chance = np.where(group, 0.5, 0.3)
    clusters = np.arange(USERS) // 4
    if kind == "clusters":
        chance = np.clip(chance + rng.uniform(-0.25, 0.25, USERS // 4)[clusters], 0.0, 1.0)
    x = rng.normal(size=USERS)
    if kind in ("linear", "logit"):
        straight, curved = np.clip(0.4 + 0.1 * x, 0.0, 1.0), 1.0 / (1.0 + np.exp(0.5 - 0.8 * x))
        chance = straight if kind == "linear" else curved
    yes = (rng.random(USERS) < chance).astype(np.int64)
    public = {
        "g": np.where(group, "b", "a"),
        "w": np.where(group, 1.0, 3.0),
        "c": clusters.astype(str),
        "x": x,
    }
    answers = answers_of(ANSWER, ANSWER.randomize(yes, rng=seed), public)
    scores, codes = answers.question(), group.astype(np.int64)
    if kind in ("group", "difference"):
        table, differences = by_group(answers, "g", population=True)
        result = table if kind == "group" else differences
        return (0.5, *_ends(result, 3)) if kind == "group" else (-0.2, *_ends(result, 0))
    if kind in ("linear", "logit"):
        fit = regress(ANSWER, answers, formula="x", model=kind)
        return (0.1 if kind == "linear" else 0.8, *_ends(fit, 1))
    if kind == "change":
        later = answers_of(ANSWER, ANSWER.randomize((rng.random(USERS) < 0.6).astype(np.int64), rng=seed + 1))
        return (0.15, *_ends(wave_changes(answers, later), 0))
    if kind == "skipped mean":
        hours = np.where(rng.random(USERS) < 0.3, None, np.clip(rng.normal(20.0, 5.0, USERS), 0.0, 60.0))
        table = answers_of(SKIPPED, SKIPPED.randomize({"hours": hours}, rng=seed), public)
        return (20.0, *_ends(weighted_estimate(table.question(), public["w"]), 0))
    if kind == "raking":
        weights, known = raked(answers.public, {"g": {"a": 0.5, "b": 0.5}})
        return (0.4, *_ends(weighted_estimate(scores, weights, calibration=known), 1))
    strata = codes if kind == "strata" else None
    by_cluster = clusters if kind == "clusters" else None
    return (0.4, *_ends(weighted_estimate(scores, public["w"], strata, by_cluster), 1))


def _ends(result: Any, place: int) -> tuple[float, float]:
    low, high = result.interval()
    return float(low[place]), float(high[place])


def coverage_rows(collections: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind of interval."""
    for kind in COVERED:
        count = 10 * collections
        inside = []
        for seed in range(count):
            truth, low, high = draw_ends(kind, 100 * seed)
            inside.append(low <= truth <= high)
        error = float(np.sqrt(0.95 * 0.05 / count))
        yield {"interval": kind, "collections": count, "coverage": float(np.mean(inside)), "error": error}


PARTS = {"shares": share_rows, "numbers": number_rows, "marginals": marginal_rows, "coverage": coverage_rows}


def text_of(value: Any) -> str:
    """Return a cell: three digits of a number."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write a table as CSV."""
    with open(path, "w", newline="", encoding="utf8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([text_of(value) for value in row.values()] for row in rows)


def main() -> None:
    """Print the tables, and save them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--collections", type=int, default=20)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning, module="mbi")
    for part in options.part:
        rows = []
        for row in PARTS[part](options.collections):
            rows.append(row)
            print(part, *map(text_of, row.values()), flush=True)
        print(table(list(rows[0]), [[text_of(value) for value in row.values()] for row in rows]), flush=True)
        if options.save is not None:
            write_rows(options.save / f"after_{part}.csv", rows)


if __name__ == "__main__":
    main()
