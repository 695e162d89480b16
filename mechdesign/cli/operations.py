"""Operations of mechanisms on files: randomize, estimate, and run for any of them.

A mechanism says itself which operations it has, and what they take and give. A result goes to the screen or
into a file: the table of the estimates, or grids of cross tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mechdesign.cli.identity import estimate_waves, is_of_waves
from mechdesign.cli.parser import (
    FINE,
    REPORTS,
    AddCommand,
    FigureOutput,
    Parser,
    dask_option,
    form_of,
    operation_options,
    print_json,
)
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    counted,
    named_option,
    printable,
)

if TYPE_CHECKING:
    from mechdesign.collect import Mechanism
    from mechdesign.collect.collecting import Operation, Settings
    from mechdesign.data.data_set import Opened
    from mechdesign.data.intake import Block, MissingRule
    from mechdesign.data.reading import FileTable
    from mechdesign.data.text_files import FileForm
    from mechdesign.data.tidy import Columns
    from mechdesign.report.counting import Header

DATA_SET = "CSV with a header line, or Parquet: files, folders, patterns, or - for the standard input"


def add_commands(command: AddCommand) -> None:
    """Add these commands to the parser."""
    command("randomize", _randomize, "randomize columns of a data file", _randomize_options)
    command(
        "estimate", _estimate, "estimate from reports, with standard errors and intervals", _estimate_options
    )
    command("run", _run, "run an operation of a mechanism on files; without one, list them", _run_options)


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
        help="copy this column, unprotected, next to the reports (repeatable)",
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


def _randomize(options: argparse.Namespace) -> int:
    from mechdesign.collect import CollectingMechanism, load_mechanism
    from mechdesign.data.data_set import STANDARD_INPUT, data_set
    from mechdesign.data.identifiers import repeated_note
    from mechdesign.report.counting import require_codes

    mechanism = load_mechanism(options.mechanism)
    options.inputs, form = data_set(options.inputs), form_of(options, mechanism)
    files = [path for path in options.inputs if path != STANDARD_INPUT]
    takes_codes = any(size for _, size in mechanism.bare_codes())
    for path in files if takes_codes and not options.codes else []:
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
    from mechdesign.data.identifiers import repeats_in

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

    several = any(path.endswith(".json") for path in options.inputs) and is_of_waves(options)
    return estimate_waves(options, execute) if several else execute(options)


def _run(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism

    mechanism = load_mechanism(options.mechanism)
    if options.operation is None:
        print(operations_table(options.mechanism, mechanism))
        return FINE
    return execute(parse_operation(options, mechanism), mechanism)


class ResultOutput:
    """Where the table of a result goes, if anywhere; checked before anything is written.

    Parameters
    ----------
    options : Namespace
        With ``output``, ``force``, ``grid``, ``mechanism`` and ``inputs``.
    result : object
        What an operation returned.
    mechanism : Mechanism
    own_files : sequence of str
        Files that the operation keeps for itself.
    """

    def __init__(
        self, options: argparse.Namespace, result: Any, mechanism: Mechanism, own_files: Sequence[str]
    ) -> None:
        self.path: str | None = options.output
        self.mechanism, self.result = mechanism, result
        self.tables: dict[str, Columns] = {}
        grids = _grids(result) if options.grid else {}
        if self.path is None:
            return
        from mechdesign.data.outputs import require_output

        require_output(self.path, [options.mechanism, *options.inputs, *own_files], options.force)
        question = mechanism.data_columns[0] if len(mechanism.data_columns) == 1 else ""
        self.tables |= _for_one_file(self.path, grids) or {"estimates": _tidy(self.path, result, question)}

    def write(self) -> str:
        """Write the table and return what to say of it; nothing where none is wanted."""
        if self.path is None:
            return ""
        rows = self._written()
        notes = "".join(f"\nnote: {printable(note)}" for note in _notes(self.result))
        return f"{self.path}: {counted(rows, 'row')}{notes}"

    def _written(self) -> int:
        """Write the file and return the number of rows; a workbook also has sheets about the survey."""
        from mechdesign.report.tables import write_results  # most results are printed

        assert self.path is not None
        if self.path.lower().endswith(".xlsx") and list(self.tables) == ["estimates"]:
            from mechdesign.report.workbook import write_result

            return write_result(self.path, self.result, self.mechanism, self.tables["estimates"])
        return write_results(self.path, self.tables)


def _grids(result: Any) -> dict[str, Columns]:
    if not hasattr(result, "grids"):
        raise ParameterError("--grid", "this is not a cross table", "omit it")
    try:
        grids: dict[str, Columns] = result.grids()
    except ParameterError as error:
        if error.where == "--grid":
            raise
        remedy = "name two attributes or more with --marginal A,B"
        raise error.changed(where="--grid", remedy=remedy) from None
    return grids


def _for_one_file(path: str, grids: Mapping[str, Columns]) -> Mapping[str, Columns]:
    """Return the grids that a file takes: a workbook all, another one a single grid without its errors."""
    if path.lower().endswith(".xlsx"):
        return grids
    from mechdesign.data.tidy import ERRORS  # with what draws them, which takes time

    values = {title: columns for title, columns in grids.items() if not title.endswith(ERRORS)}
    if len(values) > 1:
        raise ParameterError(
            f"-o {path}", f"holds one grid, and there are {len(values)}", "name a file ending in .xlsx"
        )
    return values


def _tidy(path: str, result: Any, question: str) -> Columns:
    from mechdesign.data.tidy import Tidy, with_question

    if not isinstance(result, Tidy):
        raise ParameterError(f"-o {path}", "this result is not a table", "use --json")
    return with_question(result.tidy(), question)


def _notes(result: Any) -> list[str]:
    parts = getattr(result, "tables", None) or [result]
    return list(dict.fromkeys(note for part in parts for note in getattr(part, "notes", ())))


RANDOMIZE = "randomize"


class Work:
    """An operation with all that it needs.

    Parameters
    ----------
    mechanism : Mechanism
    operation : Operation
    settings : Settings
    missing : MissingRule
    data : Opened
    options : Namespace
        With ``mechanism`` and, where the command has them, ``output``, ``force`` and ``identical``.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        operation: Operation,
        settings: Settings,
        missing: MissingRule,
        data: Opened,
        options: argparse.Namespace,
    ) -> None:
        self.mechanism, self.operation, self.settings = mechanism, operation, settings
        self.missing, self.data, self.options = missing, data, options
        self.owner: str = options.mechanism
        from mechdesign.data.reading import Copies

        self.copies = Copies(getattr(options, "identical", False) or operation.apart)
        data.look = self._look

    def _look(self, table: FileTable, is_whole: bool) -> None:
        """Do to the beginning of the standard input what is to be done to all of it, and forget that."""
        from dataclasses import replace

        from mechdesign.collect.collecting import Settings
        from mechdesign.report.counting import COUNTING, Header, server_of

        settings = Settings(dict(self.settings.options))
        table.missing = replace(self.missing)
        source: Any = table if is_whole else Header(table)
        if self.operation.name in COUNTING:
            server_of(self.mechanism, self.owner).count_table(source, settings)
        elif self.operation.name == RANDOMIZE:
            for _ in self.operation.run([source], settings):
                pass

    def sources(self, paths: Sequence[str]) -> list[Any]:
        """Return the tables of the files, and the counts of those that hold counts."""
        from mechdesign.collect.server import SavedCounts
        from mechdesign.data.data_set import COUNTS
        from mechdesign.report.counting import COUNTING, require_one_question, require_one_set

        counting = self.operation.name in COUNTING
        result: list[Any] = []
        for path in paths:
            if counting and Path(path).suffix.lower() == COUNTS:
                result.append(self.counts(path))
                continue
            table = self.data.table(path, self.missing)
            table.copies = self.copies if len(paths) > 1 else None
            table.needs_rows = not counting or len(paths) == 1
            result.append(table)
        counts = [source for source in result if isinstance(source, SavedCounts)]
        columns: list[str] = []
        if counting and len(result) > 1:
            tables = [source for source in result if source not in counts]
            columns = require_one_set(tables, self.count_header)
        if counts:
            require_one_question(counts, columns)
        return result

    def count_header(self, header: Header) -> None:
        """Raise what is wrong with the columns of reports."""
        from mechdesign.report.counting import server_of

        server_of(self.mechanism, self.owner).count_table(header, self.settings)

    def counts(self, path: str) -> Any:
        """Return the counts of a file, when they are this mechanism's."""
        from mechdesign.collect.about import other_owner
        from mechdesign.collect.collecting import mark_of
        from mechdesign.report.counting import load_counts, note_files, server_of

        counts, own = load_counts(path), server_of(self.mechanism, self.owner).mechanism
        if counts.survey_digest != own.survey_digest:
            owner = other_owner(own, counts.counts.get("survey"), counts.survey_digest)
            marks = f"{mark_of(counts.survey_digest)}, this one is {mark_of(own.survey_digest)}"
            remedy = "use the mechanism file they were made with"
            raise DataError(path, f"counts reports of {owner} ({marks})", remedy)
        note_files(counts, path, self.copies)
        return counts.source(path)

    def table(self, path: str, shows: bool = False) -> Any:
        """Return a table of many, which count once each."""
        table = self.data.table(path, self.missing)
        table.shows = shows
        table.copies = self.copies
        return table


