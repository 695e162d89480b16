"""A process with the package imported, which runs commands of the shell in copies of itself.

Each command has a process, an environment and a folder of its own, as from a shell; it is only spared the one
or two seconds that Python takes to import everything. What the first moments of a process are like is
tested in ``tests/cli/test_process.py`` and ``tests/meta/test_import_time.py``.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

SHELL = set("|<>;&$`\\*?~(){}!#\n")
"""What only a shell understands."""

REMARK = re.compile(r"(?:\s+# [^\n\"']*|^(?P<command>[^\n\"'#]*\S)\s+# [^\n]*)$")
"""What a command line says to its readers; a shell leaves it out. No quotes in it, or none before it."""


def words_of(command: str) -> list[str] | None:
    """Return the arguments of a command that is ``mechdesign`` and nothing else; None for others.

    >>> words_of("mechdesign list --problems"), words_of("mechdesign list | head"), words_of("ls")
    (['list', '--problems'], None, None)
    >>> words_of("mechdesign list  # all; also those | of others"), words_of("mechdesign list a#b")
    (['list'], None)
    >>> words_of("mechdesign list  # the paper's"), words_of("mechdesign show 'a  # b'")
    (['list'], None)
    """
    joined = REMARK.sub(lambda found: found["command"] or "", command.replace("\\\n", " "))
    if not joined.startswith("mechdesign ") or SHELL & set(joined):
        return None
    return shlex.split(joined)[1:]


@cache
def server() -> subprocess.Popen[str]:
    """Start the process; it ends with this one."""
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.support.warm"],
        cwd=Path(__file__).parents[2],
        env=alone,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)
    return started


def run(arguments: list[str], folder: Path, environment: Mapping[str, str], output: Path) -> int:
    """Run a command; all that it prints goes to the file; return its exit code."""
    asked = server()
    assert asked.stdin is not None
    assert asked.stdout is not None
    asked.stdin.write(json.dumps([arguments, str(folder), dict(environment), str(output)]) + "\n")
    asked.stdin.flush()
    return int(asked.stdout.readline())


def imported_once() -> None:
    """Import the whole package and what its commands use, so that no copy of this process has to."""
    for name in ("cvxpy", "scipy.optimize", "scipy.stats", "matplotlib.figure", "mechdesign"):
        import_module(name)
    import_module("tests.support.checks")
    for found in pkgutil.walk_packages(import_module("mechdesign").__path__, "mechdesign."):
        if not found.name.endswith("__main__"):
            import_module(found.name)
    assert threading.active_count() == 1, "only a process without threads can be copied"


def serve() -> None:
    """Answer one command after the other."""
    imported_once()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_command(*json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _command(arguments: list[str], folder: str, environment: dict[str, str], output: str) -> int:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in (1, 2):
        os.dup2(written, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["mechdesign", *arguments]
    from mechdesign.cli import main
    from tests.support.checks import check_each_once

    check_each_once()
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve()
