"""Files, as whole processes: the command line next to scripts for polars and duckdb; and starting up."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mechdesign as md
from benchmarks.measure import processor_seconds
from benchmarks.peers_starts import OURS, start_rows
from mechdesign.data.writing import write_blocks

NAMES = ["no", "once", "often", "never say"]

POLARS = """
import polars as pl, numpy as np
frame = pl.{read}
codes = frame["answer"].cast(pl.Enum({names!r})).to_physical().to_numpy()
random = np.random.default_rng()
drawn = np.where(random.random(len(codes)) < 0.5, codes, random.integers(0, 4, len(codes)))
pl.DataFrame({{"report": pl.Series({names!r}).gather(drawn)}}).{write}({out!r})
"""

DUCKDB = """
import duckdb
link = duckdb.connect()
link.sql("set threads = 1")
link.sql(\"\"\"copy (select case when random() < 0.5 then answer
    else ['no', 'once', 'often', 'never say'][1 + cast(floor(4 * random()) as int)] end as report
    from read_{kind}('{data}')) to '{out}' (format {kind})\"\"\")
"""

COUNT_POLARS = "import polars as pl; print(pl.{whole}({data!r}).to_series().value_counts())"
COUNT_DUCKDB = (
    "import duckdb; link = duckdb.connect(); link.sql('set threads = 1');"
    " print(link.sql(\"select *, count(*) from read_{kind}('{data}') group by all\").fetchall())"
)


def file_rows(rows: int, repeats: int) -> Iterator[list[str]]:
    """Yield the rows of the table for CSV and Parquet files of this many rows, and for starting up."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        yield from start_rows(place, 3 * repeats)
        problem = md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.0, labels=NAMES)
        md.solve(problem).mechanism().save(place / "survey.json")
        drawn = np.random.default_rng(1).integers(0, 4, rows)
        columns = {"answer": np.array(NAMES, dtype=object)[drawn], "other": np.full(rows, "x", dtype=object)}
        for kind in ("csv", "parquet"):
            if kind == "parquet" and not importlib.util.find_spec("pyarrow"):
                yield ["files in parquet", f"{rows:,} rows", *["-"] * 7, "pyarrow: not installed"]
                continue
            write_blocks(str(place / f"data.{kind}"), [columns])
            yield from _kind_rows(kind, place, rows, repeats)
        write_lines(place / "data.jsonl", columns)
        yield from _kind_rows("jsonl", place, rows, repeats)
        yield from _survey_rows(place, rows, repeats)
        yield from _ledger_rows(place, repeats)


def write_lines(path: Path, columns: dict[str, Any]) -> None:
    """Write a table as JSON lines."""
    with path.open("w", encoding="utf-8") as stream:
        for row in zip(*columns.values(), strict=True):
            stream.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")


SURVEY = """
[survey]
title = "five questions"
epsilon = 4.0
users = 1000000
[[questions]]
name = "department"
labels = ["nursing", "doctors", "administration"]
[[questions]]
name = "recommend"
labels = ["no", "yes"]
[[questions]]
name = "satisfaction"
kind = "ordered"
labels = ["1", "2", "3", "4", "5"]
[[questions]]
name = "age"
range = [18, 70]
bins = [18, 30, 45, 60, 70]
[[questions]]
name = "overtime"
range = [0, 60]
"""

WITHOUT = "import sys; sys.modules['pyarrow'] = None; from mechdesign.cli import main; main(sys.argv[1:])"
"""Runs a command as where pyarrow is not installed."""

COPY = "copy (select * from read_csv('{data}')) to '{out}' (format csv)"


def _survey_rows(place: Path, rows: int, repeats: int) -> Iterator[list[str]]:
    """Yield randomizing five questions, with pyarrow and without, next to duckdb copying the same file."""
    rng, data = np.random.default_rng(2), place / "five.csv"
    words = {"department": ["nursing", "doctors", "administration"], "recommend": ["no", "yes"]}
    columns: dict[str, Any] = {
        name: np.array(labels, dtype=object)[rng.integers(0, len(labels), rows)]
        for name, labels in words.items()
    }
    columns |= {"satisfaction": rng.integers(1, 6, rows), "age": rng.integers(18, 70, rows)}
    write_blocks(str(data), [{**columns, "overtime": np.round(rng.uniform(0.0, 60.0, rows), 3)}])
    (place / "five.toml").write_text(SURVEY, encoding="utf-8")
    mechanism = str(place / "five.json")
    md.solve(md.load_model(str(place / "five.toml")).problem).mechanism().save(mechanism)
    given = ["randomize", mechanism, str(data), "-o", str(place / "survey.csv"), "--force"]
    commands = [[*OURS, *given], [sys.executable, "-c", WITHOUT, *given]]
    if importlib.util.find_spec("duckdb"):
        statement = COPY.format(data=data, out=place / "copy.csv")
        script = (
            f"import duckdb; link = duckdb.connect(); link.sql('set threads = 1'); link.sql({statement!r})"
        )
        commands.append([sys.executable, "-c", script])
    with_arrow, without, *copy = processor_seconds(commands, repeats)
    for name, here in (("with pyarrow", with_arrow), ("without pyarrow", without)):
        shown = ["duckdb: not installed", "-"]
        if copy:
            shown = [f"duckdb copy {copy[0]:.3g}", f"{copy[0] / here:.2g}"]
        goal = goal_of(copy[0] / here if copy else None)
        yield [
            f"randomize a survey, {name}",
            f"{rows:,} rows",
            f"{here:.3f}",
            "-",
            "-",
            *shown,
            "-",
            "-",
            goal,
        ]


