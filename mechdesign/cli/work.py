"""An operation of a mechanism on the files of a data set: one file after the other, or on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mechdesign.collect import Mechanism
from mechdesign.collect.about import other_owner
from mechdesign.collect.collecting import Operation, Settings, mark_of
from mechdesign.collect.server import SavedCounts
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.tables import Block, length
from mechdesign.core.text import counted
from mechdesign.data.data_set import COUNTS, Opened
from mechdesign.data.intake import MissingRule
from mechdesign.data.outputs import require_output
from mechdesign.data.reading import Copies, FileTable
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
        self.copies = Copies(getattr(options, "identical", False))
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
            from mechdesign.report.fleet import count_on, order_of
            from mechdesign.work.cluster import connected

            order = order_of(self.mechanism, self.owner, self.settings, self.missing, paths)
            with connected(address) as client:
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
        from mechdesign.report.count_file import load_counts, note_files

        found, own = load_counts(path), server_of(self.mechanism, self.owner).mechanism
        if found.survey_digest != own.survey_digest:
            owner = other_owner(own, found.counts.get("survey"), found.survey_digest)
            marks = f"{mark_of(found.survey_digest)}, this one is {mark_of(own.survey_digest)}"
            remedy = "use the mechanism file they were made with"
            raise DataError(path, f"counts reports of {owner} ({marks})", remedy)
        note_files(found, path, self.copies)
        return found.source(path)

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
        from mechdesign.report.fleet import order_of, randomize_on
        from mechdesign.work.cluster import connected

        order = order_of(self.mechanism, self.owner, self.settings, self.missing, paths)
        with connected(address) as client:
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
