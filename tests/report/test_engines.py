"""The programs of the how-to about many files, with engines that are not needed for anything else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.primitives import KaryResponse
from tests.support.whole_tables import write_columns

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "many_files.md"
PROGRAM = re.compile(r"```py\n(.*?)```", re.DOTALL)


def program(package: str) -> str:
    """Return the program of the page that imports a package."""
    (found,) = (text for text in PROGRAM.findall(PAGE.read_text(encoding="utf-8")) if f"{package}" in text)
    return str(found)


@pytest.mark.parametrize(
    ("package", "word"), [("pyspark", "pyspark"), ("duckdb", "duckdb"), ("dask", "dask.data")]
)
def test_an_engine_counts_what_estimate_counts(package, word, tmp_path, monkeypatch, capsys):
    pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    names = ["well", "short", "restless", "badly"]
    KaryResponse.of(4, epsilon=1.5, labels=names).save("sleep.json")
    mechanism = load_mechanism("sleep.json")
    for number, day in enumerate(("mon", "tue")):
        os.makedirs(f"reports/{day}")
        reports = mechanism.randomize([names[place % 3] for place in range(500 + number)], rng=number)
        column = f"sleep__m{mechanism.fingerprint[:12]}"
        write_columns(f"reports/{day}/r.csv", {column: reports})
        if package == "dask":
            write_columns(f"reports/{day}.parquet", {column: reports})
    files = ["reports/mon.parquet", "reports/tue.parquet"] if package == "dask" else ["reports"]
    assert main(["estimate", "sleep.json", *files]) == 0
    expected = capsys.readouterr().out
    text = program(word)
    text = text if "import mechdesign" in text else f"import mechdesign as md\n{text}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.stdout == expected, done.stderr
