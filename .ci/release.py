#!/usr/bin/env python3
"""Check everything that a release needs, and print what is left.

usage: python3 run.py release [--packages]     --packages: only the packages, in bare environments

Version in one place and equal in CITATION.cff and CHANGELOG.md; the changelog's first entry; links of the
README, of the documentation and of the examples; the benchmark table of the version; the documentation
without a warning; the tag; wheel and sdist with twine, and the wheel in bare environments of each supported
Python here, once complete and once light. Each check is a line; exit code 1 where one fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).parent))
from matrix import SCRIPTS, SUPPORTED, interpreters  # noqa: E402 (beside this script)

MOST_WORDS = {"CHANGELOG.md": 800, "README.md": 1100}
INTENDED = r"\[[^\]]*\]\((?!https?://|mailto:|#)([^)\s]+)\)"
LIGHT = ("numpy", "attrs")


class Failure(Exception):  # noqa: N818 (a finding, not a fault of this script)
    """What a check has found, as one line."""


def text_of(name: str) -> str:
    """Return the text of a file of the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def version() -> str:
    """Return the version of the package."""
    return str(tomllib.loads(text_of("pyproject.toml"))["project"]["version"])


def call(command: list[str], folder: Path = ROOT) -> str:
    """Run a program and return what it prints; its last lines are the failure."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()[-4:]
        raise Failure(f"{' '.join(command[:6])}: exit code {done.returncode}: {' | '.join(lines)}")
    return done.stdout


def one_version() -> str:
    """CITATION.cff and the first entry of the changelog have the version of pyproject.toml."""
    cited = re.search(r"^version: (\S+)$", text_of("CITATION.cff"), re.MULTILINE)
    entry = re.search(r"^## \[?([^\]\s]+)\]?(.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    if cited is None or cited[1] != version():
        raise Failure(f"CITATION.cff has {cited and cited[1]}, pyproject.toml {version()}")
    if entry is None or entry[1] != version() or not re.search(r"\d{4}-\d\d-\d\d", entry[2]):
        raise Failure(f"CHANGELOG.md begins with {entry and entry[0]!r}; give {version()} and a date")
    return version()


def short_texts() -> str:
    """README and changelog are short enough to be read."""
    counts = {name: len(text_of(name).split()) for name in MOST_WORDS}
    for name, most in MOST_WORDS.items():
        if counts[name] > most:
            raise Failure(f"{name} has {counts[name]} words, more than {most}")
    return ", ".join(f"{name} {count} words" for name, count in counts.items())


def links() -> str:
    """Every relative link of a page leads to a file."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    pages = [page for page in pages if "_build" not in page.parts]
    seen = 0
    for page in pages:
        for target in re.findall(INTENDED, page.read_text(encoding="utf-8")):
            seen += 1
            path = page.parent / target.partition("#")[0]
            if not path.exists():
                raise Failure(f"{page.relative_to(ROOT)}: no file {target}")
    return f"{seen} links in {len(pages)} pages"


def benchmark_table() -> str:
    """Look for the table of speed against other libraries of this version."""
    path = ROOT / "benchmarks" / "results" / f"peers_{version()}.csv"
    if not path.is_file():
        raise Failure(f"{path.relative_to(ROOT)} is missing; run python3 run.py bench")
    return path.name