def operations_table(path: str, mechanism: Mechanism) -> str:
    """Return the table operations of a mechanism as text."""
    operations = mechanism.operations()
    if not operations:
        return f"{path}: a {mechanism.type} has no operations on tables; load it in Python instead"
    lines = [f"{path}: {mechanism.type}"]
    for operation in operations:
        gives = ", ".join(map(str, operation.gives)) or "a result, which is printed"
        takes = ", ".join(map(str, operation.takes)) or "no table"
        takes += ", in several files" if operation.several else ""
        lines += [f"{operation.name}: {operation.summary}", f"  takes {takes}", f"  gives {gives}"]
        names = [named_option(option.name).shell for option in operation.options]
        widest = max(map(len, names), default=0)
        lines += [
            f"  {name:<{widest}}  {option.summary}"
            for name, option in zip(names, operation.options, strict=True)
        ]
    return "\n".join(lines)


def parse_operation(options: argparse.Namespace, mechanism: Mechanism) -> argparse.Namespace:
    """Return the parsed rest of a ``run`` command line, for :func:`execute`."""
    from mechdesign.collect.collecting import operation_of

    operation = operation_of(mechanism.operations(), options.operation, options.mechanism)
    parser = Parser(
        prog=f"mechdesign run {options.mechanism} {operation.name}", description=operation.summary
    )
    inputs = ("INPUT", "CSV with a header line, or Parquet") if operation.takes else None
    output = "CSV or Parquet" if operation.gives else ""
    operation_options(parser, operation.options, inputs, operation.several, output, "the result")
    parser.set_defaults(mechanism=options.mechanism, operation=operation.name)
    return parser.parse_args(options.rest)


