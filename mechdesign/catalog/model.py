"""A model: a problem with its source, the claims of the source, and a sweep.

The table ``[data]`` of a model: the columns of users' data, their ranges, and missing values.

A quantity of a solution by its name: what sweeps draw and claims are about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.validation import number
from mechdesign.core.values import changed, frozen_value
from mechdesign.data.about import About
from mechdesign.data.intake import Intake

if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable
    from mechdesign.papers.claims.claim import Claim

DATA_KEYS = ("columns", "range", "missing")


@frozen_value()
class DataSettings:
    """Where a model's data come from.

    Attributes
    ----------
    intake : Intake
        Columns, and what to do with missing values.
    ranges : tuple of (low, high)
        Of the numbers: one for all columns, one each, or none.

    Examples
    --------
    >>> DataSettings.of({"columns": ["age"], "range": [17, 90], "missing": "drop"}).ranges
    ((17.0, 90.0),)
    """

    intake: Intake = attrs.field(factory=Intake)
    ranges: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> DataSettings:
        """Return the settings of a table of a model file."""
        columns = table.get("columns", [])
        if isinstance(columns, str):
            columns = [columns]
        if not isinstance(columns, list):
            raise ParameterError("columns", f"expected a list of names, got {columns!r}")
        intake = Intake(tuple(columns), table.get("missing", "refuse"))
        return cls(intake, _ranges(table.get("range", [])))

    def overridden(
        self,
        columns: Sequence[str] | None = None,
        ranges: Sequence[Sequence[float]] | None = None,
        missing: str | None = None,
    ) -> DataSettings:
        """Return the settings with those of a command line in the place of the file's."""
        intake = Intake(
            tuple(columns) if columns else self.intake.columns,
            self.intake.missing if missing is None else missing,
        )
        settings = changed(self, intake=intake)
        return changed(settings, ranges=_ranges([list(pair) for pair in ranges])) if ranges else settings

    def applied(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism for these data."""
        if self == DataSettings():
            return mechanism
        try:
            return mechanism.for_data(self.intake, self.ranges)
        except ParameterError as error:
            raise error.inside("[data]") from None


def _ranges(value: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, list):
        raise ParameterError("range", f"expected [low, high], or a list of such pairs, got {value!r}")
    pairs = value if value and isinstance(value[0], list) else [value] if value else []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ParameterError("range", f"expected [low, high], or a list of such pairs, got {value!r}")
    return tuple((number("range", low), number("range", high)) for low, high in pairs)


@frozen_value()
class Simulation:
    """Settings of a sweep that runs the mechanism on simulated users."""

    users: int
    repetitions: int = 1
    seed: int = 0


@frozen_value(repr=False)
class Model:
    """A declarative design problem read from a file.

    Attributes
    ----------
    slug : str
        ``family/name``, or the path of the file.
    title, statement : str
    about : About
        What is said about the survey, as far as the file states it; without an identity ``build`` draws one.
    source : mapping
        ``cite`` and ``where``.
    problem : Problem
    claims : tuple of Claim
    sweep : mapping
        Parameter name to the list of its values; the sweep runs over all combinations.
    simulation : Simulation or None
    methods : tuple of str
        Methods that ``compare`` and ``check`` run; all when empty.
    data : DataSettings
        Columns, ranges and missing values of the data that the mechanism is for.
    figures : tuple of FigureTable
        What is drawn of it; a sweep without any is drawn as it is.
    changed : tuple of str
        Parameters that have other values than in the file; claims about them are not evaluated.
    """

    slug: str
    title: str
    problem: Problem
    statement: str = ""
    about: About = attrs.field(factory=About)
    source: Mapping[str, Any] = attrs.field(factory=dict)
    claims: tuple[Claim, ...] = ()
    sweep: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)
    simulation: Simulation | None = None
    methods: tuple[str, ...] = ()
    data: DataSettings = attrs.field(factory=DataSettings)
    figures: tuple[FigureTable, ...] = ()
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Model({self.slug}: {self.problem!r}, {counted(len(self.claims), 'claim')})"

    @property
    def question(self) -> str:
        """What respondents are asked, word for word; empty where it is not one question."""
        return self.about.question

    @property
    def identity(self) -> str:
        """The identity of the survey, ``id`` in the file; empty where ``build`` draws one."""
        return self.about.id

    @property
    def family(self) -> str:
        """The folder the model lives in."""
        return self.slug.rpartition("/")[0].rpartition("/")[2]


SIMPLE = ("value", "bound", "gap", "status")
"""What every solution has, and nothing else is called."""

CERTIFICATE = "certificate."


def quantity_of(solution: Solution, name: str) -> Any:
    """Return a named quantity of a solution: value, bound, gap, status, variable, certificate or others.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    if name in SIMPLE:
        return getattr(solution, name)
    if name in solution.variables:
        return solution.variables[name]
    if name.startswith(CERTIFICATE):  # computed only for those who ask for them, as the quantities below
        known = {f"{CERTIFICATE}{item.property}": item.holds for item in solution.certificates}
    else:
        known = {**solution.notes, **solution.quantities}
    if name in known:
        return known[name]
    certificates = [f"{CERTIFICATE}{item.property}" for item in solution.certificates]
    names = {*SIMPLE, *solution.notes, *solution.quantities, *solution.variables, *certificates}
    raise UnknownNameError("quantity", f"no '{name}'", suggestion(name, names))
