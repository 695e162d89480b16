"""Commands on models: list, show, solve, compare, check, sweep."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from mechdesign.cli.parser import (
    FINE,
    MISMATCH,
    AddCommand,
    FigureOutput,
    add_users,
    figure_option,
    json_text,
    method_options,
    model_of,
    model_options,
    options_of,
    overrides_of,
    print_json,
    run_many,
    run_options,
    without_families,
)
from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion

if TYPE_CHECKING:
    from mechdesign.core.problem import Problem
    from mechdesign.core.solution import Solution
    from mechdesign.core.values import Outlook


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command("list", _list, "list the models, or the problems and their methods", _list_options)
    command(
        "show",
        _show,
        "show a model: statement, source, parameters, claims; or a problem's parameters",
        _show_options,
    )
    command(
        "solve", _solve, "solve a model and print value, bound, certificates and variables", _solve_options
    )
    text = "run every method on models, side by side, with certificates and claims"
    command("compare", _compare, text, _compare_options)
    text = "exit 1 when methods disagree, a certificate fails or a claim's verdict flips"
    command("check", _check, text, _check_options)
    text = "print what is found of a source as a letter to its authors, or what does not hold in a family"
    command("findings", _findings, text, _findings_options)
    command("sweep", _sweep, "solve a model over its sweep, with its simulation", _sweep_options)
    command(
        "tradeoff",
        _tradeoff,
        "tabulate the error over epsilon, and the users that a target error requires",
        _tradeoff_options,
    )


def _list_options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument("family", nargs="?", help="only this family")
    listing.add_argument("--problems", action="store_true", help="list problems and methods instead")
    listing.add_argument("--json", action="store_true", help="print JSON")


def _show_options(show: argparse.ArgumentParser) -> None:
    model_options(show)
    show.add_argument("--all", action="store_true", help="show every claim of a model, however many")
    show.add_argument(
        "--program",
        action="store_true",
        help="show the problem as a cvxpy program: its source, and its sizes with the model's parameters",
    )


def _solve_options(solve: argparse.ArgumentParser) -> None:
    model_options(solve)
    add_users(solve)
    method_options(solve)
    solve.add_argument(
        "--sensitivity",
        action="store_true",
        help="print what parameters are worth, which constraints bind, or which of them conflict",
    )
    figure_option(solve, "the design")


def _compare_options(added: argparse.ArgumentParser) -> None:
    _check_options(added, verbose=False)
    add_users(added)


def _check_options(added: argparse.ArgumentParser, verbose: bool = True) -> None:
    model_options(added, several=True)
    run_options(added)
    added.add_argument(
        "--all", action="store_true", help="all shipped models (check does that when none is named)"
    )
    if verbose:
        added.add_argument(
            "-v", "--verbose", action="store_true", help="print every method and claim of all models"
        )
        added.add_argument(
            "--problem",
            metavar="NAME",
            help="check a class of problems instead, on its example: a name, or MODULE:CLASS of a file here",
        )


def _findings_options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument(
        "subject",
        nargs="?",
        metavar="SOURCE|FAMILY",
        help="a source such as liu2023, for a letter to its authors: what holds, what does not, and what "
        "could not be decided; or a family, for the claims of its models that do not hold",
    )
    listing.add_argument("--json", action="store_true", help="print JSON, an object for each claim")


def _sweep_options(sweep: argparse.ArgumentParser) -> None:
    model_options(sweep)
    sweep.add_argument("--method", help="the method's name")
    sweep.add_argument(
        "--warm",
        action="store_true",
        help="one point after the other: start linear programs from the basis of the last one",
    )
    sweep.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the table, with what the figure shows: .csv, .parquet, .xlsx or .json",
    )
    run_options(sweep)
    figure_option(sweep, "the sweep, as the model's [[figure]] tables say")


def _tradeoff_options(trade: argparse.ArgumentParser) -> None:
    model_options(trade)
    add_users(trade)
    trade.add_argument(
        "--error",
        action="append",
        help="a target standard error, such as 0.03, or 3%% of a share (repeatable)",
    )
    trade.add_argument(
        "--difference",
        metavar="D",
        help="the users that show a difference of shares between two groups, such as 0.1, or 10%%",
    )
    trade.add_argument(
        "--power", type=float, default=0.8, help="the probability to find the difference (default 0.8)"
    )
    trade.add_argument(
        "--part", type=float, default=0.5, help="the fraction of users in the first group (default 0.5)"
    )
    figure_option(trade, "both curves")


def _list(options: argparse.Namespace) -> int:
    from mechdesign.show.tables import table

    if options.problems:
        from mechdesign.families import problem_classes
        from mechdesign.solvers.solve import methods_of

        rows = [
            [name, method.name, method.kind, method.summary]
            for name, problem in sorted(problem_classes().items())
            for method in methods_of(problem)
        ]
        header = ["problem", "method", "kind", "summary"]
    else:
        from mechdesign.catalog import listed_models

        listed = listed_models(options.family)
        if not listed:
            raise _unknown_family("list", options.family)
        rows = [[line.slug, line.problem, str(line.claims), line.title] for line in listed]
        header = ["model", "problem", "claims", "title"]
    if options.json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print(table(header, rows))
    return FINE


def _unknown_family(command: str, family: str) -> UnknownNameError:
    from mechdesign.catalog import models

    known = {slug.partition("/")[0] for slug in models()}
    return UnknownNameError(command, f"no family '{family}'", suggestion(family, known))


def _findings(options: argparse.Namespace) -> int:
    from mechdesign.catalog.shipped import model_files
    from mechdesign.show.tables import terminal_width
    from mechdesign.work.texts import remembered_text

    width = terminal_width()
    arguments = ("findings", options.subject, options.json, width)
    make = partial(_findings_text, options.subject, options.json, width)
    print(remembered_text(arguments, model_files(), make))
    return FINE


def _findings_text(subject: str | None, is_json: bool, width: int) -> str:
    from mechdesign.catalog import models
    from mechdesign.papers.claims.findings import findings
    from mechdesign.papers.shown.findings import HEADINGS, findings_text
    from mechdesign.papers.shown.letter import citation_keys, letter, letter_text

    message = None
    if subject in citation_keys():
        message = letter(subject)
        claims = [
            point for each in message.statements for point in each.points if point.claim.verdict in HEADINGS
        ]
    elif models(subject):
        claims = [finding for verdict in HEADINGS for finding in findings(subject, verdict)]
    else:
        known = [*sorted({slug.partition("/")[0] for slug in models()}), *citation_keys()]
        raise UnknownNameError(
            "findings", f"no family or source '{subject}'", suggestion(str(subject), known)
        )
    if is_json:
        return json_text([finding.as_dict() for finding in claims])
    return findings_text(claims, width) if message is None else letter_text(message, width)


def _show(options: argparse.Namespace) -> int:
    from mechdesign.show.tables import terminal_width

    if options.model == "survey-file":
        from mechdesign.catalog.survey_file import keys_text, survey_schema

        print_json(survey_schema()) if options.json else print(keys_text())
        return FINE
    has_path = "/" in options.model or options.model.endswith(".toml")
    problem_class = None if has_path else _problem_or_none(options.model)
    if problem_class is not None and options.program:
        what = f"'{options.model}' is a problem without parameters"
        raise ParameterError("--program", what, "name a model; run 'mechdesign list' to see all")
    if problem_class is not None:
        if options.set:
            raise ParameterError(
                f"--set {options.set[0]}", f"'{options.model}' is a problem", "--set is for models"
            )
        from mechdesign.report.tables import json_schema, problem_text

        if options.json:
            print_json(json_schema(problem_class))
        else:
            print(problem_text(problem_class, terminal_width()))
        return FINE
    if options.program:
        from mechdesign.solvers.statement import program_dict, program_text

        model = model_of(options)
        if options.json:
            print_json({"model": model.slug, **program_dict(model.problem)})
        else:
            print(program_text(model.problem, model.slug))
        return FINE
    from mechdesign.catalog.shipped import is_model, models_folder
    from mechdesign.work.texts import remembered_text

    width = terminal_width()
    if not is_model(options.model):  # a file of its own may state a problem of another package
        print(_model_text(options, width))
        return FINE
    folder = models_folder()
    files = [folder / f"{options.model}.toml", folder / "references.toml"]
    arguments = ("show", options.model, options.set, options.all, options.json, width)
    print(remembered_text(arguments, files, partial(_model_text, options, width)))
    return FINE


def _model_text(options: argparse.Namespace, width: int) -> str:
    from mechdesign.papers.shown.model import MOST_CLAIMS, model_dict, model_text

    model = model_of(options)
    if options.json:
        return json_text(model_dict(model))
    return model_text(model, width, None if options.all else MOST_CLAIMS)


def _problem_or_none(name: str) -> type[Problem[Any]] | None:
    """Return the problem of this name; a name that is nearly one, or nearly a model's, is an error."""
    from mechdesign.families import find_problem, problem_classes

    problem = find_problem(name)
    if problem is None:
        from mechdesign.catalog import models

        close = suggestion(name, [*models(), *problem_classes(), "survey-file"])
        if close.startswith("did you mean"):
            raise UnknownNameError("show", f"no model or problem '{name}'", close)
    return problem


