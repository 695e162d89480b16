"""The command on a source's numbers: its tables and figures, printed next to found."""

from __future__ import annotations

import argparse
from typing import Any

from mechdesign.cli.long_runs import run_many, run_options
from mechdesign.cli.options import FINE, MISMATCH, AddCommand, print_json
from mechdesign.core.errors import ParameterError

MOST_ROWS = 60
"""Rows that are printed; files have all."""


def add_commands(command: AddCommand) -> None:
    """Add this command to the parser."""
    summary = "print the numbers of a source's tables and figures next to the computed ones"
    command("table", _table, summary, _options)


def _options(table: argparse.ArgumentParser) -> None:
    table.add_argument("model", metavar="MODEL", help="a slug such as auction/setting_three, or a .toml file")
    table.add_argument("--json", action="store_true", help="print JSON")
    table.add_argument("-o", "--output", metavar="FILE", help=".csv, .parquet, .xlsx or .json")
    table.add_argument("--force", action="store_true", help="replace an existing file")
    run_options(table)


def _table(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_model, model_figures, sweep
    from mechdesign.core.text import counted, encode
    from mechdesign.data.formats import RESULTS, require_suffix
    from mechdesign.data.outputs import require_output
    from mechdesign.papers.claims import check_models
    from mechdesign.papers.claims.numbers import source_numbers
    from mechdesign.report.results import write_results

    model = load_model(options.model)
    if options.output:
        require_suffix(options.output, RESULTS)
        require_output(options.output, [model.slug], options.force)
    (check,) = run_many("models", options, check_models, [model])
    figures = []
    if model.figures:
        rows = run_many("points", options, sweep, model, None)
        figures = model_figures(model, rows, check.comparison.runs)
    columns = source_numbers(check, figures)
    if not columns:
        raise ParameterError(model.slug, "its source prints no numbers", f"see mechdesign show {model.slug}")
    count = len(next(iter(columns.values())))
    if options.output:
        write_results(options.output, {"numbers": columns})
    if options.json:
        names = list(columns)
        print_json(
            [dict(zip(names, encode(row), strict=True)) for row in zip(*columns.values(), strict=True)]
        )
    elif options.output:
        print(f"{options.output}: {counted(count, 'number')} of {model.slug}")
    else:
        print(f"{model.slug}: {model.title}\n{_text(columns, count)}")
    return FINE if all(result.as_expected for result in check.claims) else MISMATCH


def _text(columns: dict[str, list[Any]], count: int) -> str:
    from mechdesign.core.text import table

    rows = [
        [_cell(value) for value in row]
        for row in zip(*(values[:MOST_ROWS] for values in columns.values()), strict=True)
    ]
    more = f"\n... and {count - MOST_ROWS} more rows; -o FILE writes all" if count > MOST_ROWS else ""
    return f"{table(list(columns), rows)}{more}"


def _cell(value: Any) -> str:
    from mechdesign.core.certificate import format_figure

    if value is None:
        return "-"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return format_figure(value) if is_number else str(value)
