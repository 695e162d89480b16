"""The command line.

``mechdesign list | show | solve | compare | check | sweep | build | audit | randomize | estimate``

Exit codes: 0 fine, 1 mismatch, failed certificate or infeasible, 2 bad input (one line, no traceback).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Sequence
from typing import Any, NoReturn

from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.text import printable

FINE, MISMATCH, BAD_INPUT = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Examples
    --------
    >>> main(["solve", "response/zhou2019_survey", "--set", "epsilon=-1"])
    2
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except MechDesignError as error:
        print(f"mechdesign: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output went away, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except (OSError, MemoryError, RecursionError) as error:
        print(f"mechdesign: {type(error).__name__}: {printable(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("mechdesign: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    from mechdesign import __version__

    parser = _Parser(
        prog="mechdesign", description="Provably best mechanisms for collecting data under privacy."
    )
    parser.add_argument("--version", action="version", version=f"mechdesign {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(run=run)
        return added

    def model_options(added: argparse.ArgumentParser, several: bool = False) -> None:
        text = "a slug such as response/zhou2019_survey, or a path ending in .toml"
        added.add_argument("model", nargs="*" if several else None, metavar="MODEL", help=text)
        added.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="override a parameter"
        )
        added.add_argument("--json", action="store_true", help="print JSON")

    listing = command("list", _list, "list the models, or the problems and their methods")
    listing.add_argument("family", nargs="?", help="only this family")
    listing.add_argument("--problems", action="store_true", help="list problems and methods instead")
    listing.add_argument("--json", action="store_true", help="print JSON")
    show = command(
        "show", _show, "show a model: statement, source, parameters, claims; or a problem's parameters"
    )
    model_options(show)
    solve = command("solve", _solve, "solve a model and print value, bound, certificates and variables")
    model_options(solve)
    solve.add_argument("--method", help="the method's name; by default the first that applies")
    for name, run, summary in (
        ("compare", _compare, "run every method on models, side by side, with certificates and claims"),
        ("check", _check, "exit 1 when methods disagree, a certificate fails or a claim's verdict flips"),
    ):
        added = command(name, run, summary)
        model_options(added, several=True)
        added.add_argument("--all", action="store_true", help="all shipped models")
    sweep = command("sweep", _sweep, "solve a model over its sweep, with its simulation")
    model_options(sweep)
    sweep.add_argument("--method", help="the method's name")
    sweep.add_argument("-o", "--output", metavar="FILE", help="write the table as CSV or Parquet")
    build = command("build", _build, "build the mechanism of a model and save it")
    model_options(build)
    build.add_argument("--method", help="the method's name")
    build.add_argument("-o", "--output", required=True, metavar="FILE", help="the mechanism file (JSON)")
    audit = command("audit", _audit, "audit a mechanism file exactly")
    audit.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    audit.add_argument("--json", action="store_true", help="print JSON")
    randomize = command("randomize", _randomize, "randomize a column of answers")
    randomize.add_argument("mechanism", metavar="MECHANISM")
    randomize.add_argument("data", metavar="DATA", help="CSV with a header line, or Parquet")
    randomize.add_argument("-o", "--output", required=True, metavar="FILE", help="CSV or Parquet")
    randomize.add_argument(
        "--column", action="append", help="which column; several times for several attributes"
    )
    randomize.add_argument(
        "--clip", action="store_true", help="move numbers outside the range to its nearest end"
    )
    randomize.add_argument("--seed", type=int, help="for simulations only: repeatable, and not private")
    estimate = command("estimate", _estimate, "estimate from reports, with standard errors and intervals")
    estimate.add_argument("mechanism", metavar="MECHANISM")
    estimate.add_argument(
        "reports", nargs="+", metavar="REPORTS", help="files written by randomize; several are merged"
    )
    estimate.add_argument("--column", action="append", help="which column, when there are several")
    estimate.add_argument(
        "--population", action="store_true", help="estimate the population the users were drawn from"
    )
    estimate.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _overrides(settings: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of ``--set name=value``; values are written as in a model file."""
    result = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--set {setting}: expected NAME=VALUE, for instance epsilon=2")
        try:
            result[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            result[name.strip()] = text
    return result


def _model(options: argparse.Namespace) -> Any:
    from mechdesign.catalog import load_model

    return load_model(options.model, _overrides(options.set))


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, allow_nan=False))


