"""Commands on mechanisms: choose, build, audit, randomize, estimate, run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from mechdesign.cli import accounts, foreign
from mechdesign.cli.identity import anyway_option, identity_option, outgoing, require_protection
from mechdesign.cli.parser import (
    FINE,
    MISMATCH,
    REPORTS,
    AddCommand,
    FigureOutput,
    add_users,
    dask_option,
    data_options,
    figure_option,
    form_of,
    method_options,
    model_of,
    model_options,
    number_text,
    operation_options,
    options_of,
    print_json,
    shuffled_of,
    shuffled_options,
)
from mechdesign.cli.waves import estimate_waves, is_of_waves, linked, wave_identity, wave_options
from mechdesign.core.errors import DataError, MethodError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mechdesign.collect import Mechanism
    from mechdesign.core.problem import Problem
    from mechdesign.data.forms import FileForm
    from mechdesign.export import ExportCheck
    from mechdesign.families.shuffle.shuffled_reports import ShuffledDesign

DATA_SET = "CSV with a header line, or Parquet: files, folders, patterns, or - for the standard input"


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command(
        "choose", _choose, "rank the mechanisms for means by their expected standard error", _choose_options
    )
    command("build", _build, "build the mechanism of a model and save it", _build_options)
    command("audit", _audit, "audit a mechanism exactly, including one of another program", _audit_options)
    command("randomize", _randomize, "randomize columns of a data file", _randomize_options)
    command(
        "estimate", _estimate, "estimate from reports, with standard errors and intervals", _estimate_options
    )
    command("run", _run, "run an operation of a mechanism on files; without one, list them", _run_options)


def _choose_options(choose: argparse.ArgumentParser) -> None:
    choose.add_argument("--epsilon", type=number_text, required=True, help="the privacy of a user")
    choose.add_argument("--users", type=int, required=True, metavar="N", help="expected number of users")
    choose.add_argument("--attributes", type=int, help="number of values per user (default: 1 per column)")
    choose.add_argument(
        "--ordered", type=int, metavar="K", help="rank the reports for cumulative shares of K ordered answers"
    )
    choose.add_argument("--exact-only", action="store_true", help="only mechanisms audited exactly")
    shuffled_options(choose)
    data_options(choose)
    choose.add_argument("-o", "--output", metavar="FILE", help="save the best one (JSON)")
    choose.add_argument("--force", action="store_true", help="replace an existing file")
    anyway_option(choose)
    choose.add_argument("--json", action="store_true", help="print JSON")


def _build_options(build: argparse.ArgumentParser) -> None:
    model_options(build)
    method_options(build)
    add_users(build)
    shuffled_options(build)
    data_options(build)
    build.add_argument("--title", metavar="TEXT", help="the heading that respondents read")
    build.add_argument("--question", metavar="TEXT", help="what respondents are asked")
    identity_option(build)
    wave_options(build)
    build.add_argument("-o", "--output", required=True, metavar="FILE", help="the mechanism file (JSON)")
    build.add_argument("--force", action="store_true", help="replace an existing file")
    anyway_option(build)


def _audit_options(audit: argparse.ArgumentParser) -> None:
    text = "a file written by build; or a foreign channel: .csv, .npy, .npz or .toml"
    audit.add_argument("mechanism", metavar="MECHANISM", nargs="?", help=text)
    text = "files written by export, to compare; or further mechanisms, for the total of answering all"
    audit.add_argument("exports", nargs="*", metavar="FILE", help=text)
    audit.add_argument("--json", action="store_true", help="print JSON")
    figure_option(audit, "what the mechanism does")
    foreign.add_options(audit)
    accounts.add_options(audit)


def _randomize_options(randomize: argparse.ArgumentParser) -> None:
    from mechdesign.collect.collecting import ANYWAY, CLIP, COLUMN, SEED

    randomize.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    output = "CSV or Parquet, or a folder for a file each"
    options = (COLUMN, CLIP, ANYWAY, SEED)
    operation_options(randomize, options, ("DATA", DATA_SET), several=True, output=output, picture="")
    randomize.add_argument(
        "--codes", action="store_true", help="numbers are the codes of categories, although none is 0"
    )
    randomize.add_argument(
        "--public",
        action="append",
        metavar="COLUMN",
        help="write this column as it is beside the reports: not protected (repeatable)",
    )
    randomize.add_argument(
        "--person",
        metavar="COLUMN",
        help="column that identifies people: each is to have one row (default: by name)",
    )
    randomize.add_argument(
        "--repeated", action="store_true", help="rows of one person are meant: each row becomes a report"
    )
    dask_option(randomize)
    randomize.set_defaults(operation="randomize")


def _estimate_options(estimate: argparse.ArgumentParser) -> None:
    from mechdesign.collect.collecting import COLUMN, POPULATION, UNMARKED, Option
    from mechdesign.collect.collector import SIMPLEX
    from mechdesign.primitives.attributes import MARGINAL

    raw = Option("raw", "flag", "unbiased marginals, with intervals")
    text = "weight of the penalty on joint shares: a number, or cross-validated"
    options = (COLUMN, POPULATION, UNMARKED, MARGINAL, raw, Option("penalty", "text", text), SIMPLEX)
    estimate.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    more = "or counts, written by count or merge; a further mechanism file begins the reports of another wave"
    inputs = ("REPORTS", f"{REPORTS}; {more}")
    picture = "the estimates with their intervals"
    operation_options(estimate, options, inputs, several=True, output="", picture=picture)
    dask_option(estimate)
    _group_options(estimate)
    estimate.set_defaults(operation="estimate")


def _group_options(estimate: argparse.ArgumentParser) -> None:
    """Add the options of ``estimate`` that compare groups and weigh reports."""
    estimate.add_argument("--by", metavar="COLUMN", help="groups by a public column, and their differences")
    estimate.add_argument("--question", metavar="NAME", help="of a survey, with --by or --weights")
    estimate.add_argument("--weights", metavar="COLUMN", help="public column of weights")
    estimate.add_argument(
        "--margins",
        metavar="FILE",
        help="CSV with column,value,size of the population: weights that meet them",
    )
    estimate.add_argument("--strata", metavar="COLUMN", help="public column of strata")
    estimate.add_argument("--cluster", metavar="COLUMN", help="public column of clusters")
    estimate.add_argument(
        "--population-size",
        type=int,
        metavar="N",
        help="of a finite population that reports are drawn from (default: a large one)",
    )
    estimate.add_argument(
        "--shrunk",
        nargs="?",
        const="default",
        choices=("default", "average", "empirical-bayes", "cut", "smooth"),
        help="also shares for pictures, nearer to the truth in total (default: average; of bins smooth)",
    )


WEIGHING = ("by", "weights", "margins", "strata", "cluster", "population_size")
"""Options of ``estimate`` that need the public columns."""


def _is_weighted(options: argparse.Namespace) -> bool:
    """Whether an ``estimate`` compares groups or weighs reports."""
    weighs = any(getattr(options, name, None) is not None for name in WEIGHING)
    if weighs and options.shrunk is not None:
        raise ParameterError("--shrunk", "is for the shares of all reports", "omit it, or --by and weights")
    if not weighs and getattr(options, "question", None) is not None:
        raise ParameterError("--question", "needs --by, --weights or --margins", "omit it")
    return weighs


def _run_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    run.add_argument("operation", nargs="?", metavar="OPERATION", help="what to do")
    run.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="...", help="INPUT ... [-o OUTPUT] and the options"
    )


def _choose_ordered(options: argparse.Namespace) -> int:
    """Rank the reports for an ordered question; all of them are audited exactly."""
    from mechdesign.data.intake import Intake
    from mechdesign.data.outputs import MECHANISM, require_output, require_suffix
    from mechdesign.families.workload.prefix import choose_ordered

    if options.attributes is not None:
        raise ParameterError("--attributes", "is not for --ordered", "drop one of them")
    if shuffled_of(options):
        raise ParameterError("--shuffled", "is not for --ordered", "build the model with --shuffled")
    if options.output:
        require_suffix(options.output, MECHANISM)
    ranking = choose_ordered(options.epsilon, options.users, options.ordered)
    if options.output:
        require_output(options.output, [], options.force)
        intake = Intake(tuple(options.column or []), options.missing or "refuse")
        ranges = [tuple(pair) for pair in options.range or []]
        mechanism = ranking.mechanism()
        require_protection(options.output, mechanism, options.anyway)
        mechanism.for_data(intake, ranges).described().save(options.output)
    if options.json:
        print_json(ranking.as_json())
    else:
        print(ranking)
        if options.output:
            print(f"{options.output}: {ranking.best.name}")
    return FINE


def _choose(options: argparse.Namespace) -> int:
    from mechdesign.data.intake import Intake
    from mechdesign.data.outputs import MECHANISM, require_output, require_suffix
    from mechdesign.report.ranking import choose

    if options.ordered is not None:
        return _choose_ordered(options)
    if options.output:
        require_suffix(options.output, MECHANISM)
    columns, ranges = options.column or [], options.range or []
    attributes = options.attributes or max(1, len(columns), len(ranges))
    low, high = ranges[0] if len(ranges) == 1 else (0.0, 1.0)
    intake = Intake(tuple(columns), options.missing or "refuse")
    central = shuffled_of(options) or {}
    if central:
        central["shuffled"] = central.pop("users")
    ranking = choose(options.epsilon, options.users, attributes, low, high, options.exact_only, **central)
    if options.output:
        require_output(options.output, [], options.force)
        mechanism = ranking.mechanism()
        require_protection(options.output, mechanism, options.anyway)
        mechanism.for_data(intake, [tuple(pair) for pair in ranges]).described().save(options.output)
    if options.json:
        print_json(ranking.as_json())
    else:
        print(ranking)
        if len(ranges) != 1:
            unit = "the range of its column" if ranges else "the range, [0, 1] unless --range sets it"
            print(f"errors are parts of {unit}")
        if options.output:
            print(f"{options.output}: {ranking.best.name}")
    return FINE


def _build(options: argparse.Namespace) -> int:
    from mechdesign.cli.name_clashes import clashes_note, labels_note
    from mechdesign.core.errors import printable
    from mechdesign.core.values import encode
    from mechdesign.data.outputs import MECHANISM, require_suffix
    from mechdesign.solvers.solve import solve

    require_suffix(options.output, MECHANISM)
    model, central = model_of(options), shuffled_of(options)
    data = model.data.overridden(options.column, options.range, options.missing)
    method_settings = options_of(options)
    if method_settings and central is not None:
        raise ParameterError("--option", "is not for --shuffled", "drop one of them")
    design = None if central is None else _shuffled(model.problem, options.method, central)
    if design is None:
        solution = solve(model.problem, options.method, **method_settings)
    else:
        solution = design.solution
    if not solution.found:
        print(f"mechdesign: {model.slug}: {solution.status}: {printable(solution.message)}", file=sys.stderr)
        return MISMATCH
    if solution.broken:
        print(f"mechdesign: {model.slug}: not built: {solution.broken[0]}", file=sys.stderr)
        return MISMATCH
    try:
        mechanism = data.applied(solution.mechanism() if design is None else design.mechanism())
    except ParameterError as error:
        raise error.within(model.slug) from None
    if not hasattr(mechanism, "described"):
        what = f"{options.method} describes what runs elsewhere"
        raise MethodError(model.slug, what, "omit --method to build the optimum")
    require_protection(model.slug, mechanism, options.anyway)
    planned = model.problem.planned_users if design is None else design.promise.users
    planned = planned or model.about.users
    title, question = options.title or model.title, options.question or model.question
    mechanism = mechanism.with_about(model.about)
    identity = wave_identity(options, model.identity)
    mechanism = linked(mechanism.described(title, question, options.users or planned, identity), options)
    mechanism = outgoing(mechanism, options.output, [model.slug], options.force, identity, options.anyway)
    users = planned if options.users is None else options.users
    forecast = mechanism.forecast() if users is None else mechanism.forecast(users)
    try:
        outlook = solution.outlook(options.users) if design is None else None
    except ParameterError as error:
        raise error.within(f"{model.slug}: [parameters]") from None
    mechanism.save(options.output)
    for note in filter(None, (labels_note(mechanism), clashes_note(mechanism))):
        print(f"mechdesign: note: {printable(note)}", file=sys.stderr)
    if options.json:
        extras = {} if design is None else {"shuffled": design.as_json()}
        extras |= {} if outlook is None else {"outlook": encode(outlook.as_json())}
        print_json({**solution.as_dict(model.slug), "forecast": encode(forecast), **extras})
    else:
        print(f"{options.output}: {type(mechanism).__name__} from {model.slug}")
        print("\n".join(f"  {certificate}" for certificate in mechanism.certificates()))
        if design is None and solution.caution:
            print(f"  {solution.caution}")
        if design is not None:
            print("\n".join(f"  {line}" for line in design.gain_lines()))
        if forecast is not None:
            print(f"  {forecast}")
        if outlook is not None:
            from textwrap import indent

            print(indent(str(outlook), "  "))
    return FINE


def _shuffled(problem: Problem, method: str | None, value: Mapping[str, Any]) -> ShuffledDesign:
    """Return the design for a central guarantee; its family is imported only when it is asked for."""
    from mechdesign.families.shuffle import shuffled

    return shuffled(problem, method=method, **value)


def _audit(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.core.certificate import PrivacyAudit, PrivacyFinding
    from mechdesign.core.values import encode

    code = accounts.audited(options)
    code = foreign.audited(options) if code is None else code
    if code is not None:
        return code
    mechanism = load_mechanism(options.mechanism)
    output = FigureOutput(options, [options.mechanism])
    if output:
        output.write(mechanism.figures(), options.mechanism)
    certificates = mechanism.certificates()
    audit = mechanism.audit() if hasattr(mechanism, "audit") else None
    details: dict[str, Any] = audit.details() if isinstance(audit, PrivacyFinding) else {}
    checks = _compared(mechanism, options.exports)
    if options.json:
        print_json(
            {
                "mechanism": type(mechanism).__name__,
                "certificates": [encode(certificate.as_dict()) for certificate in certificates],
                "details": encode(details),
                "exports": [encode(vars(check)) for check in checks],
            }
        )
    else:
        print(f"{options.mechanism}: {type(mechanism).__name__}")
        print("\n".join(f"  {certificate}" for certificate in certificates))
        for name, value in details.items() if isinstance(audit, PrivacyAudit) else ():
            print(f"    {name}: {value}")
        if checks:
            print(f"  fingerprint {mechanism.fingerprint}")
            print(f"  {mechanism.about.survey}")
        print("".join(f"{check}\n" for check in checks), end="")
    holds = [certificate.holds for certificate in certificates] + [check.holds for check in checks]
    return FINE if all(holds) else MISMATCH


def _compared(mechanism: Mechanism, paths: list[str]) -> list[ExportCheck]:
    """Return whether exports are those of a mechanism; nothing is imported for none."""
    if not paths:
        return []
    from mechdesign.export import compare_export

    return [compare_export(mechanism, path) for path in paths]


def _randomize(options: argparse.Namespace) -> int:
    from mechdesign.cli.operations import execute
    from mechdesign.collect import CollectingMechanism, load_mechanism
    from mechdesign.data.data_set import STANDARD_INPUT, data_set
    from mechdesign.report.counting import require_codes
    from mechdesign.report.randomizing import repeated_note

    mechanism = load_mechanism(options.mechanism)
    options.inputs, form = data_set(options.inputs), form_of(options, mechanism)
    files = [path for path in options.inputs if path != STANDARD_INPUT]
    for path in [] if options.codes else files:
        require_codes(mechanism, path, options.column, form)
    _require_one_row_each(options, mechanism, files, form)
    code = execute(options, mechanism)
    if options.seed is None and isinstance(mechanism, CollectingMechanism):
        note = repeated_note(files, mechanism.audit().epsilon)
        print(f"mechdesign: {note}\n" if note else "", end="", file=sys.stderr)
    return code


def _require_one_row_each(
    options: argparse.Namespace, mechanism: Mechanism, files: list[str], form: FileForm
) -> None:
    """Refuse data in which people have several rows, unless that is meant: then it is noted."""
    from mechdesign.collect import CollectingMechanism
    from mechdesign.report.repeats import repeats_in

    if options.person and len(files) < len(options.inputs):
        raise ParameterError("--person", "is not for the standard input", "save it to a file")
    if not isinstance(mechanism, CollectingMechanism):
        return
    columns = options.column or mechanism.data_columns
    try:
        repeats = repeats_in(files, columns, options.person, form)
    except DataError:
        if options.person:
            raise
        return  # what is wrong with the file is said where it is randomized
    if repeats is None:
        return
    what, remedy = repeats.text(mechanism.audit().epsilon)
    where = f"{repeats.file}: column '{repeats.column}'"
    if not options.repeated:
        raise DataError(where, what, remedy)
    print(f"mechdesign: note: {where}: {what}", file=sys.stderr)


def _estimate(options: argparse.Namespace) -> int:
    if _is_weighted(options):
        from mechdesign.cli.analysis import estimate_groups

        return estimate_groups(options)
    from mechdesign.cli.operations import execute

    several = any(path.endswith(".json") for path in options.inputs) and is_of_waves(options)
    return estimate_waves(options) if several else execute(options)


def _run(options: argparse.Namespace) -> int:
    from mechdesign.cli.operations import execute, operations_table, parse_operation
    from mechdesign.collect import load_mechanism

    mechanism = load_mechanism(options.mechanism)
    if options.operation is None:
        print(operations_table(options.mechanism, mechanism))
        return FINE
    return execute(parse_operation(options, mechanism), mechanism)