def documentation() -> str:
    """Build the documentation, where a warning is an error."""
    with tempfile.TemporaryDirectory() as folder:
        call([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2", "docs", folder])
        return f"{len(list(Path(folder).rglob('*.html')))} pages"


def clean_tree() -> str:
    """Everything is committed, and no tag has the version yet."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        raise Failure("not a clone of the repository: tag it from one")
    if call(["git", "status", "--porcelain"]).strip():
        raise Failure("changes are not committed")
    if call(["git", "tag", "--list", f"v{version()}"]).strip():
        raise Failure(f"v{version()} is tagged already; choose the next version")
    return f"ready for git tag v{version()}"


def packages() -> Iterator[str]:
    """Build wheel and sdist, check both with twine, and use the wheel on each Python; yield what was seen."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        call(
            [sys.executable, "-m", "build", "-o", str(folder), str(ROOT)]
        )  # the wheel is built from the sdist
        files = sorted(folder.iterdir())
        call([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)])
        yield ", ".join(f"{file.name} ({file.stat().st_size / 2**20:.1f} MiB)" for file in files)
        wheel = next(str(file) for file in files if file.suffix == ".whl")
        here = {**interpreters(), "{}.{}".format(*sys.version_info): sys.executable}
        tasks = [(use, name, python) for name, python in here.items() for use in (light, complete)]
        with ThreadPoolExecutor(max_workers=2) as pool:
            yield from pool.map(lambda task: task[0](folder, wheel, *task[1:]), tasks)
        absent = [name for name in SUPPORTED if name not in here]
        if absent:
            yield f"not on this machine: Python {', '.join(absent)}"


def bare(folder: Path, name: str, python: str, *arguments: str) -> tuple[Path, list[str]]:
    """Make an environment with what is named; return its folder and its command."""
    home = folder / name
    call([python, "-m", "venv", str(home)])
    call([str(home / SCRIPTS / "python"), "-m", "pip", "install", "-qq", *arguments])
    work = home / "work"
    work.mkdir()
    return work, [str(home / SCRIPTS / "mechdesign")]


def light(folder: Path, wheel: str, name: str, python: str) -> str:
    """Collect a survey with numpy and attrs only."""
    work, command = bare(folder, f"light-{name}", python, "--no-deps", wheel, *LIGHT)
    (work / "sleep.toml").write_text(
        '[survey]\ntitle = "Sleep"\nepsilon = 2.0\nusers = 3000\n\n'
        '[[questions]]\nname = "sleep"\nlabels = ["well", "badly"]\n'
    )
    (work / "answers.csv").write_text("sleep\n" + "well\nwell\nbadly\n" * 1000)
    for words in (
        "build sleep.toml -o sleep.json",
        "randomize sleep.json answers.csv -o reports.csv",
        "count sleep.json reports.csv -o counts.json",
        "estimate sleep.json counts.json",
        "audit sleep.json",
    ):
        call([*command, *words.split()], work)
    return f"Python {name}: light: survey from questions to results; {megabytes(work.parent)} MB"


def complete(folder: Path, wheel: str, name: str, python: str) -> str:
    """Solve and check with what pip installs."""
    work, command = bare(folder, f"complete-{name}", python, wheel)
    call([*command, "demo", "-o", "demo"], work)
    call([*command, "check", "response/zhou2019_survey", "mean/rcp2023_single"], work)
    return f"Python {name}: complete: demonstration and check; {megabytes(work.parent)} MB"


def megabytes(home: Path) -> int:
    """Return what an environment takes without byte code, pip and setuptools."""
    own = ("pip", "setuptools", "pkg_resources", "__pycache__", "work")
    files = (path for path in home.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if not set(own) & set(path.parts)) // 10**6


CHECKS: dict[str, Callable[[], str]] = {
    "version": one_version,
    "length": short_texts,
    "links": links,
    "benchmarks": benchmark_table,
    "documentation": documentation,
    "repository": clean_tree,
}


def main(arguments: list[str]) -> int:
    """Run the checks; print a line for each, and what is left."""
    left = []
    for name, check in {} if arguments == ["--packages"] else CHECKS.items():
        try:
            print(f"release: {name}: {check()}", flush=True)
        except Failure as failure:
            left.append(f"{name}: {failure}")
            print(f"release: {left[-1]}  <-- left", flush=True)
    try:
        for line in packages():
            print(f"release: packages: {line}", flush=True)
    except Failure as failure:
        left.append(f"packages: {failure}")
        print(f"release: {left[-1]}  <-- left", flush=True)
    print(f"release: {len(left)} left" if left else f"release: {version()} has all that it needs", flush=True)
    return 1 if left else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--packages"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
