"""Commands that show results as a whole: a page, the items of the sources, a table of a source."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from mechdesign.cli.identity import note_lack
from mechdesign.cli.parser import (
    FINE,
    MISMATCH,
    AddCommand,
    json_text,
    overrides_of,
    print_json,
    run_many,
    run_options,
    without_families,
)
from mechdesign.core.errors import ParameterError

if TYPE_CHECKING:
    from mechdesign.report.page import Estimation


def add_commands(command: AddCommand) -> None:
    """Add the commands to the parser."""
    command(
        "report",
        _report,
        "write a page of HTML about models, a mechanism file, or results from reports",
        _report_options,
    )
    command(
        "sources",
        _sources,
        "list every item of the sources, where it is here and its verdict",
        _sources_options,
    )
    summary = "print the numbers of a source: as stated, rebuilt by its formula, ours, and their difference"
    command("table", _table, summary, _table_options)


def _report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument(
        "subject",
        nargs="*",
        metavar="MODEL|FILE.json|REPORTS",
        help="slugs or paths of models, families; or one file that build has written, alone or followed by "
        "files of its reports (or folders of them, or patterns), for a page of results; several files of "
        "waves, each followed by its reports, for a page of changes",
    )
    report.add_argument("--all", action="store_true", help="all shipped models")
    report.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="override a parameter"
    )
    results = report.add_argument_group("results", "options of 'estimate', for a page of results")
    results.add_argument("--column", action="append", help="column of the reports (repeatable)")
    results.add_argument(
        "--marginal", action="append", metavar="A,B", help="a table of a release (repeatable)"
    )
    results.add_argument("--raw", action="store_true", help="unbiased tables of a release")
    results.add_argument("--population", action="store_true", help="estimate the population")
    results.add_argument("--unmarked", action="store_true", help="accept columns without a fingerprint")
    results.add_argument("--identical", action="store_true", help="count files of the same content each")
    report.add_argument("-o", "--output", metavar="FILE.html", required=True, help="path of the page")
    report.add_argument("--force", action="store_true", help="replace an existing file")
    run_options(report)


def _report(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_model, models
    from mechdesign.core.errors import DataError
    from mechdesign.data.outputs import require_output
    from mechdesign.report.page.render import require_packages
    from mechdesign.work.files import whole_file

    if not options.output.endswith((".html", ".htm")):
        raise ParameterError(f"-o {options.output}", "is not a name of a page", "end it in .html")
    if options.all and options.subject:
        raise ParameterError(
            "report", f"'{options.subject[0]}' cannot be combined with --all", "drop one of them"
        )
    with_file = any(subject.endswith(".json") for subject in options.subject)
    if options.all or with_file:
        subjects = models() if options.all else options.subject
    else:
        subjects = without_families(options.subject)
    if not subjects:
        raise ParameterError("report", "nothing is named", "name models or a mechanism file, or use --all")
    require_output(options.output, subjects, options.force)
    require_packages()
    if with_file:
        page, what, code = _of_file(options.subject, options)
    else:
        _require_results(options)
        overrides = overrides_of(options.set)
        page, what, code = _of_models([load_model(subject, overrides) for subject in subjects], options)
    with whole_file(options.output, DataError) as temporary:
        temporary.write_text(page, encoding="utf-8")
    print(f"wrote {options.output}: {what}")
    return code


def _of_file(subjects: list[str], options: argparse.Namespace) -> tuple[str, str, int]:
    """Return the page of a mechanism file, of its reports, or of several with theirs."""
    if options.set:
        raise ParameterError(f"--set {options.set[0]}", "is for models", "a mechanism is built already")
    files = [path.endswith(".json") for path in subjects]
    if files[0] and sum(files) > 1 and not all(files):
        return _of_waves(subjects, options)
    return _of_mechanism(subjects, options)


def _of_mechanism(subjects: list[str], options: argparse.Namespace) -> tuple[str, str, int]:
    from mechdesign.collect import load_mechanism
    from mechdesign.core.errors import printable
    from mechdesign.core.extensions import installed_version
    from mechdesign.data.data_set import data_set
    from mechdesign.report.page import mechanism_page, results_page

    file, *reports = subjects
    if not file.endswith(".json") or any(path.endswith((".json", ".toml")) for path in reports):
        raise ParameterError(
            "report",
            "a mechanism file has a page of its own",
            "name one mechanism file first, then nothing or files of its reports",
        )
    if not reports:
        _require_results(options)
    mechanism = load_mechanism(file)
    reports = data_set(reports)
    if reports:
        results = _estimation(mechanism, file, reports, options)
        note_lack(mechanism, file)
        page = results_page(mechanism, results, installed_version())
        return page, f"results of {len(reports)} file{'s' * (len(reports) > 1)} of reports", FINE
    page = mechanism_page(mechanism, printable(file), installed_version())
    return page, f"{type(mechanism).__name__} of {file}", FINE


def _of_waves(paths: list[str], options: argparse.Namespace) -> tuple[str, str, int]:
    """Return the page of several waves: ``report first.json reports second.json ...``."""
    from mechdesign.cli.identity import wave_groups
    from mechdesign.collect import load_mechanism
    from mechdesign.core.errors import counted
    from mechdesign.core.extensions import installed_version
    from mechdesign.data.data_set import data_set
    from mechdesign.report.page import waves_page
    from mechdesign.survey.waves import order_of_waves, wave_estimates

    groups = wave_groups(paths)
    mechanisms, estimations = [], []
    for file, *reports in groups:
        mechanism = load_mechanism(file)
        estimations.append(_estimation(mechanism, file, data_set(reports), options))
        mechanisms.append(mechanism)
    try:
        order = order_of_waves(mechanisms)
    except ParameterError as error:
        raise error.changed(where=", ".join(group[0] for group in groups)) from None
    mechanisms, estimations = [mechanisms[place] for place in order], [estimations[place] for place in order]
    waves = wave_estimates(mechanisms, [each.result for each in estimations], bool(options.population))
    page = waves_page(mechanisms, estimations, waves, installed_version())
    return page, f"results of {counted(len(groups), 'wave')}: {', '.join(waves.names)}", FINE


def _require_results(options: argparse.Namespace) -> None:
    """Raise ParameterError for an option that only a page of results has."""
    for name in ("column", "marginal", "raw", "population", "unmarked", "identical"):
        if getattr(options, name):
            raise ParameterError(
                f"--{name}", "is for a page of results", "name files of reports after the mechanism file"
            )


def _estimation(mechanism: Any, file: str, reports: list[str], options: argparse.Namespace) -> Estimation:
    """Return the result of the mechanism's own operation for files of reports, with its command."""
    from mechdesign.collect.collecting import operation_of
    from mechdesign.collect.server import rule_for
    from mechdesign.core.errors import MechDesignError
    from mechdesign.data.data_set import open_table
    from mechdesign.data.reading import Copies, require_different
    from mechdesign.export.messages import MessageReader
    from mechdesign.report.page import Estimation

    names = [operation.name for operation in mechanism.operations()]
    operation = operation_of(mechanism.operations(), "analyze" if "analyze" in names else "estimate", file)
    choices = {
        name: getattr(options, name) for name in ("column", "marginal", "raw", "population", "unmarked")
    }
    settings = operation.settings(choices)
    require_different(reports, options.identical)
    if len(reports) > 1 and not operation.several:
        raise ParameterError("report", f"'{operation.name}' takes one file, {len(reports)} are named")
    rule = rule_for(mechanism, operation).with_messages(partial(MessageReader, mechanism))
    sources = [open_table(path, rule) for path in reports]
    if not options.identical:
        copies = Copies()
        for source in sources:
            source.copies = copies
    try:
        result = operation.run(sources, settings)
    except MechDesignError as error:
        raise (error if error.is_about(*reports) else error.within(file)) from None
    return Estimation(
        result, operation.name, file, reports, _words(choices, options.identical), bool(options.population)
    )


