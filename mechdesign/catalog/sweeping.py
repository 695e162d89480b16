"""Sweeps: a model's problem solved over a grid of parameters, with a simulation where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mechdesign.catalog.model import Model, Simulation
from mechdesign.core.errors import MechDesignError
from mechdesign.core.parameters import replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.sensitivity import kept_starts
from mechdesign.core.solution import Solution
from mechdesign.core.solve import simulate, solve


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep: the parameters, the solution and what the simulation measured."""

    parameters: dict[str, Any]
    solution: Solution
    measured: dict[str, float]


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
