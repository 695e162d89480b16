"""Time and memory of ``randomize`` and ``estimate`` on files larger than the memory they may take."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from pathlib import Path

import numpy as np

import mechdesign as md
from benchmarks.measure import MIB, shown_mib, shown_seconds, weighed
from mechdesign.families.mean import DiscretePiecewise
from mechdesign.show.tables import table

TITLE = "Files in blocks: randomize and estimate"
ROWS, QUICK_ROWS = 100_000_000, 2_000_000
LIMIT = 500 * MIB
"""What one command may hold, whatever the size of the file."""


def run(quick: bool) -> None:
    """Print seconds, rows a second and peak memory for CSV and Parquet, categories and numbers."""
    rows = QUICK_ROWS if quick else ROWS
    header = ["data", "file", "command", "rows", "seconds", "M rows/s", "peak MiB", "below 500 MiB"]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_mechanisms(place)
        write_data(place, rows)
        for name, column in (("survey", "answer"), ("age", "age")):
            for suffix in (".csv", ".parquet"):
                data, reports = place / f"data{suffix}", place / f"reports_{name}{suffix}"
                mechanism = str(place / f"{name}.json")
                commands = {
                    "randomize": ["randomize", mechanism, str(data), "--column", column, "-o", str(reports)],
                    "estimate": ["estimate", mechanism, str(reports)],
                }
                for command, arguments in commands.items():
                    seconds, peak = weighed(3600.0, command_line, arguments)
                    figures = [shown_seconds(seconds), f"{rows / seconds / 1e6:.1f}", shown_mib(peak)]
                    verdict = "yes" if peak < LIMIT else "NO"
                    lines.append([name, suffix, command, f"{rows:,}", *figures, verdict])
                reports.unlink()
    print(table(header, lines), flush=True)


def command_line(arguments: list[str]) -> float:
    """Run one command in this process, and return the seconds it took."""
    from mechdesign.cli import main

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        if main(arguments) != 0:
            raise RuntimeError(f"{arguments[0]} failed")
    return time.perf_counter() - start


def write_mechanisms(folder: Path) -> None:
    """Write a mechanism for three answers and one for ages."""
    survey = md.RandomizedResponse(prior=[1 / 3] * 3, epsilon=2.0, labels=["no", "once", "often"])
    md.solve(survey).mechanism().save(folder / "survey.json")
    DiscretePiecewise(2.0, 0.0, 120.0).save(folder / "age.json")


def write_data(folder: Path, rows: int) -> None:
    """Write the same answers and ages as CSV and as Parquet, a million rows at a time."""
    import pyarrow
    import pyarrow.parquet

    random, words = np.random.default_rng(1), np.array(["no", "once", "often"])
    lines = np.array([f"{word},{age}\n" for word in words for age in range(120)], dtype=object)
    writer = None
    with (folder / "data.csv").open("w", encoding="utf-8") as stream:
        stream.write("answer,age\n")
        for start in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - start)
            answers, ages = random.integers(0, 3, count), random.integers(0, 120, count)
            stream.write("".join(lines[answers * 120 + ages].tolist()))
            part = pyarrow.table({"answer": words[answers], "age": ages})
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(folder / "data.parquet", part.schema)
            writer.write_table(part)
    if writer is not None:
        writer.close()
