"""Commands after collection: ``scores``, ``regress``, and groups and weights of ``estimate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mechdesign.cli.parser import FINE, AddCommand, FigureOutput, figure_option, identical_option, print_json
from mechdesign.core.errors import ParameterError

if TYPE_CHECKING:
    from mechdesign.analysis.asking import ReportTable
    from mechdesign.data.intake import Block

REPORT_TABLE = "reports with public columns beside them, CSV or Parquet: a file, a folder or a pattern"


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command(
        "scores", _scores, "write what each report stands for, for other statistics programs", _scores_options
    )
    command("regress", _regress, "explain a private answer by public columns", _regress_options)
    command("test", _test, "test whether an answer depends on a public group, or has changed", _test_options)


def _table_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    added.add_argument("reports", metavar="REPORTS", help=REPORT_TABLE)
    added.add_argument("--unmarked", action="store_true", help="the column of reports carries no digest")
    added.add_argument(
        "--missing",
        choices=("refuse", "drop"),
        default="refuse",
        help="rows without a value: refuse (default)",
    )
    identical_option(added)


def _output_options(added: argparse.ArgumentParser, required: bool = False) -> None:
    added.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=required,
        help="CSV, Parquet or XLSX" if not required else "CSV or Parquet",
    )
    added.add_argument("--force", action="store_true", help="replace an existing file")


def _scores_options(scores: argparse.ArgumentParser) -> None:
    _table_options(scores)
    scores.add_argument("--question", metavar="NAME", help="one question of a survey (default: all)")
    scores.add_argument(
        "--category",
        metavar="NAME",
        action="append",
        help="scores of this category alone, where there are many (repeatable)",
    )
    _output_options(scores, required=True)


def _regress_options(regress: argparse.ArgumentParser) -> None:
    _table_options(regress)
    regress.add_argument("formula", metavar="FORMULA", help="such as 'smokes ~ age + C(department)'")
    regress.add_argument(
        "--model", choices=("linear", "logit", "multinomial"), help="(default: what fits the answer)"
    )
    regress.add_argument("--category", metavar="NAME", help="linear: of which answer the share is explained")
    regress.add_argument("--weights", metavar="COLUMN", help="public column of weights")
    regress.add_argument(
        "--cluster", metavar="COLUMN", help="public column of groups that depend on one another"
    )
    _output_options(regress)
    figure_option(regress, "the coefficients", force=False)
    regress.add_argument("--json", action="store_true", help="print JSON")


def _test_options(test: argparse.ArgumentParser) -> None:
    _table_options(test)
    test.add_argument("--by", metavar="COLUMN", help="public column of the groups")
    test.add_argument("--wave", metavar="REPORTS", help="the reports of another wave: are shares the same?")
    test.add_argument(
        "--wave-mechanism", metavar="MECHANISM", help="of the other wave (default: the same mechanism)"
    )
    test.add_argument(
        "--id", metavar="COLUMN", help="public column of people, where the same ones answered both"
    )
    test.add_argument("--question", metavar="NAME", help="of a survey")
    test.add_argument(
        "--draws", type=int, metavar="N", help="of the bootstrap (default: 999 where it is needed, else none)"
    )
    _output_options(test)
    figure_option(test, "the shares that are compared", force=False)
    test.add_argument("--json", action="store_true", help="print JSON")


def _files(options: argparse.Namespace, *names: str) -> list[str]:
    """Return the files of reports that names, folders and patterns stand for; none may be there twice."""
    from mechdesign.data.data_set import data_set
    from mechdesign.data.reading import require_different

    paths = data_set(names)
    require_different(paths, options.identical)
    return paths


def _answers(
    options: argparse.Namespace, paths: Sequence[str], mechanism_file: str | None = None
) -> ReportTable:
    from mechdesign.analysis.asking import read_answers
    from mechdesign.collect import load_mechanism
    from mechdesign.data.data_set import open_table
    from mechdesign.data.intake import MissingRule

    mechanism: Any = load_mechanism(mechanism_file or options.mechanism)
    rule = MissingRule(options.missing or "refuse")
    first, *others = (open_table(path, rule) for path in paths)
    answers = read_answers(mechanism, first, options.unmarked, others)
    if note := rule.note():
        print(note, file=sys.stderr)
    return answers


def _scores(options: argparse.Namespace) -> int:
    from mechdesign.core.errors import counted
    from mechdesign.data.outputs import DATA, require_output, require_suffix
    from mechdesign.data.writing import write_blocks

    require_suffix(options.output, DATA)
    paths = _files(options, options.reports)
    require_output(options.output, [options.mechanism, *paths], options.force)
    blocks = _score_blocks(options, paths)
    rows = write_blocks(options.output, blocks, False)
    print(
        f"{options.output}: {counted(rows, 'row')}; scores are no answers: average them, never cut them off"
    )
    return FINE


def _score_blocks(options: argparse.Namespace, paths: Sequence[str]) -> Iterator[Block]:
    """Yield public columns and scores, block by block."""
    from mechdesign.analysis.asking import read_sources
    from mechdesign.collect import load_mechanism
    from mechdesign.data.data_set import open_table
    from mechdesign.data.intake import MissingRule

    mechanism: Any = load_mechanism(options.mechanism)
    tables = [open_table(path, MissingRule(options.missing)) for path in paths]
    for answers in read_sources(mechanism, tables, options.unmarked):
        chosen = (
            answers.scores if options.question is None else [answers.question(options.question, "--question")]
        )
        block: dict[str, Any] = dict(answers.public)
        for scores in chosen:
            lead = f"{scores.question}: " if scores.question else ""
            if options.category is None:
                scores.require_table()
            for category in options.category or scores.names:
                place, name = scores.place(category), f"{lead}{category}"
                if scores.is_number:
                    name = scores.question or "mean"
                if name in block:
                    raise ParameterError(options.reports, f"column '{name}' is there already", "rename it")
                block[name] = scores.column(place)
            block[f"{lead}information"] = scores.information
        yield block


def _regress(options: argparse.Namespace) -> int:
    from mechdesign.analysis.asking import regress

    paths = _files(options, options.reports)
    answers = _answers(options, paths)
    result = regress(
        answers.mechanism,
        answers,
        formula=options.formula,
        model=options.model,
        category=options.category,
        weights=options.weights,
        cluster=options.cluster,
    )
    _show(options, {"regression": result}, paths)
    return FINE


def _test(options: argparse.Namespace) -> int:
    from mechdesign.analysis.likelihood_tests import equal_waves, independence
    from mechdesign.analysis.waves import wave_changes
    from mechdesign.data.reading import require_different

    if options.draws is not None and options.draws < 0:
        raise ParameterError("--draws", f"is {options.draws}", "give 0 or more")
    if (options.by is None) == (options.wave is None):
        raise ParameterError("test", "expected --by or --wave", "name a public column, or another wave")
    for name in ("wave_mechanism", "id"):
        if options.wave is None and getattr(options, name) is not None:
            raise ParameterError(f"--{name.replace('_', '-')}", "needs --wave", "omit it")
    paths = _files(options, options.reports)
    answers, question = _answers(options, paths), options.question or ""
    if options.by is not None:
        result = independence(answers, options.by, question, options.draws)
        _show(options, {"test": result}, paths, flat=True)
        return FINE
    later = _files(options, options.wave)
    require_different([*paths, *later], identical=True)
    other = _answers(options, later, options.wave_mechanism)
    results: dict[str, Any] = {}
    if not answers.question(question).has_mean:
        results["test"] = equal_waves(answers, other, question, options.id, options.draws)
    results["changes"] = wave_changes(answers, other, question, options.id)
    _show(options, results, [*paths, *later])
    return FINE


def estimate_groups(options: argparse.Namespace) -> int:
    """Run ``estimate`` with groups or weights."""
    from mechdesign.analysis.asking import column_codes, weights_of
    from mechdesign.analysis.groups import by_group
    from mechdesign.analysis.weights import raked, weighted_estimate

    paths = _files(options, *options.inputs)
    answers = _answers(options, paths)
    margins = None if options.margins is None else _margins(options.margins)
    if options.by is not None:
        if options.population_size is not None:
            raise ParameterError("--population-size", "is for all reports, not for groups", "omit it")
        table, differences = by_group(
            answers,
            options.by,
            options.question or "",
            options.weights,
            margins,
            options.strata,
            options.cluster,
            options.population,
        )
        results: dict[str, Any] = {"groups": table}
        if differences is not None:
            results["differences"] = differences
        _show(options, results, paths)
        return FINE
    weights, known = weights_of(answers, options.weights), None
    if margins is not None:
        weights, known = raked(answers.public, margins, weights)
    strata, clusters = (
        column_codes(answers, options.strata, "--strata"),
        column_codes(answers, options.cluster, "--cluster"),
    )
    chosen = (
        answers.scores if options.question is None else (answers.question(options.question, "--question"),)
    )
    _show(
        options,
        {
            scores.question or "estimate": weighted_estimate(
                scores, weights, strata, clusters, known, options.population_size
            )
            for scores in chosen
        },
        paths,
    )
    return FINE


def _margins(path: str) -> dict[str, dict[str, float]]:
    """Return the margins of a file with the columns column, value and size."""
    import numpy as np

    from mechdesign.collect.collecting import require_columns
    from mechdesign.data.data_set import open_table
    from mechdesign.data.intake import MissingRule

    names = ("column", "value", "size")
    table = open_table(path, MissingRule("refuse"))
    require_columns(table, names)
    result: dict[str, dict[str, float]] = {}
    for block in table.blocks(names):
        for column, value, size in zip(*(np.asarray(block[name]).tolist() for name in names), strict=True):
            sizes = result.setdefault(str(column), {})
            if str(value) in sizes:
                raise ParameterError(path, f"{column} = {value} stands there twice", "name it once")
            sizes[str(value)] = size
    return result


def _show(options: argparse.Namespace, results: dict[str, Any], paths: list[str], flat: bool = False) -> None:
    """Print results, or write their tables; the plain values of a single one without its name where flat."""
    from mechdesign.core.errors import counted
    from mechdesign.core.values import encode

    picture = FigureOutput(options, [options.mechanism, *paths], options.output)
    if picture:
        figures = [figure for result in results.values() for figure in result.figures()]
        places = picture.write(figures, "these results")
        print(f"mechdesign: drawn: {', '.join(places)}", file=sys.stderr)
    if options.output is not None:
        from mechdesign.data.outputs import RESULTS, require_output, require_suffix
        from mechdesign.report.tables import write_results

        require_suffix(options.output, RESULTS)
        require_output(options.output, [options.mechanism, *paths], options.force)
        tables = {name: result.tidy() for name, result in results.items()}
        is_book = options.output.lower().endswith(".xlsx")
        if len(tables) > 1 and not is_book:
            first = next(iter(tables))
            print(
                f"mechdesign: {options.output}: holds '{first}' alone; an .xlsx file holds all",
                file=sys.stderr,
            )
            tables = {first: tables[first]}
        if is_book:
            from mechdesign.collect import load_mechanism
            from mechdesign.report.workbook import write_tidy

            rows = write_tidy(options.output, results, load_mechanism(options.mechanism))
        else:
            rows = write_results(options.output, tables)
        print(f"{options.output}: {counted(rows, 'row')}", file=sys.stderr if options.json else sys.stdout)
    if options.json:
        values = {name: result.as_json() for name, result in results.items()}
        print_json(encode(next(iter(values.values())) if flat else values))
    elif options.output is None:
        print(
            "\n\n".join(
                f"{name}\n{result}" if len(results) > 1 else str(result) for name, result in results.items()
            )
        )
