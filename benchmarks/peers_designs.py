"""Designs and work that grow, each with a goal: linear queries, places, coverings, counting, workers."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mechdesign as md
from benchmarks.location import problem as places
from benchmarks.measure import processor_seconds, shown_seconds, with_loops
from benchmarks.peers_starts import OURS
from mechdesign.collect.collecting import marked
from mechdesign.data.intake import Coded
from mechdesign.data.writing import write_blocks
from mechdesign.families.marginals.oracles import LocalHashing
from mechdesign.families.spectrum.channel import scattered_owner, scattered_users

LINEAR = (
    ("prefix", 128, (1.0, 4.0, 8.0), 0.01, 30.0),
    ("ranges", 128, (1.0, 8.0), 0.01, 30.0),
    ("prefix", 256, (4.0,), 0.02, 120.0),
    ("prefix", 1024, (4.0,), 0.05, 300.0),
)
"""Queries, types, epsilons; the gap to the bound and the seconds in which it is to be reached."""

COUNTED, USERS, ALL_USERS, COUNTING = 1 << 20, 50_000, 1_000_000, 120.0
"""Categories and users of reports of local hashing; 60 seconds of two processors for all users."""

PARTS, PART = 8, 5_000_000
"""Files that two workers count, and rows of each."""

MEMORY = {"MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "268435456"}
"""With these, workers on Linux reuse their memory."""


def design_rows(quick: bool) -> Iterator[list[str]]:
    """Yield the rows of the table; small ones alone where it is to be quick."""
    for name, size, epsilons, gap, most in LINEAR[: 2 if quick else None]:
        for epsilon in epsilons:
            yield _linear_row(name, size, epsilon, gap, most)
    yield _counting_row()
    if quick:
        return
    yield _solved_row("location, 400 places", lambda: md.solve(places(20), "interior-point", gap=0.01), 0.01)
    yield _solved_row("spectrum, 200 users", lambda: md.solve(_spectrum(), "cuts"), 0.01)
    yield _solved_row("covering, 32 points", lambda: md.solve(_covering()), 0.25)
    yield _check_row()
    yield _workers_row()


def _cells(name: str, size: str, here: float, peer: str, ratio: float | None, goal: str) -> list[str]:
    shown = "-" if ratio is None else f"{ratio:.4g}"
    return [name, size, f"{here:.3f}", "-", "-", peer, shown, "-", "-", goal]


def _goal(text: str, is_met: bool) -> str:
    return text if is_met else f"{text}: behind"


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its seconds of processor time."""
    start = time.process_time()
    return call(), time.process_time() - start


def _linear_row(name: str, size: int, epsilon: float, gap: float, most: float) -> list[str]:
    problem = md.LinearQueries(workload={"name": name, "size": size}, epsilon=epsilon)
    solution, seconds = _timed(lambda: md.solve(problem))
    bound = solution.bound or 0.0
    ratio = bound / solution.value
    is_met = solution.value <= (1.0 + gap) * bound and seconds <= most
    goal = _goal(f"{1.0 / (1.0 + gap):.3f} in {most:.0f} s", is_met)
    return _cells(
        f"linear queries, {name}",
        f"{size} types, epsilon {epsilon:g}",
        seconds,
        f"bound {bound:.6g}",
        ratio,
        goal,
    )


def _solved_row(name: str, call: Callable[[], Any], gap: float) -> list[str]:
    solution, seconds = _timed(call)
    bound = abs(solution.bound or 0.0)
    off = abs(abs(solution.value) - bound) / max(bound, 1e-300)
    goal = _goal(f"gap at most {gap:g}", off <= gap)
    return _cells(name, f"gap {off:.2g}", seconds, f"bound {bound:.6g}", None, goal)


def _spectrum() -> md.SpectrumChannel:
    """Return 200 users in the density in which the search for an allocation is hardest."""
    secondary = scattered_users(120.0, 200, 1, radius=5.0, privacy=0.5, seed=1)
    owner = scattered_owner(120.0, 200, 1, seed=1)
    return md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=secondary, primary=owner)


def _covering() -> md.CoveringDesign:
    return md.CoveringDesign(points=32, order=3, block=8)


def _counting_row() -> list[str]:
    """Return the row of counting reports of a million categories: one run, in proportion to all users."""
    oracle = LocalHashing.of(COUNTED, 1.0, 4)
    reports = np.random.default_rng(1).integers(0, oracle.reports, USERS)
    oracle.count(reports[:100])  # compiles
    _, seconds = _timed(with_loops(lambda: oracle.count(reports), "on"))
    whole = seconds * ALL_USERS / USERS
    goal = _goal(f"{COUNTING:.0f} s of two processors for {ALL_USERS:,}", whole <= COUNTING)
    size = f"k = {COUNTED:,}, {USERS:,} users"
    return _cells("local hashing, counted", size, seconds, f"for {ALL_USERS:,}: {whole:.0f} s", None, goal)


def _check_row() -> list[str]:
    """Return the row of checking all models from an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*OURS, "check", "--all", "--fresh", "--jobs", "1"]
        seconds = processor_seconds([command], 1, False, {"MECHDESIGN_CACHE": folder})[0]
    return _cells("check --all", "from an empty cache", seconds, "-", None, _goal("60 s", seconds <= 60.0))


def _workers_row() -> list[str]:
    """Return the row of counting files on workers that run, next to one process that counts them."""
    name = "count, two running workers"
    if not importlib.util.find_spec("distributed"):
        return [
            "count, two running workers",
            f"{PARTS * PART:,} rows",
            "-",
            *["-"] * 6,
            "dask: not installed",
        ]
    distributed: Any = importlib.import_module("distributed")
    problem = md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.0, labels=["a", "b", "c", "d"])
    mechanism = md.solve(problem).mechanism()
    with tempfile.TemporaryDirectory() as folder:
        survey, files = str(Path(folder) / "survey.json"), []
        mechanism.save(survey)
        for number in range(PARTS):
            codes = np.random.default_rng(number).integers(0, 4, PART)
            block = {
                marked("report", mechanism.survey_digest): Coded(
                    np.array(["a", "b", "c", "d"], dtype=object), codes
                )
            }
            files.append(str(Path(folder) / f"part{number}.csv"))
            write_blocks(files[-1], [block])
        command = [*OURS, "estimate", survey, *files]
        os.environ.update(MEMORY)  # as docs/howto/many_files.md starts them
        try:
            cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        finally:
            for variable in MEMORY:
                del os.environ[variable]
        with cluster:
            alone, together = (
                _elapsed([*command, *more]) for more in ([], ["--dask", cluster.scheduler_address])
            )
    goal = _goal("1 where both processors are idle", alone >= 0.95 * together)
    return _cells(
        name,
        f"{PARTS * PART:,} rows",
        together,
        f"one process {shown_seconds(alone)}",
        alone / together,
        goal,
    )


def _elapsed(command: list[str]) -> float:
    """Return the least seconds on the clock of two runs of a command."""
    import subprocess

    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr)
        best = min(best, time.perf_counter() - start)
    return best
