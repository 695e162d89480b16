"""Randomize and estimate a million answers: both generators, both mechanisms, and the other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from benchmarks.measure import best_of, nothing, shown_mib, shown_seconds, weighed
from benchmarks.rivals import EstimateRun, RivalUnavailable, multi_freq_ldpy_frequencies, pure_ldp_frequencies
from mechdesign.collect import FrequencyMechanism
from mechdesign.families.response import RandomizedResponse
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget
from mechdesign.show.tables import table

TITLE = "Frequencies: randomize and estimate, 64 symbols, epsilon = 1"

Source: TypeAlias = Literal["numpy", "system"]

SYMBOLS = 64
EPSILON = 1.0
LIMIT = 300.0


def run(quick: bool) -> None:
    """Print answers a second, peak memory and the largest error of each library."""
    answers = 100_000 if quick else 1_000_000
    alone = weighed(LIMIT, nothing)[1]
    print(
        "one process and thread, the least of a few runs; peak MiB of that process, importing and answers\n"
        f"included (a Python with mechdesign and numpy alone: {shown_mib(alone)}); error: the largest of all"
        " symbols.\nThe others take one answer a call and draw from a non-cryptographic generator."
    )
    rows = []
    for name, function, count, arguments in _contestants(answers):
        try:
            result, peak = weighed(LIMIT, function, count, *arguments)
        except RivalUnavailable as error:
            rows.append([name, "-", "-", "-", "-", "-", error.reason])
            continue
        rows.append(
            [
                name,
                str(result.values),
                shown_seconds(result.seconds),
                f"{result.values_per_second / 1e6:.3g}",
                shown_mib(peak),
                f"{np.abs(result.estimates - true_frequencies(drawn_answers(count))).max():.4f}",
                "",
            ]
        )
    header = ["library", "answers", "seconds", "million/s", "peak MiB", "error", "remark"]
    print(table(header, rows), flush=True)


def _contestants(answers: int) -> list[tuple[str, Callable[..., EstimateRun], int, tuple[Any, ...]]]:
    single = answers // 20
    return [
        ("ours, k-ary response, numpy generator", ours, answers, ("kary", "numpy")),
        ("ours, k-ary response, system generator", ours, answers, ("kary", "system")),
        ("ours, any channel, numpy generator", ours, answers, ("finite", "numpy")),
        ("ours, any channel, system generator", ours, answers, ("finite", "system")),
        ("ours, any channel, system generator, names", ours, answers, ("finite", "system", True)),
        ("ours, one answer a call, system generator", ours_singly, single, ("kary", "system")),
        ("pure-ldp", pure_ldp, answers, ()),
        ("multi-freq-ldpy", multi_freq_ldpy, answers, ()),
    ]


def drawn_answers(count: int) -> NDArray[np.int64]:
    """Return answers with falling frequencies, the same in every process."""
    shares = 1.0 / np.arange(2.0, SYMBOLS + 2)
    return np.random.default_rng(7).choice(SYMBOLS, size=count, p=shares / shares.sum())


def true_frequencies(answers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each symbol."""
    return np.bincount(answers, minlength=SYMBOLS) / len(answers)


def mechanism_of(kind: Literal["kary", "finite"], names: bool = False) -> FrequencyMechanism:
    """Return the best channel for a uniform prior: as a k-ary response, or as a table of integers."""
    labels = [f"symbol {number}" for number in range(SYMBOLS)] if names else None
    prior = np.full(SYMBOLS, 1.0 / SYMBOLS)
    best = md.solve(RandomizedResponse(prior=prior, epsilon=EPSILON, labels=labels)).mechanism()
    if kind == "finite":
        return FiniteChannel.from_floats(best.channel, PrivacyTarget(EPSILON), labels, labels)
    assert isinstance(best, KaryResponse)
    return best


def ours(count: int, kind: Literal["kary", "finite"], source: Source, names: bool = False) -> EstimateRun:
    """Randomize and estimate with one call each."""
    mechanism = mechanism_of(kind, names)
    answers: NDArray[Any] = drawn_answers(count)
    if names:
        answers = mechanism.labels.decode(answers)
    rng = np.random.default_rng(1) if source == "numpy" else None
    estimate, seconds = best_of(lambda: mechanism.estimate(_randomized(mechanism, answers, rng)), 15)
    return EstimateRun(estimate.value, seconds, count)


def ours_singly(count: int, kind: Literal["kary", "finite"], source: Source) -> EstimateRun:
    """Randomize with one call an answer, as each client would, and estimate with one call."""
    mechanism = mechanism_of(kind)
    answers = drawn_answers(count)
    rng = np.random.default_rng(1) if source == "numpy" else None

    def everything() -> NDArray[np.float64]:
        reports = [_randomized(mechanism, [answer], rng)[0] for answer in answers.tolist()]
        return mechanism.estimate(reports).value

    estimates, seconds = best_of(everything, 3)
    return EstimateRun(estimates, seconds, count)


def _randomized(mechanism: FrequencyMechanism, answers: Any, rng: np.random.Generator | None) -> NDArray[Any]:
    assert isinstance(mechanism, FiniteChannel | KaryResponse)
    return mechanism.randomize(answers, rng=rng)


def pure_ldp(count: int) -> EstimateRun:
    """Return the quickest of a few runs of pure-ldp."""
    return _quickest(lambda: pure_ldp_frequencies(drawn_answers(count), SYMBOLS, EPSILON))


def multi_freq_ldpy(count: int) -> EstimateRun:
    """Return the quickest of a few runs of multi-freq-ldpy."""
    return _quickest(lambda: multi_freq_ldpy_frequencies(drawn_answers(count), SYMBOLS, EPSILON))


def _quickest(call: Callable[[], EstimateRun], repeats: int = 3) -> EstimateRun:
    return min((call() for _ in range(repeats)), key=lambda result: result.seconds)
