"""Operations of mechanisms on the files of a data set, one by one or on a cluster.

A mechanism says itself which operations it has, and what they take and give.

Results of operations into files: the table of the estimates, or grids of cross tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from mechdesign.cli.identity import note_lack
from mechdesign.cli.parser import (
    FINE,
    FigureOutput,
    Parser,
    form_of,
    operation_options,
    print_json,
)
from mechdesign.collect import Mechanism, load_mechanism
from mechdesign.collect.about import other_owner
from mechdesign.collect.collecting import Operation, Settings, mark_of, operation_of
from mechdesign.collect.server import SavedCounts, rule_for
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    counted,
    named_option,
    printable,
)
from mechdesign.core.values import encode
from mechdesign.data.data_set import COUNTS, Opened, data_set, joined_folders, opened_data
from mechdesign.data.intake import Block, MissingRule, length
from mechdesign.data.outputs import DATA, RESULTS, require_output, require_suffix
from mechdesign.data.reading import Copies, FileTable, require_different
from mechdesign.data.tidy import Columns, Tidy, with_question
from mechdesign.export.messages import with_messages
from mechdesign.report.counting import (
    COUNTING,
    Counting,
    Header,
    count_one,
    require_one_question,
    require_one_set,
    server_of,
)
from mechdesign.report.randomizing import (
    is_folder,
    outputs_of,
    randomize_one,
    reports_of,
    require_folder,
    seeded,
)
from mechdesign.work.bars import Watch


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
        self.mechanism, self.result, self.tables = mechanism, result, dict[str, Columns]()
        grids = _grids(result) if options.grid else {}
        if self.path is None:
            return
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
        self.copies = Copies(getattr(options, "identical", False) or operation.apart)
        data.look = self._look

    def _look(self, table: FileTable, is_whole: bool) -> None:
        """Do to the beginning of the standard input what is to be done to all of it, and forget that."""
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
        counting = self.operation.name in COUNTING
        result: list[Any] = []
        for path in paths:
            if counting and Path(path).suffix.lower() == COUNTS:
                result.append(self._counts(path))
                continue
            table = self.data.table(path, self.missing)
            table.copies = self.copies if len(paths) > 1 else None
            table.needs_rows = not counting or len(paths) == 1
            result.append(table)
        counts = [source for source in result if isinstance(source, SavedCounts)]
        columns: list[str] = []
        if counting and len(result) > 1:
            tables = [source for source in result if source not in counts]
            columns = require_one_set(tables, self._count_header)
        require_one_question(counts, columns)
        return result

    def _count_header(self, header: Header) -> None:
        server_of(self.mechanism, self.owner).count_table(header, self.settings)

    def counted(self, paths: Sequence[str], address: str) -> list[Any]:
        """Return the counts of all files, counted on a cluster; and those of files that hold counts."""
        tables = [path for path in paths if Path(path).suffix.lower() != COUNTS]
        result = [self._counts(path) for path in paths if path not in tables]
        if tables:
            server = self.reports_counted(tables, address).server
            result.append(SavedCounts(tables[0], server.as_json(), server.question))
        require_one_question(result)
        return result

    def reports_counted(self, paths: Sequence[str], address: str | None) -> Counting:
        """Return the counts of the reports in all files; nothing is counted when one has other columns."""
        require_one_set((self.data.table(path, self.missing) for path in paths), self._count_header)
        if address is not None:
            from mechdesign.report.randomizing import count_on, order_of
            from mechdesign.work.cluster import connected

            order = order_of(self.mechanism, self.owner, self.settings, self.missing, paths, self.data.form)
            with connected(address) as client:
                _note_cost(address, paths, counts=True)
                return count_on(client, order, paths, self.missing, self.copies)
        server = server_of(self.mechanism, self.owner)
        with Watch("files") as watch:
            watch.begin(len(paths), 0)
            for path in paths:
                watch.started(path)
                table = self._table(path, len(paths) == 1)
                table.needs_rows = len(paths) == 1
                count_one(server, table, self.settings, self.copies)
                watch.finished(path)
        return Counting(server, self.missing, self.copies.files)

    def _counts(self, path: str) -> Any:
        """Return the counts of a file, when they are this mechanism's."""
        from mechdesign.report.counting import load_counts, note_files

        counts, own = load_counts(path), server_of(self.mechanism, self.owner).mechanism
        if counts.survey_digest != own.survey_digest:
            owner = other_owner(own, counts.counts.get("survey"), counts.survey_digest)
            marks = f"{mark_of(counts.survey_digest)}, this one is {mark_of(own.survey_digest)}"
            remedy = "use the mechanism file they were made with"
            raise DataError(path, f"counts reports of {owner} ({marks})", remedy)
        note_files(counts, path, self.copies)
        return counts.source(path)

    def randomized(self, paths: Sequence[str]) -> str:
        """Write the reports of all files, when all have the same columns; return what to say of it."""
        require_one_set(
            (self.data.table(path, self.missing) for path in paths),
            lambda header: list(self.operation.run([header], self.settings)),
        )
        if is_folder(self.options.output):
            return self._into_folder(paths)
        if getattr(self.options, "dask", None) is not None:
            raise ParameterError("--dask", "workers write a file each", "name a folder: -o reports/")
        return self._into_one(paths)

    def _into_one(self, paths: Sequence[str]) -> str:
        from mechdesign.data.writing import write_blocks

        output = self.options.output
        require_output(output, [self.owner, *paths], self.options.force)
        settings, columns = seeded(self.mechanism, self.settings), list[str]()

        def blocks() -> Iterator[Block]:
            with Watch("files") as watch:
                watch.begin(len(paths), 0)
                for path in paths:
                    watch.started(path)
                    for block in reports_of(self.operation, self._table(path), settings):
                        columns[:] = list(block)
                        if length(block):
                            yield block
                    watch.finished(path)

        rows = write_blocks(output, blocks(), self.operation.private)
        return (
            f"{output}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} "
            f"from {counted(len(paths), 'file')}"
        )

    def _into_folder(self, paths: Sequence[str]) -> str:
        folder, names = self.options.output, outputs_of(paths)
        require_folder(folder, names, [self.owner, *paths], self.options.force)
        from mechdesign.data.outputs import whole_folder

        with whole_folder(folder) as work:
            places = [work / name for name in names]
            rows, columns = self._on_cluster(paths, places) or self._one_by_one(paths, places)
        files = counted(len(paths), "file")
        return f"{folder}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} in {files}"

    def _on_cluster(self, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]] | None:
        address = getattr(self.options, "dask", None)
        if address is None:
            return None
        from mechdesign.report.randomizing import order_of, randomize_on
        from mechdesign.work.cluster import connected

        order = order_of(self.mechanism, self.owner, self.settings, self.missing, paths, self.data.form)
        with connected(address) as client:
            _note_cost(address, paths)
            name, settings, missing = self.operation.name, self.settings, self.missing
            return randomize_on(client, order, name, paths, places, settings, missing, self.copies)

    def _one_by_one(self, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]]:
        total, columns = 0, list[str]()
        with Watch("files") as watch:
            watch.begin(len(paths), 0)
            for number, (path, place) in enumerate(zip(paths, places, strict=True)):
                watch.started(path)
                settings = seeded(self.mechanism, self.settings, number)
                rows, columns = randomize_one(self.operation, self._table(path), settings, place)
                total += rows
                watch.finished(path)
        return total, columns

    def _table(self, path: str, shows: bool = False) -> Any:
        table = self.data.table(path, self.missing)
        table.shows = shows
        table.copies = self.copies
        return table


