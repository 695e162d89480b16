"""The folder of the demonstration: mechanism files, tables, pictures, one page, and what was found.

The page of the demonstration: both tables, then each problem with its pictures and its commands.

What the demonstration prints and keeps: two tables, and the same as plain values.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mechdesign.core.errors import (
    DataError,
    MissingPackageError,
    ParameterError,
    counted,
    decimals_of,
    printable,
)
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.report.demo.running import Answered, Demonstrated, DemoStep, data_file
from mechdesign.report.page.mechanism import Draw, figure_values
from mechdesign.report.page.render import marked_up, markup, rendered, require_packages
from mechdesign.show.draw import Painter, save_svg, svg
from mechdesign.show.figure import Figure
from mechdesign.show.tables import table
from mechdesign.work.files import read_text, require_name


@dataclass(frozen=True)
class OpeningSurvey:
    """What the demonstration begins with: a survey of five questions, its page and its results.

    Attributes
    ----------
    title : str
    words : tuple of (question, result in words)
    figures : tuple of Figure
    files : tuple of str
        Of the survey, in the folder: its page and its results among them.
    pages : mapping
        What writes each page with pictures, by its file: a function of the version and of ``draw``.
    commands : tuple of str
        Which do it again, without the name of the program.
    """

    title: str
    words: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]
    files: tuple[str, ...]
    pages: Mapping[str, Callable[..., str]]
    commands: tuple[str, ...]


def program() -> str:
    """Return how the command is called from here: by its path where its environment is not active.

    Examples
    --------
    >>> program().endswith("mechdesign")
    True
    """
    home = Path(sys.prefix)
    script = home / ("Scripts" if os.name == "nt" else "bin") / "mechdesign"
    active = os.environ.get("VIRTUAL_ENV")
    if sys.prefix == sys.base_prefix or (active and Path(active) == home) or not script.exists():
        return "mechdesign"
    here = Path.cwd()
    return str(script.relative_to(here)) if script.is_relative_to(here) else str(script)


HEADING = "An optimal auction, and six design problems"
SOLVED = ("problem", "model", "analytic", "numeric", "bound", "agreement")
ESTIMATED = ("mechanism", "estimate of", "truth", "estimate", "std error")


def demo_text(results: Sequence[Demonstrated], survey: OpeningSurvey | None = None) -> str:
    """Return the survey in words, the table of the problems, that of the estimates, and other operations."""
    lines = [] if survey is None else [f"A survey of {len(survey.words)} questions, '{survey.title}':", ""]
    for question, text in survey.words if survey else ():
        lines += [f"  {printable(question)}", f"    {printable(text)}"]
    lines += [] if survey is None else [""]
    lines += [f"{HEADING}, solved analytically and numerically:", ""]
    lines += [table(SOLVED, [solved_row(result) for result in results]), *failure_lines(results), ""]
    lines += ["Each optimum as a mechanism, run on the synthetic data that ship with the package:", ""]
    rows = [[result.file, *answer_row(answer)] for result in results for answer in result.answers]
    lines += [table(ESTIMATED, rows), *(text for result in results for text in operations_of(result))]
    return "\n".join(lines)


def solved_row(result: Demonstrated) -> list[str]:
    """Return the row of a problem: the values of both kinds of methods, the bound, whether they agree."""
    optima = [run for run in result.comparison.judged if run.claims_optimality]
    agreement = f"{result.comparison.agreement} ({counted(len(optima), 'method')})"
    values = ["failed" if run is None else f"{run.value:.8g}" for run in (result.analytic, result.numeric)]
    demonstration = result.demonstration
    return [demonstration.name, demonstration.model, *values, f"{result.bound:.8g}", agreement]


def failure_lines(results: Sequence[Demonstrated]) -> list[str]:
    """Return a line for each method that failed, and for each kind of method without an optimum."""
    return [f"FAILED: {result.demonstration.name}: {text}" for result in results for text in result.failures]


def answer_row(answer: Answered) -> list[str]:
    """Return question, truth, estimate and standard error, to two digits of the standard error.

    Examples
    --------
    >>> from mechdesign.report.demo.running import DemoQuestion
    >>> answer_row(Answered(DemoQuestion("mean age", ("age",)), 46.62, 45.0932, 0.9991))
    ['mean age', '46.62', '45.09', '1.00']
    """
    digits = max(0, decimals_of(answer.standard_error) or 0)
    numbers = (answer.truth, answer.estimate, answer.standard_error)
    return [answer.question.text, *(f"{number:.{digits}f}" for number in numbers)]


def operations_of(result: Demonstrated) -> list[str]:
    """Return a line for each operation of a mechanism that estimates nothing: what it read and wrote."""
    if result.answers:
        return []
    return [
        f"{result.file}: {step.operation}: {counted(step.rows_read, 'row')} of {step.source} -> {step.file} "
        f"({counted(step.rows, 'row')})"
        for step in result.written
    ]


def demo_json(results: Sequence[Demonstrated]) -> list[dict[str, Any]]:
    """Return the demonstration as plain values, one object a problem."""
    return [_plain(result) for result in results]


def _plain_run(run: Solution | None) -> dict[str, Any] | None:
    return None if run is None else {"method": run.method, "value": run.value}


def _plain(result: Demonstrated) -> dict[str, Any]:
    plain = {
        "problem": result.demonstration.name,
        "model": result.demonstration.model,
        "analytic": _plain_run(result.analytic),
        "numeric": _plain_run(result.numeric),
        "bound": result.bound,
        "agree": result.comparison.agree,
        "failures": list(result.failures),
        "mechanism": result.file,
        "tables": [step.file for step in result.written],
        "estimates": [
            {
                "question": answer.question.text,
                "truth": answer.truth,
                "estimate": answer.estimate,
                "standard_error": answer.standard_error,
            }
            for answer in result.answers
        ],
    }
    values: dict[str, Any] = encode(plain)
    return values


def demo_page(
    results: Sequence[Demonstrated],
    folder: str,
    version: str,
    survey: OpeningSurvey | None = None,
    draw: Draw = svg,
) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    results : sequence of Demonstrated
    folder : str
        What the folder is called in the commands.
    version : str
        Of the toolkit.
    survey : OpeningSurvey, optional
        What the page begins with.
    draw : function
        Returns a figure as SVG text.

    Raises
    ------
    MissingPackageError
        Without jinja2, latex2mathml or matplotlib; ``mechdesign[report]`` has all of them.
    """
    return rendered(
        "demo.html",
        version=version,
        solved_header=SOLVED,
        solved=[solved_row(result) for result in results],  # computed while pictures are drawn
        survey=None if survey is None else _survey_entry(survey, draw),
        heading=HEADING,
        failures=failure_lines(results),
        estimated_header=ESTIMATED,
        estimated=[[result.file, *answer_row(answer)] for result in results for answer in result.answers],
        operations=[text for result in results for text in operations_of(result)],
        entries=[_entry(result, folder, draw) for result in results],
    )


