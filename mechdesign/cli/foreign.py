"""The audit of mechanisms of other programs: channels in files, configurations of RAPPOR, programs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mechdesign.cli.parser import FINE, MISMATCH, print_json
from mechdesign.core.errors import ParameterError, counted, printable

if TYPE_CHECKING:
    from mechdesign.foreign.audit import ForeignAudit
    from mechdesign.foreign.channels import ForeignChannel
    from mechdesign.foreign.rappor import Rappor

RUNS = 20_000
CONFIDENCE = 0.999
OF_PROGRAMS = ("answer", "runs", "delta", "confidence")
FOREIGN = ("epsilon", "reports", "names", *OF_PROGRAMS)


def add_options(audit: argparse.ArgumentParser) -> None:
    """Add the options for mechanisms of other programs."""
    audit.add_argument(
        "--epsilon", metavar="EPS", help="epsilon that a foreign mechanism states, exactly as written"
    )
    audit.add_argument(
        "--reports", type=int, metavar="N", help="reports of the same answer that epsilon covers (1)"
    )
    audit.add_argument(
        "--names",
        metavar="WHAT",
        help="what is named in a CSV file: none, answers (first column), reports (first line), or both",
    )
    audit.add_argument(
        "--program",
        metavar="COMMAND",
        help="program that reads an answer per line and writes a report per line",
    )
    audit.add_argument(
        "--answer", action="append", metavar="TEXT", help="an answer for --program (repeatable)"
    )
    audit.add_argument("--runs", type=int, metavar="N", help=f"runs of --program for each answer ({RUNS})")
    text = "delta at which --program is tested (0), or that a total may have (1e-6)"
    audit.add_argument("--delta", metavar="D", help=text)
    audit.add_argument(
        "--confidence", type=float, metavar="C", help=f"of the test of --program ({CONFIDENCE})"
    )


def audited(options: argparse.Namespace) -> int | None:
    """Audit what another program made and return the exit code; None for a mechanism file of this package."""
    if options.program is not None:
        return _audit_program(options)
    if options.mechanism is None:
        raise ParameterError("MECHANISM", "is missing", "give a file, or a command with --program")
    from mechdesign.foreign import is_foreign

    if is_foreign(options.mechanism):
        return _audit_file(options)
    source = next((name for name in FOREIGN if getattr(options, name) is not None), None)
    if source is not None:
        what = "is an option for foreign mechanisms only"
        raise ParameterError(f"--{source}", what, "omit it: a mechanism file states its own epsilon")
    return None


def _audit_program(options: argparse.Namespace) -> int:
    """Run a program and print the lower bound of its epsilon."""
    from mechdesign.core.validation import epsilon_number
    from mechdesign.core.values import rounded_text
    from mechdesign.foreign.black_box import attack_program
    from mechdesign.foreign.program import run_program

    if options.mechanism is not None:
        raise ParameterError("--program", f"given together with '{options.mechanism}'", "give one of the two")
    if options.names is not None:
        raise ParameterError("--names", "is an option for a CSV file", "omit it")
    answers = list(dict.fromkeys(options.answer or []))
    if len(answers) < 2:
        raise ParameterError(
            "--answer", f"{len(answers)} of at least 2", "add --answer for two different answers"
        )
    stated = None if options.epsilon is None else epsilon_number(options.epsilon, "--epsilon")
    reports = run_program(options.program, answers, RUNS if options.runs is None else options.runs)
    level = CONFIDENCE if options.confidence is None else options.confidence
    attack = attack_program(reports, options.delta or 0.0, level)
    refuted = stated is not None and attack.refutes(stated)
    if options.json:
        plain = None if stated is None else float(stated)
        print_json({**vars(attack), "reports": list(attack.reports), "stated": plain, "refuted": refuted})
    else:
        each = f"{len(reports[answers[0]])} times for each of {counted(len(answers), 'answer')}"
        print(printable(f"{options.program}: a program, run {each}"))
        print("\n".join(f"  {printable(line)}" for line in str(attack).split("\n")))
        if stated is not None:
            verdict = "refuted" if refuted else "not tested" if attack.is_blind else "not refuted"
            print(f"  epsilon {rounded_text(stated)} is {verdict}")
    return MISMATCH if refuted else FINE


def _audit_file(options: argparse.Namespace) -> int:
    """Print the exact epsilon of the mechanism in a file."""
    from mechdesign.core.validation import epsilon_number
    from mechdesign.foreign.files import read_foreign
    from mechdesign.foreign.rappor import Rappor

    for name in OF_PROGRAMS:
        if getattr(options, name) is not None:
            raise ParameterError(f"--{name}", "is an option of --program only", "omit it, or add --program")
    if options.exports:
        raise ParameterError(options.exports[0], "is given with a foreign mechanism", "omit it")
    foreign = read_foreign(options.mechanism, options.names)
    stated = foreign.epsilon if options.epsilon is None else epsilon_number(options.epsilon, "--epsilon")
    audits = _audits(foreign.mechanism, options.reports)
    verdicts = [] if stated is None else [audit.certificate(stated) for audit in audits]
    if options.json:
        size = None if isinstance(foreign.mechanism, Rappor) else list(foreign.mechanism.shape)
        rows = [audit.as_json() for audit in audits]
        held = [certificate.as_dict() for certificate in verdicts]
        print_json(
            {
                "what": foreign.heading(),
                "size": size,
                "read": foreign.reading,
                "audits": rows,
                "certificates": held,
            }
        )
    else:
        print(printable(f"{options.mechanism}: {foreign.heading()}"))
        lines = [*foreign.lines(), *(line for audit in audits for line in audit.lines()), *map(str, verdicts)]
        print("\n".join(f"  {printable(line)}" for line in lines))
    infinite = any(audit.infinite for audit in audits)
    return FINE if all(item.holds for item in verdicts) and not infinite else MISMATCH


def _audits(mechanism: ForeignChannel | Rappor, reports: int | None) -> list[ForeignAudit]:
    """Return the audit of some reports; by default of one, and for RAPPOR also of any number."""
    from mechdesign.foreign.channels import ForeignChannel

    if isinstance(mechanism, ForeignChannel):
        return [mechanism.audit(1 if reports is None else reports)]
    return [mechanism.audit(number) for number in ((1, None) if reports is None else (reports,))]
