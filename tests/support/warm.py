"""A process with the package imported, which runs commands of the shell in copies of itself.

Each command has a process, an environment and a folder of its own, as from a shell; it is only spared the one
or two seconds that Python takes to import everything. What the first moments of a process are like is
tested in ``tests/cli/test_process.py`` and ``tests/meta/test_import_time.py``.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SHELL = set("|<>;&$`\\*?~(){}!#\n")
"""What only a shell understands."""


def words_of(command: str) -> list[str] | None:
    """Return the arguments of a command that is ``mechdesign`` and nothing else; None for others.

    >>> words_of("mechdesign list --problems"), words_of("mechdesign list | head"), words_of("ls")
    (['list', '--problems'], None, None)
    """
    joined = command.replace("\\\n", " ")
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


def serve() -> None:
    """Answer one command after the other."""
    import cvxpy  # noqa: F401
    import scipy.optimize  # noqa: F401

    import mechdesign
    import mechdesign.cli.parser
    import mechdesign.report  # noqa: F401

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
