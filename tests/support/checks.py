"""Checks of models, kept where all processes of one run of the tests find them: each is made once.

The tests of models look at them, and so do the commands that a page shows: whichever comes first makes it,
by the present code, with every warning an error.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from mechdesign.catalog import load_model
from mechdesign.catalog.model import Model
from mechdesign.core.cache import Cache, key_of
from mechdesign.core.parallel import Task, run_tasks
from mechdesign.papers.claims import ModelCheck, check_model, runs

FOLDER = "TESTS_CHECKS"
"""The environment variable with the folder, for processes that a test starts."""


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
    (check,) = run_tasks([Task(model.slug, key, checked, (model,), runs.is_settled)], 1, cache)
    assert isinstance(check, ModelCheck)
    assert (cache.folder / key).is_file() or not runs.is_settled(check), f"{model.slug}: cannot be kept"
    return check


def kept_check(slug: str, cache: Cache) -> ModelCheck | None:
    """Return the check of a model if another test has made it."""
    found = cache.get(key_of(load_model(slug)))
    return None if found is None else found[0]


def check_each_once() -> None:
    """Have the commands of this process share the checks of the run, if the environment names a folder."""
    if FOLDER in os.environ:
        cache = Cache(os.environ[FOLDER])
        runs._checked = lambda model: check_once(model, cache)
