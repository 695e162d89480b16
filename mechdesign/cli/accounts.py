"""Accounts: ``audit`` of several mechanism files, and the command ``ledger``."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mechdesign.cli.parser import FINE, MISMATCH, AddCommand, print_json
from mechdesign.core.errors import ParameterError, RowError

if TYPE_CHECKING:
    from mechdesign.ledger.account import Total
    from mechdesign.ledger.ledger import Ledger

WITHIN = 1e-6
"""The delta of totals, where none is given."""
HEAD = 256
MOST_NAMED = 8
NAMED = "its name, or its mechanism file"
OTHER = "for such make another ledger with --account sums, whose limit comes on top of this one"


def add_options(audit: argparse.ArgumentParser) -> None:
    """Add the options for several mechanisms that one user answers."""
    audit.add_argument(
        "--times",
        type=int,
        action="append",
        metavar="N",
        help="number of answers per user: one number for all mechanism files, or one per file",
    )


def add_commands(command: AddCommand) -> None:
    """Add the command ``ledger``."""
    command("ledger", _show, "keep what was collected from groups of participants, within a limit", _options)


def _options(ledger: argparse.ArgumentParser) -> None:
    actions = ledger.add_subparsers(title="actions", required=True, metavar="ACTION")
    opened = _action(actions, "open", _open, "make an empty ledger")
    whose = f"the survey that it belongs to: {NAMED}"
    opened.add_argument("--survey", required=True, metavar="SURVEY", help=whose)
    opened.add_argument("--epsilon", metavar="E", required=True, help="the limit for each group, also as 1/3")
    opened.add_argument(
        "--delta", metavar="D", default=str(WITHIN), help=f"of the limit (default {WITHIN:g})"
    )
    opened.add_argument(
        "--account",
        default="filter",
        metavar="WHICH",
        help="what decides: 'sums' of epsilon and delta, or 'filter', a Renyi filter or the sum of epsilon",
    )
    opened.add_argument("--shuffled", action="store_true", help="the limit holds for shuffled reports")
    collected = _action(actions, "collect", _collect, "enter a collection; refuse it beyond the limit")
    collected.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    collected.add_argument("--group", required=True, metavar="TEXT", help="group of participants who answer")
    collected.add_argument(
        "--times", type=int, default=1, metavar="N", help="number of answers per participant (default 1)"
    )
    collected.add_argument("--survey", metavar="SURVEY", help="refuse the ledger of another survey")
    entered = _action(actions, "enter", _enter, "enter all collections of a file, or none of them")
    entered.add_argument(
        "entries",
        metavar="ENTRIES",
        help="a table with the columns mechanism (a file written by build), group and, if not 1, times",
    )
    entered.add_argument("--survey", metavar="SURVEY", help="refuse the ledger of another survey")
    text = _action(actions, "show", _show, "print the collections and totals of each group")
    text.add_argument("--survey", metavar="SURVEY", help="refuse the ledger of another survey")


def _action(actions: Any, name: str, run: Any, summary: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=summary)
    added.set_defaults(run=run)
    added.add_argument("ledger", metavar="LEDGER", help="the file of the ledger")
    added.add_argument("--json", action="store_true", help="print JSON")
    return added


def audited(options: argparse.Namespace) -> int | None:
    """Print the account of several mechanism files and return the exit code; None for anything else."""
    paths = [options.mechanism, *options.exports]
    others = [path for path in options.exports if is_mechanism_file(path)]
    if not options.times and not others:
        return None
    if options.mechanism is None or len(others) < len(options.exports):
        strange = next((path for path in options.exports if path not in others), "MECHANISM")
        raise ParameterError(
            strange, "is not a mechanism file", "name mechanism files only, or one and exports"
        )
    from mechdesign.collect import load_mechanism
    from mechdesign.core.values import encode
    from mechdesign.ledger.ledger import account, collected_of

    times = _times(options.times, paths)
    collections = [
        collected_of(load_mechanism(path), path, each) for path, each in zip(paths, times, strict=True)
    ]
    sum_of_all = account(collections, WITHIN if options.delta is None else options.delta)
    if options.json:
        print_json(encode(sum_of_all.as_json()))
    else:
        print(sum_of_all)
    return FINE if sum_of_all.is_within else MISMATCH


def is_mechanism_file(path: str) -> bool:
    """Whether a file begins like a mechanism file; what cannot be read is looked at elsewhere."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return '"format": "mechdesign-mechanism"' in stream.read(HEAD)
    except OSError:
        return False


