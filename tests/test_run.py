"""``run.py``: its help, its refusals; it needs nothing but the standard library."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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


def loaded() -> ModuleType:
    specification = importlib.util.spec_from_file_location("run", RUN)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_documentation_says_where_it_is(monkeypatch, capfd):
    """Unless it could not be built; the programs of the task are replaced, the rest is as it runs."""
    module = loaded()
    python = Path(sys.executable)
    monkeypatch.setattr(module, "prepare", lambda task: python.parent)
    task = module.TASKS["docs"]
    assert module.run(task._replace(programs=((python.name, "-c", ""),)), []) == 0
    assert capfd.readouterr().out == f"{RUN.parent / 'docs/_build/html/index.html'}\n"
    assert module.run(task._replace(programs=((python.name, "-c", "exit(1)"),)), []) == 1
    assert capfd.readouterr().out == ""
    assert task.programs[-1][-1] == str(Path(task.result).parent)


def test_an_unknown_task_is_refused_in_one_line():
    done = run("chek")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no task is called 'chek'" in done.stderr


def test_check_passes_the_named_models_on(monkeypatch):
    """``run.py check MODEL`` checks that model; nothing in front of it asks for all of them."""
    spec = importlib.util.spec_from_file_location("run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    called = []
    monkeypatch.setattr(module, "prepare", lambda task: Path("bin"))
    monkeypatch.setattr(module.subprocess, "call", lambda command, **options: called.append(command) or 0)
    assert module.main(["check", "response/zhou2019_survey"]) == 0
    assert called == [[str(Path("bin") / "mechdesign"), "check", "response/zhou2019_survey"]]


def test_it_imports_the_standard_library_only():
    names = set()
    for node in ast.walk(ast.parse(RUN.read_text(encoding="utf-8"), feature_version=(3, 8))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    assert names <= sys.stdlib_module_names
