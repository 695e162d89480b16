"""Results of operations into files: the table of the estimates, or grids of cross tables."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mechdesign.core.errors import ParameterError, printable
from mechdesign.core.text import counted
from mechdesign.data.frames import Columns, Tidy, with_question
from mechdesign.data.outputs import require_output

if TYPE_CHECKING:
    from mechdesign.collect import Mechanism


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
        self.result, self.tables = result, dict[str, Columns]()
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
        from mechdesign.report.tables import write_results  # most results are printed

        rows = write_results(self.path, self.tables)
        notes = "".join(f"\nnote: {printable(note)}" for note in _notes(self.result))
        return f"{self.path}: {counted(rows, 'row')}{notes}"


def _grids(result: Any) -> dict[str, Columns]:
    if not hasattr(result, "grids"):
        raise ParameterError("--grid", "this is not a cross table", "omit it")
    try:
        grids: dict[str, Columns] = result.grids()
    except ParameterError as error:
        remedy = "name two attributes or more with --marginal A,B"
        raise error.changed(where="--grid", remedy=remedy) from None
    return grids


def _for_one_file(path: str, grids: Mapping[str, Columns]) -> Mapping[str, Columns]:
    """Return the grids that a file takes: a workbook all, another one a single grid without its errors."""
    if path.lower().endswith(".xlsx"):
        return grids
    from mechdesign.data.frames import ERRORS  # with what draws them, which takes time

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
