"""Against other libraries, plain numpy and a compiled loop, on the same work in one run: one table of ratios.

Seconds of processor time, the minimum of interleaved runs, so that a busy machine does not decide. "here"
draws from the cryptographic generator that deployments use; no peer does so. The result is kept for each
release in ``benchmarks/results/peers_VERSION.csv``.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import plain
from benchmarks.limits import limit_of
from benchmarks.measure import interleaved, nothing, weighed, with_loops
from benchmarks.oracles import counting_seconds, drawn_answers, oracle_of
from benchmarks.peers_designs import design_rows
from benchmarks.peers_files import file_rows, goal_of
from benchmarks.rivals import (
    RivalUnavailable,
    ldp_toolbox_oracle,
    multi_freq_ldpy_frequencies,
    multi_freq_ldpy_oracle,
    pure_ldp_oracle,
)
from mechdesign.core.extensions import installed_version
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.mean import Duchi
from mechdesign.show.tables import table

TITLE = "Against peers: reports made and counted, files, starting up, designs; epsilon = 1"

EPSILON, FEW, LIMIT, REPEATS = 1.0, 2000, 300.0, 4
HEADER = [
    "task",
    "size",
    "here",
    "compiled",
    "numpy",
    "best peer",
    "peer/here",
    "limit",
    "here/limit",
    "goal",
]

Call = Callable[[], Any]
Peer = tuple[str, Callable[..., Any], str]


@dataclass(frozen=True)
class Task:
    """The same work here, in plain numpy, by peers (on fewer users) and by a compiled loop."""

    name: str
    size: str
    users: int
    here: Call
    numpy: Call | None = None
    limit: Call | None = None
    peers: tuple[Peer, ...] = ()
    answers: Any = field(default=None, repr=False)
    categories: int = 0


def run(quick: bool) -> None:
    """Print the table and keep it."""
    users, rows, start = 100_000 if quick else 1_000_000, [], time.perf_counter()
    for row in chain(
        (_row(task) for task in _tasks(users)),
        _counting_rows(users // 10),
        file_rows(users, REPEATS),
        design_rows(quick),
    ):
        spent = f"[{time.perf_counter() - start:5.0f} s]"  # what is done, as the whole takes minutes
        print(spent, " | ".join(row), file=sys.stderr, flush=True)
        rows.append(row)
    print(table(HEADER, rows), flush=True)
    behind = [f"{row[0]} {row[1]}".strip() for row in rows if row[-1].endswith("behind")]
    print(f"behind their goals: {'; '.join(behind) if behind else 'none'}")
    print(
        f"compiled: with the extra 'fast', the same reports. Peak of a process that imports numpy alone: "
        f"{weighed(LIMIT, nothing)[1] >> 20} MiB."
    )
    if not quick:
        place = Path(__file__).parent / "results" / f"peers_{installed_version()}.csv"
        with place.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([HEADER, *rows])
        print(place)


def _tasks(users: int) -> Iterator[Task]:
    for k in (4, 64, 1024):
        yield _kary(k, users)
    yield _kary(64, 10 * users)
    for k, count in ((64, users), (1024, users // 5)):
        yield _unary(k, count)
    for k in (4, 64, 1024):
        yield _hashing(k, users if k < 1024 else users // 2)
    for k, count in ((4, users), (64, users), (1024, users // 10)):
        yield _subset(k, count)
    yield _hadamard(64, users)
    for count in (users, 10 * users):
        yield _duchi(count)


def _both(mechanism: Any, answers: Any) -> Call:
    """Return what makes all reports and counts them, as the loops do, without errors and intervals."""

    def run() -> Any:
        server = mechanism.aggregator()
        server.update(mechanism.randomize(answers))
        return server

    return run


def _kary(k: int, users: int) -> Task:
    oracle, answers = oracle_of("randomized-response", k), drawn_answers(users, k)
    loop = limit_of("kary", answers, k, k, oracle.weights.high - oracle.weights.low)
    peers = (("multi-freq-ldpy", multi_freq_ldpy_frequencies, ""),)
    mine = partial(plain.kary, answers, k, EPSILON)
    return Task("k-ary response", f"k = {k}", users, _both(oracle, answers), mine, loop, peers, answers, k)


def _unary(k: int, users: int) -> Task:
    oracle, answers = oracle_of("optimised-unary", k), drawn_answers(users, k)
    loop = limit_of("unary", answers, 64 * -(-k // 64), k, oracle.add)
    peers = tuple(
        (name, call, "unary") for name, call in ORACLES.items() if name != "ldp-toolbox" or k < 1024
    )
    mine = partial(plain.unary, answers, k, EPSILON)
    return Task("unary encoding", f"k = {k}", users, _both(oracle, answers), mine, loop, peers, answers, k)


def _hashing(k: int, users: int) -> Task:
    oracle, answers = oracle_of("local-hashing", k), drawn_answers(users, k)
    family = oracle.family
    numbers = (k, oracle.own - oracle.other, family.buckets, family.prime)
    loop = limit_of("hashing", answers, k, *numbers)
    peers = tuple((name, call, "hashing") for name, call in ORACLES.items())
    return Task("local hashing", f"k = {k}", users, _both(oracle, answers), None, loop, peers, answers, k)


def _counting_rows(users: int) -> Iterator[list[str]]:
    """Yield rows for counting reports of local hashing, next to hashing every category of every report."""
    for k in (1024, 65_536):
        here, compiled, plainly = counting_seconds(k, users)
        ratio = plainly / min(here, compiled)
        size, numbers = f"k = {k}, {users:,} users", [f"{x:.4f}" for x in (here, compiled, plainly)]
        yield ["local hashing, counted", size, *numbers, "-", f"{ratio:.2g}", "-", "-", goal_of(ratio)]


def _subset(k: int, users: int) -> Task:
    oracle, answers = oracle_of("subset-selection", k), drawn_answers(users, k)
    loop = limit_of("subset", answers, 64 * -(-k // 64), k, oracle.include, oracle.size)
    peers = (("multi-freq-ldpy", multi_freq_ldpy_oracle, "subset"),)
    mine = partial(plain.subset, answers, k, oracle.size, EPSILON)
    return Task("subset selection", f"k = {k}", users, _both(oracle, answers), mine, loop, peers, answers, k)


def _hadamard(k: int, users: int) -> Task:
    oracle, answers = oracle_of("hadamard", k), drawn_answers(users, k)
    loop = limit_of("hadamard", answers, oracle.order, oracle.order, oracle.even)
    mine = partial(plain.hadamard, answers, oracle.order, EPSILON)
    peers = (("pure-ldp", pure_ldp_oracle, "hadamard"),)
    return Task("Hadamard", f"k = {k}", users, _both(oracle, answers), mine, loop, peers, answers, k)


def _duchi(users: int) -> Task:
    mechanism, values = Duchi(EPSILON), np.random.default_rng(3).uniform(-1.0, 1.0, users)
    loop = limit_of("duchi", values, 1, float(mechanism.lo), float(TOTAL - 2 * mechanism.lo))
    mine = partial(plain.duchi, values, EPSILON)
    return Task("Duchi's mean", "", users, _both(mechanism, values), mine, loop)


ORACLES = {
    "multi-freq-ldpy": multi_freq_ldpy_oracle,
    "pure-ldp": pure_ldp_oracle,
    "ldp-toolbox": ldp_toolbox_oracle,
}


def _row(task: Task) -> list[str]:
    calls = [with_loops(task.here, "off"), with_loops(task.here, "on"), task.numpy, task.limit]
    here, compiled, mine, limit = interleaved(calls, REPEATS)
    peer, described = _best_peer(task)
    best = min(here, compiled)
    known = [seconds for seconds in (mine, peer) if seconds is not None]
    return [
        task.name,
        f"{task.size}{', ' if task.size else ''}{task.users:,} users",
        f"{here:.4f}",
        f"{compiled:.4f}",
        "-" if mine is None else f"{mine:.4f}",
        described,
        f"{min(known) / best:.2g}" if known else "-",
        "-" if limit is None else f"{limit:.4f}",
        "-" if limit is None else f"{best / limit:.2g}",
        goal_of(min(known) / best if known else None),
    ]


def _best_peer(task: Task) -> tuple[float | None, str]:
    """Return the seconds of the quickest peer for all users, from a run on fewer; and what is missing."""
    measured: list[tuple[float, str]] = []
    missing: list[str] = []
    for name, call, kind in task.peers:
        values = task.answers[:FEW]
        arguments = (values, task.categories, EPSILON, *([kind] if kind else []))
        try:
            done = weighed(LIMIT, call, *arguments)[0]
        except RivalUnavailable as error:
            missing.append(error.reason.split(" (")[0])
            continue
        measured.append((done.seconds / len(values) * task.users, name))
    seconds, name = min(measured, default=(None, ""))
    words = [] if seconds is None else [f"{name} {seconds:.3g}"]
    return seconds, "; ".join([*words, *missing]) or "-"
