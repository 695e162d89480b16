"""Files and starting up, as whole processes: the command line beside scripts for polars and duckdb."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from benchmarks.measure import processor_seconds

NAMES = ["no", "once", "often", "never say"]

POLARS = """
import polars as pl, numpy as np
frame = pl.read_csv({data!r}, columns=["answer"])
names = np.array({names!r})
codes = frame["answer"].cast(pl.Enum({names!r})).to_physical().to_numpy()
random = np.random.default_rng()
drawn = np.where(random.random(len(codes)) < 0.5, codes, random.integers(0, 4, len(codes)))
pl.DataFrame({{"report": pl.Series({names!r}).gather(drawn)}}).write_csv({out!r})
"""

DUCKDB = """
import duckdb
link = duckdb.connect()
link.sql("set threads = 1")
link.sql(\"\"\"copy (select case when random() < 0.5 then answer
    else ['no', 'once', 'often', 'never say'][1 + cast(floor(4 * random()) as int)] end as report
    from read_csv('{data}')) to '{out}' (header)\"\"\")
"""

COUNT_POLARS = "import polars as pl; print(pl.read_csv({data!r}).to_series().value_counts())"
COUNT_DUCKDB = (
    "import duckdb; link = duckdb.connect(); link.sql('set threads = 1');"
    " print(link.sql(\"select report, count(*) from read_csv('{data}') group by 1\").fetchall())"
)


def file_rows(rows: int, repeats: int) -> list[list[str]]:
    """Return the rows of the table for CSV files of this many rows, and for starting up."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        mechanism, data, reports = place / "survey.json", place / "data.csv", place / "reports.csv"
        problem = md.RandomizedResponse(prior=[0.25] * 4, epsilon=1.0, labels=NAMES)
        md.solve(problem).mechanism().save(mechanism)
        drawn = np.random.default_rng(1).integers(0, 4, rows)
        text = "\n".join(np.array([f"{name},x" for name in NAMES], dtype=object)[drawn].tolist())
        data.write_text(f"answer,other\n{text}\n", encoding="utf-8")
        ours = [sys.executable, "-m", "mechdesign"]
        numpy = processor_seconds([sys.executable, "-c", "import numpy"], 2 * repeats)
        randomize = [*ours, "randomize", mechanism, data, "--column", "answer", "-o", reports, "--force"]
        found = [_row("randomize CSV", rows, [*map(str, randomize)], (POLARS, DUCKDB), data, repeats)]
        estimate = [*ours, "estimate", str(mechanism), str(reports)]
        peer = place / "peer.csv"
        _script(POLARS, data, peer, 1)
        rival = place / "rival.csv"
        rival.write_text(peer.read_text(encoding="utf-8"), encoding="utf-8")
        found.append(_row("estimate CSV", rows, estimate, (COUNT_POLARS, COUNT_DUCKDB), rival, repeats))
        build = [*ours, "build", "response/zhou2019_survey", "-o", str(place / "m.json"), "--force"]
        for name, command in (("list", [*ours, "list"]), ("build", build)):
            here = processor_seconds(command, 2 * repeats)
            figures = ["-", "-", "-", "-", f"import numpy {numpy:.3f}", f"{here / numpy:.2g}"]
            found.append([f"mechdesign {name}", "", f"{here:.3f}", *figures[1:]])
        return found


def _row(
    name: str, rows: int, command: list[str], scripts: tuple[str, str], data: Path, repeats: int
) -> list[str]:
    here = processor_seconds(command, repeats)
    peers = {
        library: _script(script, data, data.with_name("made.csv"), repeats)
        for library, script in zip(("polars", "duckdb"), scripts, strict=True)
        if importlib.util.find_spec(library)
    }
    best = min(peers, key=lambda library: peers[library], default="")
    shown = [f"{best} {peers[best]:.3g}", f"{peers[best] / here:.2g}"] if best else ["-", "-"]
    return [name, f"{rows:,} rows", f"{here:.3f}", "-", "-", *shown, "-", "-"]


def _script(script: str, data: Path, out: Path, repeats: int) -> float:
    code = script.format(data=str(data), out=str(out), names=NAMES)
    return processor_seconds([sys.executable, "-c", code], repeats)