def _solve(options: argparse.Namespace) -> int:
    from textwrap import indent

    from mechdesign.core.values import encode
    from mechdesign.report.tables import solution_text
    from mechdesign.show.figure import design_figures
    from mechdesign.solvers.solve import solve

    model = model_of(options)
    output = FigureOutput(options, [model.slug])
    solution = solve(model.problem, options.method, **options_of(options))
    if output and solution.found:
        output.write(design_figures(model.problem, solution), f"a design of {model.problem.name}")
    forecast = solution.forecast(options.users)
    outlook, useless = _outlook(solution, options.users)
    if options.json:
        extras = {} if outlook is None else {"outlook": encode(outlook.as_json())}
        worth = {"sensitivity": solution.sensitivity.as_dict()} if options.sensitivity else {}
        print_json({**solution.as_dict(model.slug), "forecast": encode(forecast), **extras, **worth})
    else:
        print(f"{model.slug}: {model.title}\n{solution_text(solution)}")
        for remark in (forecast, outlook, useless):
            if remark is not None:
                print(indent(str(remark), "  "))
        if options.sensitivity:
            print(solution.sensitivity)
    return FINE if solution.found else MISMATCH


def _outlook(solution: Solution[Any], users: int | None) -> tuple[Outlook | None, str | None]:
    """Return the forecast before anything is collected, or the reason why it is too little to build."""
    try:
        return solution.outlook(users), None
    except ParameterError as error:
        return None, f"not worth building: {error}"