def execute(
    options: argparse.Namespace,
    mechanism: Mechanism | None = None,
    take: Callable[[Any], None] | None = None,
) -> int:
    """Run an operation with the parsed options and print what came of it, or hand over its result."""
    from mechdesign.collect.base import load_mechanism
    from mechdesign.collect.collecting import operation_of
    from mechdesign.collect.server import rule_for
    from mechdesign.data.data_set import data_set, joined_folders, opened_data
    from mechdesign.data.outputs import DATA, RESULTS, is_folder, require_suffix
    from mechdesign.data.reading import require_different
    from mechdesign.export.messages import MessageReader
    from mechdesign.report.counting import COUNTING

    loaded = load_mechanism(options.mechanism) if mechanism is None else mechanism
    operation = operation_of(loaded.operations(), options.operation, options.mechanism)
    settings = operation.settings({name: getattr(options, name) for name in options.option_names})
    own_files = [settings[option.name] for option in operation.options if option.kind == "path"]
    own_files = [path for path in own_files if path is not None]
    rule = rule_for(loaded, operation, options.missing, tuple(options.missing_code))
    missing = rule.with_messages(partial(MessageReader, loaded))
    counts = operation.name in COUNTING and not operation.gives
    inputs = list(options.inputs)
    paths = options.inputs = data_set(inputs, counts)
    require_different(paths, getattr(options, "identical", False) or operation.apart)
    output, dask = getattr(options, "output", None), getattr(options, "dask", None)
    if output is not None and not (operation.name == RANDOMIZE and is_folder(output)):
        require_suffix(output, DATA if operation.gives else RESULTS)
    picture = _figure_output(options, own_files)
    with opened_data(form_of(options, loaded)) as data:
        work = Work(loaded, operation, settings, missing, data, options)
        try:
            if operation.name == RANDOMIZE and (len(paths) > 1 or is_folder(output or "") or dask):
                if getattr(options, "public", None):
                    raise ParameterError("--public", "is for one file of data", "name one, and one output")
                from mechdesign.cli.many_files import randomized

                message = randomized(work, paths)
            elif getattr(options, "public", None):
                message = _write_beside(options, work.sources(paths)[0], work, own_files)
            elif operation.gives:
                blocks = operation.run(work.sources(paths), settings)
                message = _write_table(options, blocks, own_files, operation.private)
            else:
                sources = _counted_on(work, paths, dask) if dask else work.sources(paths)
                if operation.apart:
                    sources = joined_folders(inputs, sources)
                result, message = operation.run(sources, settings), ""
                if take is None:
                    message = _print_result(options, result, picture, loaded, own_files)
                else:
                    take(result)
        except MechDesignError as error:
            if error.is_about(*paths, *own_files, (output or "-o ").rstrip("/"), "-o ", "--dask"):
                raise
            raise error.within(options.mechanism) from None
    notes = [missing.note(), *settings.said()]
    line = "; ".join(text for text in (message, *notes) if text)
    if line:
        print(line, file=sys.stderr if getattr(options, "json", False) else sys.stdout)
    if counts and not loaded.about.id:
        from mechdesign.cli.identity import note_lack

        note_lack(loaded, options.mechanism)
    return FINE


