"""Protocols of the shuffle model: how quickly they are calibrated, encode, shuffle and analyze."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from mechdesign.families.shuffle import (
    PRHR,
    PUCM,
    SOLH,
    Cnt2M,
    CntBN,
    CntPURE,
    CntRR,
    CntSGM,
    HistDump,
    HistKR,
    Protocol,
    RangeTree,
    RSumDSG,
    RSumKR,
)
from mechdesign.families.shuffle.promise import Promise
from mechdesign.show.tables import table

TITLE = "Protocols of the shuffle model, epsilon = 0.9, delta = 1e-6"

Make = Callable[[Promise], Protocol]

CASES: tuple[tuple[str, int, Make], ...] = (
    ("cnt-rr", 1_000_000, CntRR.calibrated),
    ("cnt-2m", 1_000_000, Cnt2M.calibrated),
    ("cnt-bn", 1_000_000, CntBN.calibrated),
    ("cnt-sgm", 1_000_000, CntSGM.calibrated),
    ("hist-kr, d = 100", 1_000_000, lambda promise: HistKR.calibrated(promise, 100)),
    ("hist-dump, d = 1024", 1_000_000, lambda promise: HistDump.calibrated(promise, 1024)),
    ("solh, d = 1024", 1_000_000, lambda promise: SOLH.calibrated(promise, 1024)),
    ("prhr, d = 1024", 100_000, lambda promise: PRHR.calibrated(promise, 1024)),
    ("pucm, d = 1024", 100_000, lambda promise: PUCM.calibrated(promise, 1024)),
    ("range-tree, d = 1024", 100_000, lambda promise: RangeTree.calibrated(promise, 1024)),
    ("cnt-pure", 100_000, CntPURE.calibrated),
    ("rsum-kr", 1_000_000, RSumKR.calibrated),
    ("rsum-dsg", 1_000_000, RSumDSG.calibrated),
)


def run(quick: bool = False) -> None:
    """Print processor seconds to calibrate, messages a processor second, and the memory of both sides."""
    rows = []
    for name, users, make in CASES:
        count = users // 20 if quick else users
        start = time.process_time()
        protocol = make(Promise(count, 0.9, 1e-6))
        calibrated = time.process_time() - start
        values = np.arange(count) % 2
        start = time.process_time()
        messages = protocol.encode(values, rng=1)
        encoded = time.process_time() - start
        start = time.process_time()
        protocol.analyze(messages)
        analyzed = time.process_time() - start
        del messages
        tracemalloc.start()
        protocol.analyze(messages := protocol.encode(values, rng=1))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append(
            [
                name,
                str(count),
                str(len(messages)),
                f"{calibrated:.1f}",
                f"{len(messages) / encoded / 1e6:.1f}",
                f"{len(messages) / analyzed / 1e6:.1f}",
                f"{peak / 2**20:.0f}",
            ]
        )
    header = ["protocol", "users", "messages", "calibrated (s)", "encoded (M/s)", "analyzed (M/s)", "MiB"]
    print(table(header, rows))
