"""Checks and solutions, kept where all processes of one run of the tests find them: each is made once.

The tests of models look at them, and so do the commands that a page shows: whichever comes first makes it,
by the present code, with every warning an error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mechdesign.catalog import load_model
from mechdesign.catalog.load import Model
from mechdesign.core.problem import Method, Problem
from mechdesign.core.solution import Solution
from mechdesign.papers.claims import ModelCheck, check_model, runs
from mechdesign.solvers.solve import methods_of
from mechdesign.work.cache import Cache, key_of
from mechdesign.work.parallel import Task, run_tasks

FOLDER = "TESTS_CHECKS"
"""The environment variable with the folder, for processes that a test starts."""

LONG = 0.05
"""Seconds from which on a solution is kept: reading it takes a few milliseconds."""


def folder_of_run(base: Path) -> Path:
    """Return where the checks of a run are kept, from the temporary folder of one of its processes."""
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "checks"


def checked(model: Model) -> ModelCheck:
    """Check a model, with all that is computed on demand."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check = check_model(model)
        _ = check.problems
    return check


def check_once(model: Model | str, cache: Cache) -> ModelCheck:
    """Return the check of a model or slug, which is made unless it is kept."""
    model = load_model(model) if isinstance(model, str) else model
    key = key_of(model)
    with solved_once(cache):
        (check,) = run_tasks([Task(model.slug, key, checked, (model,), runs.is_settled)], 1, cache)
    assert isinstance(check, ModelCheck)
    assert (cache.folder / key).is_file() or not runs.is_settled(check), f"{model.slug}: cannot be kept"
    return check


def kept_check(slug: str, cache: Cache) -> ModelCheck | None:
    """Return the check of a model if another test has made it."""
    found = cache.get(key_of(load_model(slug)))
    return None if found is None else found[0]


@contextmanager
def solved_once(cache: Cache) -> Iterator[None]:
    """Have methods that take a while run once for a problem; later, the solution comes from the cache."""
    solving = import_module("mechdesign.solvers.solve")
    solve_by = solving._solve_by

    def once(problem: Problem[Any], method: Method, options: Mapping[str, Any]) -> Solution[Any]:
        if method not in methods_of(problem):  # one of a test: its name says too little
            return solve_by(problem, method, options)
        key = key_of("solution", problem, method.name, dict(options))
        found = cache.get(key) if key else None
        if found is not None:
            assert isinstance(found[0], Solution)
            return found[0]
        solution = solve_by(problem, method, options)
        if key and solution.found and solution.seconds > LONG:
            cache.put(key, solution)
        return solution

    with patch.object(solving, "_solve_by", once):
        yield


@contextmanager
def shared(cache: Cache) -> Iterator[None]:
    """Have commands that check models, and methods that take a while, run once for a model or a problem."""
    with (
        patch.object(runs, "_checked", lambda model: check_once(model, cache)),
        solved_once(cache),
    ):
        yield


@contextmanager
def of_one_run() -> Iterator[None]:
    """Have the commands of this process share checks and solutions, if the environment names a folder."""
    if FOLDER not in os.environ:
        yield
        return
    with shared(Cache(os.environ[FOLDER])):
        yield
