"""The examples run, quickly, without a warning, and each ends in an assertion."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from mechdesign.families import families, problem_classes
from tests.support import warm

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Threads of linear algebra that wait for a busy processor count as if they worked."""

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
    numbers = [path.name[:2] for path in EXAMPLES]
    assert all(number.isdigit() for number in numbers)
    assert len(set(numbers)) == len(numbers)


def test_the_list_of_examples_has_each_with_its_first_line():
    listed = (EXAMPLES[0].parent / "README.md").read_text(encoding="utf-8").splitlines()
    lines = [line for line in listed if line.startswith("| [")]
    first = {path.name: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in EXAMPLES}
    assert lines == [f"| [{name}]({name}) | {(text or '').splitlines()[0]} |" for name, text in first.items()]


@pytest.mark.parametrize("family", [family.__name__.rpartition(".")[2] for family in families()])
def test_every_family_has_an_example(family):
    """A problem, a mechanism or a model of the family is used in one of them."""
    names = [kind.__name__ for kind in problem_classes().values() if kind.__module__.split(".")[2] == family]
    wanted = [*(f"md.{name}(" for name in names), f"mechdesign.families.{family} ", f'"{family}/']
    texts = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    assert any(word in text for word in wanted for text in texts), f"no example of {family}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_a_few_seconds(path, tmp_path):
    """Five on an idle machine; processors differ by a factor of 1.6 and are shared, so ten here."""
    folder, printed = tmp_path / "empty", tmp_path / "printed"
    folder.mkdir()
    code, seconds = warm.run_script(path, folder, {**os.environ, **ONE_THREAD}, printed)
    assert code == 0, printed.read_text(encoding="utf-8")
    assert printed.stat().st_size
    assert seconds < 10.0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_ends_in_an_assertion(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert ast.get_docstring(ast.parse(text))
    last = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "main"
    ]
    body = last[0].body if last else ast.parse(text).body
    assert isinstance(body[-1], ast.Assert)