def _survey_entry(survey: OpeningSurvey, draw: Draw) -> dict[str, Any]:
    return {
        "title": survey.title,
        "words": survey.words,
        "files": survey.files,
        "figures": figure_values(survey.figures, True, draw),
        "commands": [f"{program()} {words}" for words in survey.commands],
    }


def _entry(result: Demonstrated, folder: str, draw: Draw) -> dict[str, Any]:
    model, mechanism = result.model, result.mechanism
    return {
        "name": result.demonstration.name,
        "title": model.title,
        "summary": model.problem.summary,
        "statement": markup(marked_up(model.statement.strip())),
        "mechanism": "none" if mechanism is None else printable(repr(mechanism)),
        "methods": ", ".join(run.method for run in result.comparison.judged if run.claims_optimality),
        "certificates": [
            str(item).partition("; ")[0] for item in (() if mechanism is None else mechanism.certificates())
        ],
        "commands": commands(result, folder),
        "figures": figure_values(result.figures, draw=draw),
    }


def commands(result: Demonstrated, folder: str) -> list[str]:
    """Return the commands that do the same again, as a shell takes them."""
    mechanism = f"{folder}/{result.file}"
    lines = [["solve", result.demonstration.model]]
    if result.mechanism is not None:
        lines.append(["audit", mechanism])
    files = {step.operation: step.file for step in result.written}
    for step in result.demonstration.steps if result.mechanism is not None else ():
        source = f"{folder}/{files[step.table]}" if step.table in files else str(data_file(step.table))
        start = [step.operation] if step.operation in ("randomize", "estimate") else ["run"]
        named = [mechanism] if start != ["run"] else [mechanism, step.operation]
        output = ["-o", f"again_{files[step.operation]}"] if step.operation in files else []
        lines.append([*start, *named, source, *_flags(step), *output])
    return [printable(shlex.join([program(), *words])) for words in lines]


