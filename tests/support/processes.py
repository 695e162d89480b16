"""Processes that tests start, interrupt and leave behind nothing of."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a command in a session of its own; whatever of it is left at the end is killed."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # all of it has ended
                os.killpg(process.pid, signal.SIGKILL)
