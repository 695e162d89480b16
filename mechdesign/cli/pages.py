"""The command ``report``: a page of HTML about models, or about a mechanism."""

from __future__ import annotations

import argparse
from typing import Any

from mechdesign.cli.long_runs import run_many, run_options
from mechdesign.cli.options import FINE, MISMATCH, AddCommand, overrides_of, without_families
from mechdesign.core.errors import ParameterError


def add_commands(command: AddCommand) -> None:
    """Add the command to the parser."""
    report = command("report", _report, "write a page of HTML about models, or about a mechanism file")
    report.add_argument(
        "subject",
        nargs="*",
        metavar="MODEL|FILE.json",
        help="slugs or paths of models, families, or one file that build has written",
    )
    report.add_argument("--all", action="store_true", help="all shipped models")
    report.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="override a parameter"
    )
    report.add_argument("-o", "--output", metavar="FILE.html", required=True, help="where the page goes")
    report.add_argument("--force", action="store_true", help="replace an existing file")
    run_options(report)


def _report(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_model, models
    from mechdesign.core.errors import DataError
    from mechdesign.core.files import whole_file
    from mechdesign.report.outputs import require_output
    from mechdesign.report.page.render import require_packages

    if not options.output.endswith((".html", ".htm")):
        raise ParameterError(f"-o {options.output}", "is no name of a page", "end it in .html")
    if options.all and options.subject:
        raise ParameterError("report", f"'{options.subject[0]}' is named beside --all", "drop one of them")
    subjects = models() if options.all else without_families(options.subject)
    if not subjects:
        raise ParameterError("report", "nothing is named", "name models or a mechanism file, or use --all")
    require_output(options.output, subjects, options.force)
    require_packages()
    if any(subject.endswith(".json") for subject in subjects):
        page, what, code = _of_mechanism(subjects, options)
    else:
        overrides = overrides_of(options.set)
        page, what, code = _of_models([load_model(subject, overrides) for subject in subjects], options)
    with whole_file(options.output, DataError) as temporary:
        temporary.write_text(page, encoding="utf-8")
    print(f"wrote {options.output}: {what}")
    return code


def _of_mechanism(subjects: list[str], options: argparse.Namespace) -> tuple[str, str, int]:
    from mechdesign.core.printable import printable
    from mechdesign.core.version import installed_version
    from mechdesign.mechanisms import load_mechanism
    from mechdesign.report.page import mechanism_page

    if len(subjects) > 1:
        raise ParameterError("report", "a mechanism file has a page of its own", "name nothing beside it")
    if options.set:
        raise ParameterError(f"--set {options.set[0]}", "is for models", "a mechanism is built already")
    mechanism = load_mechanism(subjects[0])
    page = mechanism_page(mechanism, printable(subjects[0]), installed_version())
    return page, f"{type(mechanism).__name__} of {subjects[0]}", FINE


def _of_models(loaded: list[Any], options: argparse.Namespace) -> tuple[str, str, int]:
    from mechdesign.core.version import installed_version
    from mechdesign.report.checks import claims_counted
    from mechdesign.report.page import model_results, models_page

    results = run_many("models", options, model_results, loaded)
    code = FINE if all(result.check.passed for result in results) else MISMATCH
    claims = [claim for result in results for claim in result.check.claims]
    plural = "s" * (len(results) != 1)
    what = f"{len(results)} model{plural}, {claims_counted(claims)}"
    return models_page(results, installed_version(), options.set), what, code
