"""Programs in the words of PuLP, whose interface differs between its versions 3 and 4.

Everything that depends on the version is in this file. Version 3 makes an expression with the class itself,
``solve`` returns a number, and CBC comes with it. Version 4 makes an expression with ``from_list``, ``solve``
returns statistics, and the solver that is always there is HiGHS. A version that differs again makes the run
fail with a message (:class:`PulpError`), which the caller reports; it does not end the program.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mechdesign.core.errors import failure_text, is_failure
from mechdesign.core.problem import Status
from mechdesign.solvers.highs import silent_highs

STATUSES_OF_3: dict[int, Status] = {1: "optimal", 2: "feasible", -1: "infeasible"}
"""``sol_status`` of a solved model in PuLP 3."""


class PulpError(Exception):
    """PuLP or its solver raised an error; the text is one line."""


@contextmanager
def pulp_module() -> Iterator[Any]:
    """Import PuLP; within the block, its announcements are silent and its errors are ``PulpError``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP 3.3 announces 4.0 at every step
        try:
            yield importlib.import_module("pulp")
        except BaseException as error:
            if not is_failure(error):
                raise
            raise PulpError(f"PuLP {_version()}: {failure_text(error)}") from error


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pulp")
    except PackageNotFoundError:
        return "is not installed"


def affine_expression(pulp: Any, terms: Sequence[tuple[Any, float]]) -> Any:
    """Return the sum of coefficients times variables."""
    make = getattr(pulp.LpAffineExpression, "from_list", pulp.LpAffineExpression)
    return make(list(terms))


def solve_model(model: Any, solver: Any) -> tuple[Status, str]:
    """Solve a model; return how it ended in the words of this package, and in a sentence with the solver's.

    ``optimal`` is what the solver claims. ``feasible``: it stopped at a limit with a solution.
    """
    answer = model.solve(solver)
    if hasattr(answer, "has_solution"):  # PuLP 4
        status: Status = "feasible" if answer.has_solution else "failed"
        if answer.status.name == "Optimal":
            status = "optimal"
        elif answer.status.name == "Infeasible":
            status = "infeasible"
        return status, f"{solver.name} ended with: {answer.status.name}"
    status = STATUSES_OF_3.get(int(model.sol_status), "failed")
    return status, f"{solver.name} ended with: {importlib.import_module('pulp').LpSolution[model.sol_status]}"


def cbc(pulp: Any, **options: Any) -> Any:
    """Return CBC: the one that comes with PuLP 3 if it runs here, otherwise the one on the path, if any."""
    if hasattr(pulp, "PULP_CBC_CMD"):
        bundled = pulp.PULP_CBC_CMD(msg=False, **options)
        if bundled.available():
            return bundled
    own = pulp.COIN_CMD(msg=False, **options)
    return own if own.available() else None


def highs(pulp: Any, gap: float | None, seconds: float) -> Any:
    """Return HiGHS for programs of PuLP: one thread, up to a relative gap or a time, and silent."""

    class SilentHighs(pulp.HiGHS):  # type: ignore[misc]
        def createAndConfigureSolver(self, lp: Any) -> None:  # noqa: N802 (PuLP's name)
            lp.solverModel = silent_highs()
            lp.solverModel.setOptionValue("threads", 1)
            lp.solverModel.setOptionValue("time_limit", float(seconds))
            if gap is not None:
                lp.solverModel.setOptionValue("mip_rel_gap", gap)

    return SilentHighs(msg=False)