def _note_cost(address: str, paths: Sequence[str], counts: bool = False) -> None:
    """Say where starting processes for these files takes longer than it saves."""
    from mechdesign.data.data_set import rows_about
    from mechdesign.work.cluster import PAYS, PAYS_TO_COUNT, does_not_pay

    note = does_not_pay(address, rows_about(paths), least=PAYS_TO_COUNT if counts else PAYS)
    if note:
        print(f"mechdesign: note: {note}", file=sys.stderr)


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
    loaded = load_mechanism(options.mechanism) if mechanism is None else mechanism
    operation = operation_of(loaded.operations(), options.operation, options.mechanism)
    settings = operation.settings({name: getattr(options, name) for name in options.option_names})
    own_files = [settings[option.name] for option in operation.options if option.kind == "path"]
    own_files = [path for path in own_files if path is not None]
    missing = with_messages(rule_for(loaded, operation, options.missing, tuple(options.missing_code)), loaded)
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
                message = work.randomized(paths)
            elif getattr(options, "public", None):
                message = _write_beside(options, work.sources(paths)[0], work, own_files)
            elif operation.gives:
                blocks = operation.run(work.sources(paths), settings)
                message = _write_table(options, blocks, own_files, operation.private)
            else:
                sources = work.counted(paths, dask) if dask else work.sources(paths)
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
    if counts:
        note_lack(loaded, options.mechanism)
    return FINE


def _write_table(
    options: argparse.Namespace, blocks: Iterator[Block], own_files: Sequence[str], private: bool
) -> str:
    """Write the blocks of an operation; over an existing file by force only."""
    from mechdesign.data.writing import write_blocks  # estimates are printed

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
        print_json(encode(result))
    elif not message:
        print(result.grid_text() if options.grid else result)
    return message
