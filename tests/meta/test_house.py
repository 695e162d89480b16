"""The house in numbers: how many files and lines there are, and how many names are participles."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from statistics import median

import mechdesign
from tests.support.sources import tree_of

PACKAGE = Path(mechdesign.__file__).parent
KERNEL = ("core", "exact", "audit", "collect")
PARTICIPLES = {"found", "kept", "given", "wanted", "told", "said", "asked", "made", "shown", "drawn"}

MOST_FILES, MOST_SHORT, SHORT, LEAST_MEDIAN = 353, 15, 60, 170
MOST_KERNEL_FILES, MOST_KERNEL_LINES = 45, 15_760
MOST_PARTICIPLES = 200
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


def test_names_are_nouns():
    names = [name_of(node) for path in lengths() for node in ast.walk(tree_of(PACKAGE / path))]
    assert sum(name in PARTICIPLES for name in names) <= MOST_PARTICIPLES
