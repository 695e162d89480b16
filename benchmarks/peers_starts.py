"""Starting up: the processor time of whole commands on little data, over that of ``import numpy`` alone.

The demonstration works with two processes: its row is the time of the clock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from benchmarks.measure import least_seconds, processor_seconds
from mechdesign.cli import main

OURS = [sys.executable, "-m", "mechdesign"]

ORACLE = """
[model]
title = "four answers"
problem = "frequency-oracle"
source = { note = "a benchmark" }

[parameters]
categories = 4
labels = ["a", "b", "c", "d"]
epsilon = 1.0
"""

CHOOSE = "choose --attributes 2 --users 10000 --epsilon 1"
COMMANDS = {
    "--help": ("--help", 0.6),
    "list": ("list", 1.6),
    "build an oracle": ("build oracle.toml -o again.json --force", 1.6),
    "randomize": ("randomize oracle.json answers.csv -o again.csv --force", 1.6),
    "estimate": ("estimate oracle.json reports.csv", 1.6),
    "count": ("count oracle.json reports.csv -o counts.json --force", 1.6),
    "audit": ("audit oracle.json", 1.6),
    "export": ("export oracle.json --to js -o client.mjs --force", 1.6),
    "show a model": ("show response/zhou2019_survey", 1.6),
    "show a problem": ("show frequency-oracle", 1.6),
    "init": ("init --example staff -o again.toml --force", 1.6),
    "choose": (CHOOSE, 1.6),
    "tradeoff": ("tradeoff oracle.toml", 1.6),
    "build a survey": ("build staff.toml -o staff.json --force", 2.2),
    "findings, first": ("findings", 2.5),
    "sources, first": ("sources", 2.5),
    "findings, again": ("findings", 2.5),
    "sources, again": ("sources", 2.5),
}
"""Each command, and the most times the time of ``import numpy`` that it is to take.

The lists of findings and sources are remembered by the contents of the model files. Their first run makes
them, from what the package has recorded of these files.
"""

DEMO_GOAL = 23.0
"""The demonstration by the clock, over ``import numpy``: half of what it took before pictures were drawn by a
second process, 46 times."""

FORGETFUL = ["env", "MECHDESIGN_CACHE=off"]
"""What stands before a command whose first run is measured: nothing is remembered."""

PREPARED = (
    "build oracle.toml -o oracle.json",
    "init --example staff -o staff.toml",
    "randomize oracle.json answers.csv -o reports.csv",
)


def start_rows(place: Path, repeats: int) -> Iterator[list[str]]:
    """Yield a row for each command, run in turn with ``import numpy`` in a folder of its own."""
    (place / "oracle.toml").write_text(ORACLE, encoding="utf-8")
    (place / "answers.csv").write_text("answer\n" + "a\nb\nc\nd\n" * 25, encoding="utf-8")
    with chdir(place), open(os.devnull, "w", encoding="utf-8") as nowhere:
        before, sys.stdout = sys.stdout, nowhere
        try:
            for words in PREPARED:
                if main(words.split()):
                    raise RuntimeError(f"failed: mechdesign {words}")
        finally:
            sys.stdout = before
        commands = [
            [*(FORGETFUL if name.endswith("first") else []), *OURS, *words.split()]
            for name, (words, _) in COMMANDS.items()
        ]
        imported = [sys.executable, "-c", "import numpy"]
        numpy, *found = processor_seconds([imported, *commands], repeats)
        (_, clock), (_, demo) = least_seconds([imported, [*OURS, "demo"]], repeats)
    for (name, (_, goal)), here in zip(COMMANDS.items(), found, strict=True):
        yield _start_row(name, here, numpy, goal)
    yield _start_row("demo, by the clock", demo, clock, DEMO_GOAL)


def _start_row(name: str, here: float, numpy: float, goal: float) -> list[str]:
    ratio = here / numpy
    verdict = f"at most {goal:g}" + ("" if ratio <= goal else ": behind")
    figures = ["-", "-", "-", "-", f"import numpy {numpy:.3f}", f"{ratio:.2f}", verdict]
    return [f"start: {name}", "", f"{here:.3f}", *figures]
