"""Progress bars, drawn by rich on a terminal and nowhere else: of a file, of items, of pieces of work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, TypeVar

from mechdesign.core.errors import listed

Item = TypeVar("Item")

QUIET = 10.0
"""Seconds after which work that nobody watches says a line about itself."""

SOON = 1.0
"""Reading that takes no more seconds has no bar."""


def bar_on(stream: TextIO, template: str, last: str = "") -> Any:
    """Return rich's bar: a label, the bar, how much is done, the time that is left, and a last text.

    Parameters
    ----------
    stream : file
    template, last : str
        Formats of rich, with the fields ``task.completed``, ``task.total`` and ``task.fields[...]``.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn(template, markup=False),
        TimeRemainingColumn(compact=True),
        *([TextColumn(last, markup=False)] if last else []),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


COUNTED = "{task.completed:.0f}/{task.total:.0f}"
"""How much is done, in pieces."""


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
    if not output.isatty() or total <= 1:
        yield from _said(items, total, label, output)
        return
    with bar_on(output, COUNTED) as bar:
        line = bar.add_task(label, total=total)
        for item in items:
            yield item
            bar.advance(line)


def _said(items: Iterable[Item], total: int, label: str, output: TextIO) -> Iterator[Item]:
    """Yield the items, with a line when there was none for long."""
    start = latest = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - latest >= QUIET:
            latest = now
            output.write(f"mechdesign: {label}: {done} of {total} after {now - start:.0f} s\n")
            output.flush()
        yield item


class ProgressBar:
    """A bar for work whose length is known in parts of the whole; silent where nobody watches.

    Parameters
    ----------
    label : str
        What is being done.
    stream : file, optional
        Standard error by default.
    start : float, optional
        When the work began, on the clock of ``time.monotonic``; now by default.

    Examples
    --------
    >>> with ProgressBar("reading", stream=sys.stdout) as bar:
    ...     bar.show(0.5, 1000)
    """

    def __init__(self, label: str, stream: TextIO | None = None, start: float | None = None) -> None:
        self.label = label
        self.output = stream if stream is not None else sys.stderr
        self.start = time.monotonic() if start is None else start
        self._bar: Any = None
        self._line: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, part: float, rows: int) -> None:
        """Draw the bar at this part of the whole, but not in the first second."""
        if self._bar is None:
            if time.monotonic() - self.start < SOON or not self.output.isatty():
                return
            self._bar = bar_on(self.output, "{task.fields[rows]:,} rows")
            self._line = self._bar.add_task(self.label, total=1.0, rows=rows)
            self._bar.start()
        self._bar.update(self._line, completed=part, rows=rows)


class Watch:
    """Follows the pieces of :func:`mechdesign.work.parallel.run_tasks` on a terminal; silent elsewhere.

    Parameters
    ----------
    label : str
        What the pieces are, such as ``models``.
    stream : file, optional
        Standard error by default.
    is_kept : bool
        Whether finished pieces are kept when the work is interrupted; then that is said.

    Examples
    --------
    >>> import io
    >>> quiet = io.StringIO()
    >>> with Watch("models", quiet) as watch:
    ...     watch.begin(2, 0)
    ...     watch.started("first")
    ...     watch.finished("first")
    >>> quiet.getvalue(), watch.done, watch.total
    ('', 1, 2)
    """

    def __init__(self, label: str, stream: TextIO | None = None, is_kept: bool = False) -> None:
        self.label, self.is_kept = label, is_kept
        self.stream = stream if stream is not None else sys.stderr
        self.total = self.done = self.cached = 0
        self.running: list[str] = []
        self._bar: Any = None
        self._line: Any = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if isinstance(error, KeyboardInterrupt) and self.done and self.is_kept:
            what = f"{self.done} of {self.total} {self.label} are finished and kept"
            error.add_note(f"{what}; the same command resumes from there")

    def begin(self, total: int, cached: int) -> None:
        """Take the number of pieces, and of those that were finished before."""
        self.total, self.done, self.cached = total, cached, cached
        if total - cached > 1 and self.stream.isatty():
            self._draw()

    def started(self, label: str) -> None:
        """Take note that a piece has been handed out."""
        self.running.append(label)
        self._update()

    def finished(self, label: str) -> None:
        """Take note that a piece is done."""
        if label in self.running:
            self.running.remove(label)
        self.done += 1
        self._update()

    @property
    def doing(self) -> str:
        """The pieces that run, as text."""
        return listed(self.running)

    def _draw(self) -> None:
        self._bar = bar_on(self.stream, COUNTED, "{task.fields[doing]}")
        self._line = self._bar.add_task(self.label, total=self.total, completed=self.done, doing="")
        self._bar.start()

    def _update(self) -> None:
        if self._bar is not None:
            self._bar.update(self._line, completed=self.done, doing=self.doing)
