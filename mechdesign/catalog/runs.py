"""Many points of a sweep: on all cores or a cluster, resumed after a stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.catalog.load import load_model
from mechdesign.catalog.model import Model
from mechdesign.catalog.sweeping import SweepRow, solve_point, sweep_points, sweep_problem
from mechdesign.core.errors import ParameterError
from mechdesign.core.text import abridged
from mechdesign.work.cache import Cache, default_cache, key_of
from mechdesign.work.parallel import ALONE, Task, Watcher, run_tasks


def sweep(
    model: Model | str,
    method: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> list[SweepRow]:
    """Solve a model at every point of its sweep, several at a time; see :func:`check_models`.

    Parameters
    ----------
    model : Model or str
        A model, its slug, or a path.
    method : str, optional
        By default the first method that applies at each point.
    jobs, fresh, watcher
        As for :func:`check_models`.

    Returns
    -------
    list of SweepRow
        One a point, in order: ``.parameters``, ``.solution``, ``.measured`` (what the simulation found).

    Examples
    --------
    >>> rows = sweep("response/zhou2019_figure2", jobs=1)
    >>> rows[0].parameters["epsilon"], rows[0].solution.status
    (0.1, 'optimal')
    """
    loaded = load_model(model) if isinstance(model, str) else model
    points = sweep_points(loaded)
    require_points(loaded)
    seeds = np.random.SeedSequence(loaded.simulation.seed if loaded.simulation else 0).spawn(len(points))
    tasks = []
    for number, (point, seed) in enumerate(zip(points, seeds, strict=True)):
        problem = sweep_problem(loaded, point)
        key = key_of("sweep", loaded.slug, problem, point, method, loaded.simulation, number)
        arguments = (problem, point, method, loaded.simulation, seed)
        tasks.append(Task(_named(point), key, _solved, arguments, _is_solved))
    return run_kept(tasks, jobs, fresh, watcher)


def require_points(model: Model) -> None:
    """Refuse a model without a sweep; one with a figure or several methods has a point to draw.

    Raises
    ------
    ParameterError
    """
    if not (model.sweep or model.figures or len(model.methods) > 1):
        raise ParameterError(model.slug, "has no [sweep]", "add one, for instance epsilon = [0.5, 1.0]")


def run_kept(
    tasks: list[Task], jobs: int | None, fresh: bool, watcher: Watcher | None, alone: float = ALONE
) -> list[Any]:
    """Run tasks with the user's cache; ``fresh`` keeps results and takes none; see ``run_tasks``."""
    cache = default_cache()
    if fresh and cache is not None:
        cache = _WriteOnly(cache.root)
    return run_tasks(tasks, jobs, cache, watcher, alone)


def _is_solved(row: SweepRow) -> bool:
    return row.solution.status != "failed"


class _WriteOnly(Cache):
    """A cache that remembers and never answers."""

    def get(self, key: str) -> tuple[Any] | None:
        return None


def _solved(*arguments: Any) -> SweepRow:
    """Solve a point of a sweep, with certificates and further numbers."""
    row = solve_point(*arguments)
    _ = row.solution.certificates, row.solution.quantities
    return row


def _named(point: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {abridged(value)}" for name, value in point.items())
