"""Frequency oracles: how quickly reports are made and counted, next to the other libraries."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from benchmarks import plain
from benchmarks.measure import best_of, interleaved, shown_mib, shown_seconds, weighed, with_loops
from benchmarks.rivals import RivalUnavailable, ldp_toolbox_oracle, multi_freq_ldpy_oracle, pure_ldp_oracle
from mechdesign.families.marginals.oracles import LocalHashing, SupportOracle
from mechdesign.primitives import KaryResponse
from mechdesign.show.tables import table

TITLE = "Frequency oracles: reports made and counted, epsilon = 1"

Source: TypeAlias = Literal["numpy", "system"]

EPSILON = 1.0
LIMIT = 300.0

OURS = (
    ("randomized-response", 64),
    ("optimised-unary", 64),
    ("symmetric-unary", 64),
    ("subset-selection", 64),
    ("hadamard", 64),
    ("local-hashing", 64),
    ("optimised-unary", 1024),
    ("local-hashing", 1024),
    ("hadamard", 65_536),
    ("projective-geometry", 64),
    ("projective-geometry", 65_536),
)

RIVALS: tuple[tuple[str, Callable[..., Any], str, int], ...] = (
    ("pure-ldp", pure_ldp_oracle, "unary", 64),
    ("pure-ldp", pure_ldp_oracle, "hashing", 64),
    ("pure-ldp", pure_ldp_oracle, "hadamard", 64),
    ("pure-ldp", pure_ldp_oracle, "hashing", 1024),
    ("multi-freq-ldpy", multi_freq_ldpy_oracle, "unary", 64),
    ("multi-freq-ldpy", multi_freq_ldpy_oracle, "subset", 64),
    ("multi-freq-ldpy", multi_freq_ldpy_oracle, "hashing", 64),
    ("multi-freq-ldpy", multi_freq_ldpy_oracle, "hashing", 1024),
    ("ldp-toolbox", ldp_toolbox_oracle, "unary", 64),
    ("ldp-toolbox", ldp_toolbox_oracle, "subset", 64),
    ("ldp-toolbox", ldp_toolbox_oracle, "hashing", 64),
    ("ldp-toolbox", ldp_toolbox_oracle, "unary", 1024),
)


GROWTH = (256, 1024, 4096, 16_384, 65_536, 1_048_576)
"""Categories of which reports of local hashing are counted."""

HASHES = 1 << 22
"""Hashes of the plain evaluation, on as many reports; the seconds of all follow in proportion."""


@dataclass(frozen=True)
class OracleRun:
    """Seconds to make and to count reports, and the root mean squared error of the estimates."""

    making: float
    counting: float
    error: float


def run(quick: bool) -> None:
    """Print millions of reports a second, peak memory and errors."""
    users, few = (200_000, 2_000) if quick else (1_000_000, 10_000)
    print(
        "one process and thread; making from the answers, counting from the reports, estimates included;\n"
        "peak MiB of the whole process. The others take one answer a call: fewer answers, both steps in one."
    )
    header = [
        "oracle",
        "categories",
        "users",
        "made M/s",
        "counted M/s",
        "both M/s",
        "peak MiB",
        "rmse x sqrt(n)",
    ]
    rows = []
    for method, categories in OURS:
        for source in ("numpy", "system"):
            result, peak = weighed(LIMIT, ours, method, categories, users, source)
            both = result.making + result.counting
            rows.append(
                [
                    f"ours, {method}, {source}",
                    *(str(categories), str(users)),
                    *(f"{users / seconds / 1e6:.3g}" for seconds in (result.making, result.counting, both)),
                    shown_mib(peak),
                    f"{result.error * users**0.5:.3g}",
                ]
            )
    for library, function, kind, categories in RIVALS:
        name = f"{library}, {kind}"
        answers = drawn_answers(few, categories)
        try:
            found, peak = weighed(LIMIT, function, answers, categories, EPSILON, kind)
        except RivalUnavailable as error:
            rows.append([name, str(categories), "-", "-", "-", "-", "-", error.reason])
            continue
        rate = f"{found.values_per_second / 1e6:.3g}"
        error = f"{root_mean_square(found.estimates, answers) * few**0.5:.3g}"
        rows.append([name, str(categories), str(few), "-", "-", rate, shown_mib(peak), error])
    print(table(header, rows), flush=True)
    print("\nreports of local hashing counted; the growth is the power of k since the row before")
    header = ["categories", "users", "here s", "compiled s", "growth", "compiled", "hashing all / here"]
    print(table(header, growth_rows(users // 10, GROWTH[:-1] if quick else GROWTH)), flush=True)


def drawn_answers(count: int, categories: int) -> NDArray[np.int64]:
    """Return answers with falling frequencies, the same in every process."""
    shares = 1.0 / np.arange(2.0, categories + 2)
    return np.random.default_rng(7).choice(categories, size=count, p=shares / shares.sum())


def root_mean_square(estimates: NDArray[np.float64], answers: NDArray[np.int64]) -> float:
    """Return the root mean squared error over the categories."""
    truth = np.bincount(answers, minlength=len(estimates)) / len(answers)
    return float(np.sqrt(np.mean((estimates - truth) ** 2)))


@functools.cache
def oracle_of(method: str, categories: int) -> KaryResponse | SupportOracle:
    """Return the oracle with its best parameters."""
    return md.solve(md.FrequencyOracle(categories=categories, epsilon=EPSILON), method).mechanism()


def ours(method: str, categories: int, users: int, source: Source) -> OracleRun:
    """Make all reports with one call, and count and estimate with one call."""
    oracle, answers = oracle_of(method, categories), drawn_answers(users, categories)
    rng = np.random.default_rng(1) if source == "numpy" else None
    reports, making = best_of(lambda: oracle.randomize(answers, rng=rng), 5, 10.0)
    estimate, counting = best_of(lambda: oracle.estimate(reports), 5, 10.0)
    return OracleRun(making, counting, root_mean_square(estimate.value, answers))


def growth_rows(users: int, sizes: Sequence[int]) -> list[list[str]]:
    """Return rows of seconds of processor time, and how they grow with the categories."""
    rows: list[list[str]] = []
    before: tuple[int, float, float] | None = None
    for k in sizes:
        here, compiled, plainly = counting_seconds(k, users)
        growths = ["-", "-"]
        if before is not None:
            times = (here / before[1], compiled / before[2])
            growths = [f"{math.log(ratio) / math.log(k / before[0]):.2f}" for ratio in times]
        before = k, here, compiled
        seconds = [shown_seconds(here), shown_seconds(compiled)]
        rows.append([f"{k:,}", f"{users:,}", *seconds, *growths, f"{plainly / here:.3g}"])
    return rows


def counting_seconds(k: int, users: int) -> tuple[float, float, float]:
    """Return the seconds to count reports with numpy, compiled, and by hashing every category in numpy.

    The least of interleaved runs; without numba the first two are alike. The reports are random: of all
    hash functions, as those of any answers.
    """
    oracle = LocalHashing.of(k, EPSILON, 4)
    reports = np.random.default_rng(1).integers(0, oracle.reports, users)
    seeds, values = np.divmod(reports[: max(1, HASHES // k)], oracle.family.buckets)

    def count() -> NDArray[np.int64]:
        return oracle.count(reports)

    def hash_all() -> NDArray[np.int64]:
        return plain.hashing(seeds, values, oracle.family.prime, oracle.family.buckets, k)

    here, compiled, plainly = interleaved([with_loops(count, "off"), with_loops(count, "on"), hash_all], 4)
    return here or 0.0, compiled or 0.0, (plainly or 0.0) * users / len(seeds)
