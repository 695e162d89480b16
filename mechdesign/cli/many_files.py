"""An operation on the files of a data set, one after the other or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mechdesign.collect.server import SavedCounts
from mechdesign.core.errors import ParameterError, counted
from mechdesign.data.data_set import COUNTS
from mechdesign.data.intake import Block, length
from mechdesign.data.outputs import is_folder, require_folder, require_output, whole_folder
from mechdesign.data.writing import write_blocks
from mechdesign.report.counting import Counting, count_one, require_one_question, require_one_set, server_of
from mechdesign.report.randomizing import outputs_of, randomize_one, reports_of, seeded
from mechdesign.work.bars import Watch

if TYPE_CHECKING:
    from mechdesign.cli.operations import Work


def counts_of(work: Work, paths: Sequence[str], address: str) -> list[Any]:
    """Return the counts of all files, counted on a cluster; and those of files that hold counts."""
    tables = [path for path in paths if Path(path).suffix.lower() != COUNTS]
    result = [work.counts(path) for path in paths if path not in tables]
    if tables:
        server = reports_counted(work, tables, address).server
        result.append(SavedCounts(tables[0], server.as_json(), server.question))
    require_one_question(result)
    return result


def reports_counted(work: Work, paths: Sequence[str], address: str | None) -> Counting:
    """Return the counts of the reports in all files; nothing is counted when one has other columns."""
    require_one_set((work.data.table(path, work.missing) for path in paths), work.count_header)
    if address is not None:
        from mechdesign.report.randomizing import count_on, order_of
        from mechdesign.work.cluster import connected

        order = order_of(work.mechanism, work.owner, work.settings, work.missing, paths, work.data.form)
        with connected(address) as client:
            _note_cost(address, paths)
            return count_on(client, order, paths, work.missing, work.copies)
    server = server_of(work.mechanism, work.owner)
    with Watch("files") as watch:
        watch.begin(len(paths), 0)
        for path in paths:
            watch.started(path)
            table = work.table(path, len(paths) == 1)
            table.needs_rows = len(paths) == 1
            count_one(server, table, work.settings, work.copies)
            watch.finished(path)
    return Counting(server, work.missing, work.copies.files)


def randomized(work: Work, paths: Sequence[str]) -> str:
    """Write the reports of all files, when all have the same columns; return what to say of it."""
    require_one_set(
        (work.data.table(path, work.missing) for path in paths),
        lambda header: list(work.operation.run([header], work.settings)),
    )
    if is_folder(work.options.output):
        return _into_folder(work, paths)
    if getattr(work.options, "dask", None) is not None:
        raise ParameterError("--dask", "workers write a file each", "name a folder: -o reports/")
    return _into_one(work, paths)


def _into_one(work: Work, paths: Sequence[str]) -> str:
    output = work.options.output
    require_output(output, [work.owner, *paths], work.options.force)
    settings, columns = seeded(work.mechanism, work.settings), list[str]()

    def blocks() -> Iterator[Block]:
        with Watch("files") as watch:
            watch.begin(len(paths), 0)
            for path in paths:
                watch.started(path)
                for block in reports_of(work.operation, work.table(path), settings):
                    columns[:] = list(block)
                    if length(block):
                        yield block
                watch.finished(path)

    rows = write_blocks(output, blocks(), work.operation.private)
    return (
        f"{output}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} "
        f"from {counted(len(paths), 'file')}"
    )


def _into_folder(work: Work, paths: Sequence[str]) -> str:
    folder, names = work.options.output, outputs_of(paths)
    require_folder(folder, names, [work.owner, *paths], work.options.force)
    with whole_folder(folder) as temporary:
        places = [temporary / name for name in names]
        rows, columns = _on_cluster(work, paths, places) or _one_by_one(work, paths, places)
    files = counted(len(paths), "file")
    return f"{folder}: {counted(rows, 'row')} of {', '.join(map(repr, columns))} in {files}"


def _on_cluster(work: Work, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]] | None:
    address = getattr(work.options, "dask", None)
    if address is None:
        return None
    from mechdesign.report.randomizing import order_of, randomize_on
    from mechdesign.work.cluster import connected

    order = order_of(work.mechanism, work.owner, work.settings, work.missing, paths, work.data.form)
    with connected(address) as client:
        _note_cost(address, paths)
        name, settings, missing = work.operation.name, work.settings, work.missing
        return randomize_on(client, order, name, paths, places, settings, missing, work.copies)


def _one_by_one(work: Work, paths: Sequence[str], places: Sequence[Path]) -> tuple[int, list[str]]:
    total, columns = 0, list[str]()
    with Watch("files") as watch:
        watch.begin(len(paths), 0)
        for number, (path, place) in enumerate(zip(paths, places, strict=True)):
            watch.started(path)
            settings = seeded(work.mechanism, work.settings, number)
            rows, columns = randomize_one(work.operation, work.table(path), settings, place)
            total += rows
            watch.finished(path)
    return total, columns


def _note_cost(address: str, paths: Sequence[str]) -> None:
    """Say where starting processes for these files takes longer than it saves."""
    from mechdesign.data.data_set import rows_about
    from mechdesign.work.cluster import does_not_pay

    note = does_not_pay(address, rows_about(paths))
    if note:
        print(f"mechdesign: note: {note}", file=sys.stderr)
