"""The house in numbers: how many files and lines there are, and how many names are participles."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from statistics import median

import pytest

import mechdesign
from benchmarks.mutations import MUTATIONS, ROOT
from tests.support.sources import tree_of

PACKAGE = Path(mechdesign.__file__).parent
KERNEL = ("core", "exact", "audit", "collect")
PARTICIPLES = {"found", "kept", "given", "wanted", "told", "said", "asked", "made", "shown", "drawn"}

MOST_FILES, MOST_SHORT, SHORT, LEAST_MEDIAN = 458, 15, 60, 170
MOST_KERNEL_FILES, MOST_KERNEL_LINES = 35, 12_975
MOST_PARTICIPLES = 206
"""Ceilings; these three may only fall."""


@cache
def lengths() -> dict[str, int]:
    """Return the lines of the files of the toolkit by their paths, without papers and templates."""
    paths = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    toolkit = [path for path in paths if not {"papers", "templates"} & set(path.parts)]
    return {str(path): len((PACKAGE / path).read_text(encoding="utf-8").splitlines()) for path in toolkit}


def name_of(node: ast.AST) -> str | None:
    """Return the name that a node uses or gives, if any."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    for kind, field in ((ast.Name, "id"), (ast.arg, "arg"), (ast.Attribute, "attr")):
        if isinstance(node, kind):
            return str(getattr(node, field))
    return None


def test_a_file_says_a_whole_thing():
    bodies = [lines for path, lines in lengths().items() if not path.endswith("__init__.py")]
    assert len(lengths()) <= MOST_FILES
    assert median(bodies) >= LEAST_MEDIAN
    assert sum(lines < SHORT for lines in bodies) <= MOST_SHORT


def test_the_kernel_does_not_grow():
    kernel = [lines for path, lines in lengths().items() if Path(path).parts[0] in KERNEL]
    assert len(kernel) <= MOST_KERNEL_FILES
    assert sum(kernel) <= MOST_KERNEL_LINES


PROFILE = """
import os, sys
entered = set()

def is_own(frame):
    return os.sep + "mechdesign" + os.sep in frame.f_code.co_filename

def note(frame, event, argument):
    if event == "call" and is_own(frame) and frame.f_code.co_filename not in entered:
        outer = frame
        while outer is not None:
            if outer.f_code.co_name == "<module>" and is_own(outer):
                return  # a module that is being imported
            outer = outer.f_back
        entered.add(frame.f_code.co_filename)

sys.setprofile(note)
from mechdesign.cli import main
code = main(sys.argv[1:])
sys.setprofile(None)
print(code, len(entered))
"""
MOST_ENTERED = {
    "build": (35, "build m.toml -o m.json"),
    "randomize": (30, "randomize m.json people.csv -o reports.csv"),
    "estimate": (32, "estimate m.json reports.csv"),
}
"""Ceilings of the files of the package whose code a command of three rows runs; they may only fall."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model and three answers."""
    home = tmp_path_factory.mktemp("house")
    parameters = 'labels = ["a", "b", "c"]\nepsilon = 1.0\n'
    (home / "m.toml").write_text(
        f'[model]\ntitle = "t"\nproblem = "frequency-oracle"\n[parameters]\n{parameters}'
    )
    (home / "people.csv").write_text("answer\na\nb\nc\n")
    return home


@pytest.mark.parametrize("command", MOST_ENTERED)
def test_a_command_of_three_rows_stays_in_few_files(folder, command):
    most, line = MOST_ENTERED[command]
    before = list(MOST_ENTERED).index(command)
    for _, earlier in list(MOST_ENTERED.values())[:before]:  # which may have run in another process
        if not (folder / earlier.split()[-1]).exists():
            subprocess.run([sys.executable, "-m", "mechdesign", *earlier.split()], cwd=folder, check=True)
    program = [sys.executable, "-c", PROFILE, *line.split()]
    done = subprocess.run(program, capture_output=True, text=True, cwd=folder, check=True)
    code, entered = map(int, done.stdout.split()[-2:])
    assert code == 0
    assert entered <= most


def test_each_mistake_that_tests_should_notice_has_its_place():
    """Otherwise ``python -m benchmarks.mutations`` would try fewer than it has."""
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    times = {item.name: [text.count(item.text) for text in texts] for item in MUTATIONS}
    assert [name for name, each in times.items() if each.count(1) != 1] == []
    assert [path for item in MUTATIONS for path in item.tests if not Path(ROOT, path).is_file()] == []


def test_names_are_nouns():
    names = [name_of(node) for path in lengths() for node in ast.walk(tree_of(PACKAGE / path))]
    assert sum(name in PARTICIPLES for name in names) <= MOST_PARTICIPLES
