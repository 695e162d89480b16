"""Plain-text tables, values in a short line, and progress bars for terminals."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TextIO, TypeVar

import numpy as np

from mechdesign.core.printable import printable

Item = TypeVar("Item")

NARROWEST = 8
"""No column of text is made narrower than this."""


def terminal_width() -> int:
    """Return how wide tables may be: the terminal's width, but 80 to 120; 100 where there is no terminal."""
    return min(120, max(80, shutil.get_terminal_size((100, 24)).columns))


def table(header: Sequence[str], rows: Sequence[Sequence[str] | str], width: int | None = None) -> str:
    """Align rows of text under a header; columns of numbers to the right.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str, or str
        A text instead of a row stands alone in its line, whatever its length, as a heading.
    width : int, optional
        The longest line allowed. The widest columns of text are then narrowed and their cells wrapped;
        numbers and the first column are never broken. By default lines are as long as they come.

    Examples
    --------
    >>> print(table(["name", "value"], [["a", "1.5"], ["bb", "10"]]))
    name  value
    ----  -----
    a       1.5
    bb       10
    >>> print(table(["name", "remark"], [["a", "a long remark"], ["b", "none"]], width=14))
    name  remark
    ----  --------
    a     a long
          remark
    b     none
    """
    header = [printable(cell) for cell in header]
    rows = [row if isinstance(row, str) else [printable(cell) for cell in row] for row in rows]
    cells = [list(row) for row in rows if not isinstance(row, str)]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    numeric = [len(column) > 1 and all(_is_number(cell) for cell in column[1:]) for column in columns]
    if width is not None:
        loose = [number for number in range(1, len(columns)) if not numeric[number]]
        for least in ([_longest_word(column) for column in columns], [NARROWEST] * len(columns)):
            widths = _narrowed(widths, least, loose, width)
    lines: list[str] = []
    for row in [list(header), ["-" * width for width in widths], *rows]:
        lines += [row] if isinstance(row, str) else _lines(row, widths, numeric)
    return "\n".join(lines)


def _longest_word(cells: Iterable[str]) -> int:
    return max(len(word) for cell in cells for word in [NARROWEST * "-", *cell.split()])


def _narrowed(widths: Sequence[int], least: Sequence[int], loose: Sequence[int], most: int) -> list[int]:
    """Return the widths with the widest loose columns narrowed, none below its least, until a line fits."""
    result = list(widths)
    while sum(result) + 2 * (len(result) - 1) > most:
        wide = [number for number in loose if result[number] > least[number]]
        if not wide:
            break
        result[max(wide, key=lambda number: result[number])] -= 1
    return result


def _lines(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    """Return a row as one or more lines whose cells fit their widths."""
    cells = [
        textwrap.wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return [_aligned(part, widths, numeric) for part in zip_longest(*cells, fillvalue="")]


def _aligned(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _is_number(cell: str) -> bool:
    if cell in ("-", ""):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


SHOWN = 6
"""So many entries of a list are shown; of a longer one the first few and how many there are."""


def abridged(value: Any) -> str:
    """Return a value in at most one short line, long lists and matrices abridged; for ``repr``.

    Examples
    --------
    >>> abridged([0.5, 0.25, 0.25]), abridged("line"), abridged(np.zeros((20, 3)))
    ('[0.5, 0.25, 0.25]', "'line'", '<20 x 3 array>')
    >>> abridged(range(1000))
    '[0, 1, 2, ... 1000 in all]'
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {abridged(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"<{' x '.join(map(str, value.shape))} array>"
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return "[" + listed([abridged(item) for item in value[: SHOWN + 1]], len(value)) + "]"
    if isinstance(value, np.generic):
        return abridged(value.item())
    return f"<function {getattr(value, '__name__', '')}>" if callable(value) else repr(value)


def listed(texts: Sequence[str], count: int | None = None) -> str:
    """Join texts by commas, all of them up to six, else the first three and how many there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefgh"))
    ('a, b', 'a, b, c, ... 8 in all')
    """
    total = len(texts) if count is None else count
    return ", ".join(texts if total <= SHOWN else [*texts[:3], f"... {total} in all"])


QUIET = 10.0
"""Seconds after which work that nobody watches says a line about itself."""


def progress(items: Iterable[Item], total: int, label: str, stream: TextIO | None = None) -> Iterator[Item]:
    """Yield the items and draw a progress bar on a terminal; elsewhere a line now and then, if it takes long.

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
    start = latest = time.monotonic()
    if not output.isatty() or total <= 1:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - latest >= QUIET:
                latest = now
                output.write(f"mechdesign: {label}: {done} of {total} after {now - start:.0f} s\n")
                output.flush()
            yield item
        return
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
