"""Run the code blocks of a Markdown page and say what they print, beside what the page shows.

The blocks of a page are run in order, in one namespace and one empty folder:

- ``python``: what it prints is shown in the ``text`` block that follows at once;
- ``console``: after each ``$ `` a command, then what it prints, errors included;
- ``toml`` and ``python`` whose first line is ``# NAME.toml`` or ``# FOLDER/NAME.py``: the file is written.
  After a ``pyproject.toml`` the commands are run where its distribution is installed, as pip would leave it.

Everything has to be as shown, except the seconds that something took, and numbers that are rounding errors
(below 1e-8 in size) on the page and in fact. A comment before a block changes that:

- ``<!-- random -->``: the numbers come from the system's random generator, so only the text is compared;
- ``<!-- machine -->``: the last bits of the processor's linear algebra decide which of several equally good
  mechanisms is found, so only the text is compared, but an update writes the numbers of its machine;
- ``<!-- digits: 3 -->``: the same, but only this number of significant digits has to be right;
- ``<!-- output not shown -->``: the block is run and must not fail, but the page leaves out what it prints.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mechdesign.work.cache import Cache
from tests.support import checks, warm

ROOT = Path(__file__).parents[2]
COLUMNS = "100"
"""The width of the terminal that the pages are written for."""

ALONE = {"MECHDESIGN_CACHE": "off", "MECHDESIGN_JOBS": "1"}
"""Nothing comes from earlier runs, and none of the machine's cores is taken from other tests."""

ROUNDING = 1e-8
"""A number below this in size is taken for a rounding error, or for the gap that a solver left."""

ECHO = '; echo "exit code $?"'
"""How pages show the exit code of a command."""

PIPED = re.compile(r"^(?P<own>mechdesign [^|]*\S) \| (?P<end>head|tail) -n (?P<most>\d+)$")
"""How pages show the first or the last lines of what our command prints."""

FILE = re.compile(r"# ((?:[\w-]+/)*[\w-]+\.(?:toml|py))$")
"""The first line of a block that is a file."""

FENCE = re.compile(r"^```([\w{}-]*)")
COMMENT = re.compile(r"^<!-- (random|machine|output not shown|digits: \d+) -->$")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![A-Za-z_])")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PROGRESS = re.compile(r"^mechdesign: .*\d+ of \d+ after [\d.]+ s$")
FINGERPRINT = re.compile(r"__m[0-9a-f]{12}\b")
TOOK = re.compile(r"^(\s*)[\d.e+-]+ s, ")


@dataclass
class Block:
    """A fenced block: its language, its lines, where its first line stands, and the comment before it."""

    language: str
    start: int
    lines: list[str] = field(default_factory=list)
    comment: str = ""
    follows: bool = False  # at once upon the block before

    @property
    def end(self) -> int:
        """The number of the closing fence's line, from 0."""
        return self.start + len(self.lines)


@dataclass
class Shown:
    """What a page shows in a block, and what was really printed."""

    block: Block
    printed: list[str]

    @property
    def is_right(self) -> bool:
        """Whether the page shows what is printed."""
        return agree(self.block.lines, self.printed, self.block.comment)

    @property
    def is_current(self) -> bool:
        """Whether an update would leave the block as it is."""
        return agree(self.block.lines, self.printed, "random" if self.block.comment == "random" else "")


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    inside, comment, follows = False, "", False
    for number, line in enumerate(text.splitlines()):
        fence = FENCE.match(line)
        if fence and not inside:
            found.append(Block(fence[1], number + 1, [], comment, follows))
            inside = True
        elif fence:
            inside, comment, follows = False, "", True
        elif inside:
            found[-1].lines.append(line)
        elif line.strip():
            match = COMMENT.match(line.strip())
            comment, follows = (match[1], follows) if match else ("", False)
    return found


