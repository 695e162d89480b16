"""A process beside the server that designs: the server answers while it computes.

A question that a newer one of the same owner's page has overtaken is dropped: one that waits is not asked,
one that has run for long is ended with its process. A process that is lost or takes too long is replaced.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any

from mechdesign.core.errors import MechDesignError, MethodError

LONGEST = 90.0
"""Seconds after which a computation is ended."""

PATIENCE = 3.0
"""Seconds that a computation may go on after it was overtaken: a new process takes about one."""

POLL = 0.05

MOST_SUBJECTS = 1000
"""Subjects whose newest question is remembered."""


class OvertakenError(Exception):
    """A newer question of the same subject has come: nobody waits for the answer."""


class Worker:
    """A process that computes one thing at a time.

    Examples
    --------
    >>> worker = Worker()
    >>> asyncio.run(worker.ask("sum", sum, [1, 2]))
    3
    >>> worker.close()
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._guard, self._numbers = Lock(), Lock()
        self._newest: dict[str, int] = {}

    async def ask(self, subject: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module gives; a newer question about the same subject overtakes it.

        Raises
        ------
        Overtaken
            Where a newer one has come.
        MechDesignError
            As the function raises it; MethodError where it takes too long, or its process is lost.
        """
        with self._numbers:
            number = self._newest.pop(subject, 0) + 1
            self._newest[subject] = number
            if len(self._newest) > MOST_SUBJECTS:
                del self._newest[next(iter(self._newest))]
        return await asyncio.to_thread(self._asked, subject, number, function, arguments)

    def begin(self) -> None:
        """Start the process, so that the first question need not wait for it."""
        with self._guard:
            self._started()

    def close(self) -> None:
        """End the process."""
        with self._guard:
            self._ended()

    def _is_old(self, subject: str, number: int) -> bool:
        with self._numbers:
            return self._newest.get(subject, number) != number

    def _asked(
        self, subject: str, number: int, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        with self._guard:
            if self._is_old(subject, number):
                raise OvertakenError
            pipe, begin = self._started(), time.monotonic()
            try:
                pipe.send((function, arguments))
                while not pipe.poll(POLL):
                    seconds = time.monotonic() - begin
                    if seconds > PATIENCE and self._is_old(subject, number):
                        self._ended()
                        raise OvertakenError
                    if seconds > LONGEST:
                        self._ended()
                        what = f"takes longer than {LONGEST:g} seconds"
                        raise MethodError("design", what, "ask fewer questions, or use mechdesign build")
                is_error, value = pipe.recv()
            except (EOFError, OSError):
                self._ended()
                remedy = "try again, or ask fewer questions"
                raise MethodError("design", "its process was lost", remedy) from None
        if is_error:
            raise value
        return value

    def _started(self) -> Connection:
        """Return the pipe of a process that runs."""
        if self._pipe is None or self._process is None or not self._process.is_alive():
            self._ended()
            self._pipe, theirs = self._context.Pipe()
            self._process = self._context.Process(target=_answer, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe

    def _ended(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


def _answer(pipe: Connection) -> None:
    """Compute what is asked until the pipe is closed: all that the process does."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which ends this process
    with suppress(EOFError, OSError):
        import mechdesign.serve.planning  # noqa: F401 - before the first question comes

        while True:
            function, arguments = pipe.recv()
            try:
                answer = False, function(*arguments)
            except MechDesignError as error:
                answer = True, error
            except Exception as error:  # the page shows it, and the process goes on
                answer = True, MethodError("design", f"failed ({type(error).__name__}: {error})", "report it")
            pipe.send(answer)
