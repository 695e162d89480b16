"""Totals of many reports by the audited channel, next to dp-accounting's privacy loss distributions.

Both compute the least epsilon of many k-ary responses, many subset selections and a mixture of kinds, at one
delta. Here the weights are the integers that reports are drawn with, and bounds are rounded up; there the
channel is one of doubles on a lattice of 1e-4. Neither may be below the enumeration of all outcomes by
multinomials, where that is possible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals import RivalUnavailable
from mechdesign.collect.totals import Collected, total_of
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.primitives import KaryResponse
from mechdesign.show.tables import table

TITLE = "Totals of many reports at delta 1e-6"
DELTA = 1e-6

CASES: tuple[tuple[tuple[int, int, float, int], ...], ...] = (
    ((5, 1, 1.0, 20),),
    ((2, 1, 0.1, 365),),
    ((3, 1, 0.1, 365),),
    ((100, 1, 2.0, 50),),
    ((64, 17, 1.0, 20),),
    ((64, 17, 0.1, 1000),),
    ((5, 1, 1.0, 10), (100, 1, 2.0, 5), (64, 17, 0.5, 40)),
)
"""Categories, size of the reported sets, epsilon and number of reports of each kind."""


@dataclass(frozen=True)
class TotalRun:
    """The total of a case: by the sum, by epsilon alone, by the channel, and by dp-accounting."""

    case: str
    added: float
    by_epsilon: float
    here: float
    seconds: float
    there: float | None


def oracle(size: int, subset: int, epsilon: float) -> Any:
    """Return the mechanism of a kind of reports."""
    return (
        KaryResponse.of(size, epsilon=epsilon)
        if subset == 1
        else SubsetSelection.of(size, epsilon, size=subset)
    )


def accounting(kinds: Sequence[tuple[int, int, float, int]]) -> float:
    """Return the total by dp-accounting, of pairs of distributions of the loss as it rounds them."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as distributions
    except ImportError as error:
        raise RivalUnavailable("dp-accounting is not installed") from error
    whole: Any = None
    for size, subset, epsilon, times in kinds:
        grown = math.exp(epsilon)
        own = subset * grown / (subset * grown + size - subset)  # the own category is in the set
        other = own * (subset - 1) / (size - 1) + (1 - own) * subset / (size - 1)
        gap = own - other  # of sets with the first category, and not the second
        alone = gap / (1.0 - 1.0 / grown)
        log_rows = (
            {0: math.log(alone), 1: math.log(alone / grown), 2: math.log1p(-alone - alone / grown)}
            if 1.0 - alone - alone / grown > 1e-12
            else {0: math.log(alone), 1: math.log1p(-alone)}
        )
        swapped = {0: log_rows[1], 1: log_rows[0], **({2: log_rows[2]} if 2 in log_rows else {})}
        part = distributions.from_two_probability_mass_functions(
            log_rows, swapped, value_discretization_interval=1e-4
        ).self_compose(times)
        whole = part if whole is None else whole.compose(part)
    return float(whole.get_epsilon_for_delta(DELTA))


def measured(kinds: Sequence[tuple[int, int, float, int]]) -> TotalRun:
    """Return the totals of a case."""
    names = " + ".join(
        f"{times} x (k={size}, w={subset}, eps={epsilon:g})" for size, subset, epsilon, times in kinds
    )
    start = time.process_time()
    own = [oracle(size, subset, epsilon).collected("m", times) for size, subset, epsilon, times in kinds]
    here = total_of(own, DELTA)
    seconds = time.process_time() - start
    bare = [Collected(one.name, one.epsilon, times=one.times) for one in own]
    try:
        there: float | None = accounting(kinds)
    except RivalUnavailable:
        there = None
    return TotalRun(names, here.epsilon, total_of(bare, DELTA).composed, here.composed, seconds, there)


def rows(runs: Sequence[TotalRun]) -> list[list[str]]:
    """Return the cells of the table."""
    return [
        [
            run.case,
            f"{run.added:g}",
            f"{run.by_epsilon:.4f}",
            f"{run.here:.4f}",
            "-" if run.there is None else f"{run.there:.4f}",
            f"{run.seconds:.2f}",
        ]
        for run in runs
    ]


def run(quick: bool) -> None:
    """Print the totals of all cases, and how long they take here."""
    runs = [measured(kinds) for kinds in (CASES[:2] if quick else CASES)]
    heads = ["reports", "the sum", "by epsilon alone", "by the channel", "dp-accounting", "seconds"]
    print(table(heads, rows(runs)))
