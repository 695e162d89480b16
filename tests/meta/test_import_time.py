"""Importing the package and asking for help stay quick: no solver is imported, 0.3 s at most."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib import import_module
from unittest.mock import Mock

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli.parser import MODULES, parser
from mechdesign.data.writing import MANY, write_blocks

LIMIT, TRIES = 0.3, 15
HEAVY = ("cvxpy", "scipy.optimize", "pulp", "pandas", "matplotlib", "pyarrow", "networkx")

IMPORT = "import mechdesign"
HELP = "from mechdesign.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
SHOWN = f"\nimport sys; print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])"


@pytest.mark.parametrize("program", [IMPORT, HELP], ids=["import", "help"])
def test_no_solver_is_imported(program):
    done = subprocess.run([sys.executable, "-c", program + SHOWN], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("program", [IMPORT, HELP], ids=["import", "help"])
def test_it_takes_less_than_the_limit(program):
    """The best of at most fifteen runs, so that a busy machine does not decide; interpreter included."""
    best = float("inf")
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if best < LIMIT:
            return
    pytest.fail(f"best of {TRIES}: {best:.2f} s")


def test_a_closed_form_needs_no_solver_either():
    solved = "md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))"
    program = f"import mechdesign as md; {solved}.mechanism()"
    shown = SHOWN.replace(repr(HEAVY), repr(("cvxpy", "scipy.optimize", "pulp")))
    done = subprocess.run([sys.executable, "-c", program + shown], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("name", ["RandomizedResponse", "AuctionSlot", "ShuffleSum", "LinearQueries"])
def test_a_problem_costs_its_own_family_alone(name):
    program = (
        f"import sys, mechdesign as md; print(md.{name}.__module__)\n"
        "print(*[module for module in sys.modules if module.startswith('mechdesign.families.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    home, imported = (line.split() for line in done.stdout.splitlines())
    assert {module.split(".")[2] for module in imported} == {home[0].split(".")[2]}


def test_a_mechanism_randomizes_without_what_draws_it(tmp_path):
    """Marks and panels of figures take 7 ms to import, and the command draws nothing."""
    saved = tmp_path / "saved.json"
    md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism().save(saved)
    program = f"import mechdesign as md\nmd.load_mechanism({str(saved)!r}).randomize([0, 1])"
    drawing = ("mechdesign.show.figure", "mechdesign.show.figure", "mechdesign.show.panels", *HEAVY)
    shown = SHOWN.replace(repr(HEAVY), repr(drawing))
    done = subprocess.run([sys.executable, "-c", program + shown], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_the_table_of_commands_names_those_that_each_module_adds():
    """So one command makes its own parser alone: its options, its help and its errors are those of all."""
    listed = {}
    for module in MODULES:
        command = Mock()
        import_module(f"mechdesign.cli.{module}").add_commands(command)
        listed[module] = " ".join(call.args[0] for call in command.call_args_list)
    assert listed == MODULES
    for name in " ".join(MODULES.values()).split():
        whole, alone = (commands_of(made)[name] for made in (parser(), parser(name)))
        assert list(commands_of(parser(name))) == [name]
        assert alone.format_help() == whole.format_help()
    assert parser("biuld") is parser()


def commands_of(made):
    (choices,) = (action.choices for action in made._actions if isinstance(action.choices, dict))
    return choices


def test_a_list_imports_neither_numpy_nor_what_makes_classes():
    """The heads of the model files are texts: reading them takes less time than importing numpy."""
    program = "from mechdesign.cli import main\nmain(['list'])"
    shown = SHOWN.replace(repr(HEAVY), repr(("numpy", "attrs", "dataclasses", "hashlib", *HEAVY)))
    done = subprocess.run([sys.executable, "-c", program + shown], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_build_imports_neither_what_draws_nor_what_only_other_commands_need(tmp_path):
    """Nothing of this is needed for a closed form, and importing it takes longer than solving."""
    unused = ("mechdesign.show.figure", "mechdesign.show.marks", "mechdesign.report.tables", "shutil")
    unused += ("mechdesign.solvers.linear", "statistics", "secrets", "scipy")
    unused += ("mechdesign.collect.estimate", "mechdesign.export.clients")
    arguments = ["build", "response/zhou2019_survey", "-o", str(tmp_path / "survey.json")]
    program = f"from mechdesign.cli import main\nmain({arguments!r})"
    shown = SHOWN.replace(repr(HEAVY), repr((*unused, *HEAVY)))
    done = subprocess.run([sys.executable, "-c", program + shown], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_without_what_only_other_commands_need(tmp_path, suffix):
    """Nothing of this is needed for one file of texts, and importing it takes longer than a million rows."""
    saved, data, reports = (
        str(tmp_path / name) for name in ("m.json", f"data.{suffix}", f"reports.{suffix}")
    )
    answers = np.array(["no", "yes"], dtype=object)[np.arange(2 * MANY) % 2]
    md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0, labels=["no", "yes"])).mechanism().save(
        saved
    )
    write_blocks(data, [{"answer": answers}])
    unused = (
        "pyarrow.compute",
        "pyarrow.dataset",
        "scipy",
        "tomllib",
        "tempfile",
    )
    unused += ("mechdesign.work.parallel", "mechdesign.show.figure", *HEAVY[:4])
    unused += ("mechdesign.primitives.finite", "mechdesign.report.tables")
    other = {"csv": "parquet", "parquet": "csv"}[suffix]
    shown = SHOWN.replace(repr(HEAVY), repr((*unused, f"mechdesign.data.reading_{other}")))
    for arguments in (["randomize", saved, data, "-o", reports], ["estimate", saved, reports]):
        program = f"from mechdesign.cli import main\nassert main({arguments!r}) == 0"
        call = [sys.executable, "-c", program + shown]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "HEAVY []"


FOLDERS = ("cli", "core", "work")
"""What every command imports of this package; the help also has the names of all commands."""
KERNEL = {"audit", "collect", "data", "exact", "primitives", "show"}
BASE = {"attr", "attrs", "numpy"}
IMPORTED = {
    "--help": set(),
    "list": {"catalog", "show"},
    "list --problems": {*BASE, *KERNEL, "catalog", "export", "families", "foreign", "papers", "solvers"},
    "show response/zhou2019_survey": {"catalog", "show"},
    "show frequency-oracle": {*BASE, *KERNEL, "catalog", "families", "report", "solvers"},
    "findings": {"catalog", "show"},
    "sources": {"catalog", "show"},
    "build oracle.toml -o again.json": {*BASE, *KERNEL, "catalog", "export", "families"},
    "randomize oracle.json answers.csv -o again.csv": {*BASE, *KERNEL, "export", "report"},
    "estimate oracle.json reports.csv": {*BASE, *KERNEL, "export", "report", "solvers"},
    "count oracle.json reports.csv -o again.json": {*BASE, *KERNEL, "export", "report"},
    "audit oracle.json": {*BASE, *KERNEL, "foreign"},
    "export oracle.json --to js -o client.mjs": {*BASE, *KERNEL, "export"},
    "init --example staff -o staff.toml": {*BASE, *KERNEL, "catalog", "families", "report", "solvers"},
    "choose --attributes 2 --users 10000 --epsilon 1": {*BASE, *KERNEL, "families", "report", "solvers"},
    "tradeoff oracle.toml": {*BASE, *KERNEL, "catalog", "families", "report"},
    "build staff.toml -o staff.json": {*BASE, *KERNEL, "catalog", "export", "families", "solvers"},
}
"""Each command, with the packages besides Python's own, and the folders of this one, that it may import."""