def _ledger_rows(place: Path, repeats: int) -> Iterator[list[str]]:
    """Yield entering collections of a table, for which time has to grow as their number does."""
    counts, commands = (1_000, 10_000), []
    for count in counts:
        rows = "\n".join(f"{place / 'survey.json'},group {number % 50}" for number in range(count))
        (place / f"entries{count}.csv").write_text(f"mechanism,group\n{rows}\n", encoding="utf-8")
        ledger = str(place / f"ledger{count}.json")
        script = (
            "import os, sys\nfrom mechdesign.cli import main\n"
            f"os.path.exists({ledger!r}) and os.remove({ledger!r})\n"
            f"main(['ledger', 'open', {ledger!r}, '--survey', 's', '--epsilon', '100000'])\n"
            f"sys.exit(main(['ledger', 'enter', {ledger!r}, {str(place / f'entries{count}.csv')!r}]))"
        )
        commands.append([sys.executable, "-c", script])
    few, many = processor_seconds(commands, repeats)
    goal = "at most 10 times" + (": behind" if many > 10.0 * few else "")
    figures = ["-", "-", f"{counts[0]:,} in {few:.3f}", f"{few / many:.2g}", "-", "-", goal]
    yield ["ledger enter", f"{counts[1]:,} collections", f"{many:.3f}", *figures]


def goal_of(ratio: float | None) -> str:
    """Return that a peer is to be met, and whether it is: within 5 percent, what a busy machine leaves."""
    return "-" if ratio is None else "1" if ratio >= 0.95 else "1: behind"


def _kind_rows(kind: str, place: Path, rows: int, repeats: int) -> Iterator[list[str]]:
    mechanism, data = place / "survey.json", place / f"data.{kind}"
    reports = place / f"reports.{'csv' if kind == 'jsonl' else kind}"
    peer = str(place / f"peer.{kind}")
    given = [str(mechanism), str(data), "--column", "answer", "-o", str(reports), "--force"]
    scripts = {"polars": POLARS, "duckdb": DUCKDB}
    yield _row(f"randomize {kind}", rows, [*OURS, "randomize", *given], scripts, str(data), peer, repeats)
    if kind == "jsonl":  # reports are written as CSV
        name, *lines = reports.read_text(encoding="utf-8").splitlines()
        reports = place / "reports.jsonl"
        write_lines(reports, {name: lines})
    scripts = {"polars": COUNT_POLARS, "duckdb": COUNT_DUCKDB}
    given = [str(mechanism), str(reports)]
    # All count the same file: the name of the column is in every JSON line, and peers write a shorter one.
    yield _row(f"estimate {kind}", rows, [*OURS, "estimate", *given], scripts, str(reports), "", repeats)


def _row(
    name: str, rows: int, command: list[str], scripts: dict[str, str], data: str, out: str, repeats: int
) -> list[str]:
    kind = {"jsonl": "json"}.get(data.rpartition(".")[2], data.rpartition(".")[2])
    read = f"read_ndjson({data!r})" if kind == "json" else f"read_{kind}({data!r}, columns=['answer'])"
    word = "ndjson" if kind == "json" else kind
    forms = {"read": read, "whole": f"read_{word}", "write": f"write_{word}"}
    peers = {
        library: [sys.executable, "-c", script.format(kind=kind, **forms, data=data, out=out, names=NAMES)]
        for library, script in scripts.items()
        if importlib.util.find_spec(library)
    }
    failing = [
        library for library, line in peers.items() if subprocess.run(line, capture_output=True).returncode
    ]
    peers = {library: line for library, line in peers.items() if library not in failing}
    here, *seconds = processor_seconds([command, *peers.values()], repeats)
    best = min(zip(seconds, peers, strict=True), default=None)
    words = [] if best is None else [f"{best[1]} {best[0]:.3g}"]
    words += [f"{library}: ends with an error" for library in failing]
    words += [f"{library}: not installed" for library in scripts if not importlib.util.find_spec(library)]
    ratio = None if best is None else best[0] / here
    shown = ["; ".join(words), "-" if ratio is None else f"{ratio:.2g}"]
    return [name, f"{rows:,} rows", f"{here:.3f}", "-", "-", *shown, "-", "-", goal_of(ratio)]
