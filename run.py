#!/usr/bin/env python3
"""Set up and run mechdesign from a checkout; needs Python 3.11 or newer and nothing else.

usage: python3 run.py TASK [ARGUMENT ...]
  demo    a survey, an auction and six design problems, solved and run; writes a folder with a page
  check   solve every model, or the named ones, with every method; check certificates and claims
  test    ruff, mypy, then the tests (pytest's summary is the last line)
  cover   the tests with coverage, which makes them half as fast
  lint    ruff and mypy only
  docs    build the documentation in docs/_build/html; a warning is an error
  bench   one table: speed against other libraries and compiled loops (--all: every benchmark)
  release what a release needs, and what is left (--packages: wheel and sdist in bare environments)
  python  the Python of the environment, for instance: python3 run.py python -m ruff format mechdesign

Further arguments go to the last program. The first run makes .venv (or .venv-bench), later ones bring it up
to date; one of somebody else is used, never removed. Exit code: the program's, or 2.
"""  # Only the standard library and the syntax of Python 3.8: an old one has to get as far as being refused.

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

ROOT, VERSION = Path(__file__).resolve().parent, "{}.{}".format(*sys.version_info)
TASKS = {  # the extras that a task needs, and its programs, one after the other until one fails
    "demo": ("report", "mechdesign demo"),
    "check": ("report", "mechdesign check"),
    "test": ("dev,docs", "ruff check .", "mypy", "pytest -n 2 --dist worksteal"),
    "cover": ("dev,docs", "pytest -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered"),
    "lint": ("dev", "ruff check .", "mypy"),
    "docs": ("docs", "sphinx-build -W --keep-going -j 2 -b html docs docs/_build/html"),
    "bench": ("benchmarks,fast,parquet", "python -m benchmarks"),  # apart: the rivals need old packages
    "release": ("dev,docs", "python .ci/release.py"),
    "python": ("dev,docs", "python"),
}
call = functools.partial(subprocess.call, cwd=str(ROOT), stdout=sys.stderr, stdin=subprocess.DEVNULL)


def prepare(home, extras, runs):
    """Bring an environment up to date and return the folder of its programs."""
    scripts, stamp = home / ("Scripts" if os.name == "nt" else "bin"), home / "mechdesign-stamp.txt"
    before = stamp.read_text(encoding="utf-8", errors="replace").splitlines() if stamp.is_file() else []
    is_own, is_known = before[:1] == ["run.py"], before[:3] == ["run.py", VERSION, str(home)]
    extras = sorted({*extras.split(","), *(before[4:] if is_known else [])})
    after = ["run.py", VERSION, str(home), str(zlib.crc32((ROOT / "pyproject.toml").read_bytes())), *extras]
    names = ["python", "mechdesign", *(run[0] for run in runs)]
    if (before == after or not is_own) and all(shutil.which(name, path=str(scripts)) for name in names):
        return scripts
    is_new = not (is_known if is_own else os.path.lexists(str(home)))
    if is_new:
        shutil.rmtree(str(home), ignore_errors=not is_own)  # which refuses a link
        home.mkdir()
    if is_own or is_new:
        stamp.write_text("run.py\n", encoding="utf-8")  # no more, as long as it is unfinished
    if is_new and not importlib.util.find_spec("ensurepip") and shutil.which("apt-get") and os.geteuid() == 0:
        call(["sh", "-c", f"apt-get -qq update; apt-get -qq install -y python{VERSION}-venv"])
    # By the base interpreter, as this one may live in the environment that was just removed.
    if is_new and call([getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(home)]):
        raise OSError(f"{home} could not be made (see above); Debian and Ubuntu need python{VERSION}-venv")
    print(f"run.py: installing into {home}; the first time takes minutes", file=sys.stderr, flush=True)
    python, target = shutil.which("python", path=str(scripts)), "{}[{}]".format(ROOT, ",".join(extras))
    pip = ["-m", "pip", "install", "--disable-pip-version-check", *([] if sys.stderr.isatty() else ["-qq"])]
    if not python or call([python, *pip, "--editable", target]):
        raise OSError(f"{home} cannot be brought up to date (see above); if it is not run.py's, move it away")
    if is_own or is_new:
        stamp.write_text("\n".join(after), encoding="utf-8")
    return scripts


def main(name="--help", *arguments):
    """Run the programs of a task; return the exit code of the first that fails, or 0."""
    if name in ("-h", "--help"):
        return print(__doc__.strip()) or (0 if sys.argv[1:] else 2)
    if sys.version_info < (3, 11):
        raise OSError("Python 3.11 or newer is needed, this is " + VERSION)
    if name not in TASKS:
        raise OSError(f"no task is called {name!r}; choose from {', '.join(TASKS)}")
    extras, *programs = (text.split() for text in TASKS[name])
    programs[-1] += arguments[arguments[:1] == ("--",) :]
    scripts = prepare(ROOT / (".venv-bench" if name == "bench" else ".venv"), extras[0], programs)
    os.environ["PATH"] = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    for first, *others in programs:
        code = subprocess.call([str(scripts / first), *others], cwd=str(ROOT))
        if code:
            return code if code > 0 else 128 - code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:
        print("run.py:", error, file=sys.stderr)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(2)
