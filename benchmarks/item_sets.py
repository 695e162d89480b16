"""Sets of items and keys with values: errors next to padding and sampling (PSFO, SVIM) and PCKV.

The rivals are written from their papers. PSFO (Wang, Li, Jha 2018) fills or cuts sets to l, samples one
item, and reports it by local hashing with epsilon, or by the k-ary response with ln(l (e^epsilon - 1) + 1):
the one with the smaller variance. PCKV (Gu et al. 2020) samples a key with an end: PCKV-GRR by the joint
k-ary response, PCKV-UE by a unary code with its budgets (ln((e^epsilon + 1) / 2), epsilon). ``yes/no`` asks
for each item, with epsilon / l each. All get the same users and the same length; ``designed`` is the length
that ``item-sets`` takes for the sizes of the sets. Counts of rivals are drawn from their exact laws, reports
of set selection one by one. Data: Belgian retail baskets, pages of msnbc, and ratings that are drawn.
"""

from __future__ import annotations

import csv
import lzma
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.show.tables import table

TITLE = "Item sets and key-value data: errors next to PSFO and PCKV"
DATA = Path(os.environ.get("MECHDESIGN_DATA", "data"))
RESULTS = Path(__file__).parent / "results" / "item_sets.csv"
TOP = 20
"""Items with the largest shares, whose error is shown next to that of all."""

Array = NDArray[np.float64]
Sets = list[list[int]]


@dataclass(frozen=True)
class ErrorRow:
    """Root mean squared errors of one method on one data set."""

    task: str
    data: str
    users: int
    items: int
    length: int
    epsilon: float
    method: str
    rmse_top: float
    rmse_all: float
    rmse_mean: float = math.nan


def retail() -> tuple[str, Sets, int]:
    """Return the baskets with their items numbered by frequency."""
    with lzma.open(DATA / "retail.dat.xz", "rt") as stream:
        baskets = [sorted(set(map(int, line.split()))) for line in stream]
    counts = np.bincount([item for basket in baskets for item in basket])
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return "retail", [sorted(rank[basket].tolist()) for basket in baskets], int((counts > 0).sum())


def msnbc() -> tuple[str, Sets, int]:
    """Return the categories of pages that users visited."""
    archive = np.load(DATA / "msnbc_97k.npz")
    bits = np.unpackbits(archive[archive.files[0]], axis=1)[:, :17]
    order = np.argsort(-bits.sum(axis=0), kind="stable")
    return "msnbc", [np.flatnonzero(row).tolist() for row in bits[:, order]], 17


