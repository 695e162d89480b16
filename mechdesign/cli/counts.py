"""The commands ``count`` and ``merge``: reports of many files and machines become small files of counts.

What reads and counts them is imported by a command that runs, not by the help.
"""

from __future__ import annotations

import argparse
from functools import partial

from mechdesign.cli.parser import (
    FINE,
    REPORTS,
    AddCommand,
    add_option,
    dask_option,
    form_of,
    identical_option,
    missing_options,
    print_json,
)


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command(
        "count",
        _count,
        "count reports of many files into one small file, to merge and estimate",
        _count_options,
    )
    command("merge", _merge, "add the counts of several count files", _merge_options)


def _count_options(count: argparse.ArgumentParser) -> None:
    from mechdesign.collect.collecting import COLUMN, UNMARKED

    count.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    count.add_argument("inputs", nargs="+", metavar="REPORTS", help=REPORTS)
    add_option(count, COLUMN)
    add_option(count, UNMARKED)
    missing_options(count)
    identical_option(count)
    dask_option(count)
    _output(count)


def _merge_options(merge: argparse.ArgumentParser) -> None:
    merge.add_argument("inputs", nargs="+", metavar="COUNTS", help="files written by count or merge")
    merge.add_argument(
        "--mechanism", metavar="FILE", help="the mechanism file, where it is too large for the count files"
    )
    identical_option(merge)
    _output(merge)


def _output(added: argparse.ArgumentParser) -> None:
    added.add_argument("-o", "--output", required=True, metavar="FILE", help="the count file (.json)")
    added.add_argument("--force", action="store_true", help="replace an existing file")
    added.add_argument("--json", action="store_true", help="print JSON")


def _count(options: argparse.Namespace) -> int:
    from mechdesign.cli.many_files import reports_counted
    from mechdesign.cli.operations import Work
    from mechdesign.collect import load_mechanism
    from mechdesign.collect.server import report_rule
    from mechdesign.data.data_set import data_set, opened_data
    from mechdesign.data.outputs import MECHANISM, require_output, require_suffix
    from mechdesign.data.reading import require_different
    from mechdesign.export.messages import MessageReader
    from mechdesign.report.counting import count_file_of, counting_operation

    require_suffix(options.output, MECHANISM)
    mechanism = load_mechanism(options.mechanism)
    operation = counting_operation(mechanism, options.mechanism)
    known = [option.name for option in operation.options]
    choices = {name: getattr(options, name) for name in ("column", "unmarked")}
    settings = operation.settings({name: value for name, value in choices.items() if value or name in known})
    rule = report_rule(mechanism, options.missing, tuple(options.missing_code))
    missing = rule.with_messages(partial(MessageReader, mechanism))
    paths = data_set(options.inputs)
    require_different(paths, options.identical)
    require_output(options.output, [options.mechanism, *paths], options.force)
    with opened_data(form_of(options, mechanism)) as data:
        work = Work(mechanism, operation, settings, missing, data, options)
        counts = reports_counted(work, paths, options.dask)
    file = count_file_of(counts.server, counts.files, mechanism)
    file.save(options.output)
    return _print_counts(options, file, counts.missing.note())


def _merge(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.data.data_set import count_set
    from mechdesign.data.outputs import MECHANISM, require_output, require_suffix
    from mechdesign.data.reading import require_different
    from mechdesign.report.counting import merged

    require_suffix(options.output, MECHANISM)
    paths = count_set(options.inputs)
    require_different(paths, options.identical)
    own = [] if options.mechanism is None else [options.mechanism]
    require_output(options.output, [*own, *paths], options.force)
    mechanism = None if options.mechanism is None else load_mechanism(options.mechanism)
    file = merged(paths, options.identical, mechanism)
    file.save(options.output)
    return _print_counts(options, file)


def _print_counts(options: argparse.Namespace, file: object, *notes: str) -> int:
    """Print the written file and its notes, in words or as JSON."""
    from mechdesign.core.errors import counted
    from mechdesign.report.counting import CountFile

    assert isinstance(file, CountFile)  # only imported here, as it takes time
    if options.json:
        print_json(
            {
                "counts": options.output,
                "mechanism": file.survey_digest,
                "users": file.users,
                "unit": file.unit,
                "files": [vars(one) for one in file.files],
            }
        )
        return FINE
    users, files = counted(file.users, file.unit.removesuffix("s")), counted(len(file.files), "file")
    line = f"{options.output}: {users} from {files}"
    print("; ".join([line, *(note for note in notes if note)]))
    return FINE