def _tradeoff(options: argparse.Namespace) -> int:
    from mechdesign.collect import CollectingMechanism
    from mechdesign.report.tradeoff import ERRORS, error_for_difference, mechanism_tradeoff, tradeoff
    from mechdesign.show.tables import table

    name, texts = options.model, options.error or []
    errors = [_target_error(text) for text in texts] or ERRORS
    if options.difference is not None:
        if texts:
            raise ParameterError("--difference", "cannot be combined with --error", "omit one of them")
        gap = _target_error(options.difference, "--difference")
        errors = [error_for_difference(gap, options.power, options.part)]
    if name.endswith(".json") and options.set:
        raise ParameterError(f"--set {options.set[0]}", "is for models", "a mechanism is built already")
    output = FigureOutput(options, [name])
    if name.endswith(".json"):
        result = mechanism_tradeoff(CollectingMechanism.load(name), options.users, errors)
    else:
        result = tradeoff(model_of(options).problem, options.users, errors)
    percents = [text for text in texts if text.endswith("%")]
    if percents and not result.is_of_shares:
        what = f"{percents[0]} is of a share, and errors here are those of: {result.quantity}"
        raise ParameterError("--error", what, "give it in their own units")
    large = [error for error in errors if error >= 1.0]
    if large and result.is_of_shares:
        what = f"{large[0]:g} is no standard error of a share"
        raise ParameterError("--error", what, "write 0.03, or 3%")
    if output:
        output.write(result.figures(), name)
    if options.difference is not None:
        result = result.for_difference(gap, options.power, options.part)
    header, lines = result.table()
    if options.json:
        print_json([dict(vars(row)) for row in result.rows])
    else:
        print(f"{name}: {result.quantity}, largest {result.measure}\n{table(header, lines)}")
    return FINE


