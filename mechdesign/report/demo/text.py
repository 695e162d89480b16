"""What the demonstration prints and keeps: two tables, and the same as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mechdesign.core.solution import Solution
from mechdesign.core.text import counted, encode, table
from mechdesign.exact.texts import decimals_of
from mechdesign.report.demo.running import Answered, Demonstrated

SOLVED = ("problem", "model", "analytic", "numeric", "bound", "agreement")
ESTIMATED = ("mechanism", "estimate of", "truth", "estimate", "std error")


def demo_text(results: Sequence[Demonstrated]) -> str:
    """Return the table of the problems, the table of the estimates, and a line for each other operation."""
    lines = ["Six design problems, each solved analytically and numerically, with a proven bound:", ""]
    lines += [table(SOLVED, [solved_row(result) for result in results]), *failure_lines(results), ""]
    lines += ["Each optimum as a mechanism, run on the synthetic data that ship with the package:", ""]
    rows = [[result.file, *answer_row(answer)] for result in results for answer in result.answers]
    lines += [table(ESTIMATED, rows), *(text for result in results for text in operations_of(result))]
    return "\n".join(lines)


def solved_row(result: Demonstrated) -> list[str]:
    """Return the row of a problem: the values of both kinds of methods, the bound, whether they agree."""
    found = [run for run in result.comparison.judged if run.claims_optimality]
    agreement = f"{result.comparison.agreement} ({counted(len(found), 'method')})"
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
    >>> from mechdesign.report.demo.table import DemoQuestion
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
    found: dict[str, Any] = encode(plain)
    return found