def _counted_on(work: Work, paths: Sequence[str], address: str) -> list[Any]:
    """Return the counts of files, counted on a cluster."""
    from mechdesign.cli.many_files import counts_of

    return counts_of(work, paths, address)


def _write_table(
    options: argparse.Namespace, blocks: Iterator[Block], own_files: Sequence[str], private: bool
) -> str:
    """Write the blocks of an operation; over an existing file by force only."""
    from mechdesign.data.outputs import require_output
    from mechdesign.data.writing import write_blocks

    inputs = [options.mechanism, *options.inputs, *own_files]
    require_output(options.output, inputs, options.force)
    first = next(blocks)
    rows = write_blocks(options.output, chain([first], blocks), private)
    return f"{options.output}: {counted(rows, 'row')} of {', '.join(map(repr, first))}"


def _write_beside(options: argparse.Namespace, source: Any, work: Work, own_files: Sequence[str]) -> str:
    """Write reports with public columns beside them, and print what is not protected."""
    from mechdesign.report.public_columns import BesidePublic

    private = [*work.mechanism.data_columns, *(options.column or ())]
    table = BesidePublic(source, options.public, private)
    blocks = table.beside(work.operation.run([table], work.settings))
    message = _write_table(options, blocks, own_files, work.operation.private)
    print(f"mechdesign: {options.output}: {printable(table.warning())}", file=sys.stderr)
    return message


def _figures(result: Any) -> list[Any]:
    return list(result.figures()) if hasattr(result, "figures") else []


def _figure_output(options: argparse.Namespace, own_files: Sequence[str]) -> FigureOutput | None:
    """Return where the picture of a result goes, if the command has the option and it is wanted."""
    if getattr(options, "figure", None) is None:
        return None
    output = getattr(options, "output", None)
    return FigureOutput(options, [options.mechanism, *options.inputs, *own_files], output)


def _print_result(
    options: argparse.Namespace,
    result: Any,
    picture: FigureOutput | None,
    mechanism: Mechanism,
    own_files: Sequence[str],
) -> str:
    """Print a result, or write its table, after its picture was written where one is wanted."""
    if getattr(options, "shrunk", None) is not None:
        from mechdesign.analysis.shrinkage import shown_of

        result = shown_of(result, None if options.shrunk == "default" else options.shrunk)
    output = ResultOutput(options, result, mechanism, own_files)
    if picture is not None:
        draws = result if isinstance(result, list) else [result]
        picture.write([figure for item in draws for figure in _figures(item)], "these results")
    message = output.write()
    if options.json:
        print_json(result)
    elif not message:
        print(result.grid_text() if options.grid else result)
    return message