def _list(options: argparse.Namespace) -> int:
    from mechdesign.catalog import load_model, models
    from mechdesign.core.solve import methods_of
    from mechdesign.core.text import table
    from mechdesign.problems import problem_classes

    if options.problems:
        rows = [
            [name, method.name, method.kind, method.summary]
            for name, problem in sorted(problem_classes().items())
            for method in methods_of(problem)
        ]
        header = ["problem", "method", "kind", "summary"]
    else:
        loaded = [load_model(slug) for slug in models(options.family)]
        if not loaded:
            raise ParameterError(f"list: no models in family '{options.family}'; mechdesign list shows all")
        rows = [[model.slug, model.problem.name, str(len(model.claims)), model.title] for model in loaded]
        header = ["model", "problem", "claims", "title"]
    if options.json:
        _print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print(table(header, rows))
    return FINE


def _show(options: argparse.Namespace) -> int:
    from mechdesign.core.parameters import json_schema, parameters_of
    from mechdesign.problems import problem_classes

    if options.model in problem_classes():
        _print_json(json_schema(problem_classes()[options.model]))
        return FINE
    model = _model(options)
    parameters = parameters_of(model.problem)
    if options.json:
        from mechdesign.core.encoding import encode

        described = {"model": model.slug, "title": model.title, "problem": model.problem.name}
        described |= {"source": dict(model.source), "statement": model.statement, "parameters": parameters}
        described["claims"] = [vars(claim) | {"at": dict(claim.at)} for claim in model.claims]
        _print_json(encode(described))
        return FINE
    from mechdesign.report.tables import abridged

    print(f"{model.slug}: {model.title}\nproblem: {model.problem.name} ({model.problem.summary})")
    print("source: " + ", ".join(f"{key} {value}" for key, value in model.source.items()))
    print("\n".join(printable(line) for line in model.statement.strip().splitlines()))
    for name, value in parameters.items():
        print(f"  {name} = {abridged(value)}")
    for claim in model.claims:
        at = f" at {dict(claim.at)}" if claim.at else ""
        print(
            f"  claim: {claim.quantity}{at} = {claim.value} ({claim.origin}; {claim.verdict}) {claim.reason}"
        )
    for name, values in model.sweep.items():
        print(f"  sweep: {name} over {len(values)} values")
    return FINE


def _solve(options: argparse.Namespace) -> int:
    from mechdesign.core.solve import solve
    from mechdesign.report.tables import solution_text

    model = _model(options)
    solution = solve(model.problem, options.method)
    if options.json:
        _print_json(solution.as_dict(model.slug))
    else:
        print(f"{model.slug}: {model.title}\n{solution_text(solution)}")
    return FINE if solution.found else MISMATCH


def _checks(options: argparse.Namespace) -> list[Any]:
    from mechdesign.catalog import check_model, load_model, models
    from mechdesign.core.text import progress

    slugs = models() if options.all else options.model
    if not slugs:
        raise ParameterError("model: none named; name models, or use --all")
    overrides = _overrides(options.set)
    loaded = [load_model(slug, overrides) for slug in slugs]
    return [check_model(model) for model in progress(loaded, len(loaded), "models")]


def _compare(options: argparse.Namespace) -> int:
    checks = _checks(options)
    if options.json:
        _print_json([check.as_dict() for check in checks])
    else:
        print("\n\n".join(str(check) for check in checks))
    return FINE if all(check.passed for check in checks) else MISMATCH


def _check(options: argparse.Namespace) -> int:
    from mechdesign.report.tables import overview

    checks = _checks(options)
    if options.json:
        _print_json([{**check.as_dict(), "problems": check.problems} for check in checks])
    else:
        print(overview(checks))
    return FINE if all(check.passed for check in checks) else MISMATCH


