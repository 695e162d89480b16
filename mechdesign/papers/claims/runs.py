"""Checks of many models: on all cores or a cluster, resumed after a stop."""

from __future__ import annotations

from collections.abc import Iterable

from mechdesign.catalog.load import Model, load_model
from mechdesign.catalog.sweeping import run_resumed
from mechdesign.papers.claims.check import ModelCheck, check_model
from mechdesign.work.cache import key_of
from mechdesign.work.parallel import Task, Watcher


def check_models(
    models: Iterable[Model | str],
    jobs: int | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> list[ModelCheck]:
    """Check models, several at a time; what is finished is kept, and not done again.

    Parameters
    ----------
    models : iterable of Model or str
        Models, their slugs, or paths.
    jobs : int, optional
        Number of processes; by default one per core. Inside ``joblib.parallel_config(backend="dask")`` the
        cluster does the work.
    fresh : bool
        Whether to recompute what the cache holds. It holds what the same models gave with the same code and
        the same versions of the libraries, in the folder that ``MECHDESIGN_CACHE`` names (``off``: none).
    watcher : Watcher, optional
        Whoever follows the work, such as :class:`mechdesign.work.bars.Watch`.

    Raises
    ------
    MechDesignError
        When a model is wrong.

    Examples
    --------
    >>> [check.passed for check in check_models(["response/zhou2019_survey"], jobs=1)]
    [True]
    """
    loaded = [load_model(model) if isinstance(model, str) else model for model in models]
    tasks = [Task(model.slug, key_of("check", model), _checked, (model,), is_settled) for model in loaded]
    return run_resumed(tasks, jobs, fresh, watcher, alone=0.0)


def is_settled(check: ModelCheck) -> bool:
    """Whether no method failed: what failed for want of memory, say, may do better the next time."""
    return all(run.status != "failed" for run in check.comparison.runs)


def _checked(model: Model) -> ModelCheck:
    """Check a model; what is computed on demand is computed here, not where it is read."""
    check = check_model(model)
    _ = check.problems
    return check
