"""``run.py``: its help, its refusals; it needs nothing but the standard library."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

RUN = Path(__file__).parents[1] / "run.py"


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-I", str(RUN), *arguments], capture_output=True, text=True, check=False
    )


def test_help_names_every_task():
    done = run("--help")
    assert done.returncode == 0
    assert all(f"\n  {task} " in done.stdout for task in ("demo", "check", "test", "lint", "docs", "bench"))
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


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout whose environments are made by a stand-in for venv and pip."""
    module = loaded()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    home = tmp_path / ".venv"

    def call(*command: str) -> int:
        if "venv" in command:
            (home / module.SCRIPTS).mkdir()
            (home / module.SCRIPTS / "python").touch()
        return 0

    monkeypatch.setattr(module, "call", call)
    monkeypatch.setattr(module, "require_venv", lambda: None)
    monkeypatch.setattr(module, "is_usable", lambda python: False)
    return module


STAMPS = {"none": None, "empty": "{}", "of another": '{"made_by": "me"}', "damaged": "{", "a list": "[]"}


@pytest.mark.parametrize("stamp", STAMPS)
def test_an_environment_of_somebody_else_is_never_removed(checkout, stamp, capsys):
    home = checkout.ROOT / ".venv"
    (home / "work").mkdir(parents=True)
    (home / "work" / "thesis.txt").write_text("years of work")
    if STAMPS[stamp] is not None:
        (home / "mechdesign-stamp.json").write_text(STAMPS[stamp])
    with pytest.raises(checkout.SetupError, match=r"was not made by run\.py, so it stays; move it away"):
        checkout.prepare(checkout.TASKS["check"])
    assert (home / "work" / "thesis.txt").read_text() == "years of work"


def test_neither_a_link_nor_a_file_in_its_place_is_removed(checkout):
    home, other = checkout.ROOT / ".venv", checkout.ROOT / "other"
    other.mkdir()
    (other / "mechdesign-stamp.json").write_text('{"made_by": "run.py"}')
    for make in (lambda: home.symlink_to("other"), lambda: home.symlink_to("away"), home.touch):
        make()
        with pytest.raises(checkout.SetupError, match="so it stays"):
            checkout.prepare(checkout.TASKS["check"])
        assert os.path.lexists(home)
        home.unlink()
    assert (other / "mechdesign-stamp.json").exists()


def test_an_environment_of_its_own_is_made_anew_where_it_was_left_unfinished(checkout):
    home = checkout.ROOT / ".venv"
    assert checkout.prepare(checkout.TASKS["check"]) == home / checkout.SCRIPTS
    stamp = json.loads((home / "mechdesign-stamp.json").read_text())
    assert stamp["made_by"] == "run.py"
    (home / "mechdesign-stamp.json").write_text(json.dumps({"made_by": "run.py"}))
    (home / "half").touch()
    checkout.prepare(checkout.TASKS["check"])
    assert not (home / "half").exists()
    assert json.loads((home / "mechdesign-stamp.json").read_text()) == stamp


def test_a_usable_environment_of_somebody_else_is_used_and_stays_theirs(checkout, monkeypatch):
    home = checkout.ROOT / ".venv"
    (home / checkout.SCRIPTS).mkdir(parents=True)
    (home / checkout.SCRIPTS / "python").touch()
    (home / "mine").touch()
    monkeypatch.setattr(checkout, "is_usable", lambda python: True)
    checkout.prepare(checkout.TASKS["check"])
    monkeypatch.setattr(checkout, "is_usable", lambda python: False)
    (home / checkout.SCRIPTS / "python").unlink()
    with pytest.raises(checkout.SetupError, match="so it stays"):
        checkout.prepare(checkout.TASKS["check"])
    assert (home / "mine").exists()
