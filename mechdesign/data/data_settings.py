"""The table ``[data]`` of a model: which columns, which range of numbers, and the rule for missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import number
from mechdesign.core.values import changed, frozen_value
from mechdesign.data.intake import Intake

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism

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
