"""Count simulated reports in many files: one process, and processes of a Dask cluster on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from mechdesign.primitives import KaryResponse
from mechdesign.show.tables import table

TITLE = "Many files: count reports, one process and a Dask cluster on this machine"

NAMES = ["well", "short", "restless", "badly"]
ROWS = 10_000_000
PARTS = [0.4, 0.3, 0.2, 0.1]


def run(quick: bool) -> None:
    """Print reports a second of one process and of several, and whether the count files are the same."""
    files = 2 if quick else 10
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), files)
        print(f"{files} Parquet files of {ROWS} reports of 4 answers; start of Python and cluster included")
        rows, alone = [], b""
        for workers in (0, *sorted({1, 2, os.cpu_count() or 1})):
            seconds = _count(folder, workers)
            written = (Path(folder) / "counts.json").read_bytes()
            alone = alone or written
            name = f"Dask, {workers} processes" if workers else "one process"
            same = "yes" if written == alone else "NO"
            rows.append([name, f"{seconds:.1f}", f"{files * ROWS / seconds / 1e6:.1f}", same])
        print(table(["who", "seconds", "million reports/s", "same file"], rows))


def _write(folder: Path, files: int) -> None:
    """Write files of reports as randomize would: their law does not matter here."""
    mechanism = KaryResponse.of(4, epsilon=1.5, labels=NAMES)
    mechanism.save(folder / "m.json")
    (folder / "reports").mkdir()
    column = f"sleep__m{mechanism.survey_digest[:12]}"
    for number in range(files):
        codes = np.random.default_rng(number).choice(4, size=ROWS, p=PARTS).astype(np.int8)
        reports = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes), pyarrow.array(NAMES))
        place = folder / "reports" / f"{number:03d}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({column: reports}), place, row_group_size=1 << 20)


def _count(folder: str, workers: int) -> float:
    words = ["count", "m.json", "reports", "-o", "counts.json", "--force"]
    words += ["--dask", "local"] if workers else []
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "mechdesign", *words],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "MECHDESIGN_JOBS": str(max(1, workers))},
    )
    return time.perf_counter() - start
