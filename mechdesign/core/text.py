"""Plain-text tables and progress bars for terminals."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

Item = TypeVar("Item")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align rows of text under a header; columns of numbers to the right.

    Examples
    --------
    >>> print(table(["name", "value"], [["a", "1.5"], ["bb", "10"]]))
    name  value
    ----  -----
    a       1.5
    bb       10
    """
    header, rows = [printable(cell) for cell in header], [[printable(cell) for cell in row] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    numeric = [len(column) > 1 and all(_is_number(cell) for cell in column[1:]) for column in columns]
    lines = [list(header), ["-" * width for width in widths], *[list(row) for row in rows]]
    return "\n".join(_aligned(line, widths, numeric).rstrip() for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(padded)


def _is_number(cell: str) -> bool:
    if cell in ("-", ""):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def progress(items: Iterable[Item], total: int, label: str, stream: TextIO | None = None) -> Iterator[Item]:
    """Yield the items and draw a progress bar on a terminal; silent elsewhere.

    Parameters
    ----------
    items : iterable
    total : int
        How many there are.
    label : str
        What is being done.
    stream : file, optional
        Standard error by default.
    """
    output = stream if stream is not None else sys.stderr
    if not output.isatty() or total <= 1:
        yield from items
        return
    start = time.monotonic()
    for done, item in enumerate(items):
        _draw(output, label, done, total, time.monotonic() - start)
        yield item
    output.write("\r\x1b[K")
    output.flush()


def printable(text: object) -> str:
    r"""Return a text with everything that is no printable character escaped: one line, no terminal codes.

    What comes from a file passes through this before a terminal shows it.

    Examples
    --------
    >>> print(printable("a\n\x1b[2Jb"))
    a\n\x1b[2Jb
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(text)
    )


def one_line(value: Any) -> Any:
    r"""Return a nested value with every text, keys too, on one printable line; white space becomes a space.

    Examples
    --------
    >>> one_line({"title": "a long\n  title", "size": 3})
    {'title': 'a long title', 'size': 3}
    """
    if isinstance(value, str):
        return printable(" ".join(value.split()))
    if isinstance(value, Mapping):
        return {one_line(key): one_line(item) for key, item in value.items()}
    return [one_line(item) for item in value] if isinstance(value, list) else value


def _draw(output: TextIO, label: str, done: int, total: int, elapsed: float) -> None:
    width = 30
    filled = width * done // total
    left = f", {elapsed / done * (total - done):.0f} s left" if done else ""
    output.write(f"\r\x1b[K{label} [{'#' * filled}{'.' * (width - filled)}] {done}/{total}{left}")
    output.flush()
