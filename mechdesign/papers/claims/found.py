"""What is found for a claim: a quantity of a solution, or of the solutions along a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from mechdesign.catalog.load import Model, quantity_of
from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.fields import replace_parameters, values_of
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.papers.claims.claim import PLACES, Claim, kind_of
from mechdesign.papers.claims.judge import Series
from mechdesign.solvers.solve import applicable_methods, solve
from mechdesign.work.cache import key_of

if TYPE_CHECKING:
    from mechdesign.report.compare import Comparison


class NotFound(Exception):  # noqa: N818 - an answer, not an error
    """There is no solution to look at; the text is its message."""


SIMULATED = "simulated."
"""In front of the name of what the model's simulation measures: ``simulated.measured_utility``."""


class Solver:
    """Solutions of a model at the parameters of its claims, each solved once."""

    def __init__(self, model: Model, comparison: Comparison) -> None:
        self.model = model
        self.comparison = comparison
        self.solved: dict[str, Solution] = {}
        self.measured: dict[str, Mapping[str, float]] = {}

    def at(
        self, parameters: Mapping[str, Any], method: str | None, options: Mapping[str, Any] | None = None
    ) -> Solution:
        """Return the solution by this method; by default by the first run, or the method solve prefers."""
        if not parameters and not options:
            for run in self.comparison.runs:
                if run.method == method or (method is None and run.kind != "published"):
                    return run
        key = _key(parameters, method, options)
        if key not in self.solved:
            own = self.model.problem
            problem = replace_parameters(own, parameters) if parameters else own
            known = self._run_of(problem, parameters, method) if not options else None
            self.solved[key] = known if known is not None else solve(problem, method, **(options or {}))
        return self.solved[key]

    def _run_of(self, problem: Problem, parameters: Mapping[str, Any], method: str | None) -> Solution | None:
        """Return the run that :func:`solve` would repeat, where a sweep is at the model's own parameters."""
        own, others = values_of(self.model.problem), values_of(problem)
        if any(not _is_same(own[name], others[name]) for name in parameters):
            return None
        preferred = next(applicable_methods(problem)).name if method is None else method
        runs = (run for run in self.comparison.runs if run.method == preferred and run.status != "failed")
        return next(runs, None)

    def quantity(
        self, name: str, parameters: Mapping[str, Any], method: str | None, options: Mapping[str, Any]
    ) -> Any:
        """Return a quantity of the solution there, or of its simulation.

        Raises
        ------
        NotFound
            When there is no solution.
        """
        solution = self.at(parameters, method, options)
        if not solution.found and name != "status":
            raise NotFound(solution.message)
        if not name.startswith(SIMULATED):
            return quantity_of(solution, name)
        measured, wanted = (
            self._measure(solution, _key(parameters, method, options)),
            name.removeprefix(SIMULATED),
        )
        if wanted not in measured:
            raise UnknownNameError(
                "quantity", f"the simulation measures no '{wanted}'", suggestion(wanted, measured)
            )
        return measured[wanted]

    def _measure(self, solution: Solution, key: str) -> Mapping[str, float]:
        """Return the measurements of the model's simulation; the same numbers whenever it is asked again."""
        from mechdesign.catalog.sweeping import simulate

        plan = self.model.simulation
        if plan is None:
            raise ParameterError("quantity", "nothing is simulated", "add [simulation] to the model")
        if key not in self.measured:
            rng = np.random.default_rng([plan.seed, crc32(key.encode())])
            self.measured[key] = simulate(solution, plan.users, plan.repetitions, rng)
        return self.measured[key]


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal to the last bit; False where that cannot be told."""
    return one is other or key_of(one) == key_of(other) != ""


def _key(parameters: Mapping[str, Any], method: str | None, options: Mapping[str, Any] | None) -> str:
    return repr((sorted(parameters.items()), method, sorted((options or {}).items())))


def single(claim: Claim, solver: Solver) -> Any:
    """Return the quantity of a claim about one solution."""
    return solver.quantity(claim.quantity, claim.at, claim.method, claim.options)


def series(claim: Claim, solver: Solver) -> Series:
    """Return the quantity of a trend at each point of the sweep."""
    swept, points = trend_points(claim, solver.model.sweep)
    numbers = []
    for point in points:
        try:
            found = solver.quantity(claim.quantity, {**claim.at, swept: point}, claim.method, claim.options)
        except NotFound as reason:
            raise NotFound(f"{swept} = {point}: {reason}") from None
        if kind_of(found) != "number" or np.ndim(found) != 0:
            raise ParameterError(
                "quantity", f"'{claim.quantity}' is not a single number", "a trend needs one at each point"
            )
        numbers.append(float(found))
    return Series(swept, tuple(points), tuple(numbers))


def trend_points(claim: Claim, sweep: Mapping[str, tuple[Any, ...]]) -> tuple[str, list[Any]]:
    """Return the parameter that a trend runs over and its values: numbers in rising order, others as listed.

    Raises
    ------
    ParameterError
        When the sweep has no such parameter, too few values of it, or not the one that is stated.

    Examples
    --------
    >>> trend_points(Claim("value", relation="increasing"), {"epsilon": (2.0, 0.5, 1.0)})
    ('epsilon', [0.5, 1.0, 2.0])
    """
    if not sweep:
        raise ParameterError("relation", f"'{claim.relation}' is about a sweep", "add [sweep] to the model")
    if claim.over is None and len(sweep) > 1:
        raise ParameterError("over", "is missing", f"the sweep has several parameters ({', '.join(sweep)})")
    swept = claim.over or next(iter(sweep))
    if swept not in sweep:
        raise ParameterError("over", f"no '{swept}' in [sweep]", suggestion(swept, sweep))
    if swept in claim.at:
        raise ParameterError("at", f"fixes '{swept}', which the trend runs over", "drop it")
    points = list(sweep[swept])
    if all(kind_of(point) == "number" and np.ndim(point) == 0 for point in points):
        points.sort(key=float)
    least = 3 if claim.relation in ("unimodal", "u-shaped") else 2
    if len(points) < least:
        raise ParameterError(
            "over", f"'{swept}' has {len(points)} value(s) in [sweep]", f"this needs {least}"
        )
    if claim.relation in PLACES and claim.value not in points:
        raise ParameterError(
            "value", f"{claim.value!r} is not among the values of '{swept}' in [sweep]", "state one of them"
        )
    return swept, points
