"""HiGHS without its banner, which goes to the standard output before the solver can be told to be silent."""

from __future__ import annotations

import importlib
from typing import Any


def silent_highs() -> Any:
    """Return a solver object of highspy that prints nothing.

    Since highspy 1.16 its constructor prints a banner while it enables callbacks; whatever reads our standard
    output, such as a reader of JSON, would stumble over it.

    Examples
    --------
    >>> silent_highs().getOptionValue("output_flag")[1]
    False
    """
    module: Any = importlib.import_module("highspy")

    class QuietHighs(module.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802 (the name that highspy's constructor calls)
            self.silent()
            super().enableCallbacks()

    solver = QuietHighs()
    solver.silent()
    return solver


def pulp_highs(gap: float | None, seconds: float) -> Any:
    """Return HiGHS for programs of pulp: one thread, up to a relative gap or a time, and silent."""
    pulp: Any = importlib.import_module("pulp")

    class SilentHighs(pulp.HiGHS):  # type: ignore[misc]
        def createAndConfigureSolver(self, lp: Any) -> None:  # noqa: N802 (pulp's name)
            lp.solverModel = silent_highs()
            lp.solverModel.setOptionValue("threads", 1)
            lp.solverModel.setOptionValue("time_limit", float(seconds))
            if gap is not None:
                lp.solverModel.setOptionValue("mip_rel_gap", gap)

    return SilentHighs(msg=False)
