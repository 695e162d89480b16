"""Sweeps: a model's problem solved over a grid of parameters, with a simulation where there is one.

Many points of a sweep: on all cores or a cluster, resumed after a stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mechdesign.catalog.load import Model, Simulation, load_model
from mechdesign.core.errors import MechDesignError, MethodError, ParameterError, counted, suggestion
from mechdesign.core.fields import fields_of, replace_parameters
from mechdesign.core.problem import Problem, companion
from mechdesign.core.solution import Solution
from mechdesign.core.values import abridged, changed
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.exact.numbers import plain
from mechdesign.show.tables import html_table, table
from mechdesign.solvers.sensitivity import kept_starts
from mechdesign.solvers.solve import solve
from mechdesign.work.cache import Cache, default_cache, key_of
from mechdesign.work.parallel import ALONE, Task, Watcher, run_tasks


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep: the parameters, the solution and what the simulation measured."""

    parameters: dict[str, Any]
    solution: Solution
    measured: dict[str, float]


@dataclass(frozen=True, repr=False, eq=False)
class Sweep(Tidy, Sequence[SweepRow]):
    """The rows of a sweep, one a point, in order: a sequence, a table, a data frame, a picture.

    Attributes
    ----------
    model : Model
        Whose problem was solved; its ``sweep`` has the parameters and their values.
    rows : tuple of SweepRow

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    >>> result = md.sweep(problem, epsilon=[0.5, 1.0, 2.0])
    >>> print(result)
    epsilon  status   method          value     bound  seconds
    ...
    >>> result.to_frame()["value"].round(3).tolist()
    [0.622, 0.731, 0.881]
    """

    model: Model
    rows: tuple[SweepRow, ...]

    def __getitem__(self, place: Any) -> Any:
        """Return a row, or a tuple of rows."""
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def tidy(self, level: float = 0.95) -> Columns:
        """Return the points as columns: parameters, status, method, value, bound, what was measured."""
        measured = list(dict.fromkeys(name for row in self.rows for name in row.measured))
        runs = [row.solution for row in self.rows]
        return {
            **{name: [plain(row.parameters[name]) for row in self.rows] for name in self.model.sweep},
            "status": [run.status for run in runs],
            "method": [run.method for run in runs],
            "value": [float(run.value) if run.found else None for run in runs],
            "bound": [None if run.bound is None else float(run.bound) for run in runs],
            **{name: [row.measured.get(name) for row in self.rows] for name in measured},
            "seconds": [run.seconds for run in runs],
        }

    def _cells(self) -> list[list[str]]:
        """Return the rows of the table as text."""
        cells = [[_cell(value) for value in values] for values in self.tidy().values()]
        return [list(row) for row in zip(*cells, strict=True)]

    def __str__(self) -> str:
        return table(list(self.tidy()), self._cells())

    def _repr_html_(self) -> str:
        return html_table(repr(self), list(self.tidy()), self._cells(), [])

    def __repr__(self) -> str:
        return (
            f"Sweep({self.model.slug}: {counted(len(self.rows), 'point')} of {', '.join(self.model.sweep)})"
        )


def _cell(value: Any) -> str:
    """Return a value as it stands in a printed table."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.6g}" if isinstance(value, float) else abridged(value)


def sweep_points(model: Model) -> list[dict[str, Any]]:
    """Return the parameters of every point of a model's sweep: all combinations, in order."""
    return [dict(zip(model.sweep, values, strict=True)) for values in product(*model.sweep.values())]


def run_sweep(model: Model, method: str | None = None, warm: bool = False) -> Iterator[SweepRow]:
    """Yield one row per point; points are independent and each has a random stream of its own.

    Parameters
    ----------
    model : Model
    method : str, optional
        By default the first method that applies at each point.
    warm : bool
        Start the linear programs of each point from the basis of the point before. Values and bounds are the
        same up to rounding; where several mechanisms are optimal, another one of them may be found.
    """
    store: dict[Any, Any] = {}
    points = sweep_points(model)
    seeds = np.random.SeedSequence(model.simulation.seed if model.simulation else 0).spawn(len(points))
    for parameters, seed in zip(points, seeds, strict=True):
        with kept_starts(store) if warm else nullcontext():
            row = solve_point(sweep_problem(model, parameters), parameters, method, model.simulation, seed)
        yield row


def sweep_problem(model: Model, parameters: dict[str, Any]) -> Problem:
    """Return the problem at a point of the sweep; an impossible point is an error that names the model."""
    try:
        return replace_parameters(model.problem, parameters)
    except MechDesignError as error:
        raise error.inside(f"{model.slug}: [sweep]") from None


