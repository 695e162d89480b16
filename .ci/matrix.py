#!/usr/bin/env python3
"""The demonstration and a subset of the tests on each supported Python of this machine.

usage: python3 .ci/matrix.py [VERSION ...]     for instance 3.12 3.13 lowest; all of them without an argument

Each run has an environment of its own (.venv-VERSION): the newest packages of the index, on each Python from
3.11 to 3.14 on the path or among pyenv's versions, except the one that runs this script, whose turn is
the whole suite; and once, as ``lowest``, the lowest declared versions on the oldest Python. A Python that is
not here is named. The subset is marked ``everywhere``. Exit code 1 when a run fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
LOWEST = "lowest"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
EXTRAS = ("report", "parquet", "test")
SOLVERS = ("mechdesign/solvers", "tests/solvers")
MARKED, QUIET = "everywhere", ("-q", "-p", "no:cacheprovider")
MARK = f"mark.{MARKED}"
# An old release may use what a new one of its own dependencies deprecates; this is not ours to mend.
# An old cvxpy sums arrays that nobody has filled, to learn their shape.
TOLERANT = (
    *("-W", "default::DeprecationWarning", "-W", "default::PendingDeprecationWarning"),
    *("-W", "default:invalid value encountered in reduce:RuntimeWarning"),
    *("-W", "default:overflow encountered in reduce:RuntimeWarning"),
)


class Leg(NamedTuple):
    """One run: its name, its interpreter, and whether packages are the lowest declared ones."""

    name: str
    python: str
    is_lowest: bool = False


def version_of(python: str) -> str:
    """Return the version of an interpreter as 3.12; empty where it does not start (pyenv has such shims)."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def interpreters() -> dict[str, str]:
    """Return an interpreter for each supported version that is on the path or among pyenv's versions."""
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    roots = {Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions", base.parents[2]}
    result = {}
    for version in SUPPORTED:
        pattern = f"{version}.*/bin/python3"
        paths = [str(path) for root in sorted(roots) if root.is_dir() for path in sorted(root.glob(pattern))]
        on_path = shutil.which(f"python{version}")
        # Windows has no python3.12 on the path: the interpreter of this script is asked as well.
        candidates = [*([on_path] if on_path else []), *reversed(paths), str(base)]
        python = next((path for path in candidates if version_of(path) == version), None)
        if python is not None:
            result[version] = python
    return result


def legs(names: list[str]) -> list[Leg]:
    """Return the runs of these names, or all; print which Pythons are not here."""
    known = interpreters()
    own = "{}.{}".format(*sys.version_info)
    missing = [version for version in SUPPORTED if version not in known and version != own]
    if missing:
        print(f"matrix: not on this machine: Python {', '.join(missing)}", flush=True)
    newest = [Leg(version, python) for version, python in known.items() if version != own or version in names]
    oldest = min(known, key=SUPPORTED.index, default=None)
    lowest = [Leg(LOWEST, known[oldest], True)] if oldest else []
    result = [leg for leg in [*newest, *lowest] if not names or leg.name in names]
    absent = [name for name in names if name not in [leg.name for leg in result]]
    if absent:
        sys.exit(f"matrix: {', '.join(absent)}: not here; there are {', '.join([*known, LOWEST])}")
    return result


def lowest_versions() -> list[str]:
    """Return each dependency of the package and of these extras at its lowest declared version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    declared = [*project["dependencies"], *(line for name in EXTRAS[:2] for line in optional[name])]
    declared += optional["plot"]
    pairs = (re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line) for line in declared)
    return [f"{pair[1]}=={pair[2]}" for pair in pairs if pair is not None]


def subset() -> list[str]:
    """Return the files and folders that have tests of the subset."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [path for path in files if MARK in path.read_text(encoding="utf-8")]
    return [*SOLVERS, *(str(path.relative_to(ROOT)) for path in marked)]


def run(leg: Leg) -> tuple[bool, str]:
    """Make the environment of a run, and run the demonstration and the subset; return whether it passed."""
    home, start = ROOT / f".venv-{leg.name}", time.monotonic()
    shutil.rmtree(home, ignore_errors=True)
    python, extras = str(home / SCRIPTS / "python"), ",".join(EXTRAS)
    install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    lowest, warnings = (lowest_versions(), TOLERANT) if leg.is_lowest else ([], ())
    steps = [
        ("environment", [leg.python, "-m", "venv", str(home)]),
        ("packages", [*install, "--editable", f"{ROOT}[{extras}]", *lowest]),
        ("demonstration", [python, "-m", "mechdesign", "demo", "-o", str(home / "demo")]),
        ("tests", [python, "-m", "pytest", *QUIET, *warnings, "-m", MARKED, *subset()]),
    ]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}
    for name, command in steps:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            text = "\n".join((done.stdout + done.stderr).splitlines()[-60:])
            return False, f"{leg.name}: {name} FAILED with exit code {done.returncode}\n{text}"
    last = done.stdout.strip().splitlines()[-1]
    return True, f"{leg.name}: demonstration complete, {last}; {time.monotonic() - start:.0f} s in all"


def main(names: list[str]) -> int:
    """Run all, two at a time; print a line for each when it ends."""
    good = True
    with ThreadPoolExecutor(max_workers=2) as pool:
        for passed, text in pool.map(run, legs(names)):
            print(f"matrix: {text}", flush=True)
            good = good and passed
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
