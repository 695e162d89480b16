"""``run.py``: its help, its refusals; it needs nothing but the standard library."""

from __future__ import annotations

import ast
import importlib.util
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
    assert all(
        f"\n  {task} " in done.stdout
        for task in ("demo", "check", "test", "cover", "lint", "docs", "bench", "release", "python")
    )
    assert run().returncode == 2


def loaded() -> ModuleType:
    specification = importlib.util.spec_from_file_location("run", RUN)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_programs_run_until_one_fails(monkeypatch):
    """The exit code is that program's, and further arguments go to the last one."""
    module = loaded()
    python = Path(sys.executable)
    monkeypatch.setattr(module, "prepare", lambda home, extras, runs: python.parent)
    monkeypatch.setitem(os.environ, "PATH", os.environ["PATH"])
    monkeypatch.setitem(module.TASKS, "docs", ("docs", f"{python.name} -c exit(0)", f"{python.name} -c"))
    assert module.main("docs", "exit(3)") == 3
    assert module.main("docs", "--", "exit(0)") == 0
    monkeypatch.setitem(module.TASKS, "docs", ("docs", f"{python.name} -c exit(4)", f"{python.name} -c"))
    assert module.main("docs", "exit(3)") == 4


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
    monkeypatch.setattr(module, "prepare", lambda home, extras, runs: Path("bin"))
    monkeypatch.setitem(os.environ, "PATH", os.environ["PATH"])
    monkeypatch.setattr(module.subprocess, "call", lambda command, **options: called.append(command) or 0)
    assert module.main("check", "response/zhou2019_survey") == 0
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
    """A checkout whose environments are made by a stand-in for venv and pip; ``commands`` has what it ran."""
    module = loaded()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    module.commands = []

    def call(command: list[str]) -> int:
        module.commands.append(command)
        scripts = tmp_path / ".venv" / SCRIPTS
        if "venv" in command:
            scripts.mkdir()
            program(scripts / "python")
        elif "pip" in command:
            program(scripts / "mechdesign")
            if "dev" in command[-1]:
                program(scripts / "ruff")
        return module.code

    module.code = 0
    monkeypatch.setattr(module, "call", call)
    return module


SCRIPTS = "Scripts" if os.name == "nt" else "bin"
CHECK, LINT = ("report", [["mechdesign", "check"]]), ("dev", [["ruff"]])
STAMPS = {"none": None, "empty": "", "of another": "me\n3.11", "of an old version": '{"made_by": "run.py"}'}


def program(path: Path) -> None:
    path.touch()
    path.chmod(0o755)


def foreign(checkout: ModuleType, *names: str) -> Path:
    """Return an environment that run.py has not made, with these programs and some work in it."""
    home = checkout.ROOT / ".venv"
    (home / SCRIPTS).mkdir(parents=True)
    (home / "thesis.txt").write_text("years of work")
    for name in names:
        program(home / SCRIPTS / name)
    return home


@pytest.mark.parametrize("stamp", STAMPS)
def test_an_environment_of_somebody_else_is_never_removed(checkout, stamp):
    home = foreign(checkout)
    if STAMPS[stamp] is not None:
        (home / "mechdesign-stamp.txt").write_text(STAMPS[stamp])
    with pytest.raises(OSError, match=r"if it is not run\.py's, move it away"):
        checkout.prepare(home, *CHECK)
    assert (home / "thesis.txt").read_text() == "years of work"
    assert checkout.commands == []


def test_neither_a_link_nor_a_file_in_its_place_is_removed(checkout):
    home, other = checkout.ROOT / ".venv", checkout.ROOT / "other"
    other.mkdir()
    (other / "mechdesign-stamp.txt").write_text("run.py\n")
    for make in (lambda: home.symlink_to("other"), lambda: home.symlink_to("away"), home.touch):
        make()
        with pytest.raises(OSError, match=r"link|away"):
            checkout.prepare(home, *CHECK)
        assert os.path.lexists(home)
        home.unlink()
    assert (other / "mechdesign-stamp.txt").exists()


def test_an_environment_of_its_own_is_remade_where_it_was_left_unfinished(checkout):
    home = checkout.ROOT / ".venv"
    assert checkout.prepare(home, *CHECK) == home / SCRIPTS
    stamp = (home / "mechdesign-stamp.txt").read_text()
    assert stamp.startswith("run.py\n")
    assert stamp.endswith("\nreport")
    (home / "mechdesign-stamp.txt").write_text("run.py\n")
    (home / "half").touch()
    checkout.prepare(home, *CHECK)
    assert not (home / "half").exists()
    assert (home / "mechdesign-stamp.txt").read_text() == stamp


def test_a_failed_installation_leaves_it_marked_as_unfinished(checkout):
    home = checkout.ROOT / ".venv"
    checkout.prepare(home, *CHECK)
    checkout.code = 1
    with pytest.raises(OSError, match="cannot be brought up to date"):
        checkout.prepare(home, *LINT)
    assert (home / "mechdesign-stamp.txt").read_text() == "run.py\n"


def test_it_is_brought_up_to_date_when_something_changes_and_only_then(checkout, monkeypatch):
    home = checkout.ROOT / ".venv"

    def steps(*task: object) -> list[str]:
        checkout.commands.clear()
        checkout.prepare(home, *task)
        return [
            "venv" if "venv" in command else command[-1].partition("[")[2] for command in checkout.commands
        ]

    assert steps(*CHECK) == ["venv", "report]"]
    assert steps(*CHECK) == []
    assert steps(*LINT) == ["dev,report]"]
    assert steps(*CHECK) == steps(*LINT) == []
    (checkout.ROOT / "pyproject.toml").write_text("[project]")
    assert steps(*CHECK) == ["dev,report]"]
    (home / SCRIPTS / "ruff").unlink()  # as `uv sync` takes away what it does not know
    assert steps(*LINT) == ["dev,report]"]
    monkeypatch.setattr(checkout, "VERSION", "3.99")
    assert steps(*CHECK) == ["venv", "report]"]


def test_a_usable_environment_of_somebody_else_is_used_and_stays_theirs(checkout):
    home = foreign(checkout, "python")
    checkout.prepare(home, *CHECK)
    assert [command[1:3] for command in checkout.commands] == [["-m", "pip"]]
    checkout.prepare(home, *CHECK)
    assert len(checkout.commands) == 1
    assert not (home / "mechdesign-stamp.txt").exists()
    (home / SCRIPTS / "python").unlink()
    with pytest.raises(OSError, match="move it away"):
        checkout.prepare(home, *CHECK)
    assert (home / "thesis.txt").exists()
