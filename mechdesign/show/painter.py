"""Pictures drawn by another process, while this one goes on.

The other process gets figures by its standard input and returns SVG texts by its standard output. It ends
when its input ends, so also when this process was killed; an interrupt of the terminal does not reach it.
Whatever goes wrong there, this process draws the picture itself, and meets the error itself if there is one.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Self

from mechdesign.show.draw import matplotlib_module, svg
from mechdesign.show.figure import Figure
from mechdesign.work.parallel import worker_count

PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from mechdesign.show.painter import paint; paint()"
)
"""What the other process runs: it finds packages where this one does."""

LAST = 5.0
"""Seconds that the other process has to end once its input has ended."""


class Painter:
    """Draws pictures in another process, or in this one where only one may be used.

    Parameters
    ----------
    jobs : int, optional
        Number of processes; by default one per CPU core, or ``MECHDESIGN_JOBS``. With 1 no other is started.

    Examples
    --------
    >>> from mechdesign.show.figure import Line, Panel
    >>> figure = Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])])
    >>> with Painter() as painter:
    ...     painter.begin([figure])
    ...     text = painter.svg(figure)
    >>> text == svg(figure)
    True
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._process = _started() if worker_count(jobs) > 1 else None
        self._ordered: list[tuple[int, bool]] = []
        self._figures: dict[int, Figure] = {}
        self._texts: dict[tuple[int, bool], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def begin(self, figures: Iterable[Figure], narrow: bool = False) -> None:
        """Let the other process draw these figures, after those before them."""
        for figure in figures:
            if self._process is not None and (id(figure), narrow) not in self._ordered:
                self._figures[id(figure)] = figure  # no other object gets its number meanwhile
                self._ordered.append((id(figure), narrow))
                try:
                    _send(self._process.stdin, (figure, narrow))
                except (OSError, pickle.PicklingError):
                    self._end()

    def svg(self, figure: Figure, narrow: bool = False) -> str:
        """Return a picture as :func:`mechdesign.show.draw.svg` does; one that was begun is waited for."""
        key = id(figure), narrow
        while key in self._ordered:
            self._receive()
        if key not in self._texts:
            self._figures[id(figure)] = figure
            self._texts[key] = svg(figure, narrow)
        return self._texts[key]

    def _receive(self) -> None:
        """Take the next picture from the other process; where it failed, it is left to this one."""
        assert self._process is not None
        try:
            text = pickle.load(self._process.stdout)
        except Exception:  # what a damaged stream raises cannot be listed
            self._end()
            return
        key = self._ordered.pop(0)
        if text is not None:
            self._texts[key] = text

    def _end(self) -> None:
        process, self._process = self._process, None
        self._ordered.clear()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                stream.close()
        try:
            process.wait(LAST)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()


def _started() -> Any:
    """Return the other process; None where it cannot be started."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the interrupts of a terminal go to sessions; on Windows to groups
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        _send(process.stdin, sys.path)
    except OSError:
        return None
    return process


def _send(stream: Any, content: Any) -> None:
    stream.write(pickle.dumps(content))
    stream.flush()


def paint() -> None:
    """Draw the figures that come by standard input, until it ends."""
    figures: SimpleQueue[tuple[Figure, bool]] = SimpleQueue()
    threading.Thread(target=_read, args=(figures,), daemon=True).start()
    for name in ("figure", "backends.backend_agg", "backends.backend_svg"):
        matplotlib_module(name)
    while True:
        figure, narrow = figures.get()
        try:
            text = svg(figure, narrow)
        except Exception:  # the other process draws it again, and says what is wrong
            text = None
        _send(sys.stdout.buffer, text)


def _read(figures: SimpleQueue[tuple[Figure, bool]]) -> None:
    """Take figures as they come, so that neither process waits for the other; end with the input."""
    try:
        while True:
            figures.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)
