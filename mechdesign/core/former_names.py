"""Former names of packages and modules: found for one version more, with a warning.

The front asks :class:`FormerNames` behind Python's own finders, so it is asked for names that nothing else
has. The table says where the names of a former package are; a deeper module is looked for below that.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER = {
    "audit.covering": "families.marginals.covering_audit",
    "audit.exponential": "exact.exponential",
    "audit.menu_bound": "families.contract.menu_bound",
    "audit.repeated": "families.joint.repeated",
    "audit.workload_bound": "families.workload.workload_bound",
    "core.cache": "work.cache",
    "core.cluster": "work.cluster",
    "core.exact": "exact.exact",
    "core.figure": "show.figure",
    "core.files": "work.files",
    "core.frames": "data.frames",
    "core.marks": "show.marks",
    "core.numbers": "exact.numbers",
    "core.parallel": "work.parallel",
    "core.randomness": "exact.randomness",
    "core.tidy": "data.tidy",
    "mechanisms": "collect",
    **{
        f"mechanisms.{family}": f"families.{family}"
        for family in ("auction", "contract", "joint", "location", "marginals", "mean", "shuffle", "spectrum")
    },
    "mechanisms.events": "families.workload.event_release",
    "mechanisms.oracles": "families.marginals.oracles",
    "mechanisms.sets": "families.marginals.sets",
    "mechanisms.shuffle.promise": "collect.promise",
    "mechanisms.survey": "families.survey",
    "mechanisms.workload": "families.workload",
    "problems": "families",
    "report.draw": "show.draw",
    "report.reading": "data.reading",
    "report.writing": "data.writing",
}
"""Names below ``mechdesign``, each with the present one."""


def present_name(name: str) -> str | None:
    """Return what a module of a former name is called, or None where the name is not in the table.

    Examples
    --------
    >>> present_name("mechdesign.mechanisms.mean"), present_name("mechdesign.problems.response")
    ('mechdesign.families.mean', 'mechdesign.families.response')
    >>> present_name("mechdesign.core.solve") is None
    True
    """
    package, *parts = name.split(".")
    for length in range(len(parts), 0, -1):
        present = FORMER.get(".".join(parts[:length]))
        if package == "mechdesign" and present is not None:
            return ".".join([package, present, *parts[length:]])
    return None


class FormerNames:
    """A finder and loader that gives the module of today for a former name."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module by its former name; None where it has none."""
        present = present_name(fullname)
        try:
            if present is None or importlib.util.find_spec(present) is None:
                return None
        except ModuleNotFoundError:
            return None
        return ModuleSpec(fullname, cls(), origin=present, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of today, and warn."""
        warnings.warn(
            f"{spec.name} is called {spec.origin} now; the former name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        module = importlib.import_module(str(spec.origin))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back: it was executed under its own name."""
        module.__spec__ = self._own
