"""``run.py``: its help, its refusals; it needs nothing but the standard library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "run.py"


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-I", str(RUN), *arguments], capture_output=True, text=True, check=False
    )


def test_help_names_every_task():
    done = run("--help")
    assert done.returncode == 0
    assert all(f"\n  {task} " in done.stdout for task in ("check", "test", "lint", "docs", "bench"))
    assert run().returncode == 2


def test_an_unknown_task_is_refused_in_one_line():
    done = run("chek")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no task is called 'chek'" in done.stderr


def test_it_imports_the_standard_library_only():
    names = set()
    for node in ast.walk(ast.parse(RUN.read_text(encoding="utf-8"), feature_version=(3, 8))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    assert names <= sys.stdlib_module_names