NO_SOLVER = ("mechdesign.solvers", "mechdesign.solvers.solve")
"""What runs a method imports no solver."""

ORACLE = """
[model]
title = "four answers"
problem = "frequency-oracle"
source = { note = "a test" }
[parameters]
categories = 4
labels = ["a", "b", "c", "d"]
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """A folder with the files that the commands read, and a cache in which each has run once."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "oracle.toml").write_text(ORACLE, encoding="utf-8")
    (folder / "answers.csv").write_text("answer\n" + "a\nb\nc\nd\n" * 25, encoding="utf-8")
    for words in (
        "build oracle.toml -o oracle.json",
        "init --example staff -o staff.toml",
        "randomize oracle.json answers.csv -o reports.csv",
    ):
        imported_by(folder, words)
    return folder


def imported_by(folder, words, cache=None):
    """Run a command in a process of its own; return the packages that it imported, and our folders."""
    words += " --force" if " -o " in words else ""
    program = (
        f"import sys; before = set(sys.modules)\nfrom mechdesign.cli import main\n"
        f"try: assert main({words.split()!r}) == 0\nexcept SystemExit as end: assert not end.code\n"
        "print('\\nIMPORTED', *sorted(set(sys.modules) - before))"
    )
    environment = {**os.environ, "MECHDESIGN_CACHE": str(cache or folder / "cache")}
    call = [sys.executable, "-c", program]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=folder, env=environment)
    names = done.stdout.rpartition("IMPORTED")[2].split()
    modules = [name.split(".") for name in names if name not in NO_SOLVER]
    others = {parts[0] for parts in modules if parts[0] not in sys.stdlib_module_names}
    tops = {name for name in others if not name.lstrip("_").startswith("cython")}  # of numpy.random
    folders = {parts[1] for parts in modules if parts[0] == "mechdesign" and len(parts) > 1}
    return (tops - {"mechdesign"}) | (folders - set(FOLDERS))


FIRST = {
    "findings": {*BASE, "catalog", "exact", "papers", "show"},
    "sources": {*BASE, "catalog", "exact", "papers", "show"},
}
"""What the first run imports of a command whose text is remembered then: no family, and no problem."""


@pytest.mark.parametrize("words", FIRST)
def test_the_first_run_reads_what_is_recorded(worked, tmp_path, words):
    assert imported_by(worked, words, tmp_path) <= FIRST[words]


SURVEY_UNUSED = (
    "mechdesign.show.figure",
    "mechdesign.families.survey.server",
    "mechdesign.families.survey.limit",
    "mechdesign.solvers.linear",
    "mechdesign.solvers.sensitivity",
    "zipfile",
    "shutil",
    "scipy",
    *HEAVY,
)


def test_a_survey_is_built_without_what_collects_draws_and_opens_archives(worked):
    arguments = ["build", "staff.toml", "-o", "again.json", "--force"]
    program = f"from mechdesign.cli import main\nassert main({arguments!r}) == 0"
    call = [sys.executable, "-c", program + SHOWN.replace(repr(HEAVY), repr(SURVEY_UNUSED))]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=worked)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("words", IMPORTED)
def test_a_command_imports_these_packages_and_no_others(worked, words):
    if words.split()[0] in ("findings", "sources", "show"):
        imported_by(worked, words)  # what is printed is remembered
    assert imported_by(worked, words) <= IMPORTED[words]