def outputs(page: Path, folder: Path, kept: Path | None = None) -> Iterator[Shown]:
    """Run the blocks of a page in an empty folder and yield what they print.

    Checks of models and solutions are taken from the folder ``kept`` and left there: one run of the tests
    makes each once.
    """
    found = blocks(page.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    environment = _environment(folder) | ({} if kept is None else {checks.FOLDER: str(kept)})
    work = folder / "work"
    work.mkdir()
    installed = False
    for number, block in enumerate(found):
        file = FILE.match(block.lines[0]) if block.language in ("toml", "python") and block.lines else None
        if file:
            path = work / file[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
            if path.name == "pyproject.toml":
                install(path)
                installed = True
        elif block.language == "python":
            with nullcontext() if kept is None else checks.solved_once(Cache(kept)):
                printed = _run_python(block, page, namespace, work)
            after = found[number + 1] if number + 1 < len(found) else None
            if after is not None and after.language == "text" and after.follows:
                after.comment = after.comment or block.comment
                yield Shown(after, printed)
            elif printed and block.comment != "output not shown":
                raise AssertionError(f"{_place(page, block)}: prints, but no text block follows: {printed}")
        elif block.language == "console":
            shown = Shown(block, _run_console(block, page, work, environment, installed))
            if block.comment != "output not shown":
                yield shown
    for name, module in list(sys.modules.items()):  # files of the page, which others may also be called
        if (getattr(module, "__file__", None) or "").startswith(f"{work}{os.sep}"):
            del sys.modules[name]


def install(project: Path) -> None:
    """Leave beside a pyproject.toml what pip leaves of its distribution: its name and its entry points."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    folder = project.parent / f"{table['name']}-{table['version']}.dist-info"
    folder.mkdir()
    head = f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {table['version']}\n"
    (folder / "METADATA").write_text(head, encoding="utf-8")
    lines = []
    for group, points in table["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _place(page: Path, block: Block) -> str:
    return f"{page.name}, line {block.start}"


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment in which ``mechdesign`` is this checkout's command."""
    programs = folder / "bin"
    programs.mkdir()
    command = programs / "mechdesign"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mechdesign "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": COLUMNS, **ALONE}


def _run_python(block: Block, page: Path, namespace: dict[str, Any], work: Path) -> list[str]:
    code = compile("\n" * block.start + "\n".join(block.lines), str(page), "exec")
    printed = io.StringIO()
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    sys.path.insert(0, str(work))
    try:
        with contextlib.chdir(work), contextlib.redirect_stdout(printed):
            exec(code, namespace)
    finally:
        sys.path.remove(str(work))
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width
    return _lines(printed.getvalue())


def _run_console(
    block: Block, page: Path, work: Path, environment: dict[str, str], installed: bool
) -> list[str]:
    """Run the commands; return them with what they print, as the page has it."""
    printed: list[str] = []
    for command in commands(block.lines):
        code, output = _run_command("\n".join(command), work, environment, installed)
        if block.comment == "output not shown" and code != 0:
            raise AssertionError(f"{_place(page, block)}: {command[0]}: {output}")
        printed += [f"$ {command[0]}", *command[1:], *_lines(output)]
    return printed


def _run_command(command: str, work: Path, environment: dict[str, str], installed: bool) -> tuple[int, str]:
    """Return the exit code and what is printed: by a shell, where more than our own command is called."""
    piped = PIPED.match(command)
    own = piped["own"] if piped else command.removesuffix(ECHO)
    words = warm.words_of(own)
    if words is not None and hasattr(os, "fork"):
        output = work.parent / "printed"
        code = (warm.run_alone if installed else warm.run)(words, work, environment, output)
        printed = output.read_text(encoding="utf-8", errors="backslashreplace")
        if piped and code == 0:  # what failed says so on another stream, which is not cut
            most, lines = int(piped["most"]), printed.splitlines(keepends=True)
            return 0, "".join(lines[:most] if piped["end"] == "head" else lines[-most:])
        if not piped:
            return (code, printed) if own == command else (0, f"{printed}exit code {code}\n")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def commands(lines: Sequence[str]) -> list[list[str]]:
    """Return the commands of a console block, each with its continuation lines."""
    found: list[list[str]] = []
    is_open = False
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:]])
        elif is_open:
            found[-1].append(line)
        is_open = (line.startswith("$ ") or is_open) and line.endswith("\\")
    return found


def _lines(text: str) -> list[str]:
    """Return the lines; how far something is gets printed on slow machines only."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return [line for line in lines if not PROGRESS.match(line)]


def agree(shown: Sequence[str], printed: Sequence[str], comment: str = "") -> bool:
    """Whether two outputs are the same, up to seconds, rounding errors and what the comment allows."""
    first, second = (_without_seconds([line.rstrip() for line in lines]) for lines in (shown, printed))
    while first and not first[-1]:
        first.pop()
    return len(first) == len(second) and all(
        _same_line(one, other, comment) for one, other in zip(first, second, strict=True)
    )


def _same_line(shown: str, printed: str, comment: str) -> bool:
    if shown == printed:
        return True
    if comment:  # other numbers make another mechanism, at another time
        shown, printed = (
            MOMENT.sub("MOMENT", FINGERPRINT.sub("__mFINGERPRINT", line)) for line in (shown, printed)
        )
    words = [NUMBER.split(line) for line in (shown, printed)]
    if comment:  # a number of another length moves what stands beside it
        words = [[" ".join(re.sub("--+", "--", part).split()) for part in parts] for parts in words]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(one == other or _same_number(float(one), float(other), comment) for one, other in pairs)


def _same_number(shown: float, printed: float, comment: str) -> bool:
    if comment in ("random", "machine") or max(abs(shown), abs(printed)) < ROUNDING:
        return True
    if comment.startswith("digits: "):
        return abs(shown - printed) <= 10.0 ** -int(comment[8:]) * max(abs(shown), abs(printed))
    return False


def _without_seconds(lines: list[str]) -> list[str]:
    """Put a word for the seconds of a line ``0.2 s, SOLVER`` and of a table's column ``seconds``."""
    result = [TOOK.sub(r"\1SECONDS s, ", line) for line in lines]
    span: slice | None = None
    for number, line in enumerate(lines):
        place = re.search(r"\bseconds\b", line)
        ruled = number + 1 < len(lines) and set(lines[number + 1]) == {"-", " "}
        if place and ruled:
            span = slice(place.start(), place.end())
        elif span is not None and re.fullmatch(r" *\d+\.\d+", line[span]):
            result[number] = line[: span.start] + "SECONDS" + line[span.stop :]
        elif span is not None and not line:
            span = None
    return result


def rewritten(text: str, found: Sequence[Shown]) -> str:
    """Return the page with what is really printed in place of what it shows wrongly."""
    lines = text.splitlines()
    for shown in reversed(found):
        if not shown.is_current:
            lines[shown.block.start : shown.block.end] = shown.printed
    return "\n".join(lines) + "\n"


def pages() -> list[Path]:
    """Return the README and the pages of the documentation."""
    documentation = sorted((ROOT / "docs").rglob("*.md"))
    built = ROOT / "docs" / "_build", ROOT / "docs" / "reference" / "generated"
    return [
        ROOT / "README.md",
        *(page for page in documentation if not any(page.is_relative_to(place) for place in built)),
    ]
