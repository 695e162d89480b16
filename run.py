#!/usr/bin/env python3
"""Set up and run mechdesign from a checkout; needs Python 3.11 or newer and nothing else.

usage: python3 run.py TASK [ARGUMENT ...]

  demo    six design problems: solved, built, run on shipped data; writes a folder with a page
  check   solve every model, or the named ones, with every method; check certificates and claims
  test    ruff, mypy, then the tests (pytest's summary is the last line)
  cover   the tests with coverage, which makes them half as fast
  lint    ruff and mypy only
  docs    build the documentation and print where its first page is; a warning is an error
  bench   one table: speed against other libraries and compiled loops (--all: every benchmark)

Further arguments go to the task's last program: python3 run.py test -k audit

The first run makes .venv (.venv-bench for bench) and installs the project into it, editable, with what the
task needs. Later runs start at once: a stamp in the environment says what it was made from, and it is brought
up to date when pyproject.toml, the Python version or the place of the checkout changes, or when another task
needs more. One whose making was cut short is made anew; one that run.py has not made is never removed. pip is
used as configured (files, PIP_* variables).

Exit codes: that of the program that was run; 2 when the task could not be started.
"""

# Only the standard library and the syntax of Python 3.8: an old Python has to get as far as being refused.
from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent
OLDEST = (3, 11)
MAKER = "run.py"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


class Task(NamedTuple):
    """What a task needs and the programs it runs, one after the other, until one fails."""

    extras: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...]
    environment: str = ".venv"
    result: str = ""  # a file that it leaves in the checkout, for people to open
    said: str = ""  # what it does, before a program that is silent for minutes


RUFF = ("ruff", "check", ".")
MYPY = ("mypy",)
# Two workers, because that is what a small machine has. Each has half of the tests, file by file, so that
# what the tests of a file share is made once; one that is done takes over from the other.
# --cov takes its settings from pyproject.toml.
PYTEST = ("pytest", "-n", "2", "--dist", "worksteal")
COVERAGE = ("--cov", "--cov-report=term-missing:skip-covered")
SPHINX = ("sphinx-build", "-W", "--keep-going", "-q", "-j", "2", "-b", "html", "docs", "docs/_build/html")

TASKS = {
    "demo": Task(("report",), (("mechdesign", "demo"),)),
    "check": Task((), (("mechdesign", "check"),)),
    "test": Task(("dev", "docs"), (RUFF, MYPY, PYTEST)),
    "cover": Task(("dev", "docs"), ((*PYTEST, *COVERAGE),)),
    "lint": Task(("dev",), (RUFF, MYPY)),
    "docs": Task(
        ("docs",),
        (SPHINX,),
        result="docs/_build/html/index.html",
        said="building the documentation with Sphinx, which takes some minutes and prints warnings only",
    ),
    # Apart from the rest: the rivals may insist on older versions of what the project itself uses.
    "bench": Task(("benchmarks", "fast", "parquet"), (("python", "-m", "benchmarks"),), ".venv-bench"),
}


class SetupError(Exception):
    """A task cannot be started; the text says why and what to do."""


def say(text: str) -> None:
    """Print one line about the set-up, apart from what the task itself prints."""
    print(f"run.py: {text}", file=sys.stderr, flush=True)


def call(*command: str) -> int:
    """Run a program of the set-up with its output among the messages; return its exit code."""
    return subprocess.call(command, cwd=str(ROOT), stdout=sys.stderr, stdin=subprocess.DEVNULL)


def require_venv() -> None:
    """See to it that an environment with pip can be made: Debian ships that part of Python separately."""
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return
    package = "python{}.{}-venv".format(*sys.version_info)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not (is_root and shutil.which("apt-get")):
        raise SetupError(
            "this Python cannot make virtual environments (it lacks ensurepip);"
            f" install python3-venv (Debian, Ubuntu: sudo apt-get install {package}) and run this again"
        )
    say(f"installing {package} with apt-get")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    call("apt-get", "-qq", "update")  # an old list may still do, so the next line decides
    if call("apt-get", "-qq", "install", "-y", "--no-install-recommends", package) != 0:
        raise SetupError(f"apt-get could not install {package} (see its message above); it is needed")
    importlib.invalidate_caches()
    if not importlib.util.find_spec("ensurepip"):
        raise SetupError(f"{sys.executable} still lacks ensurepip; use Debian's own /usr/bin/python3")