def _flags(step: DemoStep) -> list[str]:
    words = []
    for name, value in step.options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [
                f"--{name}",
                *([] if item is True else [f"again_{item}" if name == "state" else str(item)]),
            ]
    return words


FORMAT = "mechdesign-demo"
SUMMARY, PAGE = "demo.json", "index.html"
MOST = 1 << 20
"""Bytes of a summary that are read, to see whether a folder is one of ours."""


def require_demo_folder(folder: str) -> None:
    """Raise ParameterError where the folder is a file, or holds anything but an earlier demonstration."""
    require_name(folder, ParameterError)
    path = Path(folder)
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"-o {folder}", "its parent folder does not exist", "choose another path")
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise ParameterError(f"-o {folder}", "is a file, not a folder", "choose another path")
    if any(path.iterdir()) and not _is_ours(path):
        raise ParameterError(
            f"-o {folder}", "folder exists and is not an earlier demonstration", "choose another path"
        )


def _is_ours(path: Path) -> bool:
    try:
        content: Any = json.loads(read_text(path / SUMMARY, MOST, DataError))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def finish(
    results: Sequence[Demonstrated],
    folder: Path,
    name: str,
    version: str,
    survey: OpeningSurvey | None = None,
    painter: Painter | None = None,
) -> list[str]:
    """Write pictures, page and summary next to the files of the results; return what is in the folder.

    Pictures and page need ``mechdesign[report]``; without it they are left out.

    Parameters
    ----------
    results : sequence of Demonstrated
    folder : Path
        Where the files are written.
    name : str
        What the folder is called in the commands of the page.
    version : str
        Of the toolkit.
    survey : OpeningSurvey, optional
        Whose files are in the folder already, but for its pages with pictures.
    painter : Painter, optional
        Who has begun the pictures.
    """
    draws = can_draw()
    if draws:
        draw = (painter or Painter(1)).svg
        (folder / PAGE).write_text(demo_page(results, name, version, survey, draw), encoding="utf-8")
        for file, page in survey.pages.items() if survey else ():
            (folder / file).write_text(page(version=version, draw=draw), encoding="utf-8")
        for result in results:
            for number, figure in enumerate(result.figures, 1):
                save_svg(draw(figure, False), folder / f"{Path(result.file).stem}-{number}.svg")
    summary = {"format": FORMAT, "version": version, "problems": demo_json(results)}
    (folder / SUMMARY).write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    tables = sum(len(result.written) for result in results)
    files = sum(result.mechanism is not None for result in results)
    pictures = sum(len(result.figures) for result in results)
    contents = [] if survey is None else [counted(len(survey.files), "file") + " of the survey"]
    contents += [counted(files, "mechanism file"), counted(tables, "table")]
    return [*contents, *([counted(pictures, "picture"), PAGE] if draws else []), SUMMARY]


def can_draw() -> bool:
    """Whether the packages for pictures and pages are installed."""
    try:
        require_packages()
    except MissingPackageError:
        return False
    return True
