"""Every type of mechanism: how the coverage of its intervals is measured, or why it has none.

A test fails when a type is in neither list, so that a new mechanism cannot be forgotten; see
:mod:`benchmarks.coverage`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage_cases import Covered, Measure
from benchmarks.coverage_frequencies import FREQUENCIES, frequency_coverage
from benchmarks.coverage_local import LOCAL
from benchmarks.coverage_means import MEANS, coverage
from benchmarks.coverage_shuffle import PROTOCOLS, protocol_measure
from benchmarks.coverage_survey import survey
from benchmarks.coverage_workload import events, queries, strings
from mechdesign.families.mean.means import MeanMechanism

NO_ESTIMATE = {
    "direct-mechanism": "decides for agents who report their types; nothing is estimated",
    "screening-menu": "sells quantities; nothing is estimated",
    "online-auction": "pays bidders and allots tasks; what it says of accuracy is a number of reports",
    "batch-shuffler": "passes messages on; nothing is estimated",
    "planar-laplace": "reports places; nothing is estimated from them",
    "planar-lattice": "reports places; nothing is estimated from them",
    "spectrum-cloak": "registers tiles; nothing is estimated",
    "spectrum-user": "reports places; nothing is estimated from them",
    "spectrum-database": "answers with channels and powers; nothing is estimated",
}
"""Types without an estimate, and why."""

NO_INTERVALS = {"marginal-rival": "its predicted error is one of all cells together"}
"""Types whose estimates have no intervals, and why."""


def mean_measure(*builds: Callable[[float], MeanMechanism]) -> Measure:
    """Return the measurement of a mean of all users, the lowest over the cases of each mechanism."""

    def measure(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
        shares = [coverage(build(epsilon), users, "everybody", repetitions, rng) for build in builds]
        return [
            Covered("the lowest of its cases", round(share * repetitions), repetitions) for share in shares
        ]

    return measure


def channel_measure(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of frequencies from tables of probabilities, the lowest over their cases."""
    found = []
    for name, build in FREQUENCIES.items():
        share = frequency_coverage(build(epsilon), users, repetitions, rng)
        found.append(Covered(name, round(share * repetitions), repetitions))
    return found


MEASURED: dict[str, Measure] = {
    "duchi": mean_measure(MEANS["duchi"]),
    "censoring-interval": mean_measure(
        MEANS["one-bit interval, symmetric"], MEANS["one-bit interval [0, d], delta = 0.1"]
    ),
    "discrete-piecewise": mean_measure(MEANS["discrete-piecewise"]),
    "grid-mean": mean_measure(MEANS["mean-channel, 11 inputs"]),
    "laplace": mean_measure(MEANS["laplace"]),
    "piecewise": mean_measure(MEANS["piecewise"]),
    "hybrid": mean_measure(MEANS["hybrid"]),
    "square-wave": mean_measure(MEANS["square-wave"]),
    "finite-channel": channel_measure,
    "survey": survey,
    "linear-queries": queries,
    "event-counts": events,
    "prefix-hashing": strings,
    **LOCAL,
    **{name: protocol_measure(builds) for name, builds in PROTOCOLS.items()},
}
"""By type: how its intervals are measured."""
