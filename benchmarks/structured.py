"""The closed form with a million symbols, stage by stage, in a process of its own."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

import mechdesign as md
from benchmarks.measure import MIB, nothing, peak_memory, shown_mib, weighed
from benchmarks.rivals import RivalUnavailable
from mechdesign.families.response import RandomizedResponse
from mechdesign.show.tables import table

TITLE = "A million symbols: the closed form from problem to estimate"

Prior: TypeAlias = Literal["uniform", "zipf"]
Stage: TypeAlias = tuple[str, float, int]

LIMIT = 300.0
CASES: tuple[tuple[Prior, float, float], ...] = (("uniform", 1.0, 0.0), ("zipf", 6.0, 0.01))
"""Prior, epsilon and delta. The second keeps only the likely symbols; delta makes the others estimable."""


def run(quick: bool) -> None:
    """Print seconds and peak memory after each stage."""
    size = 100_000 if quick else 1_000_000
    alone = weighed(LIMIT, nothing)[1]
    print(
        f"a Python with mechdesign and numpy alone holds {shown_mib(alone)} MiB; peaks: of the whole process"
    )
    for prior, epsilon, delta in CASES:
        print(f"\n{size} symbols, {prior} prior, epsilon = {epsilon:g}, delta = {delta:g}, {size} answers")
        try:
            (stages, kept), _ = weighed(LIMIT, all_stages, size, prior, epsilon, delta)
        except RivalUnavailable as error:
            print(error.reason)
            continue
        rows = [[name, f"{seconds:.3f}", shown_mib(peak)] for name, seconds, peak in stages]
        building = sum(
            seconds for name, seconds, _ in stages if name in ("problem", "solve", "mechanism", "audit")
        )
        total = sum(seconds for _, seconds, _ in stages)
        highest = max(peak for *_, peak in stages)
        print(table(["stage", "seconds", "peak MiB so far"], rows))
        print(
            f"{kept} symbols are kept; built and audited in {building:.2f} s, everything in {total:.2f} s; "
            f"{'below' if highest < 1024 * MIB else 'NOT BELOW'} 1 GiB",
            flush=True,
        )


def all_stages(size: int, shape: Prior, epsilon: float, delta: float) -> tuple[list[Stage], int]:
    """Go from the problem to the estimate and return the stages and how many symbols are kept."""
    stages: list[Stage] = []
    start = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal start
        stages.append((name, time.perf_counter() - start, peak_memory()))
        start = time.perf_counter()

    shares = np.full(size, 1.0) if shape == "uniform" else np.arange(1.0, size + 1) ** -1.1
    prior = shares / shares.sum()
    answers = np.random.default_rng(5).choice(size, size=size, p=prior)
    stage("(prior and answers drawn)")
    problem = RandomizedResponse(prior=prior, epsilon=epsilon, delta=delta)
    stage("problem")
    solution = md.solve(problem)
    stage("solve")
    mechanism = solution.mechanism()
    stage("mechanism")
    if not mechanism.audit().holds:
        raise AssertionError(f"not private: {mechanism.audit()}")
    stage("audit")
    reports = mechanism.randomize(answers)
    stage("randomize, system generator")
    mechanism.randomize(answers, rng=1)
    stage("randomize, numpy generator")
    estimate = mechanism.estimate(reports)
    stage("estimate")
    if abs(float(estimate.value.sum()) - 1.0) > 1e-6:
        raise AssertionError("the estimates do not sum to 1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        mechanism.save(path)
        stage("save")
        md.load_mechanism(path)
        stage("load, audited again")
    return stages, len(mechanism.kept)
