"""The commands ``count`` and ``merge``: reports of many files and machines as small files of counts."""

from __future__ import annotations

import argparse

from mechdesign.cli.long_runs import dask_option
from mechdesign.cli.options import FINE, AddCommand, missing_option, print_json

REPORTS = "files written by randomize or by clients, folders of them, patterns, or - for the standard input"


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
    count.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    count.add_argument("inputs", nargs="+", metavar="REPORTS", help=REPORTS)
    count.add_argument("--column", action="append", help="which column, when there are several")
    count.add_argument(
        "--unmarked", action="store_true", help="accept a column whose name has no fingerprint"
    )
    missing_option(count)
    count.add_argument("--missing-code", action="append", default=[], metavar="TEXT", help="a missing value")
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


def identical_option(added: argparse.ArgumentParser) -> None:
    """Add the option for inputs of the same content."""
    added.add_argument(
        "--identical", action="store_true", help="files of the same content are meant: each counts"
    )


def _output(added: argparse.ArgumentParser) -> None:
    added.add_argument("-o", "--output", required=True, metavar="FILE", help="the count file (.json)")
    added.add_argument("--force", action="store_true", help="replace an existing file")
    added.add_argument("--json", action="store_true", help="print JSON")


def _count(options: argparse.Namespace) -> int:
    from mechdesign.cli.work import Work
    from mechdesign.collect import load_mechanism
    from mechdesign.collect.reader import report_rule
    from mechdesign.core.errors import MechDesignError
    from mechdesign.data.data_set import data_set, opened_data
    from mechdesign.data.formats import MECHANISM, require_suffix
    from mechdesign.data.outputs import require_output
    from mechdesign.data.reading import require_different
    from mechdesign.export.messages import with_messages
    from mechdesign.report.count_file import count_file_of
    from mechdesign.report.counting import counting_operation

    require_suffix(options.output, MECHANISM)
    mechanism = load_mechanism(options.mechanism)
    operation = counting_operation(mechanism, options.mechanism)
    known = [option.name for option in operation.options]
    given = {name: getattr(options, name) for name in ("column", "unmarked")}
    settings = operation.settings({name: value for name, value in given.items() if value or name in known})
    missing = with_messages(report_rule(mechanism, options.missing, tuple(options.missing_code)), mechanism)
    paths = data_set(options.inputs)
    require_different(paths, options.identical)
    require_output(options.output, [options.mechanism, *paths], options.force)
    with opened_data() as data:
        work = Work(mechanism, operation, settings, missing, data, options)
        try:
            found = work.reports_counted(paths, options.dask)
        except MechDesignError as error:
            raise error.for_shell() from None
    file = count_file_of(found.server, found.files, mechanism)
    file.save(options.output)
    return _said(options, file, found.missing.note())


def _merge(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.data.data_set import count_set
    from mechdesign.data.formats import MECHANISM, require_suffix
    from mechdesign.data.outputs import require_output
    from mechdesign.data.reading import require_different
    from mechdesign.report.count_file import merged

    require_suffix(options.output, MECHANISM)
    paths = count_set(options.inputs)
    require_different(paths, options.identical)
    own = [] if options.mechanism is None else [options.mechanism]
    require_output(options.output, [*own, *paths], options.force)
    mechanism = None if options.mechanism is None else load_mechanism(options.mechanism)
    file = merged(paths, options.identical, mechanism)
    file.save(options.output)
    return _said(options, file)


def _said(options: argparse.Namespace, file: object, *notes: str) -> int:
    """Print the written file and its notes, in words or as JSON."""
    from mechdesign.core.text import counted
    from mechdesign.report.count_file import CountFile

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
