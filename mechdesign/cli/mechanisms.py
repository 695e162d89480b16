"""Commands on mechanisms: choose, build, audit.

A built mechanism has notes on labels and columns that other programs change: words for missing values, and
names that clash. Names that differ in case, spaces, or how letters and numbers are written are different
here, but a file comes from people and passes other programs: a spreadsheet writes 1.0 as 1, many systems
change the normal form of a letter, and a database ignores the case of column names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mechdesign.cli import accounts, foreign
from mechdesign.cli.identity import (
    anyway_option,
    identity_option,
    linked,
    outgoing,
    require_protection,
    wave_identity,
    wave_options,
)
from mechdesign.cli.parser import (
    FINE,
    MISMATCH,
    AddCommand,
    FigureOutput,
    add_users,
    data_options,
    figure_option,
    method_options,
    model_of,
    model_options,
    number_text,
    options_of,
    print_json,
    shuffled_of,
    shuffled_options,
)
from mechdesign.core.errors import MethodError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mechdesign.collect import Mechanism
    from mechdesign.core.problem import Problem
    from mechdesign.export import ExportCheck
    from mechdesign.families.shuffle.shuffled_reports import ShuffledDesign


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command(
        "choose", _choose, "rank the mechanisms for means by their expected standard error", _choose_options
    )
    command("build", _build, "build the mechanism of a model and save it", _build_options)
    command("audit", _audit, "audit a mechanism exactly, including one of another program", _audit_options)


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


SHOWN = 4
"""How many groups of names a note lists."""


def plain_form(name: str) -> str:
    r"""Return what is left of a name without case, extra spaces, invisible letters and forms of writing.

    Examples
    --------
    >>> [plain_form(name) for name in (" Yes", "1.0", "01", "1,0", "e\u0301", "no\u200b", "-0")]
    ['yes', '1', '1', '1', 'é', 'no', '0']
    """
    import unicodedata

    from mechdesign.exact.numbers import number_of_text

    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    words = " ".join(seen.split())
    number = number_of_text(words.replace(",", "."))
    return words if number is None else f"{number + 0.0:.15g}"  # spreadsheets keep 15 digits


def clashes_in(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of different names that have one plain form.

    Examples
    --------
    >>> clashes_in(["yes", "no", "Yes", "yes "]), clashes_in(["1", "1.5", "2"])
    ([['yes', 'Yes', 'yes ']], [])
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(plain_form(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def clashes_note(mechanism: Mechanism) -> str | None:
    """Return a warning about answers and columns that files may not tell apart; None without any."""
    from mechdesign.collect.server import alphabets_of

    answers = [group for names in alphabets_of(mechanism) for group in clashes_in(names)]
    attributes = getattr(getattr(mechanism, "attributes", None), "names", None) or ()
    columns = clashes_in([*mechanism.data_columns, *attributes])
    notes = [_noted("labels", answers), _noted("columns", columns)]
    return "; ".join(note for note in notes if note) or None


def _noted(what: str, groups: Sequence[Sequence[str]]) -> str:
    if not groups:
        return ""
    text = "; ".join(" and ".join(map(_shown, group[:SHOWN])) for group in groups[:SHOWN])
    more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
    return (
        f"{what}: people or other programs may write {text}{more} as one name, since they differ only in "
        "case, spaces, or how a letter or number is written; choose other words"
    )


def _shown(name: str) -> str:
    """Return a name in quotes, with escapes where it looks like another one."""
    import unicodedata

    return repr(name) if unicodedata.is_normalized("NFKC", name) else ascii(name)


def labels_note(mechanism: Mechanism) -> str | None:
    """Return a warning about labels that other programs read as missing values; None without any."""
    from mechdesign.collect.server import risky_labels

    labels = risky_labels(mechanism)
    if not labels:
        return None
    text = ", ".join(map(repr, labels[:4])) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
    return f"labels: R, pandas or other programs read {text} as a missing value; choose other words"
