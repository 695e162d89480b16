"""Checks of models, kept where all processes of one run of the tests find them: each is made once."""

from __future__ import annotations

import os
from pathlib import Path

from mechdesign.catalog import load_model
from mechdesign.core.cache import Cache, key_of
from mechdesign.core.parallel import Task, run_tasks
from mechdesign.papers.claims import ModelCheck, check_model


def folder_of_run(base: Path) -> Path:
    """Return where the checks of a run are kept, from the temporary folder of one of its processes."""
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "checks"


def checked(slug: str) -> ModelCheck:
    """Check a model, with all that is computed on demand."""
    check = check_model(load_model(slug))
    _ = check.problems
    return check


def check_once(slug: str, cache: Cache) -> ModelCheck:
    """Return the check of a model, which is made unless it is kept."""
    (check,) = run_tasks([Task(slug, key_of(slug), checked, (slug,))], 1, cache)
    assert isinstance(check, ModelCheck)
    return check


def kept_check(slug: str, cache: Cache) -> ModelCheck | None:
    """Return the check of a model if another test has made it."""
    found = cache.get(key_of(slug))
    return None if found is None else found[0]