def is_made_here(home: Path, stamp: Path) -> bool:
    """Whether this script made an environment and may remove it: its stamp says so, and it is not a link."""
    return not home.is_symlink() and not stamp.is_symlink() and read_stamp(stamp).get("made_by") == MAKER


def is_usable(python: Path) -> bool:
    """Whether an environment that somebody else made has this Python version and pip."""
    test = f"import sys, pip; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    return python.exists() and subprocess.call([str(python), "-c", test], stderr=subprocess.DEVNULL) == 0


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(str(path))
    elif path.is_symlink() or path.exists():
        path.unlink()


def read_stamp(stamp: Path) -> dict:
    """Return what an environment was made from; nothing when it has no stamp or an unreadable one."""
    try:
        content = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def prepare(task: Task) -> Path:
    """Bring the task's environment up to date and return the folder of its programs."""
    home = ROOT / task.environment
    python = home / SCRIPTS / ("python.exe" if os.name == "nt" else "python")
    stamp = home / "mechdesign-stamp.json"
    made_from = {
        "python": "{}.{}".format(*sys.version_info),
        "place": str(home),
        "project": hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest(),
    }
    found = read_stamp(stamp)
    complete = python.exists() and all(found.get(key) == made_from[key] for key in ("python", "place"))
    installed = set(found.get("extras", [])) if complete else set()
    extras = installed | set(task.extras)
    if complete and found.get("project") == made_from["project"] and extras == installed:
        return python.parent

    if not complete and (stamp.exists() or not is_usable(python)):
        if os.path.lexists(str(home)) and not is_made_here(home, stamp):
            raise SetupError(
                f"{home} cannot be used and was not made by run.py, so it stays;"
                " move it away and run this again"
            )
        require_venv()
        if os.path.lexists(str(home)):
            say(f"{task.environment} is out of date or was left unfinished; making it anew")
            remove(home)
        home.mkdir()
        # Marked as unfinished from its first moment: whatever happens from here on, the next run will know.
        stamp.write_text(json.dumps({"made_by": MAKER}), encoding="utf-8")
        # The base interpreter, as this one may live in the environment that was just removed.
        if call(getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(home)) != 0:
            raise SetupError(f"making {task.environment} failed (see the message above)")
    maker = {"made_by": MAKER} if is_made_here(home, stamp) else {}
    stamp.write_text(json.dumps(maker), encoding="utf-8")

    target = "{}[{}]".format(ROOT, ",".join(sorted(extras))) if extras else str(ROOT)
    say(f"installing the project into {task.environment}; the first time takes a few minutes")
    options = ["--disable-pip-version-check", *([] if sys.stderr.isatty() else ["-qq"])]
    if call(str(python), "-m", "pip", "install", *options, "--editable", target) != 0:
        raise SetupError("pip could not install the project (see its message above); is its index reachable?")
    stamp.write_text(json.dumps({**maker, **made_from, "extras": sorted(extras)}), encoding="utf-8")
    return python.parent


def run(task: Task, arguments: list[str]) -> int:
    """Run the task's programs; return the exit code of the first that fails, or 0."""
    scripts = prepare(task)
    if task.said:
        say(task.said)
    environment = {**os.environ, "PATH": os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])}
    for number, program in enumerate(task.programs, start=1):
        is_last = number == len(task.programs)
        command = [str(scripts / program[0]), *program[1:], *(arguments if is_last else [])]
        code = subprocess.call(command, cwd=str(ROOT), env=environment)
        if code != 0:
            if not is_last:  # the last program's own last line stays the last line
                say(f"{program[0]} failed; what comes after it was not run")
            return code if code > 0 else 128 - code
    if task.result:
        print(ROOT / task.result)
    return 0


def main(arguments: list[str]) -> int:
    """Run the task that the command line names."""
    if sys.version_info < OLDEST:
        raise SetupError("Python 3.11 or newer is needed, this is {}.{}.{}".format(*sys.version_info))
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in TASKS:
        raise SetupError(f"no task is called {name!r}; choose from {', '.join(TASKS)}")
    return run(TASKS[name], rest[1:] if rest[:1] == ["--"] else rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as error:
        say(str(error))
    except OSError as error:
        say(f"{error.filename or ROOT}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(2)
