"""A bar for many pieces of work: what runs, how much is done, how long is left; on a terminal only."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from mechdesign.core.text import listed
from mechdesign.work.bars import COUNTED, bar_on


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
        self.total = self.done = self.kept = 0
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

    def begin(self, total: int, kept: int) -> None:
        """Take the number of pieces, and of those that were finished before."""
        self.total, self.done, self.kept = total, kept, kept
        if total - kept > 1 and self.stream.isatty():
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
