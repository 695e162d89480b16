"""A process with the package imported, which runs commands of the shell in copies of itself; one for scripts.

Each command has a process, an environment and a folder of its own, as from a shell; it is only spared the one
or two seconds that Python takes to import everything. What the first moments of a process are like is
tested in ``tests/cli/test_process.py`` and ``tests/meta/test_import_time.py``.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

SHELL = set("|<>;&$`\\*?~(){}!#\n")
"""What only a shell understands."""

PACKAGE, LIBRARIES = "package", "libraries"
"""What a process has imported before it is copied."""

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
def server(kind: str = PACKAGE) -> subprocess.Popen[str]:
    """Start a process with the package imported, or with libraries alone; it ends with this one."""
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    strict = ["-W", "error"] if kind == LIBRARIES else []
    started = subprocess.Popen(
        [sys.executable, *strict, "-m", "tests.support.warm", kind],
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
    return _asked(PACKAGE, arguments, folder, environment, output)[0]


def run_script(script: Path, folder: Path, environment: Mapping[str, str], output: Path) -> tuple[int, float]:
    """Run a script, with warnings as errors; return its exit code and its seconds of the processor.

    Only libraries are imported before: of the package, the script has what it imports itself.
    """
    return _asked(LIBRARIES, [str(script)], folder, environment, output)


def run_alone(arguments: list[str], folder: Path, environment: Mapping[str, str], output: Path) -> int:
    """Run a command that imports the package itself, in a folder that is on its path; return its exit code.

    So it finds what is installed there: the process with the package imported has looked for that before.
    """
    return _asked(LIBRARIES, ["-m", *arguments], folder, environment, output)[0]


def _asked(
    kind: str, arguments: list[str], folder: Path, environment: Mapping[str, str], output: Path
) -> tuple[int, float]:
    asked = server(kind)
    assert asked.stdin is not None
    assert asked.stdout is not None
    asked.stdin.write(json.dumps([arguments, str(folder), dict(environment), str(output)]) + "\n")
    asked.stdin.flush()
    code, seconds = asked.stdout.readline().split()
    return int(code), float(seconds)


def imported_once(kind: str) -> None:
    """Import what commands or scripts use, so that no copy of this process has to."""
    for name in ("numpy", "scipy.optimize", "scipy.stats", "cvxpy", "attrs"):
        import_module(name)
    if kind == LIBRARIES:
        return
    for name in ("matplotlib.figure", "mechdesign"):
        import_module(name)
    import_module("tests.support.checks")
    for found in pkgutil.walk_packages(import_module("mechdesign").__path__, "mechdesign."):
        if not found.name.endswith("__main__"):
            import_module(found.name)


def serve(kind: str) -> None:
    """Answer one command or script after the other."""
    imported_once(kind)
    gc.freeze()  # a copy that searches for garbage need not touch, and so copy, what was imported
    gc.set_threshold(100_000, 20, 20)
    assert threading.active_count() == 1, "only a process without threads can be copied"
    called = _script if kind == LIBRARIES else _command
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_ended(called, *json.loads(line)))
        _, status, used = os.wait4(child, 0)
        print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)


def _ended(
    called: Callable[[list[str]], int],
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    output: str,
) -> int:
    """Return the exit code of what is called, in a folder and an environment of its own."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in (1, 2):
        os.dup2(written, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        code = called(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _command(arguments: list[str]) -> int:
    from mechdesign.cli import main
    from tests.support.checks import of_one_run

    sys.argv = ["mechdesign", *arguments]
    with of_one_run():
        return main(arguments)


def _script(arguments: list[str]) -> int:
    assert "mechdesign" not in sys.modules
    if arguments[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = ["mechdesign", *arguments[1:]]
        runpy.run_module("mechdesign", run_name="__main__", alter_sys=True)
        return 0
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
