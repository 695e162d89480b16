"""Files and starting up, as whole processes: the command line next to scripts for polars and duckdb."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mechdesign as md
from benchmarks.measure import processor_seconds
from mechdesign.data.writing import write_blocks

NAMES = ["no", "once", "often", "never say"]

POLARS = """
import polars as pl, numpy as np
frame = pl.read_{kind}({data!r}, columns=["answer"])
codes = frame["answer"].cast(pl.Enum({names!r})).to_physical().to_numpy()
random = np.random.default_rng()
drawn = np.where(random.random(len(codes)) < 0.5, codes, random.integers(0, 4, len(codes)))
pl.DataFrame({{"report": pl.Series({names!r}).gather(drawn)}}).write_{kind}({out!r})
"""

DUCKDB = """
import duckdb
link = duckdb.connect()
link.sql("set threads = 1")
link.sql(\"\"\"copy (select case when random() < 0.5 then answer
    else ['no', 'once', 'often', 'never say'][1 + cast(floor(4 * random()) as int)] end as report
    from read_{kind}('{data}')) to '{out}' (format {kind})\"\"\")
"""

COUNT_POLARS = "import polars as pl; print(pl.read_{kind}({data!r}).to_series().value_counts())"
COUNT_DUCKDB = (
    "import duckdb; link = duckdb.connect(); link.sql('set threads = 1');"
    " print(link.sql(\"select report, count(*) from read_{kind}('{data}') group by 1\").fetchall())"
)

OURS = [sys.executable, "-m", "mechdesign"]


def file_rows(rows: int, repeats: int) -> Iterator[list[str]]:
    """Yield the rows of the table for CSV and Parquet files of this many rows, and for starting up."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        problem = md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.0, labels=NAMES)
        md.solve(problem).mechanism().save(place / "survey.json")
        drawn = np.random.default_rng(1).integers(0, 4, rows)
        columns = {"answer": np.array(NAMES, dtype=object)[drawn], "other": np.full(rows, "x", dtype=object)}
        for kind in ("csv", "parquet") if importlib.util.find_spec("pyarrow") else ("csv",):
            write_blocks(str(place / f"data.{kind}"), [columns])
            yield from _kind_rows(kind, place, rows, repeats)
        yield from _start_rows(place, repeats)


def _kind_rows(kind: str, place: Path, rows: int, repeats: int) -> Iterator[list[str]]:
    mechanism, data, reports = place / "survey.json", place / f"data.{kind}", place / f"reports.{kind}"
    peer = str(place / f"peer.{kind}")
    given = [str(mechanism), str(data), "--column", "answer", "-o", str(reports), "--force"]
    scripts = {"polars": POLARS, "duckdb": DUCKDB}
    yield _row(f"randomize {kind}", rows, [*OURS, "randomize", *given], scripts, str(data), peer, repeats)
    scripts = {"polars": COUNT_POLARS, "duckdb": COUNT_DUCKDB}
    given = [str(mechanism), str(reports)]
    yield _row(f"estimate {kind}", rows, [*OURS, "estimate", *given], scripts, peer, "", repeats)


def _start_rows(place: Path, repeats: int) -> Iterator[list[str]]:
    build = ["build", "response/zhou2019_survey", "-o", str(place / "m.json"), "--force"]
    commands = [[sys.executable, "-c", "import numpy"], [*OURS, "list"], [*OURS, *build]]
    numpy, *found = processor_seconds(commands, 2 * repeats)
    for name, here in zip(("list", "build"), found, strict=True):
        figures = ["-", "-", "-", "-", f"import numpy {numpy:.3f}", f"{here / numpy:.2g}"]
        yield [f"mechdesign {name}", "", f"{here:.3f}", *figures]


def _row(
    name: str, rows: int, command: list[str], scripts: dict[str, str], data: str, out: str, repeats: int
) -> list[str]:
    kind = data.rpartition(".")[2]
    peers = {
        library: [sys.executable, "-c", script.format(kind=kind, data=data, out=out, names=NAMES)]
        for library, script in scripts.items()
        if importlib.util.find_spec(library)
    }
    here, *seconds = processor_seconds([command, *peers.values()], repeats)
    best = min(zip(seconds, peers, strict=True), default=None)
    shown = ["-", "-"] if best is None else [f"{best[1]} {best[0]:.3g}", f"{best[0] / here:.2g}"]
    return [name, f"{rows:,} rows", f"{here:.3f}", "-", "-", *shown, "-", "-"]
