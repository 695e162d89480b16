"""Coverage of the intervals of shuffle protocols, with their own clients and analyzers.

See :mod:`benchmarks.coverage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_cases import Counting, Covered, Measure
from mechdesign.core.errors import MechDesignError
from mechdesign.families import shuffle
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.promise import Promise

DELTA = 1e-4

FEW, MANY = 4, 100
"""Categories of the histograms that are counted."""

Build = Callable[[Promise], Protocol]


def of_categories(kind: Any, size: int) -> Build:
    """Return how a protocol for ``size`` categories is calibrated."""
    return lambda promise: kind.calibrated(promise, size)


PROTOCOLS: dict[str, tuple[Build, ...]] = {
    "cnt-rr": (shuffle.CntRR.calibrated,),
    "cnt-2m": (shuffle.Cnt2M.calibrated,),
    "cnt-bn": (shuffle.CntBN.calibrated,),
    "cnt-pure": (shuffle.CntPURE.calibrated,),
    "cnt-sgm": (shuffle.CntSGM.calibrated,),
    "rsum-kr": (shuffle.RSumKR.calibrated, lambda promise: shuffle.RSumKR.calibrated(promise, 4)),
    "rsum-rr": (shuffle.RSumRR.calibrated, lambda promise: shuffle.RSumRR.calibrated(promise, 4)),
    "rsum-rm": (shuffle.RSumRM.calibrated,),
    "rsum-pure": (lambda promise: shuffle.RSumPURE.calibrated(promise, 3),),
    "rsum-dsg": (shuffle.RSumDSG.calibrated, lambda promise: shuffle.RSumDSG.calibrated(promise, 1)),
    "distinct-parity": (of_categories(shuffle.DistinctParity, 20),),
    "range-tree": (of_categories(shuffle.RangeTree, 11),),
    "uniformity-dump": (of_categories(shuffle.UniformityDump, FEW),),
    "aut": (of_categories(shuffle.AUT, FEW),),
    "put": (of_categories(shuffle.PUT, FEW),),
    **{
        name: (of_categories(kind, FEW), of_categories(kind, MANY))
        for name, kind in {
            "hist-kr": shuffle.HistKR,
            "hist-dump": shuffle.HistDump,
            "hist-flip": shuffle.HistFlip,
            "hist-rr": shuffle.HistRR,
            "solh": shuffle.SOLH,
            "murs": shuffle.MURS,
            "prhr": shuffle.PRHR,
        }.items()
    },
    "hist-mm": (of_categories(shuffle.HistMM, FEW), of_categories(shuffle.HistMM, 20)),
    # with two buckets a user, categories collide
    "pucm": (of_categories(shuffle.PUCM, FEW), of_categories(shuffle.PUCM, 3000)),
}
"""By type: how protocols of that type are built."""

Data = tuple[str, NDArray[Any], Any]
"""A name, what the users hold, and the true numbers."""


def ends(users: int) -> dict[str, int]:
    """Return how many users are at the high end."""
    return {"all low": 0, "one high": 1, "half": users // 2}


def counted(protocol: Protocol) -> Iterator[Data]:
    """Yield bits."""
    for name, high in ends(protocol.promise.users).items():
        yield name, (np.arange(protocol.promise.users) < high).astype(np.int64), float(high)


def summed(protocol: Protocol) -> Iterator[Data]:
    """Yield numbers at the ends, and between two steps."""
    users = protocol.promise.users
    for name, high in ends(users).items():
        yield name, (np.arange(users) < high).astype(np.float64), float(high)
    step = 1.0 / vars(protocol)["precision"]
    for name, value in {"between the lowest": step / 2.0, "all at a third": 1.0 / 3.0}.items():
        yield name, np.full(users, value), users * value


def tables(users: int, size: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield how many users hold each category."""
    first, few = np.eye(1, size, dtype=np.int64)[0], min(30, users - 1)
    yield "one the last", (users - 1) * first + np.roll(first, -1)
    yield f"{few} the last", (users - few) * first + few * np.roll(first, -1)
    even = np.full(size, users // size) + (np.arange(size) < users % size)
    yield "even", even


def of_histogram(protocol: Any) -> Iterator[Data]:
    """Yield categories; of a sketch the first ones are looked at, the others are empty."""
    for name, counts in tables(protocol.promise.users, protocol.labels.size):
        yield name, np.repeat(np.arange(len(counts)), counts), counts.astype(np.float64)


def distinct(protocol: Any) -> Iterator[Data]:
    """Yield categories of which only some are held."""
    users, size = protocol.promise.users, protocol.labels.size
    for held in sorted({1, 2, 5, min(size, users)}):
        if held <= min(size, users):
            yield f"{held} held", np.arange(users) % held, float(held)


def ranged(protocol: Any) -> Iterator[Data]:
    """Yield categories with their cumulative counts, then with one range in the middle."""
    for name, counts in tables(protocol.promise.users, protocol.labels.size):
        yield name, np.repeat(np.arange(len(counts)), counts), np.cumsum(counts).astype(np.float64)


def data_of(protocol: Protocol) -> Iterator[Data]:
    """Yield what users of a protocol may hold."""
    kinds = {"count": counted, "sum": summed, "histogram": of_histogram, "counts of ranges": ranged}
    return kinds.get(protocol.quantity, distinct)(protocol)


def again(protocol: Protocol, repetition: int) -> Protocol:
    """Return the protocol as it would be built once more: public parameters are drawn again."""
    if not protocol.public_seeds:
        return protocol
    return type(protocol).from_content(
        {**protocol.content(), **dict.fromkeys(protocol.public_seeds, repetition)}
    )


@cache
def built(build: Build, users: int, epsilon: float) -> Protocol | None:
    """Return the protocol; None where its privacy is out of reach."""
    try:
        return build(Promise(users, epsilon, DELTA))
    except MechDesignError:
        return None


def protocol_measure(builds: tuple[Build, ...]) -> Measure:
    """Return the measurement of the protocols of a type."""

    def measure(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
        found: list[Covered] = []
        for build in builds:
            protocol = built(build, users, epsilon)
            if protocol is None:
                continue
            run = rejections if protocol.quantity == "uniformity" else intervals
            found += run(protocol, repetitions, rng)
        return found

    return measure


def intervals(protocol: Protocol, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of a protocol's intervals."""
    found: list[Covered] = []
    size = getattr(getattr(protocol, "labels", None), "size", 0)
    for name, values, truth in data_of(protocol):
        shown = f"{size} categories, {name}" if size else name
        counting, middle = Counting(shown, truth), Counting(f"{shown}, a range", 0.0)
        if protocol.type == "range-tree":
            middle = Counting(f"{shown}, a range", float(np.isin(values, np.arange(1, size - 1)).sum()))
        for estimate, times in estimates(protocol, values, repetitions, rng):
            counting.add_estimate(estimate, times)
            if protocol.type == "range-tree":
                value, _ = estimate.count(1, size - 2)
                down, up = estimate.limits(1, size - 2).distances(0.025)
                middle.add((value - down, value + up))
        found += [*counting.found(), *middle.found()]
    return found


def estimates(
    protocol: Protocol, values: NDArray[Any], repetitions: int, rng: np.random.Generator
) -> Iterator[tuple[Any, int]]:
    """Yield estimates and how often each was made: from equal sums over all messages the same one follows."""
    times: Counter[tuple[Any, ...]] = Counter()
    counters = {}
    for repetition in range(repetitions):
        drawn = again(protocol, repetition)
        counter = drawn.counter()
        counter.update(drawn.with_fakes(drawn.encode(values, rng=rng), rng))
        key = (counter.messages, *counter.sums.tolist(), repetition if protocol.public_seeds else 0)
        times[key] += 1
        counters[key] = counter
    for key, counter in counters.items():
        yield counter.estimate(), times[key]


def rejections(protocol: Any, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return how often uniform categories are not rejected; the test gives a probability, and no interval."""
    kept = 0
    for _ in range(repetitions):
        values = rng.integers(0, protocol.labels.size, protocol.promise.users)
        kept += not protocol.analyze(protocol.encode(values, rng=rng)).rejected
    return [Covered("uniform, not rejected", kept, repetitions)]
