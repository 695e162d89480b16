"""Plain-text tables and progress bars for terminals."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeVar

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


def _draw(output: TextIO, label: str, done: int, total: int, elapsed: float) -> None:
    width = 30
    filled = width * done // total
    left = f", {elapsed / done * (total - done):.0f} s left" if done else ""
    output.write(f"\r\x1b[K{label} [{'#' * filled}{'.' * (width - filled)}] {done}/{total}{left}")
    output.flush()


class ProgressBar:
    """A bar for work whose length is known in parts of the whole; silent where nobody watches.

    Examples
    --------
    >>> with ProgressBar("reading", stream=sys.stdout) as bar:
    ...     bar.show(0.5, 1000)
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.output = stream if stream is not None else sys.stderr
        self.drawn = False
        self.start = self.latest = time.monotonic()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.drawn:
            self.output.write("\r\x1b[K")
            self.output.flush()

    def show(self, part: float, rows: int) -> None:
        """Draw the bar at this part of the whole, at most ten times a second, and not in the first one."""
        now = time.monotonic()
        if now - self.start < 1.0 or now - self.latest < 0.1 or not self.output.isatty():
            return
        self.latest, self.drawn, width = now, True, 30
        filled = min(width, int(width * part))
        left = f", {(now - self.start) / part * (1.0 - part):.0f} s left" if part > 0.0 else ""
        bar = f"[{'#' * filled}{'.' * (width - filled)}]"
        self.output.write(f"\r\x1b[K{self.label} {bar} {rows:,} rows{left}")
        self.output.flush()
