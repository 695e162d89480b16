"""Run an operation of a mechanism on files; it says itself which it has, what they take and give."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from mechdesign.cli.counting import identical_option
from mechdesign.cli.figures import FigureOutput, figure_option
from mechdesign.cli.identity import note_lack
from mechdesign.cli.options import FINE, Parser, missing_option, print_json, result_options
from mechdesign.cli.results import ResultOutput
from mechdesign.cli.work import RANDOMIZE, Work
from mechdesign.collect import Mechanism, load_mechanism
from mechdesign.collect.collecting import Option, operation_of
from mechdesign.collect.reader import rule_for
from mechdesign.core.errors import MechDesignError
from mechdesign.core.tables import Block
from mechdesign.core.text import counted, encode
from mechdesign.data.data_set import data_set, opened_data
from mechdesign.data.formats import DATA, RESULTS, require_suffix
from mechdesign.data.outputs import require_output
from mechdesign.data.reading import require_different
from mechdesign.export.messages import with_messages
from mechdesign.report.counting import COUNTING
from mechdesign.report.randomizing import is_folder


def operations_table(path: str, mechanism: Mechanism) -> str:
    """Return the table operations of a mechanism as text."""
    found = mechanism.operations()
    if not found:
        return f"{path}: a {mechanism.type} has no operations on tables; load it in Python instead"
    lines = [f"{path}: {mechanism.type}"]
    for operation in found:
        gives = ", ".join(map(str, operation.gives)) or "a result, which is printed"
        takes = ", ".join(map(str, operation.takes)) or "no table"
        takes += ", in several files" if operation.several else ""
        lines += [f"{operation.name}: {operation.summary}", f"  takes {takes}", f"  gives {gives}"]
        widest = max((len(_flag(option)) for option in operation.options), default=0)
        lines += [f"  --{_flag(option):<{widest}}  {option.summary}" for option in operation.options]
    return "\n".join(lines)


def parse_operation(
    options: argparse.Namespace, mechanism: Mechanism
) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Return the parsed rest of a ``run`` command line, and the names of the operation's options."""
    operation = operation_of(mechanism.operations(), options.operation, options.mechanism)
    parser = Parser(
        prog=f"mechdesign run {options.mechanism} {operation.name}", description=operation.summary
    )
    several = operation.several
    text = "CSV with a header line, or Parquet"
    if operation.takes:
        parser.add_argument("inputs", nargs="+" if several else 1, metavar="INPUT", help=text)
        if several:
            identical_option(parser)
    else:
        parser.set_defaults(inputs=[], missing=None, missing_code=[])
    if operation.gives:
        parser.add_argument("-o", "--output", required=True, metavar="FILE", help="CSV or Parquet")
        parser.add_argument("--force", action="store_true", help="replace an existing file")
    else:
        result_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")
        figure_option(parser, "the result")
    if operation.takes:
        missing_option(parser)
        parser.add_argument("--missing-code", action="append", default=[], metavar="TEXT")
    for option in operation.options:
        _add(parser, option)
    given = parser.parse_args(options.rest)
    given.mechanism = options.mechanism
    return given, tuple(option.name for option in operation.options)


def _flag(option: Option) -> str:
    return option.name.replace("_", "-")


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    name, text = f"--{_flag(option)}", option.summary
    if option.kind == "flag":
        parser.add_argument(name, action="store_true", help=text, dest=option.name)
    elif option.kind == "texts":
        parser.add_argument(name, action="append", help=text, dest=option.name)
    else:
        kinds = {"whole number": int, "number": float, "text": str, "path": str}
        metavar = "FILE" if option.kind == "path" else None
        parser.add_argument(name, type=kinds[option.kind], help=text, dest=option.name, metavar=metavar)


def execute(
    options: argparse.Namespace, name: str, names: Sequence[str], mechanism: Mechanism | None = None
) -> int:
    """Run an operation with the parsed options and print what came of it."""
    loaded = load_mechanism(options.mechanism) if mechanism is None else mechanism
    operation = operation_of(loaded.operations(), name, options.mechanism)
    settings = operation.settings({option: getattr(options, option) for option in names})
    kept = [settings[option.name] for option in operation.options if option.kind == "path"]
    kept = [path for path in kept if path is not None]
    missing = with_messages(rule_for(loaded, operation, options.missing, tuple(options.missing_code)), loaded)
    counts = operation.name in COUNTING and not operation.gives
    paths = options.inputs = data_set(options.inputs, counts)
    require_different(paths, getattr(options, "identical", False))
    output, dask = getattr(options, "output", None), getattr(options, "dask", None)
    if output is not None and not (operation.name == RANDOMIZE and is_folder(output)):
        require_suffix(output, DATA if operation.gives else RESULTS)
    picture = _figure_output(options, kept)
    with opened_data() as data:
        work = Work(loaded, operation, settings, missing, data, options)
        try:
            if operation.name == RANDOMIZE and (len(paths) > 1 or is_folder(output or "") or dask):
                said = work.randomized(paths)
            elif operation.gives:
                made = operation.run(work.sources(paths), settings)
                said = _written(options, made, kept, operation.private)
            else:
                sources = work.counted(paths, dask) if dask else work.sources(paths)
                said = _shown(options, operation.run(sources, settings), picture, loaded, kept)
        except MechDesignError as error:
            if error.is_about(*paths, *kept, (output or "-o ").rstrip("/"), "-o ", "--dask"):
                raise
            raise error.within(options.mechanism).for_shell() from None
    notes = [missing.note(), *settings.said()]
    line = "; ".join(text for text in (said, *notes) if text)
    if line:
        print(line, file=sys.stderr if getattr(options, "json", False) else sys.stdout)
    if counts:
        note_lack(loaded, options.mechanism)
    return FINE


def _written(options: argparse.Namespace, blocks: Iterator[Block], kept: Sequence[str], private: bool) -> str:
    """Write the blocks of an operation; over an existing file by force only."""
    from mechdesign.data.writing import write_blocks  # estimates are printed

    inputs = [options.mechanism, *options.inputs, *kept]
    require_output(options.output, inputs, options.force)
    first = next(blocks)
    rows = write_blocks(options.output, chain([first], blocks), private)
    return f"{options.output}: {counted(rows, 'row')} of {', '.join(map(repr, first))}"


def _figures(result: Any) -> list[Any]:
    return list(result.figures()) if hasattr(result, "figures") else []


def _figure_output(options: argparse.Namespace, kept: Sequence[str]) -> FigureOutput | None:
    """Return where the picture of a result goes, if the command has the option and it is wanted."""
    if getattr(options, "figure", None) is None:
        return None
    output = getattr(options, "output", None)
    return FigureOutput(options, [options.mechanism, *options.inputs, *kept], output)


def _shown(
    options: argparse.Namespace,
    result: Any,
    picture: FigureOutput | None,
    mechanism: Mechanism,
    kept: Sequence[str],
) -> str:
    """Print a result, or write its table, after its picture was written where one is wanted."""
    output = ResultOutput(options, result, mechanism, kept)
    if picture is not None:
        draws = result if isinstance(result, list) else [result]
        picture.write([figure for item in draws for figure in _figures(item)], "these results")
    said = output.write()
    if options.json:
        print_json(encode(result))
    elif not said:
        print(result.grid_text() if options.grid else result)
    return said
