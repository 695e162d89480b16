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