def _times(value: Sequence[int] | None, paths: Sequence[str]) -> list[int]:
    result = list(value or [1])
    if len(result) == 1:
        result *= len(paths)
    if len(result) != len(paths):
        what = f"expected 1 or {len(paths)} of them, one per file, got {len(result)}"
        raise ParameterError("--times", what, "give one for all, or one for each")
    if min(result) < 1:
        raise ParameterError("--times", f"{min(result)} is below 1", "give the number of answers per user")
    return result


def survey_name(text: str | None) -> str | None:
    """Return the name of a survey: as it was typed, or the title in its mechanism file.

    Raises
    ------
    ParameterError
        For a mechanism file that says nothing about its survey.
    """
    if text is None or not is_mechanism_file(text):
        return text
    from mechdesign.collect import load_mechanism

    about = load_mechanism(text).about
    name = about.title or about.question or about.id
    if not name:
        raise ParameterError("--survey", f"{text} has neither a title nor an identity", "type a name")
    return name


def _open(options: argparse.Namespace) -> int:
    from mechdesign.ledger.ledger import open_ledger

    ledger = open_ledger(
        options.ledger,
        str(survey_name(options.survey)),
        options.epsilon,
        options.delta,
        options.shuffled,
        options.account,
    )
    if options.json:
        print_json(ledger.as_json())
    else:
        print(f"{options.ledger}: survey '{ledger.survey}', limit {_limit(ledger)}")
    return FINE