def sampled(sets: Sets, length: int, items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the item that each user samples from the set that is filled to the length; -1 for a dummy."""
    result = np.full(len(sets), -1, dtype=np.int64)
    for row, each in enumerate(sets):
        place = int(rng.integers(max(len(each), length)))
        if place < len(each):
            result[row] = each[place]
    return result


def psfo(sets: Sets, items: int, length: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Return the estimates of padding and sampling by the better of its two oracles."""
    grown, whole = math.exp(epsilon), items + length  # one dummy for all would not be private at this epsilon
    amplified = length * (grown - 1.0) + 1.0
    hashed = (0.5, 1.0 / (grown + 1.0))
    direct = (amplified / (amplified + whole - 1.0), 1.0 / (amplified + whole - 1.0))
    p, q = min((hashed, direct), key=lambda each: each[1] * (1.0 - each[1]) / (each[0] - each[1]) ** 2)
    chosen = sampled(sets, length, items, rng)
    counts = np.bincount(chosen[chosen >= 0], minlength=items)
    supports = rng.binomial(counts, p) + rng.binomial(len(sets) - counts, q)
    return length * (supports / len(sets) - q) / (p - q)


def yes_no(sets: Sets, items: int, length: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Return the estimates of a question for each item, of sets that are cut to the length."""
    q = 1.0 / (math.exp(epsilon / length) + 1.0)
    cut = [each if len(each) <= length else rng.choice(each, length, replace=False).tolist() for each in sets]
    counts = np.bincount([item for each in cut for item in each], minlength=items)
    supports = rng.binomial(counts, 0.5) + rng.binomial(len(sets) - counts, q)
    return (supports / len(sets) - q) / (0.5 - q)


def here(sets: Sets, items: int, length: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Return the estimates of set selection with this length."""
    most = max(length, min(items, max(map(len, sets))))
    problem = md.ItemSets(categories=items, most=most, length=length, epsilon=epsilon, users=len(sets))
    mechanism = md.solve(problem).mechanism()
    counter = mechanism.aggregator()
    for start in range(0, len(sets), 8192):
        counter.update(mechanism.randomize(sets[start : start + 8192], rng=rng, anyway=True))
    return counter.estimate().value


METHODS: dict[str, Callable[..., Array]] = {"set selection": here, "PSFO": psfo, "yes/no": yes_no}


def set_rows(quick: bool) -> Iterator[ErrorRow]:
    """Yield the errors of all methods on baskets and pages."""
    rng = np.random.default_rng(1)
    for name, sets, items in (msnbc(), retail()):
        truth = np.bincount([item for each in sets for item in each], minlength=items) / len(sets)
        lengths = (3, 5) if name == "msnbc" else (5, 20)
        sizes = np.bincount([len(each) for each in sets]) / len(sets)
        for epsilon in (2.0,) if quick else (1.0, 2.0, 4.0):
            problem = md.ItemSets(categories=items, sizes=sizes.tolist(), epsilon=epsilon, users=len(sets))
            designed = int(md.solve(problem).variables["length"])
            for length in dict.fromkeys((designed, *lengths[:1]) if quick else (designed, *lengths)):
                repetitions = 1 if quick or name == "retail" else 3
                for method, run_method in METHODS.items():
                    square = sum(
                        (run_method(sets, items, length, epsilon, rng) - truth) ** 2
                        for _ in range(repetitions)
                    )
                    errors = np.sqrt(np.asarray(square) / repetitions)
                    top, whole = (float(np.sqrt((part**2).mean())) for part in (errors[:TOP], errors))
                    label = f"{method}, designed" if length == designed else method
                    yield ErrorRow("sets", name, len(sets), items, length, epsilon, label, top, whole)


Pairs = list[dict[int, float]]


def ratings(users: int, keys: int, most: int, rng: np.random.Generator) -> Pairs:
    """Return ratings from -1 to 1 of up to ``most`` of the keys, frequent ones more often."""
    weights = 1.0 / np.arange(1, keys + 1)
    means = np.cos(np.arange(keys))
    result = []
    for size in rng.integers(1, most + 1, users).tolist():
        chosen = np.unique(rng.choice(keys, size, p=weights / weights.sum()))
        result.append({int(key): float(np.clip(means[key] + 0.3 * rng.normal(), -1, 1)) for key in chosen})
    return result


def pckv(
    kind: str, pairs: Pairs, keys: int, length: int, epsilon: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the shares and means by PCKV-GRR or PCKV-UE, with a sampled key and dummies."""
    grown, whole = math.exp(epsilon), keys + length
    if kind == "GRR":
        gain = length * (grown - 1.0)
        a, p = (gain + 2.0) / (gain + 2.0 * whole), (gain + 1.0) / (gain + 2.0)
        b = (1.0 - a) / (whole - 1.0)
    else:
        a, b, p = 0.5, 2.0 / (grown + 3.0), grown / (grown + 1.0)
    chosen, ends = np.full(len(pairs), -1, dtype=np.int64), np.zeros(len(pairs), dtype=np.int64)
    for row, each in enumerate(pairs):
        place = int(rng.integers(max(len(each), length)))
        if place < len(each):
            key, value = list(each.items())[place]
            chosen[row], ends[row] = key, 1 if rng.random() < (1.0 + value) / 2.0 else -1
    counts = np.zeros((2, keys))
    for number, end in enumerate((1, -1)):
        own = np.bincount(chosen[(chosen >= 0) & (ends == end)], minlength=keys)
        turned = np.bincount(chosen[(chosen >= 0) & (ends == -end)], minlength=keys)
        rest = len(pairs) - own - turned
        counts[number] = (
            rng.binomial(own, a * p) + rng.binomial(turned, a * (1.0 - p)) + rng.binomial(rest, b / 2.0)
        )
    both, users = counts.sum(axis=0), len(pairs)
    share = length * (both / users - b) / (a - b)
    correct = np.clip(share / length, 1.0 / users, 1.0) * users
    mean = (counts[0] - counts[1]) / (a * (2.0 * p - 1.0)) / correct
    return share, np.clip(mean, -1.0, 1.0)


def pair_rows(quick: bool) -> Iterator[ErrorRow]:
    """Yield the errors of shares and means of ratings."""
    rng = np.random.default_rng(2)
    users, keys, length = (20_000, 100, 5) if quick else (100_000, 200, 5)
    pairs = ratings(users, keys, length, rng)
    share, total = np.zeros(keys), np.zeros(keys)
    for each in pairs:
        for key, value in each.items():
            share[key] += 1.0
            total[key] += value
    mean, share = total / np.maximum(share, 1.0), share / users
    for epsilon in (2.0,) if quick else (1.0, 2.0, 4.0):
        mechanism = md.solve(
            md.KeyValue(categories=keys, most=length, epsilon=epsilon, users=users)
        ).mechanism()
        found = {}
        estimate = mechanism.estimate(mechanism.randomize(pairs, rng=rng, anyway=True))
        found["set selection"] = (estimate.value, estimate.means)
        for kind in ("GRR", "UE"):
            found[f"PCKV-{kind}"] = pckv(kind, pairs, keys, length, epsilon, rng)
        for method, (shares, means) in found.items():
            errors = np.abs(shares - share)
            figures = [
                float(np.sqrt((part**2).mean())) for part in (errors[:TOP], errors, (means - mean)[:TOP])
            ]
            yield ErrorRow("pairs", "ratings", users, keys, length, epsilon, method, *figures)


def run(quick: bool) -> None:
    """Print the errors of all methods, and write them to results/item_sets.csv unless ``quick``."""
    lines = [*set_rows(quick), *pair_rows(quick)]
    heads = [each.name for each in fields(ErrorRow)]
    print(
        table(
            heads,
            [
                [
                    f"{value:.4g}" if isinstance(value, float) else str(value)
                    for value in asdict(line).values()
                ]
                for line in lines
            ],
        )
    )
    if not quick:
        with RESULTS.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, heads)
            writer.writeheader()
            writer.writerows(
                {key: f"{v:.5g}" if isinstance(v, float) else v for key, v in asdict(line).items()}
                for line in lines
            )
