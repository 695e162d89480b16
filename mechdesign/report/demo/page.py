"""The page of the demonstration: both tables, then each problem with its pictures and its commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from mechdesign.catalog.load import load_model
from mechdesign.core.errors import printable
from mechdesign.report.demo.data import data_file
from mechdesign.report.demo.running import Demonstrated
from mechdesign.report.demo.table import DemoStep
from mechdesign.report.demo.text import (
    ESTIMATED,
    SOLVED,
    answer_row,
    failure_lines,
    operations_of,
    solved_row,
)
from mechdesign.report.page.mathematics import marked_up
from mechdesign.report.page.render import markup, rendered
from mechdesign.show.draw import svg


def demo_page(results: Sequence[Demonstrated], folder: str, version: str) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    results : sequence of Demonstrated
    folder : str
        What the folder is called in the commands.
    version : str
        Of the toolkit.

    Raises
    ------
    MissingPackageError
        Without jinja2, latex2mathml or matplotlib; ``mechdesign[report]`` has all of them.
    """
    return rendered(
        "demo.html",
        version=version,
        solved_header=SOLVED,
        solved=[solved_row(result) for result in results],
        failures=failure_lines(results),
        estimated_header=ESTIMATED,
        estimated=[[result.file, *answer_row(answer)] for result in results for answer in result.answers],
        operations=[text for result in results for text in operations_of(result)],
        entries=[_entry(result, folder) for result in results],
    )


def _entry(result: Demonstrated, folder: str) -> dict[str, Any]:
    model, mechanism = load_model(result.demonstration.model), result.mechanism
    return {
        "name": result.demonstration.name,
        "title": result.title,
        "summary": model.problem.summary,
        "statement": markup(marked_up(model.statement.strip())),
        "mechanism": "none" if mechanism is None else printable(repr(mechanism)),
        "methods": ", ".join(run.method for run in result.comparison.judged if run.claims_optimality),
        "certificates": [
            str(item).partition("; ")[0] for item in (() if mechanism is None else mechanism.certificates())
        ],
        "commands": commands(result, folder),
        "figures": [
            {"picture": markup(svg(figure)), "title": figure.title, "caption": figure.caption}
            for figure in result.figures
        ],
    }


def commands(result: Demonstrated, folder: str) -> list[str]:
    """Return the commands that do the same again, as a shell takes them."""
    mechanism = f"{folder}/{result.file}"
    found = [["solve", result.demonstration.model]]
    if result.mechanism is not None:
        found.append(["audit", mechanism])
    files = {step.operation: step.file for step in result.written}
    for step in result.demonstration.steps if result.mechanism is not None else ():
        source = f"{folder}/{files[step.table]}" if step.table in files else str(data_file(step.table))
        start = [step.operation] if step.operation in ("randomize", "estimate") else ["run"]
        named = [mechanism] if start != ["run"] else [mechanism, step.operation]
        output = ["-o", f"again_{files[step.operation]}"] if step.operation in files else []
        found.append([*start, *named, source, *_flags(step), *output])
    return [printable(shlex.join(["mechdesign", *words])) for words in found]


def _flags(step: DemoStep) -> list[str]:
    words = []
    for name, value in step.options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [
                f"--{name}",
                *([] if item is True else [f"again_{item}" if name == "state" else str(item)]),
            ]
    return words