def _target_error(text: str, option: str = "--error") -> float:
    """Return the target error that a text states: a number, or a percentage."""
    from mechdesign.core.validation import exact_number

    try:
        exact = exact_number(option, text.removesuffix("%").rstrip())
        return float(exact / 100 if text.endswith("%") else exact)
    except (ParameterError, OverflowError):
        what = f"{text!r:.40} is neither a number nor a percentage"
        raise ParameterError(option, what, "write 0.03 or 3%") from None


def _checks(options: argparse.Namespace, is_all: bool) -> list[Any]:
    from mechdesign.catalog import load_model, models
    from mechdesign.papers.claims import check_models

    if options.all and options.model:
        raise ParameterError(
            "model", f"'{options.model[0]}' cannot be combined with --all", "drop one of them"
        )
    slugs = models() if is_all else without_families(options.model)
    if not slugs:
        raise ParameterError("model", "none named", "name models, or use --all")
    overrides = overrides_of(options.set)
    checks: list[Any] = run_many(
        "models", options, check_models, [load_model(slug, overrides) for slug in slugs]
    )
    return checks


def _compare(options: argparse.Namespace) -> int:
    checks = _checks(options, options.all)
    if options.json:
        print_json([check.as_dict() for check in checks])
    else:
        print("\n\n".join(check.text(options.users) for check in checks))
    return FINE if all(check.passed for check in checks) else MISMATCH


def _check_class(options: argparse.Namespace) -> int:
    """Check what a class of problems has to keep."""
    from mechdesign.core.fields import problem_from
    from mechdesign.report.problem_check import check_problem, named_class

    if options.model or options.all:
        other = f"'{options.model[0]}'" if options.model else "--all"
        raise ParameterError("--problem", f"cannot be combined with {other}", "drop one of them")
    kind, overrides = named_class(options.problem), overrides_of(options.set)
    check = check_problem(problem_from(kind, {**kind.example, **overrides}) if overrides else kind)
    if options.json:
        print_json(check.as_dict())
    else:
        print(check)
    return FINE if check.holds else MISMATCH


def _check(options: argparse.Namespace) -> int:
    if options.problem is not None:
        return _check_class(options)
    from mechdesign.catalog import models
    from mechdesign.papers.shown.checks import brief, overview
    from mechdesign.show.tables import terminal_width

    checks = _checks(options, options.all or not options.model)
    if options.json:
        print_json([{**check.as_dict(), "problems": check.problems} for check in checks])
    else:
        shipped = models()
        is_named = any(name in shipped or name.endswith(".toml") for name in options.model)
        is_long = options.verbose or is_named
        print((overview if is_long else brief)(checks, terminal_width()))
    return FINE if all(check.passed for check in checks) else MISMATCH


def _sweep(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_swept, model_figures, run_sweep, sweep
    from mechdesign.catalog.figures import plotted_quantities
    from mechdesign.catalog.sweeping import require_points
    from mechdesign.core.errors import counted
    from mechdesign.data.outputs import RESULTS, require_output, require_suffix
    from mechdesign.report.tables import sweep_columns, sweep_json, sweep_table, write_results
    from mechdesign.show.tables import table

    model = load_swept(options.model, overrides_of(options.set))
    if options.output:
        require_suffix(options.output, RESULTS)
        require_output(options.output, [model.slug], options.force)
    output = FigureOutput(options, [model.slug], options.output)
    if options.warm:
        if options.dask or options.jobs not in (None, 1):
            raise ParameterError("--warm", "points are solved one after the other", "omit --jobs and --dask")
        require_points(model)
        rows = list(run_sweep(model, options.method, warm=True))
    else:
        rows = run_many("points", options, sweep, model, options.method)
    header, lines = sweep_table(rows)
    figures = model_figures(model, rows) if output else []
    output.places(figures, model.slug)  # before anything is written
    plotted = plotted_quantities(model, rows) if options.output or options.json else []
    if options.output:
        write_results(options.output, {"sweep": sweep_columns(rows, plotted)})
    if output:
        output.write(figures, model.slug)
    if options.json:
        print_json(sweep_json(rows, plotted))
    elif options.output:
        print(f"{options.output}: {counted(len(rows), 'point')} of {model.slug}")
    else:
        print(f"{model.slug}: {model.title}\n{table(header, lines)}")
    return FINE