def _collect(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.core.values import encode
    from mechdesign.ledger.ledger import collected_of, entry_of, record_collection

    mechanism = load_mechanism(options.mechanism)
    entry = entry_of(
        collected_of(mechanism, options.mechanism, options.times),
        mechanism.fingerprint,
        options.mechanism,
        mechanism.about.id,
    )
    ledger, allowed = record_collection(options.ledger, options.group, entry, survey_name(options.survey))
    group = ledger.named(options.group)
    total, (part, by) = ledger.total(group), ledger.decided(group)
    if options.json:
        plain = encode(total.as_json())
        print_json({"allowed": allowed, "group": group, "used": part, "account": by, "total": plain})
    elif allowed:
        print(f"{options.ledger}: group '{group}': {_state(ledger, group)}")
    earlier = [one for one in ledger.groups[group][:-1] if one.is_again(entry)]
    if allowed and earlier:
        what = mechanism.about.survey if entry.survey else "a mechanism without the identity of a survey"
        print(
            f"mechdesign: {options.ledger}: group '{group}': {what} was entered before "
            f"({', '.join(one.when for one in earlier[-3:])}) and counts again; "
            "the next wave needs a file with another identity",
            file=sys.stderr,
        )
    if not allowed:
        why = _refusal(ledger, group, options.mechanism)
        print(f"mechdesign: {options.ledger}: group '{group}': refused: {why}", file=sys.stderr)
    elif len(ledger.groups) > 1 and len(ledger.groups[group]) == 1:
        others = ", ".join(f"'{name}'" for name in list(ledger.groups)[:MOST_NAMED] if name != group)
        print(
            f"mechdesign: {options.ledger}: group '{group}' is new, with its own limit; there are {others}",
            file=sys.stderr,
        )
    return FINE if allowed else MISMATCH


def _enter(options: argparse.Namespace) -> int:
    from mechdesign.core.errors import counted
    from mechdesign.ledger.ledger import entries_of, record_collections

    entries = entries_of(options.entries)
    try:
        ledger, refused = record_collections(options.ledger, entries, survey_name(options.survey))
    except RowError as error:
        raise error.within(options.entries) from None
    names = list(dict.fromkeys(ledger.named(group) for group, _ in entries)) if refused is None else []
    again = _entered_before(ledger, names, len(entries))
    if options.json:
        groups = {name: {"used": ledger.used(name), "account": ledger.decided(name)[1]} for name in names}
        plain = {"allowed": refused is None, "entries": len(entries), "groups": groups}
        print_json({**plain, "refused": None if refused is None else refused + 1})
    elif refused is None:
        print(f"{options.ledger}: {counted(len(entries), 'collection')} of {counted(len(names), 'group')}")
        for name in names[:MOST_NAMED]:
            print(f"{name}: {_state(ledger, name)}")
        if len(names) > MOST_NAMED:
            print(f"... and {len(names) - MOST_NAMED} more groups; mechdesign ledger show prints all")
    if again:
        what = f"{counted(again, 'collection')} of a survey that its group was asked before: each counts"
        print(f"mechdesign: {options.ledger}: {what}", file=sys.stderr)
    if refused is not None:
        group, entry = entries[refused]
        name = ledger.named(group)
        why = _refusal(ledger, name, entry.file)
        place = f"{options.entries}: row {refused + 1}: group '{name}'"
        print(f"mechdesign: {place}: refused, and nothing is entered: {why}", file=sys.stderr)
    return FINE if refused is None else MISMATCH


def _entered_before(ledger: Ledger, names: Sequence[str], count: int) -> int:
    """Return how many of the last collections repeat a survey of their group."""
    again = 0
    for name in names:
        entries = ledger.groups[name]
        again += len(entries) - len({(entry.mechanism, entry.survey) for entry in entries})
    return min(again, count)


def _show(options: argparse.Namespace) -> int:
    from mechdesign.core.values import encode
    from mechdesign.ledger.ledger import load_ledger
    from mechdesign.show.tables import table

    ledger = load_ledger(options.ledger, survey_name(options.survey))
    if options.json:
        totals = {
            group: {
                **encode(ledger.total(group).as_json()),
                "used": ledger.used(group),
                "account": ledger.decided(group)[1],
            }
            for group in ledger.groups
        }
        print_json({**ledger.as_json(), "totals": totals})
        return FINE
    print(f"{options.ledger}: survey '{ledger.survey}', limit {_limit(ledger)}")
    rows = [
        [group, entry.when, entry.file, str(entry.collected.times), f"{entry.collected.epsilon:g}"]
        for group, entries in ledger.groups.items()
        for entry in entries
    ]
    if rows:
        print(table(["group", "when", "mechanism", "times", "epsilon"], rows))
    for group in ledger.groups:
        print("\n".join((f"{group}: {_state(ledger, group)}", *_fixed(ledger, group))))
    return FINE


def _state(ledger: Ledger, group: str) -> str:
    """Return what decides for a group, with one number: the part of the limit that is used, rounded up."""
    from mechdesign.collect.totals import total_text
    from mechdesign.ledger.renyi_filter import FILTER

    used, by = ledger.decided(group)
    many = f"{math.ceil(used * 1000.0 - 1e-9) / 10.0:g}%" if used < math.inf else "more than 100%"
    if by == FILTER:
        apart = f"the sum of epsilon, which does not decide, is {_sum(ledger, group)}"
        return f"{many} of the limit used, by {FILTER} ({apart})"
    return f"{total_text(ledger.total(group))}; {many} of the limit used"


def _sum(ledger: Ledger, group: str) -> str:
    return f"{ledger.total(group).epsilon:g}"


def _fixed(ledger: Ledger, group: str) -> list[str]:
    """Return which account the first collection of a group has fixed, where there is another one."""
    from mechdesign.ledger.account import PROMISES
    from mechdesign.ledger.renyi_filter import FILTER

    account, first = ledger.account(group), ledger.groups[group][0].file
    if account == FILTER:
        return [f"  its first collection, {first}, opened {FILTER}: none that needs a delta fits; {OTHER}"]
    if account == PROMISES and ledger.filtered:
        return [f"  its first collection, {first}, fixed {PROMISES}: {FILTER} needs another ledger"]
    return []


def _refusal(ledger: Ledger, group: str, mechanism: str) -> str:
    """Return why the last collection of a group is refused, and what to do."""
    from mechdesign.collect.totals import total_text
    from mechdesign.ledger.renyi_filter import FILTER

    entries = ledger.groups[group]
    before = ledger.without_last(group)
    if not before.has_room_for(group, entries[-1]):
        return (
            f"{mechanism} needs a delta, and the first collection, {entries[0].file}, opened {FILTER}, "
            f"which may use all of it; {OTHER}"
        )
    total, (used, by) = ledger.total(group), ledger.decided(group)
    if by == FILTER:
        return (
            f"with {mechanism} {FILTER} is at {100.0 * used:.4g}% of the limit {_limit(ledger)}; "
            f"the sum of epsilon, which does not decide, is {_sum(ledger, group)}"
        )
    excess = _excess(ledger, total)
    return f"together with {mechanism} {total_text(total)}, and the limit is {_limit(ledger)}{excess}"


def _excess(ledger: Ledger, total: Total) -> str:
    """Return by how much the sum of epsilon is above the limit, where both are printed alike."""
    exact = total.guarantee
    if (
        exact is None
        or exact.epsilon <= ledger.limit.epsilon
        or f"{total.epsilon:g}" != f"{ledger.epsilon:g}"
    ):
        return ""
    return f"; the sum of epsilon is {float(exact.epsilon - ledger.limit.epsilon):.2g} above it"


def _limit(ledger: Ledger) -> str:
    from mechdesign.core.validation import probability_text

    where = " after the shufflers" if ledger.shuffled else ""
    return f"epsilon = {ledger.epsilon:g}, delta = {probability_text(ledger.limit.delta)}{where}"