def _sweep(options: argparse.Namespace) -> int:
    from mechdesign.catalog import run_sweep, sweep_points
    from mechdesign.core.text import progress, table
    from mechdesign.report.columns import write_columns
    from mechdesign.report.tables import sweep_json, sweep_table

    model = _model(options)
    if not model.sweep:
        raise ParameterError(f"{model.slug}: has no [sweep]; add one, for instance epsilon = [0.5, 1.0]")
    rows = list(progress(run_sweep(model, options.method), len(sweep_points(model)), model.slug))
    header, lines = sweep_table(rows)
    if options.output:
        write_columns(options.output, dict(zip(header, zip(*lines, strict=True), strict=True)))
    if options.json:
        _print_json(sweep_json(rows))
    elif not options.output:
        print(f"{model.slug}: {model.title}\n{table(header, lines)}")
    return FINE


def _build(options: argparse.Namespace) -> int:
    from mechdesign.core.promises import broken_certificates
    from mechdesign.core.solve import solve

    model = _model(options)
    solution = solve(model.problem, options.method)
    if not solution.found:
        print(f"mechdesign: {model.slug}: {solution.status}: {printable(solution.message)}", file=sys.stderr)
        return MISMATCH
    broken = broken_certificates(solution)
    if broken:
        print(f"mechdesign: {model.slug}: not built: {broken[0]}", file=sys.stderr)
        return MISMATCH
    mechanism = solution.mechanism()
    mechanism.save(options.output)
    if options.json:
        _print_json(solution.as_dict(model.slug))
    else:
        print(f"{options.output}: {type(mechanism).__name__} from {model.slug}")
        print("\n".join(f"  {certificate}" for certificate in mechanism.certificates()))
    return FINE


def _audit(options: argparse.Namespace) -> int:
    from mechdesign.audit import PrivacyAudit
    from mechdesign.core.encoding import encode
    from mechdesign.mechanisms import load_mechanism

    mechanism = load_mechanism(options.mechanism)
    certificates = mechanism.certificates()
    audit = mechanism.audit() if hasattr(mechanism, "audit") else None
    details: dict[str, Any] = audit.details() if isinstance(audit, PrivacyAudit) else {}
    if options.json:
        _print_json(
            {
                "mechanism": type(mechanism).__name__,
                "certificates": [encode(certificate.as_dict()) for certificate in certificates],
                "details": encode(details),
            }
        )
    else:
        print(f"{options.mechanism}: {type(mechanism).__name__}")
        print("\n".join(f"  {certificate}" for certificate in certificates))
        for name, value in details.items():
            print(f"    {name}: {value}")
    return FINE if all(certificate.holds for certificate in certificates) else MISMATCH


def _randomize(options: argparse.Namespace) -> int:
    from mechdesign.mechanisms import load_mechanism
    from mechdesign.report.columns import write_columns
    from mechdesign.report.reports import randomized

    mechanism = load_mechanism(options.mechanism)
    columns = randomized(mechanism, options.data, options.column, options.seed, options.clip)
    write_columns(options.output, columns)
    print(f"{options.output}: {len(next(iter(columns.values())))} reports of {', '.join(map(repr, columns))}")
    return FINE


def _estimate(options: argparse.Namespace) -> int:
    from mechdesign.core.encoding import encode
    from mechdesign.mechanisms import load_mechanism
    from mechdesign.report.reports import aggregator, count_reports

    mechanism = load_mechanism(options.mechanism)
    counter = aggregator(mechanism)
    for path in options.reports:
        count_reports(mechanism, path, options.column, counter)
    try:
        result = counter.estimate(population=options.population)
    except MechDesignError as error:
        raise type(error)(f"{options.mechanism}: {error}") from None
    if options.json:
        _print_json(encode(result))
    else:
        print(result)
    return FINE


if __name__ == "__main__":
    sys.exit(main())
