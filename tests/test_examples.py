"""The examples run, quickly, without a warning, and each ends in an assertion."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
    assert all(path.name[:2].isdigit() for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_five_seconds(path, tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5.0
    assert list(tmp_path.iterdir()) == []


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