def solve_point(
    problem: Problem,
    parameters: dict[str, Any],
    method: str | None,
    simulation: Simulation | None,
    seed: np.random.SeedSequence,
) -> SweepRow:
    """Solve the problem of one point, and simulate its mechanism with a random stream of its own."""
    solution = solve(problem, method)
    measured: dict[str, float] = {}
    if simulation is not None and solution.found:
        rng = np.random.default_rng(seed)
        measured = simulate(solution, simulation.users, simulation.repetitions, rng)
    return SweepRow(parameters, solution, measured)


def sweep(
    model: Model | Problem | str,
    method: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
    **parameters: Sequence[Any],
) -> Sweep:
    """Solve a model or a problem at every point of a sweep, several at a time; see :func:`check_models`.

    Parameters
    ----------
    model : Model, Problem or str
        A model, its slug or a path; or a problem, whose parameters are given.
    method : str, optional
        By default the first method that applies at each point.
    jobs, fresh, watcher
        As for :func:`check_models`.
    **parameters : sequence
        The values of a parameter each: all combinations are solved. In place of the model's own sweep.

    Returns
    -------
    Sweep
        A sequence of rows, one a point, in order: ``.parameters``, ``.solution``, ``.measured`` (what the
        simulation found). ``to_frame()``, ``md.plot(...)`` and ``print`` show all of them.

    Examples
    --------
    >>> rows = sweep("response/zhou2019_figure2", jobs=1)
    >>> rows[0].parameters["epsilon"], rows[0].solution.status
    (0.1, 'optimal')
    """
    loaded = _model_of(model, parameters)
    points = sweep_points(loaded)
    require_points(loaded)
    seeds = np.random.SeedSequence(loaded.simulation.seed if loaded.simulation else 0).spawn(len(points))
    tasks = []
    for number, (point, seed) in enumerate(zip(points, seeds, strict=True)):
        problem = sweep_problem(loaded, point)
        key = key_of("sweep", loaded.slug, problem, point, method, loaded.simulation, number)
        arguments = (problem, point, method, loaded.simulation, seed)
        tasks.append(Task(_named(point), key, _solved, arguments, _is_solved))
    return Sweep(loaded, tuple(run_resumed(tasks, jobs, fresh, watcher)))


def _model_of(model: Model | Problem | str, parameters: Mapping[str, Sequence[Any]]) -> Model:
    """Return a model with the points of its sweep, or of the given parameters."""
    if isinstance(model, Problem):
        loaded = Model(slug=model.name, title=model.name, problem=model)
    else:
        loaded = load_model(model) if isinstance(model, str) else model
    if not parameters:
        return loaded
    known = [field.name for field in fields_of(type(loaded.problem))]
    lists: dict[str, tuple[Any, ...]] = {}
    for name, values in parameters.items():
        listed: Any = values
        if name not in known:
            raise ParameterError("sweep", f"no parameter '{name}'", suggestion(name, known))
        if isinstance(listed, (str, bytes, Mapping)) or not hasattr(listed, "__iter__"):
            raise ParameterError(
                f"sweep: {name}", f"expected a list of values, got {values!r}", "put it in []"
            )
        lists[name] = tuple(listed.tolist() if isinstance(listed, np.ndarray) else listed)
        if not lists[name]:
            raise ParameterError(f"sweep: {name}", "there are no values", "give at least one")
    return changed(loaded, sweep=lists, figures=())


def require_points(model: Model) -> None:
    """Refuse a model without a sweep; one with a figure or several methods has a point to draw.

    Raises
    ------
    ParameterError
    """
    if not (model.sweep or model.figures or len(model.methods) > 1):
        raise ParameterError(model.slug, "has no [sweep]", "add one, for instance epsilon = [0.5, 1.0]")


def run_resumed(
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
    _ = row.solution.certificates, dict(row.solution.quantities)
    return row


def _named(point: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {abridged(value)}" for name, value in point.items())


def simulate(solution: Solution, users: int, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
    """Return measurements of a solution's mechanism on simulated users.

    The problem's package, or its folder in a home, holds it: ``simulation.py`` with a function
    ``simulation(problem, solution, users, repetitions, rng)``.

    Parameters
    ----------
    solution : Solution
    users, repetitions : int
    rng : numpy Generator

    Raises
    ------
    MethodError
        When the problem has none.

    Examples
    --------
    >>> import mechdesign as md, numpy as np
    >>> solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    >>> sorted(simulate(solution, 1000, 2, np.random.default_rng(1)))
    ['measured_utility', 'standard_error']
    """
    function = companion(type(solution.problem), "simulation")
    if function is None:
        raise MethodError(
            solution.problem.name, "no simulation is defined for this problem", "drop the table 'simulation'"
        )
    measured: dict[str, float] = function(solution.problem, solution, users, repetitions, rng)
    return measured