def _words(choices: dict[str, Any], identical: bool) -> list[str]:
    """Return options as the shell takes them."""
    words = ["--identical"] if identical else []
    for name, value in choices.items():
        if value is True:
            words.append(f"--{name}")
        for text in value if isinstance(value, list) else []:
            words += [f"--{name}", text]
    return words


def _of_models(loaded: list[Any], options: argparse.Namespace) -> tuple[str, str, int]:
    from mechdesign.core.extensions import installed_version
    from mechdesign.papers.shown.checks import claims_counted
    from mechdesign.papers.shown.page import model_results, models_page

    results = run_many("models", options, model_results, loaded)
    code = FINE if all(result.check.passed for result in results) else MISMATCH
    claims = [claim for result in results for claim in result.check.claims]
    plural = "s" * (len(results) != 1)
    what = f"{len(results)} model{plural}, {claims_counted(claims)}"
    return models_page(results, installed_version(), options.set), what, code


def _sources_options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument(
        "source", nargs="?", help="only this source, such as liu2023; by default an overview"
    )
    listing.add_argument("--json", action="store_true", help="print JSON, an object for each item")


def _sources(options: argparse.Namespace) -> int:
    from mechdesign.catalog.shipped import model_files
    from mechdesign.show.tables import terminal_width
    from mechdesign.work.texts import remembered_text

    width = terminal_width()
    arguments = ("sources", options.source, options.json, width)
    print(remembered_text(arguments, model_files(), partial(_sources_text, *arguments[1:])))
    return FINE


def _sources_text(name: str | None, is_json: bool, width: int) -> str:
    from mechdesign.papers.claims.sources import source, sources
    from mechdesign.papers.shown.sources import overview, source_rows, source_text

    items = [source(name)] if name else list(sources())
    if is_json:
        return json_text(source_rows(items))
    return source_text(items[0], width) if name else overview(items, width)


MOST_ROWS = 60
"""Rows that are printed; files have all."""


def _table_options(table: argparse.ArgumentParser) -> None:
    table.add_argument("model", metavar="MODEL", help="a slug such as auction/setting_three, or a .toml file")
    table.add_argument("--json", action="store_true", help="print JSON")
    table.add_argument("-o", "--output", metavar="FILE", help=".csv, .parquet, .xlsx or .json")
    table.add_argument("--force", action="store_true", help="replace an existing file")
    run_options(table)


def _table(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_model, model_figures, sweep
    from mechdesign.core.errors import counted
    from mechdesign.core.values import encode
    from mechdesign.data.outputs import RESULTS, require_output, require_suffix
    from mechdesign.papers.claims import check_models
    from mechdesign.papers.claims.numbers import source_numbers
    from mechdesign.report.tables import write_results

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
        raise ParameterError(
            model.slug, "no claim of it is about a number", f"see mechdesign show {model.slug}"
        )
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
    from mechdesign.show.tables import table

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
